"""Which file an interpreter runs, by its command line, where that leaves no doubt.

The kernel does not know this. A program can write another command line over its own, and an interpreter can be told by
its environment to run more: a script's name is good to tell honest programs apart, and no proof. What is refused here
are the ways to pretend without any effort: a path that means another file since the program went to another folder,
and an option whose value stands where a script would.
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
"""Options that run nothing and that no value follows; `-jar` only says what kind of file comes next."""
MODES = {"utf8", "utf8=1", "dev"}
INLINE = {"-c", "-e", "-m", "-", ""}
"""What comes after these is no file."""
MOST_MENTIONED = 4


@dataclass(frozen=True)
class Started:
    """A program that we started ourselves: with which words, and in which folder."""

    process: subprocess.Popen[bytes]
    words: Sequence[str]
    folder: Path
    closed: bool = False

    def has_id(self, pid: int) -> bool:
        """Say whether a process is the one that was started, and not a later one with its number."""
        if self.closed:
            return is_the_one(pid, self.process.pid)
        return self.process.pid == pid and self.process.poll() is None


def script(pid: int, executable: Path, started: Started | None) -> tuple[str, tuple[str, ...]]:
    """Return the file that a process which runs an interpreter was told to run; empty if it is none, or in doubt.

    Of what is in doubt the names are returned, too. A relative path counts only in the command of a program that we
    started ourselves, and from the folder where.
    """
    kind = INTERPRETER.fullmatch(executable.name)
    if kind is None:
        return "", ()
    try:
        words = _words(pid)
        word = _first(words, HARMLESS.get(kind[1]))
        if started is not None and started.has_id(pid) and word in started.words:
            word = str(started.folder / word)
        path = Path(word).resolve() if word.startswith("/") else None
        if path is not None and path.is_file():
            return (str(path) if _is_there(pid, path) else ""), ()
    except (OSError, RuntimeError):  # a link that leads to itself
        return "", ()
    mentioned = [Path(word).name for word in words if not word.startswith("-")]
    return "", () if word in INLINE else tuple(mentioned[:MOST_MENTIONED])


def _is_there(pid: int, path: Path) -> bool:
    """Say whether a process finds the very same file at a path; one with files of its own may have another there.

    A link on the way would be followed among our files, not among its own.
    """
    way = [Path(f"/proc/{pid}/root{each}") for each in (path, *path.parents)]
    return path.samefile(way[0]) and not any(each.is_symlink() for each in way[:-1])


def _words(pid: int) -> list[str]:
    return [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:] if word]


def _first(words: Sequence[str], harmless: re.Pattern[str] | None) -> str:
    """Return the first word that is no option, or the option before it of which more would have to be known."""
    rest = iter(words)
    for word in rest:
        known = word.startswith("-") and harmless is not None and harmless.fullmatch(word)
        if not known and not (harmless is PYTHON and word == "-X" and next(rest, "") in MODES):
            return word
    return ""
