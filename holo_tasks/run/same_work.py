"""Whether two functions are the same piece of work, however each was imported, in whatever process or folder."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.ledger import Work

LONGEST_NAME = 200
_COMMIT = re.compile(r"(?:[-_.@]|^)([0-9a-f]{7,64})$")


def work_of(function: Callable[..., Any], name: str | None = None) -> Work:
    """Say what a function is known by; ``name`` is what it was given to be known by, whatever becomes of it.

    A module's name would not do: Prefect loads a flow's file under its bare stem, and a script is ``__main__``. So it
    is where the file lies: in its package, else in its folder, which is the same whatever commit it is checked out at.
    Some deployments put files into a new folder each time; there the file itself tells, byte by byte. Where both are
    new with each release (``flows-1.4/pay.py``, then ``flows-1.5/pay.py``), only a ``name`` tells that it is the same.
    """
    if name is not None:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise InvalidUsage(f"ledger= is a name of 1 to {LONGEST_NAME} characters, not {name[:60]!r}.")
        return Work(name)
    bare = inspect.unwrap(function)
    within = getattr(bare, "__qualname__", type(bare).__qualname__)
    code = getattr(bare, "__code__", None)
    path = Path(code.co_filename) if code is not None else Path()
    try:
        contents = path.read_bytes()
        place = _place(path.resolve())
    except (OSError, ValueError):  # typed in by hand, or compiled elsewhere
        return Work(f"{getattr(bare, '__module__', '')}:{within}")
    return Work(f"{place}:{within}", hashlib.sha256(contents + b"\0" + within.encode()).hexdigest())


def _place(path: Path) -> str:
    """Name a file by its package, or by its folder where it is in none."""
    names, folder = [path.stem], path.parent
    if not (folder / "__init__.py").is_file():
        return f"{_lasting(folder)}/{path.stem}"
    while (folder / "__init__.py").is_file() and folder.name:
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


def _lasting(folder: Path) -> str:
    """Name a folder without the commit that is checked out in it.

    Only what Git itself says to be that commit is left out: any other number could be a customer's, and the flows of
    two customers are two pieces of work.
    """
    found = _COMMIT.search(folder.name)
    if found is None or not _checked_out(folder).startswith(found[1]):
        return folder.name
    left = folder.name[: found.start()]
    return left or f"{folder.parent.parent.name}/{folder.parent.name}"


def _checked_out(folder: Path) -> str:
    """Return the commit that a checkout is pinned to; empty if it follows a branch, or is none."""
    git = folder / ".git"
    try:
        if git.is_file():  # one of several work trees
            git = folder / git.read_text("utf-8").removeprefix("gitdir:").strip()
        return (git / "HEAD").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
