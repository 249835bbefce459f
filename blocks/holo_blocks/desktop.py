"""The screen an agent works on, as a block."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import ClassVar

from prefect.blocks.core import Block
from prefect.types import SecretDict
from pydantic import Field

from holo_blocks.addresses import page, picture
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Size
from holo_tasks.core.secret import Secret as TypedSecret
from holo_tasks.core.secret import check_bound
from holo_tasks.core.this_machine import check_display
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.run.run import LiveViewing
from holo_tasks.run.secret_sources import SecretSpec, resolved
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules


class HoloDesktop(Block):
    """
    A virtual desktop with a program on it, or a display that is already there.

    Example:
        ```python
        from holo_blocks import HoloDesktop

        desktop = HoloDesktop.load("BLOCK_NAME")

        HoloDesktop(app="/opt/ledger/ledger", width=1280, height=800).save("ledger", overwrite=True)
        ```
    """

    _block_type_name: ClassVar[str] = "Holo Desktop"
    _block_type_slug: ClassVar[str] = "holo-desktop"
    _logo_url = picture()
    _documentation_url = page("holo-desktop")

    app: str | None = Field(default=None, description="The command that starts the program on a new virtual desktop.")
    display: str | None = Field(
        default=None, description="An X display that is already running, for example :7; used instead of a new one."
    )
    width: int = Field(default=1280, ge=64, le=16_384, description="Width of a new desktop in pixels.")
    height: int = Field(default=800, ge=64, le=16_384, description="Height of a new desktop in pixels.")
    environment: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of the program; nothing secret."
    )
    run_as: str = Field(
        default="",
        description="The user of this machine whom the program is started as, instead of the one the agent runs as, "
        "whose files and keys it can then not read. The agent has to be root's, and the user made for the program.",
    )
    opengl: bool | None = Field(
        default=None,
        description="Whether programs on a new virtual desktop can draw by OpenGL, which takes 50 MB. If this is left "
        "open, they can where HOLO_OPENGL says so, or the program asks for it as it comes up.",
    )
    # Prefect masks this type as a whole; it would show the values of a dict of SecretStr.
    secrets: SecretDict = Field(
        default_factory=lambda: SecretDict({}),
        description="What the agent may type by name, as {{secret:NAME}}, without ever seeing it.",
    )

    named_secrets: tuple[SecretSpec, ...] = Field(
        default=(),
        description="More of them, with values from the environment or Prefect Secret blocks, and which program may "
        "get each; also bindings for the values above.",
    )

    rules: Rules | None = Field(default=None, description="What an agent may do on this desktop.")
    redaction: Redaction | None = Field(
        default=None, description="What is painted over before its screen leaves the machine."
    )

    live_view: LiveViewing = Field(
        default="handoff",
        description="When its screen can be seen in a browser of the machine that runs it: while it is handed to "
        "a person, always (watching only, otherwise), or never. It takes Debian's tigervnc-scraping-server and novnc.",
    )

    @property
    def makes_its_own(self) -> bool:
        """Whether each start makes a new virtual desktop: no display of somebody else's is used."""
        return not self.display

    async def resolved_secrets(self, more: Iterable[SecretSpec] = ()) -> dict[str, TypedSecret]:
        """Return what may be typed here by name; raise `InvalidUsage` if a value is missing or may go nowhere."""
        given = {name: str(value) for name, value in self.secrets.get_secret_value().items()}
        found = await resolved((*self.named_secrets, *more), given=given)
        check_bound(found, starts=self.app is not None)
        return found

    def check_here(self) -> None:
        """Raise `InvalidUsage` if the display is on another machine."""
        if self.display:
            check_display(self.display, socket.getaddrinfo)

    async def start(self, secrets: Mapping[str, TypedSecret] | None = None) -> VirtualDesktop | AttachedDesktop:
        """Bring the desktop up; close it after use. ``secrets`` are those of `resolved_secrets` unless given."""
        secrets = await self.resolved_secrets() if secrets is None else secrets
        if self.display:
            if self.run_as:
                raise InvalidUsage("The desktop block names a user for a program, and a display where it starts none.")
            if self.app:
                raise InvalidUsage("The desktop block names a program and a display; leave one of them empty.")
            return await AttachedDesktop.start(display=self.display, secrets=secrets)
        size = Size(self.width, self.height)
        return await VirtualDesktop.start(
            size=size,
            app=self.app,
            env=self.environment,
            secrets=secrets,
            run_as=self.run_as,
            opengl=self.opengl,
        )
