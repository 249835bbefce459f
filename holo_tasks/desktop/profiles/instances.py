"""Find running instances of a program outside the current desktop."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from holo_tasks.desktop import processes
from holo_tasks.desktop.programs.interpreter_scripts import INTERPRETER
from holo_tasks.machine.proc import living, process

FIRST_WORDS = 3
"""First words of a command line among which an interpreter names its script."""


def identifying_files(command: Sequence[str], place: int, files: Sequence[Path]) -> list[Path]:
    """Return the files that tell a program from others: ``files``, or the script of an interpreter.

    ``place`` is the index of the program in the ``command``, and ``files`` are its file and its wrapper scripts.
    """
    if not any(INTERPRETER.fullmatch(file.name) for file in files):
        return list(files)
    script = next((Path(word) for word in command[place + 1 :] if not word.startswith("-")), None)
    with contextlib.suppress(OSError, ValueError):  # inline code may be no valid path
        if script is not None and script.is_file():
            return [script.absolute()]
    return []


def has_running_instance(files: Sequence[Path]) -> bool:
    """Return whether a process other than this one and its descendants runs one of these ``files``.

    It may run the file itself, or be an interpreter whose script the file is.
    """
    wanted = {str(file.resolve()) for file in files}
    ours = {os.getpid(), *processes.descendants(os.getpid())}
    return any(pid not in ours and wanted & _files_of(pid) for pid, _ in living())


def _files_of(pid: int) -> set[str]:
    """Return the executable of a process, and the absolute paths among its first words."""
    found: set[str] = set()
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a loop of links
        found.add(str((process(pid) / "exe").readlink()))
        words = os.fsdecode((process(pid) / "cmdline").read_bytes()).split("\0")[:FIRST_WORDS]
        found |= {str(Path(word).resolve()) for word in words if word.startswith("/")}
    return found
