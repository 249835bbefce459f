"""The block for the screen that an agent works on."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import ClassVar

from prefect.blocks.core import Block
from prefect.types import SecretDict
from pydantic import Field

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.network import HOST, Network
from holo_tasks.core.screen.activity import PATIENCE_S
from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.screen.remote_screen import Remote
from holo_tasks.core.secrets.secret import Secret as TypedSecret
from holo_tasks.core.secrets.secret import check_bound
from holo_tasks.core.this_machine import check_display
from holo_tasks.desktop import AttachedDesktop, Settle, VirtualDesktop
from holo_tasks.desktop.profiles.profile_setting import KEPT, NEW
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.run.rules.secret_sources import SecretSpec, resolved
from holo_tasks.run.run import LiveViewing
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules


class HoloDesktop(OneSchema, Block):
    """
    A virtual desktop with a program on it, or an existing display.

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
        default=None, description="An existing X display, for example :7, in place of a new virtual desktop."
    )
    width: int = Field(default=1280, ge=64, le=16_384, description="Width of a new desktop in pixels.")
    height: int = Field(default=800, ge=64, le=16_384, description="Height of a new desktop in pixels.")
    monitor: str = Field(
        default="",
        description="The name or the number of the only monitor that the agent sees and uses. Empty means all "
        "monitors.",
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of the program. Do not put secrets here."
    )
    run_as: str = Field(
        default="",
        description="The user of this machine that runs the program. It then cannot read the files and keys of the "
        "agent's user. The agent has to run as root. Create a separate user for the program.",
    )
    network: str = Field(
        default="host",
        description="The network of the program. host allows all that the machine can reach, and none allows nothing. "
        "A list such as portal.example:443,mail.example:993 allows only these hosts and ports. Unless it is host, the "
        "program runs in a sandbox (Debian's bubblewrap). It then sees only its own processes, the system's files and "
        "the granted folders.",
    )
    folders: dict[str, Access] = Field(
        default_factory=dict,
        description="Folders that a program in the sandbox may use, by their full paths, each to read or to write.",
    )
    memory_mb: int = Field(
        default=0, ge=0, description="Memory limit of a program in the sandbox, in MB. 0 means no limit."
    )
    cpus: float = Field(
        default=0.0,
        ge=0,
        description="Processors that a program in the sandbox may use, for example 0.5. 0 means no limit.",
    )
    profiles: str = Field(
        default=NEW,
        description="The profile of an office program or a browser, which would otherwise open its document in a "
        "running instance. new gives each desktop a fresh profile and deletes it afterwards. kept stores the profile "
        "with its log-ins on the worker's machine, under the name of this block. kept:NAME stores it under another "
        "name.",
    )
    patience: float = Field(
        default=PATIENCE_S,
        ge=0,
        allow_inf_nan=False,
        description="The longest wait in seconds for a program that still works on the last input, for example until "
        "its server answers. After that the model gets the reason for the wait.",
    )
    opengl: bool | None = Field(
        default=None,
        description="Whether programs on a new virtual desktop can use OpenGL, which takes 50 MB of memory. If unset, "
        "HOLO_OPENGL decides, or OpenGL is added if the program requests it at its start.",
    )
    # Prefect masks this type completely. It would show the values of a dict of SecretStr.
    secrets: SecretDict = Field(
        default_factory=lambda: SecretDict({}),
        description="Secrets that the agent may type by name, as {{secret:NAME}}. It never sees their values.",
    )

    named_secrets: tuple[SecretSpec, ...] = Field(
        default=(),
        description="Further secrets with values from the environment or from Prefect Secret blocks, and the program "
        "that may receive each. An entry may also bind a secret of the field above to its program.",
    )

    rules: Rules | None = Field(default=None, description="The rules for agents on this desktop.")
    redaction: Redaction | None = Field(
        default=None, description="The areas to mask before a picture of the screen leaves the machine."
    )

    live_view: LiveViewing = Field(
        default="handoff",
        description="When a browser on the same machine can show the desktop. handoff: while a person has it. always: "
        "at all times, only for viewing outside of a hand-off. never: not at all. Needs Debian's "
        "tigervnc-scraping-server and novnc.",
    )

    @property
    def makes_its_own(self) -> bool:
        """Whether each start makes a new virtual desktop. ``False`` if the block names a display."""
        return not self.display

    async def resolved_secrets(
        self, more: Iterable[SecretSpec] = (), *, starts: bool = False
    ) -> dict[str, TypedSecret]:
        """Return the secrets that may be typed here, by their names.

        ``starts`` says that a program is started in addition to the block's. Raises `InvalidUsage` if a value
        is missing, or if a secret without a program is given to a desktop that starts none.
        """
        given = {name: str(value) for name, value in self.secrets.get_secret_value().items()}
        found = await resolved((*self.named_secrets, *more), given=given)
        check_bound(found, starts=starts or self.app is not None)
        return found

    def _profiles_setting(self) -> str:
        """Return the profiles setting of the desktop. ``kept`` gets the name of this block."""
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
        """Start the desktop and return it. Close it after use.

        ``secrets`` defaults to those of `resolved_secrets`. ``monitor``, ``network`` and ``remote`` replace the
        block's monitor, network and program.
        """
        if remote is not None and self.display:
            raise InvalidUsage(
                "The desktop block names a display, but a remote screen needs a new desktop: use a block without one."
            )
        network = network or self.network
        monitor = monitor or self.monitor
        secrets = await self.resolved_secrets() if secrets is None else secrets
        if self.display:
            if self.run_as:
                raise InvalidUsage(
                    "The desktop block has run_as and a display, on which it starts no program: leave one of them "
                    "empty."
                )
            if network != HOST or self.folders or self.memory_mb or self.cpus:
                raise InvalidUsage(
                    "The desktop block has sandbox settings (network, folders, memory_mb, cpus) and a display, on "
                    "which it starts no program: remove the settings or the display."
                )
            if self.app:
                raise InvalidUsage("The desktop block has an app and a display: leave one empty.")
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
            profiles=self._profiles_setting(),
            monitor=monitor,
            network=network,
            folders=self.folders,
            memory_mb=self.memory_mb,
            cpus=self.cpus,
        )
