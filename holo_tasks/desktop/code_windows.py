"""Gives out each one-time code once: whoever checks it takes it no second time (RFC 6238, 5.2).

What was given out is kept for all desktops of this user on this machine, as a digest of the seed and the number of the
window: runs and desktops that follow one another, or work side by side, do not type the same code.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.secret import Secret
from holo_tasks.core.totp import LEFT_S, Totp
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import open_private, private_folder

FOLDER = "codes"


@dataclass(frozen=True)
class Ticket:
    """The leave to type the code of one window."""

    seed: Totp
    window: int
    only: int | None = None
    """The window that was set aside, where one was: no other one is typed."""


class CodeWindows:
    """Knows which windows of seeds were given out. ``sleep`` waits so many seconds, or raises what stops input."""

    def __init__(self, sleep: Callable[[float], None], now_s: Callable[[], float] = time.time) -> None:
        self._sleep = sleep
        self._now_s = now_s

    def ticket(self, secret: Secret, only: int | None = None) -> Ticket:
        """Wait, if need be, for a window whose code was never given out, with enough of it left; give that out.

        Where one was set aside, ``only`` that one is given out. Raises `SecretRefused` where it is over by now, or
        others were given more than the next one, before anything is typed.
        """
        seed = secret.seed
        assert seed is not None
        waited_s, longest_s = 0.0, 2.0 * seed.period_s + LEFT_S
        while True:
            window, wait_s = self._given(seed, secret.name, only)
            if not wait_s:
                return Ticket(seed, window, only)
            waited_s += wait_s
            if waited_s > longest_s:
                raise SecretRefused(
                    f"The code of {secret.name!r} is not typed: each is good once, and others type the next ones. "
                    "Have one run at a time use this login, by a seat. Nothing was typed."
                )
            self._sleep(wait_s)

    def code(self, secret: Secret, ticket: Ticket) -> str:
        """Return the code to be typed now; another one than that of the ticket if its window is over by now."""
        if ticket.seed.window(self._now_s()) != ticket.window:
            ticket = self.ticket(secret, ticket.only)
        return ticket.seed.code(ticket.window)

    def _given(self, seed: Totp, name: str, only: int | None = None) -> tuple[int, float]:
        """Return a window that was given out just now, or after how many seconds one may be."""
        try:
            with _kept(seed) as kept:
                window, wait_s = seed.given(self._now_s(), int(os.pread(kept, 32, 0) or b"-1"), LEFT_S)
                if only not in (None, window):
                    raise SecretRefused(
                        f"The code of {name!r} that was set aside for this is over by now. Write it once more: another "
                        "one is set aside then. Nothing was typed."
                    )
                if not wait_s:
                    os.pwrite(kept, f"{window:<31}\n".encode(), 0)
                return window, wait_s
        except (OSError, ValueError) as error:
            raise SecretRefused(
                f"The code of {name!r} is not typed: which ones were typed before is kept in "
                f"{holo_home() / FOLDER}, and that cannot be used ({type(error).__name__}). Nothing was typed."
            ) from None


@contextmanager
def _kept(seed: Totp) -> Iterator[int]:
    """Open, for this process alone, what is kept of a seed."""
    folder: Path = private_folder(holo_home(), FOLDER)
    opened = open_private(folder / seed.identity, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)
