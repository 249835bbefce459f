"""Determines the script that an interpreter runs from its command line, if that is unambiguous.

The kernel does not know the script. A program can overwrite its command line, and environment variables can make an
interpreter run more. So a script's name distinguishes honest programs and proves nothing. Two easy tricks are refused:
a relative path whose meaning changed with the program's folder, and an option whose value takes a script's place.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.desktop.sandbox.start import is_the_one

INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|java|php|lua|luajit|tclsh|wish|gjs|guile|mono|bash|dash|ksh|zsh|sh)[\d.]*"
)
SHELL = re.compile(r"-[eux]+|--norc|--noprofile|--posix")
PYTHON = re.compile(r"-[bBEIOPqsSuv]+|-Xutf8(=1)?|-Xdev")
NODE = re.compile(r"--no-warnings|--max-old-space-size=\d+")
HARMLESS = {
    **dict.fromkeys(("python", "pypy"), PYTHON),
    **dict.fromkeys(("bash", "dash", "ksh", "zsh", "sh"), SHELL),
    **dict.fromkeys(("node", "nodejs"), NODE),
    "perl": re.compile(r"-[wTt]+"),
    "ruby": re.compile(r"-w"),
    "java": re.compile(r"-Xm[sx]\d+[kKmMgG]?|-jar"),
    "mono": re.compile(r"--debug"),
}
"""Options that run nothing and take no value. `-jar` only gives the type of the file after it."""
MODES = {"utf8", "utf8=1", "dev"}
INLINE = {"-c", "-e", "-m", "-", ""}
"""No script file follows these words."""
MOST_MENTIONED = 4


@dataclass(frozen=True)
class StartedProgram:
    """A program that this process started, with its command and its folder."""

    process: subprocess.Popen[bytes]
    words: Sequence[str]
    folder: Path
    closed: bool = False

    def has_id(self, pid: int) -> bool:
        """Return whether a process is the started one, and not a later one with the same number."""
        if self.closed:
            return is_the_one(pid, self.process.pid)
        return self.process.pid == pid and self.process.poll() is None


def script(pid: int, executable: Path, started: StartedProgram | None) -> tuple[str, tuple[str, ...]]:
    """Return the script of a process that runs an interpreter.

    Returns an empty string without a script or if it is ambiguous.

    Of an ambiguous command the second result has the names of possible scripts. A relative path counts only in the
    command of a program that this process started, relative to its start folder.
    """
    kind = INTERPRETER.fullmatch(executable.name)
    if kind is None:
        return "", ()
    try:
        words = _words(pid)
        word = _first_argument(words, HARMLESS.get(kind[1]))
        if started is not None and started.has_id(pid) and word in started.words:
            word = str(started.folder / word)
        path = Path(word).resolve() if word.startswith("/") else None
        if path is not None and path.is_file():
            return (str(path) if _is_there(pid, path) else ""), ()
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return "", ()
    mentioned = [Path(word).name for word in words if not word.startswith("-")]
    return "", () if word in INLINE else tuple(mentioned[:MOST_MENTIONED])


def _is_there(pid: int, path: Path) -> bool:
    """Return whether a process finds the same file at a path. A process in a sandbox may have another one there.

    A path with links counts as different: this process would follow them in its own file system.
    """
    way = [Path(f"/proc/{pid}/root{each}") for each in (path, *path.parents)]
    return path.samefile(way[0]) and not any(each.is_symlink() for each in way[:-1])


def _words(pid: int) -> list[str]:
    return [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:] if word]


def _first_argument(words: Sequence[str], harmless: re.Pattern[str] | None) -> str:
    """Return the first word that is not an option known as harmless: the script, or an unknown option."""
    rest = iter(words)
    for word in rest:
        known = word.startswith("-") and harmless is not None and harmless.fullmatch(word)
        if not known and not (harmless is PYTHON and word == "-X" and next(rest, "") in MODES):
            return word
    return ""
