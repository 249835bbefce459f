"""Register the runs that are in progress on this machine: one file per run, locked while its process lives.

`holo-tasks kill` reads the registry, so this module imports very little. On a busy machine, imports take longer than
the rest of the command.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from pathlib import Path
from typing import IO, NamedTuple

from holo_tasks.machine.private import open_private, private_folder
from holo_tasks.machine.proc import process, stat_of


class Running(NamedTuple):
    """A registered run. ``began_s`` is monotonic seconds; ``started`` is the same time as a UTC timestamp."""

    run_id: str
    title: str
    trace: str
    flow_run_id: str
    pid: int
    started: str
    began_s: float

    @staticmethod
    def here(run_id: str, title: str, trace: str, flow_run_id: str, began_s: float | None = None) -> Running:
        """Return a run of this process. ``began_s`` defaults to now."""
        now_s = time.monotonic()
        ago_s = now_s - (now_s if began_s is None else began_s)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago_s))
        return Running(run_id, title, trace, flow_run_id, os.getpid(), started, now_s - ago_s)

    @property
    def stopped(self) -> bool:
        """Whether the run's process is suspended (SIGSTOP)."""
        try:
            return stat_of(process(self.pid))[0] in ("T", "t")
        except OSError:
            return False


class Registration:
    """A run's file in ``<home>/running``. The file's lock shows that the process of the run is alive."""

    def __init__(self, home: Path, run: Running) -> None:
        folder = private_folder(home, "running")
        self._path = folder / f"{run.run_id}.json"
        draft = folder / f".{os.urandom(8).hex()}"
        self._file = os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8")
        # Locked before it is renamed into place, so that no reader takes the run for a dead one.
        fcntl.flock(self._file, fcntl.LOCK_EX)
        json.dump(run._asdict(), self._file)
        self._file.flush()
        draft.replace(self._path)

    def close(self) -> None:
        """Remove the file, because the run has ended. May be called more than once."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()


def running(home: Path) -> list[Running]:
    """List the runs in progress, oldest first. Delete the files of dead processes."""
    found = []
    for path in (home / "running").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError), path.open(encoding="utf-8") as file:
            if _is_dead(file):
                path.unlink(missing_ok=True)
            else:
                found.append(Running(**json.load(file)))
    return sorted(found, key=lambda run: (run.began_s, run.run_id))


def end(home: Path, run: Running) -> None:
    """Send SIGTERM to the process of a run, if the process can be identified with certainty.

    A process id is ambiguous across containers. The kernel's lock table is checked: only the right process holds the
    lock on the run's file.
    """
    with contextlib.suppress(OSError):  # the caller sees that the run continues
        inode = (home / "running" / f"{run.run_id}.json").stat().st_ino
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, "WRITE", pid, place, *_] if pid == str(run.pid):
                    if place.rpartition(":")[2] == str(inode):
                        os.kill(run.pid, signal.SIGTERM)
                        return


def _is_dead(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
