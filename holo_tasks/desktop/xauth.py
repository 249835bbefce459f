"""Cookies that let a client in: files in the format of Xau, read and written."""

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
    """One entry of the file."""

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
    """Write a file, readable by us alone, that opens display ``number`` with a cookie.

    Two entries: libxcb is content with the one for every host, but python3-xlib (below
    pyautogui) looks for this host and this display exactly.
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
    """Return the cookie that a user's file holds for a display of this host, if any."""
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
    """Read all entries; an unreadable or torn file has those before the tear."""
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


def borrow(display: str, theirs: str | None, mine: Path) -> Path:
    """Return a file with the cookie of somebody else's display, which python3-xlib can use as well: ``mine`` if it can.

    ``theirs`` is their file if it is not the usual one.
    """
    host, _, number = display.rpartition(":")
    number = number.partition(".")[0]
    path = Path(theirs) if theirs else Path.home() / ".Xauthority"
    local = host in ("", "unix") and number.isdigit()
    data = find(path, int(number)) if local else None
    if data is None and path.exists():
        return path
    if data is None:
        mine.touch(mode=0o600)
    else:
        write(mine, int(number), data)
    return mine
