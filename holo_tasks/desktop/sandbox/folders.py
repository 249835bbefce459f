"""Which folders of this machine a closed program is granted, and which it never is."""

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
"""How the names of desktops' own folders begin."""
DEVICES, MEMORY = Path("/dev"), Path("/dev/shm")
NEVER = (*map(Path, ("/run", "/proc", "/sys", "/tmp/.X11-unix")), DEVICES)
"""What leads past the walls of a closed program, by sockets or by the kernel."""


def checked(folders: Mapping[str, Access]) -> dict[str, Access]:
    """Return folders to be granted, by their real paths. Raises `InvalidUsage` for what cannot be granted."""
    found: dict[str, Access] = {}
    for given, access in folders.items():
        if access not in get_args(Access):
            raise InvalidUsage(f"folders: {given!r} is granted as 'read' or 'write', not {access!r}.")
        folder = Path(os.fspath(given))
        if not folder.is_absolute() or not folder.is_dir():
            raise InvalidUsage(f"folders: {given!r} is no folder: give the full path of one that is there.")
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
    """Raise `InvalidUsage` if one of these folders, to be granted, holds the evidence of runs or lies in it."""
    kept = evidence.resolve()
    for folder in folders:
        real = Path(folder).resolve()
        if kept.is_relative_to(real) or real.is_relative_to(kept):
            raise InvalidUsage(
                f"folders: {folder!r} cannot be granted: the evidence of this run goes to {evidence}, which no program "
                "may see. Give another folder, or keep the evidence elsewhere."
            )


def is_kept(path: Path) -> bool:
    """Say whether a path is of what no closed program sees: the agent's own state, other desktops, ways out."""
    below_memory = MEMORY in path.parents  # folders like others
    kept = any(path.is_relative_to(place) and not (below_memory and place == DEVICES) for place in _kept())
    return kept or any(part.startswith(DESKTOP) for part in path.parts)


def _refusal(folder: Path) -> str | None:
    if is_kept(folder):
        return "it is, or lies in, what is kept from every closed program"
    inside = next((place for place in (*_kept(), Path(tempfile.gettempdir())) if place.is_relative_to(folder)), None)
    return f"{inside} lies in it" if inside is not None else None


def _kept() -> tuple[Path, ...]:
    return (holo_home(os.environ).resolve(), *NEVER)
