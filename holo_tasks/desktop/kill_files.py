"""Requests to stop, as files in a folder: whoever owns a mouse reads them by itself, whatever else hangs.

``<run id>`` stops one run, ``all-<boot>-<time>`` all that began before it; ``<run id>.stopped`` is the answer. Times
are those of `time.monotonic`, which nobody can set back, so they count only until the machine is started again.
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
"""Requests older than this are cleared away: the runs they were for are long over."""


def folder_in(home: Path) -> Path:
    """Return where requests are, making the folder. Raises OSError if it cannot be made."""
    folder = home / FOLDER
    own_folder(folder)  # not by the rules for a home: whatever is wrong with it, a run must be stopped
    return folder


def ask_one(folder: Path, run_id: str, reason: str) -> None:
    """Ask a run to stop."""
    _write(folder, run_id, {"reason": reason})


def ask_all(folder: Path, reason: str) -> None:
    """Ask all runs to stop that have begun by now."""
    _write(folder, f"{_ALL}{_boot()}-{time.monotonic_ns()}", {"reason": reason})


def asked(folder: Path, run_id: str, began_s: float) -> Path | None:
    """Return a request that is meant for a run, if there is one. Raises OSError if that cannot be known."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  # half the time of iterdir, twenty times a second
    except FileNotFoundError:
        return None
    before = f"{_ALL}{_boot()}-"
    for name in names:
        if name == run_id:
            return folder / name
        # Equal counts as before: the clock may stand still between the two.
        if name.startswith(before) and name[len(before) :].isdecimal() and int(name[len(before) :]) >= began_s * 1e9:
            return folder / name
    return None


def reason_in(request: Path) -> str:
    """Return what was given as the reason, empty if nothing was."""
    try:
        return str(json.loads(request.read_text(encoding="utf-8")).get("reason", ""))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""


def answer(folder: Path, run_id: str) -> None:
    """Say that no input of a run is on its way any more."""
    with contextlib.suppress(OSError):
        _write(folder, f"{run_id}{_STOPPED}", {})


def answered(folder: Path, run_id: str) -> bool:
    """Say whether input of a run is known to have stopped."""
    try:
        return (folder / f"{run_id}{_STOPPED}").exists()
    except OSError:  # what is on a failing disk is not known
        return False


def forget(folder: Path, run_id: str) -> None:
    """Clear away what was for a run that has ended, and what is stale."""
    with contextlib.suppress(OSError):
        (folder / run_id).unlink(missing_ok=True)
        (folder / f"{run_id}{_STOPPED}").unlink(missing_ok=True)
        for file in folder.iterdir():
            if time.time() - file.stat().st_mtime > STALE_S:
                file.unlink(missing_ok=True)


def _write(folder: Path, name: str, content: dict[str, str]) -> None:
    """Write a file that is there as a whole, or without its content where the disk is full."""
    draft = folder / f".{os.urandom(8).hex()}"
    try:
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            json.dump(content, file)
        draft.replace(folder / name)
    except OSError:
        # Its name alone is the request, or the answer, and that takes no room.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        os.close(open_private(folder / name, os.O_WRONLY | os.O_CREAT))


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")
