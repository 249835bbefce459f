"""Requests to stop runs, as files in a folder. Each host process reads them by itself, even if other parts hang.

``<run id>`` stops one run, and ``all-<boot>-<time>`` all runs that began before it. ``<run id>.stopped`` is the answer.
Times are those of `time.monotonic`, which cannot be set back. So they are valid only until the machine restarts.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from functools import cache
from pathlib import Path

from holo_tasks.machine.private import open_private, own_folder

FOLDER = "kill"
_ALL, _STOPPED = "all-", ".stopped"
STALE_S = 7 * 24 * 3600
"""Seconds after which requests are deleted: the runs that they were for have ended long ago."""


def folder_in(home: Path) -> Path:
    """Return the folder of requests, and create it if needed. Raises `OSError` if it cannot be created."""
    folder = home / FOLDER
    own_folder(folder)  # without the checks of a home folder: a run must be stoppable in any case
    return folder


def ask_one(folder: Path, run_id: str, reason: str) -> None:
    """Request that a run stops."""
    _write(folder, run_id, {"reason": reason})


def ask_all(folder: Path, reason: str) -> None:
    """Request that all runs stop that have begun by now."""
    _write(folder, f"{_ALL}{_boot()}-{time.monotonic_ns()}", {"reason": reason})


def find_request(folder: Path, run_id: str, began_s: float) -> Path | None:
    """Return a request that applies to a run, or ``None``. Raises `OSError` if the folder cannot be read."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  # half the time of iterdir, twenty times a second
    except FileNotFoundError:
        return None
    before = f"{_ALL}{_boot()}-"
    for name in names:
        if name == run_id:
            return folder / name
        # An equal time counts, because the clock may not advance between the two.
        if name.startswith(before) and name[len(before) :].isdecimal() and int(name[len(before) :]) >= began_s * 1e9:
            return folder / name
    return None


def reason_in(request: Path) -> str:
    """Return the reason in a request, or an empty string."""
    try:
        return str(json.loads(request.read_text(encoding="utf-8")).get("reason", ""))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""


def answer(folder: Path, run_id: str) -> None:
    """Record that no input of a run is on its way any more."""
    with contextlib.suppress(OSError):
        _write(folder, f"{run_id}{_STOPPED}", {})


def has_stopped(folder: Path, run_id: str) -> bool:
    """Return whether input of a run is known to have stopped."""
    try:
        return (folder / f"{run_id}{_STOPPED}").exists()
    except OSError:  # a failing disk
        return False


def forget(folder: Path, run_id: str) -> None:
    """Delete the files of a run that has ended, and all stale ones."""
    with contextlib.suppress(OSError):
        (folder / run_id).unlink(missing_ok=True)
        (folder / f"{run_id}{_STOPPED}").unlink(missing_ok=True)
        for file in folder.iterdir():
            if time.time() - file.stat().st_mtime > STALE_S:
                file.unlink(missing_ok=True)


def _write(folder: Path, name: str, content: dict[str, str]) -> None:
    """Write a file atomically or, on a full disk, without its content."""
    draft = folder / f".{os.urandom(8).hex()}"
    try:
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            json.dump(content, file)
        draft.replace(folder / name)
    except OSError:
        # The name alone is the request or the answer, and an empty file needs no disk space.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        os.close(open_private(folder / name, os.O_WRONLY | os.O_CREAT))


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")
