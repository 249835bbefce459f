"""Telling programs by the file that their process runs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from holo_tasks.core.ports import Owner


def runs(owner: Owner, programs: Sequence[str]) -> bool:
    """Say whether a window's program is one of these; one that is not known never is.

    A path means exactly that file, links resolved; a bare name any file of that name, and what it stands for on PATH.
    For an interpreter the script counts as well as the interpreter.
    """
    files = [Path(file) for file in (owner.executable, owner.script) if file]
    return bool(owner.executable) and any(_is(file, program) for file in files for program in programs)


def may_run(owner: Owner, programs: Sequence[str]) -> bool:
    """Say whether a window's program is one of these, or may be: for what is to be kept away from them."""
    names = {Path(program).name for program in programs}
    return not owner.executable or runs(owner, programs) or not names.isdisjoint(owner.said)


def _is(file: Path, program: str) -> bool:
    if "/" in program:
        return file == _resolved(program)
    found = shutil.which(program)
    return file.name == program or (found is not None and file == _resolved(found))


def _resolved(path: str) -> Path | None:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):  # links in a circle, nobody's home
        return None
