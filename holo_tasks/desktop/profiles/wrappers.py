"""Find the program that a command starts, through `env`, links and wrapper scripts."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

MOST_SCRIPTS, LONGEST_SCRIPT = 5, 64 * 1024
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_TERMINALS = re.compile(r"[lu]?xterm(inal)?|x-terminal-emulator|u?rxvt|st|alacritty|kitty|konsole|\w+-terminal")
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


def command_in_terminal(command: Sequence[str]) -> list[str]:
    """Return the command that a terminal emulator runs, or an empty list for another program or a plain shell."""
    place = place_of_program(command)
    words = command[place + 1 :]
    option = next((number for number, word in enumerate(words) if word in ("-e", "-x", "--")), None)
    if option is None or not _TERMINALS.fullmatch(Path(command[place]).name):
        return []
    inner = list(words[option + 1 :])
    with suppress(ValueError):  # an unclosed quote
        return shlex.split(inner[0]) if len(inner) == 1 else inner
    return inner


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
