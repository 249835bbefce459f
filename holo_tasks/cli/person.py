"""Whoever sits before the terminal of a command: says when it is done, and answers questions, if anybody."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable

from holo_tasks.machine.output import say

DONE = "done"
STDIN = 0


class Person:
    """Lines that come in on standard input. ``there`` says that somebody can be asked: it is a terminal."""

    def __init__(self, *, there: bool, ends: bool) -> None:
        self.there = there
        self._ends = ends
        self._text = b""
        self._over = False

    @classmethod
    def at_hand(cls) -> Person:
        """Return who is there. The end of a terminal or a pipe says "done", that of a file or of nothing does not."""
        try:
            there, kind = sys.stdin.isatty(), os.fstat(STDIN).st_mode
        except (OSError, ValueError):
            return cls(there=False, ends=False)
        return cls(there=there, ends=there or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind))

    def listen(self, done: Callable[[], None]) -> None:
        """Call ``done``, in the running loop, when "done" is typed, or Ctrl+D."""
        loop = asyncio.get_running_loop()

        def readable() -> None:
            if self._read():
                if not any(line.strip().casefold() == DONE for line in self._lines()):
                    return
            elif not self._ends:
                loop.remove_reader(STDIN)
                return
            loop.remove_reader(STDIN)
            done()

        if self._ends:
            loop.add_reader(STDIN, readable)

    def hush(self) -> None:
        """Listen no more."""
        asyncio.get_running_loop().remove_reader(STDIN)

    def ask(self, question: str) -> str:
        """Return what is answered in a line; empty if nothing is, or nobody is there any more."""
        say(question)
        while self.there and not self._over:
            for line in self._lines(1):
                return line.strip()
            self._over = not self._read()
        return ""

    def _read(self) -> bool:
        data = os.read(STDIN, 1 << 16)
        self._text += data
        return bool(data)

    def _lines(self, most: int = 1 << 16) -> list[str]:
        *lines, rest = self._text.split(b"\n", most)
        self._text = rest
        return [line.decode(errors="replace") for line in lines]
