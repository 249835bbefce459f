"""The block for a mailbox that a flow reads."""

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

    The block holds the password together with its server. A caller of a flow only names the block, and so cannot send
    the password to another server.

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

    host: str | None = Field(default=None, description="The name of the mail server. Leave it empty to read a Maildir.")
    user: str | None = Field(default=None, description="The user name of the account.")
    password: SecretStr | None = Field(default=None, description="The password of the account. Prefect encrypts it.")
    folder: str = Field(default="INBOX", description="The folder to read. It is not changed.")
    security: Literal["tls", "starttls", "plain"] = Field(
        default="tls",
        description="The encryption of the connection. plain is only for a server on the same machine.",
    )
    port: int | None = Field(default=None, ge=1, le=65_535, description="The port. Empty uses 993 with tls, else 143.")
    maildir: str | None = Field(
        default=None, description="A Maildir folder on the machine that runs the flow. It is read if host is empty."
    )

    def account(self) -> ImapAccount:
        """Return the IMAP account of this block. Raises `InvalidUsage` if host, user or password is missing."""
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
        """Raise `InvalidUsage` if the block names no mailbox, or an account and a Maildir."""
        if not self.maildir:
            self.account()
        elif self.host:
            raise InvalidUsage("The mailbox block has a host and a maildir: leave one empty.")

    async def letters(self, since: date | None = None) -> list[Letter]:
        """Return the letters of the mailbox, ordered by date. The mailbox is not changed.

        Over IMAP, letters before ``since`` are left out.
        """
        self.check()
        if self.maildir:
            return await asyncio.to_thread(read_maildir, self.maildir)
        return await asyncio.to_thread(read_imap, self.account(), since=since)
