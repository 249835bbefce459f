"""Identify a function across processes, folders and releases, so that its stored results are found again.

`work_of` is used by steps and sub-goals.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.records.ledger import WorkIdentity

LONGEST_NAME = 200
_COMMIT = re.compile(r"(?:[-_.@]|^)([0-9a-f]{7,64})$")


def work_of(function: Callable[..., Any], name: str | None = None) -> WorkIdentity:
    """Return the identity of a function; a given ``name`` is used as it stands.

    The module's name does not identify it: Prefect loads a flow file under its bare stem, and a script is ``__main__``.
    So the identity is the file's package, or else its folder without a commit id. The digest of the file covers
    deployments that copy files into a new folder each time.

    If folder and content both change with a release (``flows-1.4/pay.py``, then ``flows-1.5/pay.py``), only ``name``
    identifies the function. Raises `InvalidUsage` for an empty or too long name.
    """
    if name is not None:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise InvalidUsage(f"ledger= is a name of 1 to {LONGEST_NAME} characters, not {name[:60]!r}.")
        return WorkIdentity(name)
    bare = inspect.unwrap(function)
    within = getattr(bare, "__qualname__", type(bare).__qualname__)
    code = getattr(bare, "__code__", None)
    path = Path(code.co_filename) if code is not None else Path()
    try:
        contents = path.read_bytes()
        place = _place(path.resolve())
    except (OSError, ValueError):  # no source file: an interactive session, or compiled elsewhere
        return WorkIdentity(f"{getattr(bare, '__module__', '')}:{within}")
    return WorkIdentity(f"{place}:{within}", hashlib.sha256(contents + b"\0" + within.encode()).hexdigest())


def _place(path: Path) -> str:
    """Return a file's dotted name in its package, or folder and stem if it is in no package."""
    names, folder = [path.stem], path.parent
    if not (folder / "__init__.py").is_file():
        return f"{_without_commit(folder)}/{path.stem}"
    while (folder / "__init__.py").is_file() and folder.name:
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


def _without_commit(folder: Path) -> str:
    """Return a folder's name without the commit that is checked out in it.

    Only a suffix that Git confirms as the checked-out commit is removed. Another number may be a customer's, and two
    customers' flows are different work.
    """
    found = _COMMIT.search(folder.name)
    if found is None or not _checked_out(folder).startswith(found[1]):
        return folder.name
    left = folder.name[: found.start()]
    return left or f"{folder.parent.parent.name}/{folder.parent.name}"


def _checked_out(folder: Path) -> str:
    """Return the commit that a checkout is pinned to; empty on a branch or without Git."""
    git = folder / ".git"
    try:
        if git.is_file():  # a linked work tree
            git = folder / git.read_text("utf-8").removeprefix("gitdir:").strip()
        return (git / "HEAD").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
