"""Start the client of a remote screen, and connect again when the connection drops.

`RemoteSession` is the main class. The desktop that shows the remote screen uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.remote_screen import Remote
from holo_tasks.desktop.programs.interpreter_scripts import StartedProgram
from holo_tasks.desktop.programs.program import Program
from holo_tasks.desktop.programs.window_owners import remember
from holo_tasks.desktop.remote.remote_client import ClientCommandBuilder
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11 import windows
from holo_tasks.desktop.x11.x_connection import XConnection

NAP_S = 0.02
MOST_END_S = 2.0
"""Longest time that a client may take to end after it closed its window."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 8.0
"""First and longest pause between two attempts, because a server needs time to restart."""
QUESTION_AFTER_S = 3.0
"""A client that shows another window than the picture for this time shows a question."""


class RemoteSession:
    """One remote screen, and the client that shows it now.

    ``start`` starts a new client. ``dropped`` counts the reconnections.
    """

    def __init__(self, remote: Remote, link: XConnection, interrupt: Interrupt, start: Callable[[], Program]) -> None:
        self.remote = remote
        self.dropped = 0
        self._link = link
        self._interrupt = interrupt
        self._start = start
        self._program: Program | None = None

    @property
    def lost(self) -> bool:
        """Return whether the connection dropped: the client has closed its window and ended.

        Waits up to ``MOST_END_S`` for the client to end.
        """
        if self._program is None or self._shows_picture():
            return False
        until = time.monotonic() + MOST_END_S
        while not self._program.ended and not self._shows_picture() and time.monotonic() < until:
            self._interrupt.sleep(NAP_S)
        return self._program.ended

    def _shows_picture(self) -> bool:
        whole = Box.whole(self._link.size())
        return any(window.box.encloses(whole) for window in windows.windows(self._link))

    def begin(self) -> Program:
        """Start the client and return its program. `await_picture` waits for its picture."""
        self._program = self._start()
        return self._program

    def await_picture(self, timeout_s: float) -> None:
        """Wait until the client covers the screen.

        Raises `DesktopFailed` if the client ends, shows a question instead, or shows no picture within ``timeout_s``.
        """
        program = self._program
        assert program is not None
        began, asking_s = time.monotonic(), 0.0
        while True:
            if self._shows_picture():
                return
            if program.ended:
                raise self._start_error(program)
            now, shown = time.monotonic(), windows.windows(self._link)
            asking_s = (asking_s or now) if shown else 0.0
            asks = bool(asking_s) and now - asking_s > QUESTION_AFTER_S
            if asks or now - began > timeout_s:
                titles = ", ".join(repr(window.title[:100]) for window in shown) or "no window"
                raise DesktopFailed(
                    f"The client of the remote screen at {self.remote.place} does not show it, but {titles}: is the "
                    "password right, and does the certificate name this host?"
                )
            self._interrupt.sleep(NAP_S)

    def mend(self, timeout_s: float) -> bool:
        """Connect again if the connection dropped; return whether it had dropped.

        Raises `DesktopFailed` if all attempts fail.
        """
        if not self.lost:
            return False
        pause_s, why = FIRST_PAUSE_S, self._words()
        for _ in range(self.remote.reconnects):
            self._interrupt.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            try:
                self.begin()
                self.await_picture(timeout_s)
            except DesktopFailed as error:
                why = str(error)
                self._end()
                continue
            self.dropped += 1
            return True
        raise DesktopFailed(
            f"The connection to the remote screen at {self.remote.place} dropped and was not restored in "
            f"{self.remote.reconnects} attempts: {why or 'the client says nothing'}"
        )

    def _end(self) -> None:
        if self._program is not None and not self._program.ended:
            self._program.process.kill()
            self._program.process.wait()

    def _words(self) -> str:
        return self._program.last_words() if self._program is not None else ""

    def _start_error(self, program: Program) -> DesktopFailed:
        words = program.last_words()
        said = f"; its last words: {words}" if words else ""
        return DesktopFailed(f"The client of the remote screen at {self.remote.place} ended{said}.")


def starter(
    remote: Remote, link: XConnection, folder: Path, env: Mapping[str, str], tell: Callable[[str], None]
) -> Callable[[], Program]:
    """Return a function that starts a client with a command of its own, and returns its program."""
    opener = ClientCommandBuilder(remote, folder, tell)

    def start() -> Program:
        client = opener.client(link.size())
        program = Program(client.command, env, folder, link, feed=client.feed)
        remember(link, StartedProgram(program.process, client.command, Path.cwd()))
        return program

    return start
