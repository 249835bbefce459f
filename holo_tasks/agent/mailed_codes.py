"""`mailed_codes`: read one-time codes from mails, each once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from email.utils import getaddresses
from typing import Protocol

from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.office.letter import Letter
from holo_tasks.office.mailbox import MailboxUnreachable
from holo_tasks.run.run import running_here

LOOK_S = 2.0
LONGEST_S = 900.0
EARLY_S = 60.0
"""Seconds by which a mail's date may precede the request, because clocks differ."""
MOST_CHARACTERS = 20_000
"""Number of characters of a mail that are searched."""
CODE = r"\b(\d{6})\b"


class Mailbox(Protocol):
    """A mailbox, such as a `HoloMailbox` block."""

    async def letters(self, since: date | None = None) -> list[Letter]: ...


class MailedCodes:
    """Reader of the codes in new mails. `mailed_codes` creates it."""

    def __init__(self, mailbox: Mailbox, sender: str, pattern: str, within_s: float) -> None:
        self._mailbox = mailbox
        self._sender = sender.strip().casefold()
        self._pattern = re.compile(pattern)
        self._within_s = within_s
        self._seen: set[str] = set()
        self._asked = datetime.now(UTC)
        if self._pattern.groups != 1:
            raise InvalidUsage(f"The pattern of a mailed code needs one group, which is the code: {exact(pattern)}.")
        if getaddresses([self._sender]) != [("", self._sender)] or "@" not in self._sender:
            raise InvalidUsage("sender= must be one whole address, such as sender='codes@example.com'.")
        if not 0 < within_s <= LONGEST_S:
            raise InvalidUsage(f"within_seconds= must be above 0 and at most {LONGEST_S:g}.")

    async def begin(self) -> None:
        """Note the mails that are there already, which do not count."""
        self._seen = {letter.source for letter in await self._letters()}
        self._asked = datetime.now(UTC)

    async def code(self) -> str:
        """Wait for the next mail with a code, and return the code. Each mail is used once.

        From then on the code is removed from traces, logs and pictures. Raises `GaveUp` if no code arrives in time, or
        if mails with different codes arrive.
        """
        end_s = asyncio.get_running_loop().time() + self._within_s
        while True:
            unread = ""
            try:
                found = {letter.source: code for letter in await self._letters() if (code := self._code_in(letter))}
            except MailboxUnreachable as error:
                found, unread = {}, f" {error}"
            self._seen |= found.keys()
            if len(codes := set(found.values())) > 1:
                raise GaveUp(
                    f"{len(codes)} different codes came from {exact(self._sender)}, so the right one is unknown."
                )
            for code in codes:
                if (run := running_here()) is not None:
                    run.outside.codes.learn("by mail", code)
                return code
            left_s = end_s - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise GaveUp(f"No code came from {exact(self._sender)} within {self._within_s:g} seconds.{unread}")
            await asyncio.sleep(min(LOOK_S, left_s))

    def _code_in(self, letter: Letter) -> str:
        """Return the code in a mail if the mail is new, from the sender, and not older than the request. Else empty."""
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
    """Read codes from mails that arrive inside the block: enter it, let the program send the code, then call `code`.

    ``mailbox`` is a `HoloMailbox`. ``sender`` is the whole address of the sender. ``pattern`` is a regular expression
    with one group, which is the code. A mail counts if it is new, its date is not before the request, and its text has
    exactly one code. Only one reader of a mailbox may wait for the same codes: give the log-in a seat.

    If a program refuses a code and sends another one, call `code` again. It waits for the next mail.
    """
    codes = MailedCodes(mailbox, sender, pattern, within_seconds)
    await codes.begin()
    yield codes
