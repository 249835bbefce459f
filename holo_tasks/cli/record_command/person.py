"""Standard input of `holo-tasks record`: the person types "done" there, and answers questions."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable

from holo_tasks.machine.output import say

DONE = "done"
STDIN = 0


class StandardInput:
    """Lines on standard input. ``there`` is true for a terminal, where a person can be asked."""

    def __init__(self, *, there: bool, ends: bool) -> None:
        self.there = there
        self._ends = ends
        self._text = b""
        self._over = False

    @classmethod
    def of_this_process(cls) -> StandardInput:
        """Return an instance for this process's stdin.

        The end of a terminal, a pipe or a socket counts as "done". The end of a file or a closed stdin does not.
        """
        try:
            there, kind = sys.stdin.isatty(), os.fstat(STDIN).st_mode
        except (OSError, ValueError):
            return cls(there=False, ends=False)
        return cls(there=there, ends=there or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind))

    def listen(self, done: Callable[[], None]) -> None:
        """Call ``done`` in the running event loop after "done" or Ctrl+D."""
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
        """Stop reading stdin."""
        asyncio.get_running_loop().remove_reader(STDIN)

    def ask(self, question: str) -> str:
        """Print a question and return one line as the answer. Empty without a terminal or at its end."""
        say(question)
        while self.there and not self._over:
            for line in self._lines(1):
                return line.strip()
            self._over = not self._read()
        return ""

    def _read(self) -> bool:
        try:
            data = os.read(STDIN, 1 << 16)
        except OSError:  # the terminal was closed
            data = b""
        self._text += data
        return bool(data)

    def _lines(self, most: int = 1 << 16) -> list[str]:
        *lines, rest = self._text.split(b"\n", most)
        self._text = rest
        return [line.decode(errors="replace") for line in lines]
