"""The screen an agent works on, as a block."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import ClassVar

from prefect.blocks.core import Block
from prefect.types import SecretDict
from pydantic import Field

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema
from holo_tasks.core.activity import PATIENCE_S
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Size
from holo_tasks.core.network import HOST, Network
from holo_tasks.core.remote_screen import Remote
from holo_tasks.core.secret import Secret as TypedSecret
from holo_tasks.core.secret import check_bound
from holo_tasks.core.this_machine import check_display
from holo_tasks.desktop import AttachedDesktop, Settle, VirtualDesktop
from holo_tasks.desktop.profiles.asked import KEPT, NEW
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.run.run import LiveViewing
from holo_tasks.run.secret_sources import SecretSpec, resolved
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules


class HoloDesktop(OneSchema, Block):
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
    monitor: str = Field(
        default="",
        description="The name or the number of the one monitor of the display that the agent sees and touches; all of "
        "them if this is left empty.",
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of the program; nothing secret."
    )
    run_as: str = Field(
        default="",
        description="The user of this machine whom the program is started as, instead of the one the agent runs as, "
        "whose files and keys it can then not read. The agent has to be root's, and the user made for the program.",
    )
    network: str = Field(
        default="host",
        description="What the program reaches: host is all that the machine reaches, none is nothing, and hosts with "
        "their ports, as portal.example:443, with commas, are those alone. Unless it is host, the program is closed in "
        "by Debian's bubblewrap: it also sees only processes of its own and, of files, the system's and those granted.",
    )
    folders: dict[str, Access] = Field(
        default_factory=dict,
        description="Which folders a program that is closed in sees beside the system's, by their full paths: each to "
        "read or to write.",
    )
    memory_mb: int = Field(
        default=0, ge=0, description="How much memory a program that is closed in may take, in MB; 0 is no bound."
    )
    cpus: float = Field(
        default=0.0, ge=0, description="How many processors it may take, for example 0.5; 0 is no bound."
    )
    profiles: str = Field(
        default=NEW,
        description="The settings of a program that would else hand its document to an instance that runs already, "
        "such as an office program or a browser: new has each desktop begin with a profile that goes with it, kept "
        "keeps one on the worker's machine under this block's name, with its log-ins, and kept:NAME under another.",
    )
    patience: float = Field(
        default=PATIENCE_S,
        ge=0,
        allow_inf_nan=False,
        description="How many seconds to wait, at most, for a program that still works on the last input: for its "
        "server to answer, for example. Then the model is told what the program waits for.",
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

    async def resolved_secrets(
        self, more: Iterable[SecretSpec] = (), *, starts: bool = False
    ) -> dict[str, TypedSecret]:
        """Return what may be typed here by name; raise `InvalidUsage` if a value is missing or may go nowhere.

        ``starts`` says that something is started here beside what the block names.
        """
        given = {name: str(value) for name, value in self.secrets.get_secret_value().items()}
        found = await resolved((*self.named_secrets, *more), given=given)
        check_bound(found, starts=starts or self.app is not None)
        return found

    def _kept_as(self) -> str:
        """Return the profiles of its programs as a desktop is asked for them: kept ones have the name of this block."""
        name = self._block_document_name
        return f"{KEPT}:{name}" if name and self.profiles.strip() == KEPT else self.profiles

    def check_here(self) -> None:
        """Raise `InvalidUsage` if the display is on another machine."""
        if self.display:
            check_display(self.display, socket.getaddrinfo)

    async def start(
        self,
        secrets: Mapping[str, TypedSecret] | None = None,
        *,
        monitor: str | int = "",
        network: Network = "",
        remote: Remote | None = None,
    ) -> VirtualDesktop | AttachedDesktop:
        """Bring the desktop up; close it after use. ``secrets`` are those of `resolved_secrets` unless given.

        ``monitor`` is the one it is bound to, ``network`` what its program reaches, and ``remote`` the screen that is
        shown, instead of the block's.
        """
        if remote is not None and self.display:
            raise InvalidUsage("The desktop block names a display; a remote screen is shown on a desktop of its own.")
        network = network or self.network
        monitor = monitor or self.monitor
        secrets = await self.resolved_secrets() if secrets is None else secrets
        if self.display:
            if self.run_as:
                raise InvalidUsage("The desktop block names a user for a program, and a display where it starts none.")
            if network != HOST or self.folders or self.memory_mb or self.cpus:
                raise InvalidUsage(
                    "The desktop block says what a program gets (network, folders, memory_mb, cpus), and names a "
                    "display where it starts none."
                )
            if self.app:
                raise InvalidUsage("The desktop block names a program and a display; leave one of them empty.")
            return await AttachedDesktop.start(
                display=self.display, secrets=secrets, settle=Settle(patience_s=self.patience), monitor=monitor
            )
        size = Size(self.width, self.height)
        return await VirtualDesktop.start(
            size=size,
            app=remote or self.app,
            env=self.environment,
            secrets=secrets,
            settle=Settle(patience_s=self.patience),
            run_as=self.run_as,
            opengl=self.opengl,
            profiles=self._kept_as(),
            monitor=monitor,
            network=network,
            folders=self.folders,
            memory_mb=self.memory_mb,
            cpus=self.cpus,
        )
