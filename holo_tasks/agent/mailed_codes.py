"""`mailed_codes`: the one-time codes that a program sends by mail, each taken once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from email.utils import getaddresses
from typing import Protocol

from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.visible_text import exact
from holo_tasks.office.letter import Letter
from holo_tasks.office.mailbox import MailboxUnreachable
from holo_tasks.run.run import running_here

LOOK_S = 2.0
LONGEST_S = 900.0
EARLY_S = 60.0
"""A letter's date may be so much earlier than it was asked for: clocks differ."""
MOST_CHARACTERS = 20_000
"""So much of a letter is searched."""
CODE = r"\b(\d{6})\b"


class Mailbox(Protocol):
    """Where letters come, as a `HoloMailbox` block is one."""

    async def letters(self, since: date | None = None) -> list[Letter]: ...


class MailedCodes:
    """Waits for letters that come from now on. Made by `mailed_codes`."""

    def __init__(self, mailbox: Mailbox, sender: str, pattern: str, within_s: float) -> None:
        self._mailbox = mailbox
        self._sender = sender.strip().casefold()
        self._pattern = re.compile(pattern)
        self._within_s = within_s
        self._seen: set[str] = set()
        self._asked = datetime.now(UTC)
        if self._pattern.groups != 1:
            raise InvalidUsage(f"The pattern of a mailed code has one group, which is the code: {exact(pattern)}.")
        if getaddresses([self._sender]) != [("", self._sender)] or "@" not in self._sender:
            raise InvalidUsage("Codes come from one sender, given by the whole address: sender='codes@example.com'.")
        if not 0 < within_s <= LONGEST_S:
            raise InvalidUsage(f"A code is waited for from 0 to {LONGEST_S:g} seconds.")

    async def begin(self) -> None:
        """Note which letters are there: none of them is what is waited for."""
        self._seen = {letter.source for letter in await self._letters()}
        self._asked = datetime.now(UTC)

    async def code(self) -> str:
        """Return the code of the next letter, which is kept out of trace, logs and pictures from then on.

        Raises `GaveUp` where none comes in time, or letters with different codes do. A letter is used once.
        """
        end_s = asyncio.get_running_loop().time() + self._within_s
        while True:
            unread = ""
            try:
                found = {letter.source: code for letter in await self._letters() if (code := self._in(letter))}
            except MailboxUnreachable as error:
                found, unread = {}, f" {error}"
            self._seen |= found.keys()
            if len(codes := set(found.values())) > 1:
                raise GaveUp(
                    f"{len(codes)} different codes came from {exact(self._sender)}: nobody knows which is right."
                )
            for code in codes:
                if (run := running_here()) is not None:
                    run.outside.codes.learn("by mail", code)
                return code
            left_s = end_s - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise GaveUp(f"No code came from {exact(self._sender)} within {self._within_s:g} seconds.{unread}")
            await asyncio.sleep(min(LOOK_S, left_s))

    def _in(self, letter: Letter) -> str:
        """Return the code in a letter that is from the sender, new, and younger than what asked for it."""
        if letter.source in self._seen or letter.date is None or letter.problems:
            return ""
        if letter.date < self._asked - timedelta(seconds=EARLY_S):
            return ""
        if [address.casefold() for _, address in getaddresses([letter.sender])] != [self._sender]:
            return ""
        codes = set(self._pattern.findall(letter.text[:MOST_CHARACTERS]))
        return str(codes.pop()) if len(codes) == 1 else ""

    async def _letters(self) -> list[Letter]:
        return await self._mailbox.letters(since=(datetime.now(UTC) - timedelta(days=1)).date())


@asynccontextmanager
async def mailed_codes(
    mailbox: Mailbox, *, sender: str, pattern: str = CODE, within_seconds: float = 120
) -> AsyncIterator[MailedCodes]:
    """Take codes out of letters that come after this is entered: enter it, have the code sent, then ask for `code`.

    ``mailbox`` is a `HoloMailbox`, ``sender`` the whole address that the letter is from, ``pattern`` a regular
    expression whose one group is the code. A letter counts if it was not there before, its date is not earlier, and
    one code is in its text. Who else reads the mailbox for the same codes has to wait: give the login a seat.

    A program asks again for a code that was refused, and `code` then waits for the next letter.
    """
    codes = MailedCodes(mailbox, sender, pattern, within_seconds)
    await codes.begin()
    yield codes
