"""Connect to an X server, and send the requests that the other modules share. `XConnection` is the main class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import xcffib
import xcffib.damage
import xcffib.xfixes
import xcffib.xkb
import xcffib.xproto
import xcffib.xtest

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.desktop.x11.lean_core import LeanCore
from holo_tasks.desktop.x11.root_children import Child, RootChildren, mapped_children

ANY = 0  # AnyPropertyType
LONGEST_NAME = 80
_HEADER = 32
"""Bytes before the pixels in a reply."""

# The errors of xcffib for a lost connection, and for a request that the server refused.
Gone = (xcffib.ConnectionException,)
Refused = (xcffib.Error,)


class _Pixels(xcffib.Reply):  # type: ignore[misc]  # it has no types
    """A reply with its pixels as bytes. xcffib would make a list of numbers, which takes twenty times as long."""

    def __init__(self, unpacker: Any) -> None:
        super().__init__(unpacker)
        unpacker.unpack(f"={_HEADER + 4 * self.length}x")
        self.data = bytes(unpacker.buf[_HEADER:])


class XConnection:
    """One connection to an X server. It may be used from one thread at a time."""

    def __init__(self, display: str) -> None:
        self.display = display
        try:
            self.conn: Any = xcffib.connect(display=display)
            self.conn.core = LeanCore(self.conn)
            self.setup: Any = self.conn.get_setup()
        except xcffib.ConnectionException:
            raise DesktopFailed(
                f"Cannot open display {display}: check that its X server runs and that XAUTHORITY lets you in."
            ) from None
        self.screen: Any = self.setup.roots[self.conn.pref_screen]
        self.root: int = self.screen.root
        self._atoms: dict[str, int] = {}
        self._extensions: dict[str, bool] = {}
        self._children = RootChildren(lambda: XConnection(display))
        self.alone = False
        """Whether we have grabbed the server, so that the requests of all other clients wait."""

    def fileno(self) -> int:
        return int(self.conn.get_file_descriptor())

    def has(self, extension: str) -> bool:
        """Return whether the server has an extension."""
        if extension not in self._extensions:
            self._extensions[extension] = bool(self.conn.core.QueryExtension(len(extension), extension).reply().present)
        return self._extensions[extension]

    def pixels(self, box: Box) -> bytes:
        """Return the pixels of a box of the screen, four bytes each, blue first."""
        zpixmap, all_planes = xcffib.xproto.ImageFormat.ZPixmap, 0xFFFFFFFF
        ask = self.conn.core.GetImage
        asked = ask(zpixmap, self.root, box.left, box.top, box.width, box.height, all_planes)
        asked.reply_type = _Pixels
        found: bytes = asked.reply().data
        return found

    def atom(self, name: str) -> int:
        """Return the server's atom for a name."""
        if name not in self._atoms:
            self._atoms[name] = self.conn.core.InternAtom(False, len(name), name).reply().atom
        return self._atoms[name]

    def atom_name(self, atom: int) -> str:
        """Return the name of an atom on one line, at most ``LONGEST_NAME`` characters."""
        reply = self.conn.core.GetAtomName(atom).reply()
        return one_line(bytes(reply.name.buf()).decode("utf-8", errors="replace"), LONGEST_NAME)

    def sync(self) -> None:
        """Wait until the server has processed all sent requests."""
        self.conn.core.GetInputFocus().reply()

    def alive(self) -> bool:
        """Return whether the server still answers."""
        try:
            self.sync()
        except xcffib.ConnectionException:
            return False
        return True

    def size(self) -> Size:
        """Return the current size of the screen."""
        geometry = self.conn.core.GetGeometry(self.root).reply()
        return Size(geometry.width, geometry.height)

    def root_children(self) -> tuple[Child, ...]:
        """Return the mapped children of the root window as they are now, lowest first."""
        if self.alone:  # while the server is grabbed, no other connection gets a reply
            return mapped_children(self)
        return self._children.read()

    def pointer(self) -> Point:
        """Return the position of the pointer."""
        reply = self.conn.core.QueryPointer(self.root).reply()
        return Point(reply.root_x, reply.root_y)

    def property(self, window: int, name: str) -> Any:
        """Request a property, and return the cookie; its ``reply`` waits for the value."""
        return self.conn.core.GetProperty(False, window, self.atom(name), ANY, 0, 65536)

    def numbers(self, window: int, name: str) -> list[int]:
        """Read a property that holds 32-bit numbers; empty if the window lacks it."""
        reply = self.property(window, name).reply()
        return [int(n) for n in reply.value.to_atoms()] if reply.format == 32 else []

    def text(self, window: int, name: str) -> str:
        """Read a property that holds text; empty if the window lacks it."""
        return self.as_text(self.property(window, name))

    def as_text(self, request: Any) -> str:
        """Wait for a requested property, and return it as text; empty if the window lacks it."""
        reply = request.reply()
        if reply.format != 8:
            return ""
        raw = bytes(reply.value.buf())
        utf8 = reply.type == self.atom("UTF8_STRING")
        return raw.decode("utf-8" if utf8 else "latin-1", errors="replace").rstrip("\0")

    @contextmanager
    def with_server_grabbed(self) -> Iterator[None]:
        """Grab the server, so that focus and windows cannot change until the context is left."""
        self.conn.core.GrabServer()
        self.alone = True
        try:
            yield
        finally:
            self.alone = False
            self.conn.core.UngrabServer()
            self.conn.flush()

    def close(self) -> None:
        """Close the connection."""
        self._children.close()
        self.conn.disconnect()
