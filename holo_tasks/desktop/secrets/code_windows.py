"""Issues each one-time code once, because the server that checks it accepts it only once (RFC 6238, 5.2).

The last issued period is stored for all desktops of this user on this machine, under a digest of the seed. So
successive and concurrent runs and desktops do not type the same code. A *window* is a period of a one-time code.
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
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.secrets.totp import LEFT_S, Totp
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import open_private, private_folder

FOLDER = "codes"


@dataclass(frozen=True)
class Ticket:
    """The permission to type the code of one window."""

    seed: Totp
    window: int
    only: int | None = None
    """The window that was reserved, if one was; no other one is typed."""


class CodeWindows:
    """Records which windows of seeds were issued.

    ``sleep`` waits the given number of seconds, or raises the error that stops input.
    """

    def __init__(self, sleep: Callable[[float], None], now_s: Callable[[], float] = time.time) -> None:
        self._sleep = sleep
        self._now_s = now_s

    def ticket(self, secret: Secret, only: int | None = None) -> Ticket:
        """Issue a window whose code was never issued and that has enough time left. Waits for one if necessary.

        With ``only``, only that window is issued. Raises `SecretRefused`, before anything is typed, if that window is
        over, or if other runs keep taking the next windows.
        """
        seed = secret.seed
        assert seed is not None
        waited_s, longest_s = 0.0, 2.0 * seed.period_s + LEFT_S
        while True:
            window, wait_s = self._try_issue(seed, secret.name, only)
            if not wait_s:
                return Ticket(seed, window, only)
            waited_s += wait_s
            if waited_s > longest_s:
                raise SecretRefused(
                    f"The code of {secret.name!r} was not typed: each code is valid once, and other runs use the "
                    "next ones. Let one run at a time use this login, with a seat. Nothing was typed."
                )
            self._sleep(wait_s)

    def code(self, secret: Secret, ticket: Ticket) -> str:
        """Return the code to type now. If the ticket's window is over, take a new ticket and return its code."""
        if ticket.seed.window(self._now_s()) != ticket.window:
            ticket = self.ticket(secret, ticket.only)
        return ticket.seed.code(ticket.window)

    def _try_issue(self, seed: Totp, name: str, only: int | None = None) -> tuple[int, float]:
        """Issue a window, or return the seconds until the next one may be issued."""
        try:
            with _locked_record(seed) as record:
                window, wait_s = seed.given(self._now_s(), int(os.pread(record, 32, 0) or b"-1"), LEFT_S)
                if only not in (None, window):
                    raise SecretRefused(
                        f"The code of {name!r} that was reserved for this input has expired. Write it once more to "
                        "reserve another one. Nothing was typed."
                    )
                if not wait_s:
                    os.pwrite(record, f"{window:<31}\n".encode(), 0)
                return window, wait_s
        except (OSError, ValueError) as error:
            raise SecretRefused(
                f"The code of {name!r} was not typed, because the record of used codes in {holo_home() / FOLDER} "
                f"cannot be used ({type(error).__name__}). Nothing was typed."
            ) from None


@contextmanager
def _locked_record(seed: Totp) -> Iterator[int]:
    """Open and lock the file with the last issued window of a seed. Yields its file descriptor."""
    folder: Path = private_folder(holo_home(), FOLDER)
    opened = open_private(folder / seed.identity, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)
