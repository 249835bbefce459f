"""Find the X libraries by their usual file names, without starting a process.

The X bindings call `ctypes.util.find_library` nine times, and it starts `ldconfig` each time. `find_at_once` replaces
it.
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
    """Replace `ctypes.util.find_library` in this process by `find`."""
    search = ctypes.util.find_library
    ctypes.util.find_library = lambda name: find(name, search)


def find(name: str, search: Callable[[str], str | None]) -> str | None:
    """Return the file name of a library.

    A library that is not in ``KNOWN``, or cannot be loaded by that name, is looked up with ``search``.
    """
    if (known := KNOWN.get(name)) is not None:
        try:
            ctypes.CDLL(known)
        except OSError:
            return search(name)
    return known or search(name)
