"""Check the folders that a sandboxed program is granted. Some folders are never granted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home

Access: TypeAlias = Literal["read", "write"]
DESKTOP = "holo-desktop-"
"""The beginning of the names of desktops' private folders."""
DEVICES, MEMORY = Path("/dev"), Path("/dev/shm")
NEVER = (*map(Path, ("/run", "/proc", "/sys", "/tmp/.X11-unix")), DEVICES)
"""Folders whose sockets and kernel files lead out of the sandbox."""


def folders_to_grant(folders: Mapping[str, Access]) -> dict[str, Access]:
    """Return the folders to grant, by their real paths and also by given paths that are links.

    Raises `InvalidUsage` for a folder that cannot be granted.
    """
    found: dict[str, Access] = {}
    for given, access in folders.items():
        if access not in get_args(Access):
            raise InvalidUsage(f"folders: {given!r} is granted as 'read' or 'write', not {access!r}.")
        folder = Path(os.fspath(given))
        if not folder.is_absolute() or not folder.is_dir():
            raise InvalidUsage(f"folders: {given!r} is not a folder: give the full path of a folder that exists.")
        real = folder.resolve()
        if (why := _refusal(real)) is not None:
            raise InvalidUsage(
                f"folders: {given!r} cannot be granted: {why}. Give a folder that holds only the program's."
            )
        found[str(real)] = access
        if folder != real:
            found.setdefault(str(folder), access)
    return found


def check_evidence(folders: Iterable[str], evidence: Path) -> None:
    """Raise `InvalidUsage` if one of the folders to grant contains the evidence of runs or lies in it."""
    kept = evidence.resolve()
    for folder in folders:
        real = Path(folder).resolve()
        if kept.is_relative_to(real) or real.is_relative_to(kept):
            raise InvalidUsage(
                f"folders: {folder!r} cannot be granted: the evidence of this run goes to {evidence}, which no program "
                "may see. Give another folder, or keep the evidence elsewhere."
            )


def is_kept(path: Path) -> bool:
    """Return whether a path is hidden from every sandboxed program.

    Hidden are the agent's own state, the folders of desktops, and the folders in ``NEVER``.
    """
    below_memory = MEMORY in path.parents  # below /dev/shm there are ordinary folders
    kept = any(path.is_relative_to(place) and not (below_memory and place == DEVICES) for place in _protected_folders())
    return kept or any(part.startswith(DESKTOP) for part in path.parts)


def _refusal(folder: Path) -> str | None:
    if is_kept(folder):
        return "it is hidden from every sandboxed program"
    inside = next(
        (place for place in (*_protected_folders(), Path(tempfile.gettempdir())) if place.is_relative_to(folder)), None
    )
    return f"{inside} lies in it" if inside is not None else None


def _protected_folders() -> tuple[Path, ...]:
    return (holo_home(os.environ).resolve(), *NEVER)
