"""`holo-tasks kill`: request runs to stop, and wait until they have stopped. The MCP server also uses it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.stop import kill_files
from holo_tasks.kill.run_registry import Running, end, running

if TYPE_CHECKING:
    from holo_tasks.safety.records.kill_requests import Kills

PATIENCE_S = 5.0


class KillResult(NamedTuple):
    """The result of a kill: a line per run, and sentences about uncertain outcomes."""

    lines: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def kill(home: Path, run_id: str | None, reason: str) -> KillResult:
    """Stop a run and wait until it has stopped. ``run_id`` is its id or its flow run's; ``None`` means all runs.

    Raises `InvalidUsage` for an unknown or empty id.
    """
    if run_id is not None and not run_id.strip():
        # An unset shell variable. In the shared database an empty id would mean all runs of all machines.
        raise InvalidUsage("--run is empty, so it names no run; say which one to stop, or --all.")
    here, doubts = _under_way(home)
    meant = here if run_id is None else [run for run in here if run_id in (run.run_id, run.flow_run_id)]
    if run_id is not None and not (meant or doubts) and _shared_requests(home) is None:
        raise unknown(run_id, here)
    unwritten = _ask_here(home, meant, reason, everything=run_id is None)
    if unwritten:
        meant = _end_processes(home, meant, here)
    # The files come before the database, which takes long to load and may not answer.
    others, doubt = _ask_other_machines(home, run_id, reason)
    doubts += doubt
    if unwritten and run_id is None:
        doubts.append(_unreached_doubt(home, unwritten, is_reported=bool(meant or others or doubts)))
    stopped = _stopped_here(home, meant)
    if others is None:
        return KillResult(stopped.lines, (*doubts, *stopped.doubts))
    answers = _await_answers(*others, run_id, {run.run_id for run in meant})
    lines, doubts = [*stopped.lines, *answers.lines], [*doubts, *stopped.doubts, *answers.doubts]
    if run_id is not None and not (lines or answers.doubts):
        raise unknown(run_id, here, elsewhere=", and none on the machines that share the database answers")
    return KillResult(tuple(lines), tuple(doubts))


def _end_processes(home: Path, meant: list[Running], here: list[Running]) -> list[Running]:
    """Send SIGTERM to the processes of runs. Return all runs that end by that.

    Used if no request to stop can be written. A process with several runs ends with all its runs.
    """
    pids = {run.pid for run in meant}
    ended = [run for run in here if run.pid in pids]
    for run in {run.pid: run for run in ended}.values():
        end(home, run)
    return ended


def _ask_other_machines(home: Path, run_id: str | None, reason: str) -> tuple[tuple[Kills, int] | None, list[str]]:
    """Request other machines to stop runs. Return the requests with this one's number, or ``None``, and doubts."""
    try:
        others = _shared_requests(home)
        return (None if others is None else (others, others.ask(run_id or "", reason))), []
    except (InvalidUsage, OSError) as error:
        return None, [f"Other machines were not asked to stop: {error}"]


def _unreached_doubt(home: Path, unwritten: str, *, is_reported: bool) -> str:
    """Return the doubt if no request can be written. Raises `InvalidUsage` if no run was reached at all."""
    if not is_reported:
        raise InvalidUsage(f"{home} cannot be written ({unwritten}); set HOLO_HOME.")
    return (
        f"{home} cannot be written ({unwritten}): runs under way got SIGTERM instead of the request, "
        "and a run that is only starting was not reached."
    )


def _stopped_here(home: Path, meant: list[Running]) -> KillResult:
    """Wait for runs on this machine to stop, and delete the requests to the stopped ones."""
    folder = home / kill_files.FOLDER
    left = _await_end(home, folder, meant)
    lines = [_line(run, left, folder) for run in meant]
    silent = [run.pid for run in left if not kill_files.has_stopped(folder, run.run_id)]
    doubts = [f"Process {pid} did not answer within {PATIENCE_S:g} s; end it: kill -9 {pid}." for pid in silent]
    for run in meant:
        if run not in left:
            kill_files.forget(folder, run.run_id)
    return KillResult(tuple(lines), tuple(doubts))


def _under_way(home: Path) -> tuple[list[Running], list[str]]:
    """Return the runs that are under way on this machine, and a doubt if they cannot be listed."""
    try:
        return running(home), []
    except OSError as error:
        return [], [f"The list of runs under way cannot be read in {home} ({error.strerror})."]


def _ask_here(home: Path, meant: list[Running], reason: str, *, everything: bool) -> str:
    """Write requests to stop for runs on this machine. Return the reason if that fails, else an empty text."""
    try:
        folder = kill_files.folder_in(home)
        if everything:
            kill_files.ask_all(folder, reason)
        for run in () if everything else meant:
            kill_files.ask_one(folder, run.run_id, reason)
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _shared_requests(home: Path) -> Kills | None:
    """Return the requests in the shared database, or ``None`` if this machine shares none."""
    from holo_tasks.safety.database.store import store_at

    if (store := store_at(home)).local:
        return None
    from holo_tasks.safety.records.kill_requests import Kills

    return Kills(store)


def unknown(run_id: str, here: list[Running], elsewhere: str = "") -> InvalidUsage:
    """Return the error for an id that no run has."""
    return InvalidUsage(f"No run {run_id} is under way here{elsewhere}; {names(here)}.")


def names(runs: list[Running]) -> str:
    """Return a phrase with the ids of the runs that are under way."""
    return f"under way: {', '.join(run.run_id for run in runs)}" if runs else "no run is"


def _await_end(home: Path, folder: Path, meant: list[Running]) -> list[Running]:
    """Wait up to `PATIENCE_S` for runs to end. Return the runs that are left.

    A suspended process cannot end, so the wait ends when its input has stopped.
    """
    until = time.monotonic() + PATIENCE_S
    left = meant
    while left and time.monotonic() < until:
        time.sleep(0.05)
        still = {run.run_id for run in running(home)}
        left = [run for run in left if run.run_id in still]
        if all(run.stopped and kill_files.has_stopped(folder, run.run_id) for run in left):
            break
    return left


def _await_answers(others: Kills, asked: int, run_id: str | None, here: set[str]) -> KillResult:
    """Wait for answers of other machines. Return a line per run whose input stopped there, and doubts.

    The wait is at most half of `PATIENCE_S`. It is skipped if the run is on this machine.
    """
    until = time.monotonic() + (0.0 if run_id in here else PATIENCE_S / 2)
    found: dict[str, str] = {}
    doubts: tuple[str, ...] = ()
    while True:
        try:
            found = {name: host for name, host in others.answers(asked).items() if name not in here}
        except InvalidUsage as error:
            doubts = (f"Other machines were asked to stop, but their answers could not be read: {error}",)
        if doubts or (found and run_id is not None) or time.monotonic() >= until:
            return KillResult(tuple(f"{name}  input stopped on {host}" for name, host in found.items()), doubts)
        time.sleep(0.2)


def _line(run: Running, left: list[Running], folder: Path) -> str:
    if run not in left:
        return f"{run.run_id}  stopped"
    if not kill_files.has_stopped(folder, run.run_id):
        return f"{run.run_id}  not known to have stopped; process {run.pid} does not answer"
    if run.stopped:
        return f"{run.run_id}  input stopped; process {run.pid} is suspended, and ends when it is continued"
    return f"{run.run_id}  input stopped; process {run.pid} is still busy"


def check(run_id: str | None, everything: bool, home: Path) -> None:
    """Raise `InvalidUsage` unless ``--run`` or ``--all`` is given."""
    if run_id is None and not everything:
        raise InvalidUsage(f"Say which run to stop, with --run ID, or --all; {names(running(home))}.")
