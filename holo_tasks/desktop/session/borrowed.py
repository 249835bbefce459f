"""Checks of a display that belongs to a person: color depth, Xwayland, input methods."""

from __future__ import annotations

import os
from collections.abc import Mapping

import xcffib.randr

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

DEPTHS = (24, 32)
XWAYLAND = "XWAYLAND"
"""The extension of Xwayland since version 23.1, and the prefix of its RandR output names in all versions."""
XIM_SERVERS, XIM = "XIM_SERVERS", "@server="
PLAIN = ("", "none", "local")
CHANGES_TEXT = (
    "An input method ({}) runs on the display {}: it may change the text that the agent types. Switch it to a plain "
    "keyboard layout, or give --app to start the program on a desktop of its own."
)


def check_display(link: XConnection) -> None:
    """Raise `DesktopFailed`, with a remedy, if screenshots of this display would be empty or unreadable."""
    if link.screen.root_depth not in DEPTHS:
        raise DesktopFailed(
            f"The screen {link.display} has a color depth of {link.screen.root_depth} bits, and only 24 bits can be "
            "read: start its X server with a depth of 24, as `Xvfb -screen 0 1280x800x24` does."
        )
    if is_xwayland(link) and not _shows_anything(link):
        raise DesktopFailed(
            f"The display {link.display} belongs to Wayland (Xwayland). It shows X programs only, and screenshots of "
            "the screen are not possible. Log in to an X11 session, or give --app to start the program on a desktop "
            "of its own."
        )


def is_xwayland(link: XConnection) -> bool:
    """Return whether the X server is Xwayland."""
    return link.has(XWAYLAND) or any(name.startswith(XWAYLAND) for name in _outputs(link))


def input_method(link: XConnection, environ: Mapping[str, str] = os.environ) -> str:
    """Return the name of the input method on this display, or an empty string."""
    for atom in link.numbers(link.root, XIM_SERVERS):
        name = link.atom_name(atom)
        if name.startswith(XIM) and link.conn.core.GetSelectionOwner(atom).reply().owner:
            return name.removeprefix(XIM)
    named = environ.get("XMODIFIERS", "").partition("@im=")[2]
    return "" if named in PLAIN or environ.get("DISPLAY") != link.display else named


def input_method_warning(link: XConnection) -> list[str]:
    """Return a warning about the input method on this display, if there is one."""
    name = input_method(link)
    return [CHANGES_TEXT.format(name, link.display)] if name else []


def _outputs(link: XConnection) -> list[str]:
    if not link.has("RANDR"):
        return []
    randr = link.conn(xcffib.randr.key)
    randr.QueryVersion(1, 3).reply()
    found = randr.GetScreenResourcesCurrent(link.root).reply()
    asked = [randr.GetOutputInfo(output, found.config_timestamp) for output in found.outputs]
    return [bytes(each.reply().name.buf()).decode(errors="replace") for each in asked]


def _shows_anything(link: XConnection) -> bool:
    """Return whether the screen has more than one color. The screen of a rootful Xwayland has."""
    try:
        pixels = link.pixels(Box.whole(link.size()))
    except Refused:
        return False
    return pixels[:4] * (len(pixels) // 4) != pixels
