"""Settings of a remote machine's screen that a client shows on the local desktop, and what cannot be known about it.

The local desktop has only the client's one window. The owners of the windows inside it, their elements, and whether
typed text arrived are unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import Owner, is_viewer
from holo_tasks.core.secrets.secret import Secret

PASSWORD = "remote_password"
"""Name of the password where its value would be shown."""
WITHIN_S, LONGEST_WITHIN_S = 1.0, 30.0
RECONNECTS, MOST_RECONNECTS = 3, 100
EXACT = frozenset(map(chr, range(0x20, 0x7F))) | {"\n", "\r", "\t"}
"""Characters that a client's key events transmit reliably to every server. Measured: other characters may be dropped
silently.
"""
SHOWN = 5
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|[0-9A-Fa-f:.]{2,45}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@runtime_checkable
class HoldsValue(Protocol):
    """A value that hides itself in its ``repr``, such as Pydantic's secret types."""

    def get_secret_value(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class _Remote:
    """Common base of `Vnc` and `Rdp`."""

    host: str = field(kw_only=False)
    port: int
    password: Secret | HoldsValue | str = field(default="", repr=False)
    fingerprint: str = ""
    answers_within_s: float = WITHIN_S
    reconnects: int = RECONNECTS

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not _HOST.fullmatch(self.host):
            raise InvalidUsage(f"The host of a remote screen is a name or an IP address, not {self.host!r}.")
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 1 <= self.port <= 65535:
            raise InvalidUsage(f"port is a number from 1 to 65535, not {self.port!r}.")
        object.__setattr__(self, "password", _as_secret(self.password))
        object.__setattr__(self, "fingerprint", _as_fingerprint(self.fingerprint))
        if not (math.isfinite(self.answers_within_s) and 0.05 <= self.answers_within_s <= LONGEST_WITHIN_S):
            raise InvalidUsage(
                f"answers_within_s is a number of seconds from 0.05 to {LONGEST_WITHIN_S:g}, "
                f"not {self.answers_within_s!r}."
            )
        if isinstance(self.reconnects, bool) or not 0 <= self.reconnects <= MOST_RECONNECTS:
            raise InvalidUsage(f"reconnects is a number from 0 to {MOST_RECONNECTS}, not {self.reconnects!r}.")

    @property
    def secret(self) -> Secret | None:
        """The password, if there is one."""
        return self.password if isinstance(self.password, Secret) else None

    @property
    def place(self) -> str:
        """The address of the screen, as host:port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def to_message(self) -> dict[str, Any]:
        """Return the settings, including the password, for the process that starts the client.

        Pass them to no other process.
        """
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "kind": self.kind, "password": self.secret.value if self.secret else ""}


@dataclass(frozen=True, kw_only=True)
class Vnc(_Remote):
    """A screen of a VNC server, shown by TigerVNC's viewer.

    ``password`` is the server's password; VNC uses its first eight characters. The connection is encrypted
    (X509 of VeNCrypt). ``fingerprint`` is the SHA-256 of the server's certificate. Without it, the first certificate is
    trusted for as long as the desktop lasts, and this is reported. A server without encryption is accepted only on this
    machine, for example at the end of a tunnel, or with ``encrypted=False``.

    Text that a plain keyboard cannot type is refused. With ``paste`` it goes through the clipboard, from here to the
    server only. It then counts as typed only once the server has fetched it. ``answers_within_s`` is how long an
    action's change on the remote side is waited for. A dropped connection is restored up to ``reconnects`` times in a
    row.

    Raises `InvalidUsage` for invalid settings.
    """

    port: int = 5900
    encrypted: bool = True
    paste: bool = False
    kind: ClassVar[str] = "vnc"


@dataclass(frozen=True, kw_only=True)
class Rdp(_Remote):
    """The screen of a Windows or other machine with an RDP server, shown by FreeRDP's client.

    ``user`` and ``password`` log in there, and ``domain`` is the user's domain. ``fingerprint`` is the SHA-256 of the
    server's certificate. This machine's disks, sound, printers and clipboard are not shared. So ``paste`` is not
    possible, and text that a plain keyboard cannot type is refused. Everything else works as for `Vnc`.

    Raises `InvalidUsage` for invalid settings.
    """

    port: int = 3389
    user: str = ""
    domain: str = ""
    paste: bool = False
    kind: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("user", "domain"):
            value = getattr(self, name)
            if not isinstance(value, str) or not (value == "" or value.isprintable()):
                raise InvalidUsage(f"{name} is a text of one line, not {value!r}.")
        if self.paste:
            raise InvalidUsage(
                "paste is not for RDP: its servers fetch the clipboard unasked, so it is unknown whether a text "
                "arrived. Leave it out."
            )
        if not self.user:
            raise InvalidUsage("Rdp needs the user to log in as: Rdp(host, user=…, password=…).")


Remote: TypeAlias = Vnc | Rdp


def from_message(message: dict[str, Any]) -> Remote:
    """Return the settings from the result of ``to_message``."""
    values = dict(message)
    kind = {one.kind: one for one in (Vnc, Rdp)}[values.pop("kind")]
    made: Remote = kind(**values)
    return made


def clients_name(command: Sequence[str]) -> str:
    """Return the name of the remote screen's client that a command starts; empty if it starts none."""
    name = Path(command[0]).name if command else ""
    return name if is_viewer(Owner(executable=name)) else ""


def untypable(text: str) -> str:
    """Return the characters of a text that key events do not transmit reliably, each once."""
    return "".join(dict.fromkeys(character for character in text if character not in EXACT))


def not_typed(characters: str, *, client: str, can_paste: bool) -> str:
    """Return the message that explains why a text was refused before typing."""
    shown = characters[:SHOWN] + ("…" if len(characters) > SHOWN else "")
    instead = "" if can_paste else " Whoever starts this run can allow paste=True for it."
    return (
        f"The keys go through {client} to another machine. Only the characters of a plain (US) keyboard arrive there "
        f"with certainty. This text also has {shown!r}, which may be lost or changed. Nothing was typed: use other "
        f"characters, or a list or menu there.{instead}"
    )


def limits_warning(place: str) -> str:
    """Return the warning about the limits of a remote screen, which is shown once to the user who runs the agent."""
    return (
        f"The screen is that of another machine ({place}). The owners and elements of its windows are not known "
        "here: rules by program see one program, the client, and rules that need more are refused. Characters "
        "outside plain ASCII are not typed by keys."
    )


def reconnected(place: str) -> str:
    """Return the message that a connection dropped and was restored."""
    return f"The connection to the remote screen at {place} dropped and was restored: input in transit may be lost."


def _as_secret(password: Any) -> Secret | str:
    if isinstance(password, Secret):
        return Secret(PASSWORD, password.value)
    value = password.get_secret_value() if isinstance(password, HoldsValue) else password
    if not isinstance(value, str):
        raise InvalidUsage("password is a text or a Secret.")
    if any(sign in value.rstrip("\r\n") for sign in "\r\n\0"):
        raise InvalidUsage("The password has several lines, which cannot be typed; give one line.")
    return Secret(PASSWORD, value) if value else ""


def _as_fingerprint(fingerprint: Any) -> str:
    text = str(fingerprint).lower().removeprefix("sha256:").replace(":", "").strip()
    if text and not _DIGEST.fullmatch(text):
        raise InvalidUsage(
            "fingerprint is the SHA-256 of the server's certificate, 64 digits as `openssl x509 -noout -fingerprint "
            f"-sha256` prints them, and not {fingerprint!r}."
        )
    return text
