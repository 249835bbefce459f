"""A screen of another machine, shown by a client on a desktop of ours: how it is reached, what cannot be known of it.

On our desktop it is one window of the client's. Whose the windows are that are shown inside of it, which elements they
have, and whether what was typed has arrived, nobody here can say.
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
from holo_tasks.core.secret import Secret

PASSWORD = "remote_password"
"""What the password is called where its value would show."""
WITHIN_S, LONGEST_WITHIN_S = 1.0, 30.0
RECONNECTS, MOST_RECONNECTS = 3, 100
EXACT = frozenset(map(chr, range(0x20, 0x7F))) | {"\n", "\r", "\t"}
"""What a client passes on by keys that every server understands: measured, and all else is dropped without a word."""
SHOWN = 5
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|[0-9A-Fa-f:.]{2,45}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@runtime_checkable
class HoldsValue(Protocol):
    """A value that hides itself, as those of Pydantic do."""

    def get_secret_value(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class _Remote:
    """What both kinds have in common."""

    host: str = field(kw_only=False)
    port: int
    password: Secret | HoldsValue | str = field(default="", repr=False)
    fingerprint: str = ""
    answers_within_s: float = WITHIN_S
    reconnects: int = RECONNECTS

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not _HOST.fullmatch(self.host):
            raise InvalidUsage(f"A remote screen is at a host, by its name or address, and not at {self.host!r}.")
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 1 <= self.port <= 65535:
            raise InvalidUsage(f"port is a number from 1 to 65535, not {self.port!r}.")
        object.__setattr__(self, "password", _held(self.password))
        object.__setattr__(self, "fingerprint", _digest(self.fingerprint))
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
        """Where the screen is, as a person writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def told(self) -> dict[str, Any]:
        """Return it, password included, as it is told to the process that starts the client, and to nobody else."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "kind": self.kind, "password": self.secret.value if self.secret else ""}


@dataclass(frozen=True, kw_only=True)
class Vnc(_Remote):
    """A screen that a VNC server shows, by TigerVNC's viewer.

    ``password`` is the server's, of which the first eight characters count. The connection is encrypted (X509 of
    VeNCrypt), and ``fingerprint`` is the SHA-256 of the server's certificate; without it the first one that is seen is
    trusted for as long as the desktop lasts, and that is said. A server that cannot encrypt is spoken to on this
    machine only, as through a tunnel, or with ``encrypted=False``.

    What no key of a plain keyboard types is refused. With ``paste`` it goes through the clipboard, ours to theirs
    alone, and counts as typed only if the server has fetched it. The far side answers ``answers_within_s``: so long is
    waited for what an action changes. A connection that drops is made again, ``reconnects`` times in a row.

    Raises `InvalidUsage` for what cannot be.
    """

    port: int = 5900
    encrypted: bool = True
    paste: bool = False
    kind: ClassVar[str] = "vnc"


@dataclass(frozen=True, kw_only=True)
class Rdp(_Remote):
    """A Windows machine, or another that speaks RDP, by FreeRDP's client.

    ``user`` and ``password`` log in there; ``domain`` is that of the user. ``fingerprint`` is the SHA-256 of the
    server's certificate. Disks, sound, printers and the clipboard of this machine are not shared, and so there is no
    ``paste``: what no key of a plain keyboard types is refused. All else is as for `Vnc`.

    Raises `InvalidUsage` for what cannot be.
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
                "paste is not for RDP: its servers fetch the clipboard for themselves, so nobody can say whether a "
                "text arrived. Leave it out."
            )
        if not self.user:
            raise InvalidUsage("Rdp needs the user to log in as: Rdp(host, user=…, password=…).")


Remote: TypeAlias = Vnc | Rdp


def of_told(told: dict[str, Any]) -> Remote:
    """Build what `told` described."""
    values = dict(told)
    kind = {one.kind: one for one in (Vnc, Rdp)}[values.pop("kind")]
    made: Remote = kind(**values)
    return made


def clients_name(command: Sequence[str]) -> str:
    """Return the name of the client of a remote screen that a command starts; empty if it starts none."""
    name = Path(command[0]).name if command else ""
    return name if is_viewer(Owner(executable=name)) else ""


def untypable(text: str) -> str:
    """Return the first characters of a text that keys do not bring to a remote screen for certain, each once."""
    return "".join(dict.fromkeys(character for character in text if character not in EXACT))


def not_typed(characters: str, *, client: str, can_paste: bool) -> str:
    """Say why a text is not typed, to whoever wanted it, before any of it is."""
    shown = characters[:SHOWN] + ("…" if len(characters) > SHOWN else "")
    instead = "" if can_paste else " Whoever starts this run can allow paste=True for it."
    return (
        f"The keyboard goes through {client} to another machine, which gets only the characters of a plain (US) "
        f"keyboard for certain; this text also holds {shown!r}, which may be lost or become another one. Nothing was "
        f"typed: use other characters, or a list or menu there.{instead}"
    )


def lost(place: str) -> str:
    """Say what a remote screen takes away, once, to whoever runs the agent."""
    return (
        f"The screen is that of another machine ({place}). Whose its windows are and which elements they have is not "
        "known here: rules by program see one program, the client; rules that need more are refused. Text outside "
        "of plain ASCII is not typed by keys."
    )


def reconnected(place: str) -> str:
    """Say that a connection dropped, and is there again."""
    return (
        f"The connection to the remote screen at {place} dropped and was made again: what was on its way may be lost."
    )


def _held(password: Any) -> Secret | str:
    if isinstance(password, Secret):
        return Secret(PASSWORD, password.value)
    value = password.get_secret_value() if isinstance(password, HoldsValue) else password
    if not isinstance(value, str):
        raise InvalidUsage("password is a text, or a Secret that holds one.")
    if any(sign in value.rstrip("\r\n") for sign in "\r\n\0"):
        raise InvalidUsage("The password has several lines: nobody could type it.")
    return Secret(PASSWORD, value) if value else ""


def _digest(fingerprint: Any) -> str:
    text = str(fingerprint).lower().removeprefix("sha256:").replace(":", "").strip()
    if text and not _DIGEST.fullmatch(text):
        raise InvalidUsage(
            "fingerprint is the SHA-256 of the server's certificate, 64 digits as `openssl x509 -noout -fingerprint "
            f"-sha256` prints them, and not {fingerprint!r}."
        )
    return text
