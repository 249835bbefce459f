"""Runs of the MCP server as separate processes. They go on after the server or its client has ended.

Each run has a folder ``<home>/mcp/<run id>``. Its process holds a lock there while the run is at work.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.stop import kill_files
from holo_tasks.machine.private import open_private, private_folder

FOLDER, PROGRESS = "mcp", "progress.json"
TOKEN_VARIABLE = "HOLO_MCP_TOKEN"
MOST_KEPT = 500
"""Largest number of folders of runs. Older ones are deleted; the evidence of their runs stays."""
STOPS_S = 10.0
_ASKED, _OUTCOME, _SAID, _LOCK, _PID, _STOPPED = (
    "asked.json",
    "outcome.json",
    "said.txt",
    "lock",
    "pid",
    "stopped",
)
_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
_MOST_READ = 1_000_000
_begun: list[subprocess.Popen[bytes]] = []
"""Child processes of this process. `StartedRun.alive` reaps those that have ended."""


def begin(home: Path, run_id: str, arguments: Sequence[str], goal: str) -> None:
    """Start the process of a run, with its arguments in a file. Raises `InvalidUsage` if that fails."""
    try:
        folder = private_folder(home, FOLDER, run_id)
        _write(folder / _ASKED, json.dumps({"arguments": list(arguments), "goal": goal}))
        lock, *streams = (
            open_private(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in (_LOCK, _OUTCOME, _SAID)
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "holo_tasks.cli.mcp.child", str(folder), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=streams[0],
                stderr=streams[1],
                env={name: text for name, text in os.environ.items() if name != TOKEN_VARIABLE},
                pass_fds=(lock,),
                start_new_session=True,  # signals to this process group and its terminal do not reach the run
            )
        finally:
            for descriptor in (lock, *streams):
                os.close(descriptor)
        _begun.append(process)
        _write(folder / _PID, str(process.pid))
        _forget_oldest(home / FOLDER)
    except OSError as error:
        raise InvalidUsage(f"A run cannot be started from {home}: {error.strerror}.") from None


class StartedRun:
    """A run that this server or an earlier one started with this home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.run_id = folder.name

    @property
    def goal(self) -> str:
        return str(_read(self._folder / _ASKED).get("goal", ""))

    @property
    def alive(self) -> bool:
        """Whether its process is running."""
        for process in list(_begun):
            if process.poll() is not None:
                _begun.remove(process)
        try:
            lock = os.open(self._folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def registered(self, home: Path) -> bool:
        """Return whether the run is in the run registry. From then on its kill switch polls for requests."""
        return (home / "running" / f"{self.run_id}.json").exists()

    @property
    def progress(self) -> dict[str, Any]:
        return _read(self._folder / PROGRESS)

    @property
    def outcome(self) -> dict[str, Any]:
        """The JSON object of `holo-tasks run`, empty if the process has not printed it."""
        return _read(self._folder / _OUTCOME)

    @property
    def said(self) -> str:
        """The command's output on stderr, up to a million characters."""
        with contextlib.suppress(OSError), (self._folder / _SAID).open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_READ)
        return ""

    @property
    def was_stopped(self) -> bool:
        """Whether `stop` was called. A process that is stopped while it starts cannot report that itself."""
        return (self._folder / _STOPPED).exists()

    def stop(self, home: Path, reason: str) -> tuple[list[str], list[str]]:
        """Stop the run, and wait up to `STOPS_S`. Return lines about the result, and doubts."""
        from holo_tasks.cli.kill import kill

        # The request comes first: the process that owns the mouse reads it now, or as soon as it begins.
        with contextlib.suppress(OSError):
            _write(self._folder / _STOPPED, reason)
        with contextlib.suppress(OSError):
            kill_files.ask_one(kill_files.folder_in(home), self.run_id, reason)
        until = time.monotonic() + STOPS_S
        signalled = False
        while self.alive and time.monotonic() < until:
            if self.registered(home):
                with contextlib.suppress(InvalidUsage):  # the run ended before the request
                    stopped = kill(home, self.run_id, reason)
                    return list(stopped.lines), list(stopped.doubts)
            elif not signalled:
                signalled = self._signal()
            time.sleep(0.02)
        if self.alive:
            return [], [f"{self.run_id} was asked to stop, and did not end within {STOPS_S:g} s."]
        with contextlib.suppress(OSError):
            kill_files.forget(kill_files.folder_in(home), self.run_id)
        return [f"{self.run_id}  stopped"], []

    def _signal(self) -> bool:
        """Send SIGTERM to the process of a run that has not begun. The lock shows that the pid is still its own."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self._folder / _PID).read_text(encoding="ascii")), signal.SIGTERM)
            return True
        return False


def find(home: Path, run_id: str) -> StartedRun:
    """Return the run with this id. Raises `InvalidUsage` if no server with this home started it."""
    folder = home / FOLDER / run_id
    if not (_RUN_ID.fullmatch(run_id) and folder.is_dir()):
        raise InvalidUsage("No run of this id was started here; `status` without an id lists those that were.")
    return StartedRun(folder)


def latest(home: Path, most: int) -> list[StartedRun]:
    """Return up to ``most`` runs, newest first."""
    return [StartedRun(folder) for folder in sorted(_folders(home / FOLDER), reverse=True)[:most]]


def running(home: Path) -> list[StartedRun]:
    """Return the runs that are at work."""
    return [begun for begun in latest(home, MOST_KEPT) if begun.alive]


def _folders(root: Path) -> list[Path]:
    try:
        return [folder for folder in root.iterdir() if _RUN_ID.fullmatch(folder.name)]
    except OSError:
        return []


def _forget_oldest(root: Path) -> None:
    for folder in sorted(_folders(root), reverse=True)[MOST_KEPT:]:
        if not StartedRun(folder).alive:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in the last line of a file, or an empty one."""
    with contextlib.suppress(OSError, ValueError, RecursionError), path.open(encoding="utf-8") as file:
        lines = file.read(_MOST_READ).strip().splitlines()
        found = json.loads(lines[-1]) if lines else None
        if isinstance(found, dict):
            return found
    return {}
