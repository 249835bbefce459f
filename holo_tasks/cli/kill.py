"""`holo-tasks kill`: ask runs to stop, and see that they do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop import kill_files
from holo_tasks.kill.run_registry import Running, end, running

if TYPE_CHECKING:
    from holo_tasks.safety.kill_requests import Kills

PATIENCE_S = 5.0


class Stopped(NamedTuple):
    """What became of the runs: a line each, and what is in doubt."""

    lines: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def kill(home: Path, run_id: str | None, reason: str) -> Stopped:
    """Stop a run, named by its own id or its flow run's, or all that have begun by now; wait until they have stopped.

    Raises `InvalidUsage` if there is no such run, and for an empty id.
    """
    if run_id is not None and not run_id.strip():
        # An unset variable of a shell; in the database that machines share, it would mean all runs of all of them.
        raise InvalidUsage("--run is empty, so it names no run; say which one to stop, or --all.")
    here, doubts = _under_way(home)
    meant = here if run_id is None else [run for run in here if run_id in (run.run_id, run.flow_run_id)]
    if run_id is not None and not (meant or doubts) and _elsewhere(home) is None:
        raise unknown(run_id, here)
    unwritten = _ask_here(home, meant, reason, everything=run_id is None)
    if unwritten:
        meant = _end_processes(home, meant, here)
    # The database after the files: to load it takes long, and to reach it may take for ever.
    others, doubt = _ask_elsewhere(home, run_id, reason)
    doubts += doubt
    if unwritten and run_id is None:
        doubts.append(_untold(home, unwritten, told=bool(meant or others or doubts)))
    stopped = _stopped_here(home, meant)
    if others is None:
        return Stopped(stopped.lines, (*doubts, *stopped.doubts))
    answers = _await_answers(*others, run_id, {run.run_id for run in meant})
    lines, doubts = [*stopped.lines, *answers.lines], [*doubts, *stopped.doubts, *answers.doubts]
    if run_id is not None and not (lines or answers.doubts):
        raise unknown(run_id, here, elsewhere=", and none on the machines that share the database answers")
    return Stopped(tuple(lines), tuple(doubts))


def _end_processes(home: Path, meant: list[Running], here: list[Running]) -> list[Running]:
    """End the processes of runs, where no request to stop can be written; return all runs that end by that.

    A process that does more than one run ends with all of them.
    """
    pids = {run.pid for run in meant}
    ended = [run for run in here if run.pid in pids]
    for run in {run.pid: run for run in ended}.values():
        end(home, run)
    return ended


def _ask_elsewhere(home: Path, run_id: str | None, reason: str) -> tuple[tuple[Kills, int] | None, list[str]]:
    """Ask other machines to stop runs; return where they answer, with the request's number, and what is in doubt."""
    try:
        others = _elsewhere(home)
        return (None if others is None else (others, others.ask(run_id or "", reason))), []
    except (InvalidUsage, OSError) as error:
        return None, [f"Other machines were not told: {error}"]


def _untold(home: Path, unwritten: str, *, told: bool) -> str:
    """Say what is in doubt where no request can be written; raise `InvalidUsage` if nobody was told anything."""
    if not told:
        raise InvalidUsage(f"{home} cannot be written ({unwritten}); set HOLO_HOME.")
    return (
        f"{home} cannot be written ({unwritten}): runs under way were sent SIGTERM in place of the request, "
        "and one that is only starting was not told."
    )


def _stopped_here(home: Path, meant: list[Running]) -> Stopped:
    """Wait for runs on this machine to stop; forget the requests to those that have."""
    folder = home / kill_files.FOLDER
    left = _await_end(home, folder, meant)
    lines = [_line(run, left, folder) for run in meant]
    silent = [run.pid for run in left if not kill_files.answered(folder, run.run_id)]
    doubts = [f"Process {pid} did not answer within {PATIENCE_S:g} s; end it: kill -9 {pid}." for pid in silent]
    for run in meant:
        if run not in left:
            kill_files.forget(folder, run.run_id)
    return Stopped(tuple(lines), tuple(doubts))


def _under_way(home: Path) -> tuple[list[Running], list[str]]:
    """Return the runs that are under way here, and what is in doubt about that."""
    try:
        return running(home), []
    except OSError as error:
        return [], [f"Which runs are under way here cannot be read in {home} ({error.strerror})."]


def _ask_here(home: Path, meant: list[Running], reason: str, *, everything: bool) -> str:
    """Ask runs on this machine to stop; return why that could not be written, if so."""
    try:
        folder = kill_files.folder_in(home)
        if everything:
            kill_files.ask_all(folder, reason)
        for run in () if everything else meant:
            kill_files.ask_one(folder, run.run_id, reason)
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _elsewhere(home: Path) -> Kills | None:
    """Return where other machines are told; None if this one shares no database."""
    from holo_tasks.safety.store import store_at

    if (store := store_at(home)).local:
        return None
    from holo_tasks.safety.kill_requests import Kills

    return Kills(store)


def unknown(run_id: str, here: list[Running], elsewhere: str = "") -> InvalidUsage:
    """The error of an id that no run has."""
    return InvalidUsage(f"No run {run_id} is under way here{elsewhere}; {names(here)}.")


def names(runs: list[Running]) -> str:
    """Say which runs are under way."""
    return f"under way: {', '.join(run.run_id for run in runs)}" if runs else "no run is"


def _await_end(home: Path, folder: Path, meant: list[Running]) -> list[Running]:
    """Wait until all are over, or cannot be before they are let go on; return what is left."""
    until = time.monotonic() + PATIENCE_S
    left = meant
    while left and time.monotonic() < until:
        time.sleep(0.05)
        still = {run.run_id for run in running(home)}
        left = [run for run in left if run.run_id in still]
        if all(run.stopped and kill_files.answered(folder, run.run_id) for run in left):
            break
    return left


def _await_answers(others: Kills, asked: int, run_id: str | None, here: set[str]) -> Stopped:
    """Wait for other machines, as long as may be; return where input stopped, and what is in doubt."""
    until = time.monotonic() + (0.0 if run_id in here else PATIENCE_S / 2)
    found: dict[str, str] = {}
    doubts: tuple[str, ...] = ()
    while True:
        try:
            found = {name: host for name, host in others.answers(asked).items() if name not in here}
        except InvalidUsage as error:
            doubts = (f"Other machines were asked to stop, but not all that they answer is known: {error}",)
        if doubts or (found and run_id is not None) or time.monotonic() >= until:
            return Stopped(tuple(f"{name}  input stopped on {host}" for name, host in found.items()), doubts)
        time.sleep(0.2)


def _line(run: Running, left: list[Running], folder: Path) -> str:
    if run not in left:
        return f"{run.run_id}  stopped"
    if not kill_files.answered(folder, run.run_id):
        return f"{run.run_id}  not known to have stopped; process {run.pid} does not answer"
    if run.stopped:
        return f"{run.run_id}  input stopped; process {run.pid} is suspended, and ends when it is continued"
    return f"{run.run_id}  input stopped; process {run.pid} is still busy"


def check(run_id: str | None, everything: bool, home: Path) -> None:
    """Raise `InvalidUsage` unless it is said which runs are meant."""
    if run_id is None and not everything:
        raise InvalidUsage(f"Say which run to stop, with --run ID, or --all; {names(running(home))}.")
