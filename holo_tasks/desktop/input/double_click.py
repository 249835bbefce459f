"""Largest time and distance at which a program may take two presses for a double click.

They come from toolkits' defaults and from the desktop's XSETTINGS. `Pointer` keeps two single clicks further apart.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from holo_tasks.desktop.x11.x_connection import ANY, Refused, XConnection

TIME, DISTANCE = "Net/DoubleClickTime", "Net/DoubleClickDistance"
MOST_BYTES = 1 << 16
NUMBER, TEXT, COLOR = 0, 1, 2


class DoubleClick(NamedTuple):
    """The largest time in seconds and distance in pixels of a double click in any program.

    The default of half a second is that of Windows. Tk uses half a second whatever the desktop's settings say.
    """

    seconds: float = 0.5
    px: int = 10


def double_click_limits(link: XConnection) -> DoubleClick:
    """Return the limits from the screen's XSETTINGS, but never less than the toolkits' defaults."""
    least = DoubleClick()
    try:
        owner = link.conn.core.GetSelectionOwner(link.atom(f"_XSETTINGS_S{link.conn.pref_screen}")).reply().owner
        if not owner:
            return least
        reply = link.conn.core.GetProperty(False, owner, link.atom("_XSETTINGS_SETTINGS"), ANY, 0, MOST_BYTES).reply()
        numbers = numbers_in(bytes(reply.value.buf()))
    except (*Refused, struct.error, IndexError):
        return least
    return DoubleClick(max(least.seconds, numbers.get(TIME, 0) / 1000), max(least.px, numbers.get(DISTANCE, 0)))


def numbers_in(settings: bytes) -> dict[str, int]:
    """Return the numeric settings by name from the bytes of an XSETTINGS property.

    Raises `struct.error` if they are cut off.
    """
    order = ">" if settings[0] else "<"
    (count,) = struct.unpack_from(f"{order}I", settings, 8)
    found, at = {}, 12
    for _ in range(count):
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
