"""The mailbox a flow reads, as a block."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import ClassVar, Literal

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.mailbox import ImapAccount, Letter, read_imap, read_maildir


class HoloMailbox(OneSchema, Block):
    """
    An IMAP folder with its account, or a Maildir on the machine that runs the flow.

    The password is kept together with the server it is for: whoever starts a flow names this block, and can send the
    password nowhere else.

    Example:
        ```python
        from holo_blocks import HoloMailbox

        mailbox = HoloMailbox.load("BLOCK_NAME")

        HoloMailbox(maildir="/srv/mail/receipts").save("receipts", overwrite=True)
        ```
    """

    _block_type_name: ClassVar[str] = "Holo Mailbox"
    _block_type_slug: ClassVar[str] = "holo-mailbox"
    _logo_url = picture()
    _documentation_url = page("holo-mailbox")

    host: str | None = Field(default=None, description="The mail server's name; leave it empty to read a Maildir.")
    user: str | None = Field(default=None, description="The account's user at this server.")
    password: SecretStr | None = Field(default=None, description="The account's password; encrypted by Prefect.")
    folder: str = Field(default="INBOX", description="The folder of the account that is read; nothing in it changes.")
    security: Literal["tls", "starttls", "plain"] = Field(
        default="tls",
        description="How the connection is kept private; plain is for a server on the same machine only.",
    )
    port: int | None = Field(default=None, ge=1, le=65_535, description="Empty: the usual one, 993 with tls, else 143.")
    maildir: str | None = Field(
        default=None, description="A Maildir folder on the machine that runs the flow, read where there is no host."
    )

    def account(self) -> ImapAccount:
        """Return the IMAP account this block describes; raise `InvalidUsage` if it is not whole."""
        if not self.host or not self.user or self.password is None:
            raise InvalidUsage("The mailbox block needs a host, a user and a password, or a maildir: fill them in.")
        return ImapAccount(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            folder=self.folder,
            security=self.security,
        )

    def check(self) -> None:
        """Raise `InvalidUsage` if there is nothing to read, or two places."""
        if not self.maildir:
            self.account()
        elif self.host:
            raise InvalidUsage("The mailbox block names a host and a maildir; leave one of them empty.")

    async def letters(self, since: date | None = None) -> list[Letter]:
        """Read all letters, or over IMAP those since a day, by date; nothing in the mailbox is changed."""
        self.check()
        if self.maildir:
            return await asyncio.to_thread(read_maildir, self.maildir)
        return await asyncio.to_thread(read_imap, self.account(), since=since)
