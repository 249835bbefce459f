"""What programs take for a double click: toolkits' own defaults, and what the desktop's settings say (XSETTINGS)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from holo_tasks.desktop.xlink import ANY, Refused, XLink

TIME, DISTANCE = "Net/DoubleClickTime", "Net/DoubleClickDistance"
MOST_BYTES = 1 << 16
NUMBER, TEXT, COLOR = 0, 1, 2


class DoubleClick(NamedTuple):
    """Two presses are one in all programs' eyes only within this time, in seconds, and this distance, in pixels.

    Windows' default is half a second, and Tk follows it whatever the desktop says.
    """

    seconds: float = 0.5
    px: int = 10


def asked(link: XLink) -> DoubleClick:
    """Ask the screen's settings; where they say less than a toolkit has by itself, that stays."""
    least = DoubleClick()
    try:
        owner = link.conn.core.GetSelectionOwner(link.atom(f"_XSETTINGS_S{link.conn.pref_screen}")).reply().owner
        if not owner:
            return least
        told = link.conn.core.GetProperty(False, owner, link.atom("_XSETTINGS_SETTINGS"), ANY, 0, MOST_BYTES).reply()
        numbers = numbers_in(bytes(told.value.buf()))
    except (*Refused, struct.error, IndexError):
        return least
    return DoubleClick(max(least.seconds, numbers.get(TIME, 0) / 1000), max(least.px, numbers.get(DISTANCE, 0)))


def numbers_in(settings: bytes) -> dict[str, int]:
    """Return the numbers among the settings of a screen, by name. Raises `struct.error` for what is none."""
    order = ">" if settings[0] else "<"
    (many,) = struct.unpack_from(f"{order}I", settings, 8)
    found, at = {}, 12
    for _ in range(many):
        kind, length = struct.unpack_from(f"{order}BxH", settings, at)
        name = settings[at + 4 : at + 4 + length].decode("latin-1")
        at += 8 + _padded(length)
        if kind == NUMBER:
            (found[name],) = struct.unpack_from(f"{order}i", settings, at)
            at += 4
        elif kind == TEXT:
            (size,) = struct.unpack_from(f"{order}I", settings, at)
            at += 4 + _padded(size)
        else:
            at += 8
    return found


def _padded(length: int) -> int:
    return (length + 3) & ~3
