"""The runs that are under way on this machine: a file each, locked for as long as its process lives.

Loads next to nothing, for `holo-tasks kill`: on a busy machine loading takes longer than all the rest of it.
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
    """One run. ``began_s`` is on the monotonic clock, ``started`` says the same for people."""

    run_id: str
    title: str
    trace: str
    flow_run_id: str
    pid: int
    started: str
    began_s: float

    @staticmethod
    def here(run_id: str, title: str, trace: str, flow_run_id: str, began_s: float | None = None) -> Running:
        """Return a run of this process that begins now, or began then."""
        now_s = time.monotonic()
        ago_s = now_s - (now_s if began_s is None else began_s)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago_s))
        return Running(run_id, title, trace, flow_run_id, os.getpid(), started, now_s - ago_s)

    @property
    def stopped(self) -> bool:
        """Whether its process is there, but was stopped (SIGSTOP) and does nothing."""
        try:
            return stat_of(process(self.pid))[0] in ("T", "t")
        except OSError:
            return False


class Registration:
    """A run's file in ``<home>/running``. A lock tells a run that is under way from one whose process has died."""

    def __init__(self, home: Path, run: Running) -> None:
        folder = private_folder(home, "running")
        self._path = folder / f"{run.run_id}.json"
        draft = folder / f".{os.urandom(8).hex()}"
        self._file = os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8")
        # Locked before it gets its name: nobody can take it for a dead one.
        fcntl.flock(self._file, fcntl.LOCK_EX)
        json.dump(run._asdict(), self._file)
        self._file.flush()
        draft.replace(self._path)

    def close(self) -> None:
        """Say that the run is over; more than once does no harm."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()


def running(home: Path) -> list[Running]:
    """List the runs under way, the oldest first, and clear away what dead ones left."""
    found = []
    for path in (home / "running").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError), path.open(encoding="utf-8") as file:
            if _dead(file):
                path.unlink(missing_ok=True)
            else:
                found.append(Running(**json.load(file)))
    return sorted(found, key=lambda run: (run.began_s, run.run_id))


def end(home: Path, run: Running) -> None:
    """Ask the process of a run to end (SIGTERM), if it is certain which one that is.

    Its number is that of another one elsewhere, such as outside its container; only the one that is meant has the lock.
    """
    with contextlib.suppress(OSError):  # who asks sees that it goes on
        inode = (home / "running" / f"{run.run_id}.json").stat().st_ino
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, "WRITE", pid, place, *_] if pid == str(run.pid):
                    if place.rpartition(":")[2] == str(inode):
                        os.kill(run.pid, signal.SIGTERM)
                        return


def _dead(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
