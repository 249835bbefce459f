"""Finds the libraries of X by the names that they always have had.

`ctypes.util.find_library`, which the bindings of X ask nine times, starts `ldconfig` each time.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable

KNOWN = {
    "X11": "libX11.so.6",
    "Xfixes": "libXfixes.so.3",
    "Xrandr": "libXrandr.so.2",
    "xcb": "libxcb.so.1",
    "xcb-randr": "libxcb-randr.so.0",
    "xcb-render": "libxcb-render.so.0",
    "xcb-shm": "libxcb-shm.so.0",
    "xcb-xfixes": "libxcb-xfixes.so.0",
}


def find_at_once() -> None:
    """Have this process find the libraries of X without starting another; any other library as before."""
    search = ctypes.util.find_library
    ctypes.util.find_library = lambda name: find(name, search)


def find(name: str, search: Callable[[str], str | None]) -> str | None:
    """Return what a library is loaded by; one that is not known, or not there by that name, is searched for."""
    if (known := KNOWN.get(name)) is not None:
        try:
            ctypes.CDLL(known)
        except OSError:
            return search(name)
    return known or search(name)
