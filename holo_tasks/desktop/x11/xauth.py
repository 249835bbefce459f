"""Read and write Xauthority files, which hold the cookies for displays (format of libXau)."""

from __future__ import annotations

import os
import secrets
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

COOKIE = b"MIT-MAGIC-COOKIE-1"
FAMILY_LOCAL = 256
FAMILY_WILD = 0xFFFF


@dataclass(frozen=True, slots=True)
class Cookie:
    """One entry of an Xauthority file."""

    family: int
    address: bytes
    number: bytes
    name: bytes
    data: bytes

    def packed(self) -> bytes:
        fields = (self.address, self.number, self.name, self.data)
        return struct.pack(">H", self.family) + b"".join(struct.pack(">H", len(f)) + f for f in fields)


def fresh() -> bytes:
    """Return a new random cookie."""
    return secrets.token_bytes(16)


def write(path: Path, number: int, data: bytes) -> None:
    """Write a file with the cookie for display ``number``, readable by our user only.

    It has two entries. libxcb accepts the entry for every host, but python3-xlib (below pyautogui) looks for this host
    and this display exactly.
    """
    host = socket.gethostname().encode()
    entries = (
        Cookie(FAMILY_LOCAL, host, str(number).encode(), COOKIE, data),
        Cookie(FAMILY_WILD, b"", b"", COOKIE, data),
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"".join(entry.packed() for entry in entries))


def find(path: Path, number: int) -> bytes | None:
    """Return the cookie for a display of this host from a file, or ``None``."""
    host = socket.gethostname().encode()
    for entry in read(path):
        if (
            entry.name == COOKIE
            and entry.number in (b"", str(number).encode())
            and (entry.family == FAMILY_WILD or (entry.family == FAMILY_LOCAL and entry.address == host))
        ):
            return entry.data
    return None


def read(path: Path) -> list[Cookie]:
    """Read the entries of a file. A truncated file yields those before the cut, an unreadable one none."""
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    entries, at = [], 0
    try:
        while at < len(raw):
            (family,) = struct.unpack_from(">H", raw, at)
            at += 2
            fields = []
            for _ in range(4):
                (length,) = struct.unpack_from(">H", raw, at)
                fields.append(raw[at + 2 : at + 2 + length])
                at += 2 + length
            entries.append(Cookie(family, *fields))
    except struct.error:
        pass
    return entries


def borrow(display: str, source: str | None, target: Path) -> Path:
    """Return an Xauthority file for a borrowed display that python3-xlib can use too.

    ``source`` is the display's file if it is not ``~/.Xauthority``. The cookie is copied to ``target`` if it is found;
    a display without a file gets an empty ``target``. Otherwise the display's own file is returned.
    """
    host, _, number = display.rpartition(":")
    number = number.partition(".")[0]
    path = Path(source) if source else Path.home() / ".Xauthority"
    local = host in ("", "unix") and number.isdigit()
    data = find(path, int(number)) if local else None
    if data is None and path.exists():
        return path
    if data is None:
        target.touch(mode=0o600)
    else:
        write(target, int(number), data)
    return target
