"""Find the program that a command starts, through `env`, links and wrapper scripts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_SCRIPTS, LONGEST_SCRIPT = 5, 64 * 1024
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_HANDS_ON = re.compile(
    r"""^\s*(?:exec\s+)?(?P<program>"[^"$`\s]+"|'[^'\s]+'|[\w./+-]+)[^\n;|&]*\$\{?(?:1\+"\$)?@""", re.MULTILINE
)
"""A line of a shell script that passes the script's own arguments to a program."""


def place_of_program(command: Sequence[str]) -> int:
    """Return the index of the program in a command, after `env` and its assignments."""
    place = 0
    if Path(command[0]).name == "env":
        place = 1
        while place < len(command) and _ASSIGNMENT.fullmatch(command[place]):
            place += 1
    return place if place < len(command) and not command[place].startswith("-") else 0


def files_of_program(program: str, path: str | None) -> Iterator[Path]:
    """Yield the file of a program, its link target, and the programs that its wrapper scripts start."""
    for _ in range(MOST_SCRIPTS):
        found = shutil.which(program, path=path)
        if found is None:
            return
        file = Path(found)
        yield file
        if file.resolve() != file:
            yield file.resolve()
        if not (following := _HANDS_ON.findall(_script(file))):
            return
        program = following[-1].strip("\"'")


def _script(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            head = opened.read(LONGEST_SCRIPT)
    except OSError:
        return ""
    return head.decode("utf-8", errors="replace") if head.startswith(b"#!") else ""
