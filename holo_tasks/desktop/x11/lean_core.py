"""The X requests that a step sends most often, with little work in Python for each.

xcffib makes a buffer, three objects and some twenty calls of each reply. A step needs some 200 replies, mostly of the
requests below. `LeanCore` reads their replies directly, by the fixed offsets of the X protocol, which takes a third of
the CPU time. All other requests go through xcffib. Errors are the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.xproto

_ATTRIBUTES, _GEOMETRY, _TREE, _PROPERTY, _POINTER, _TRANSLATE, _FOCUS = 3, 14, 15, 20, 38, 40, 43
"""Opcodes of the requests."""
_HEADER = 32
_CHECKED = 1
"""Reports an error to the caller that waits for the reply, and not as an event."""
_OF_WINDOW, _OF_POINT, _OF_PROPERTY, _OF_NOTHING = map(struct.Struct, ("=xx2xI", "=xx2xIIhh", "=xB2xIIIII", "=xx2x"))
_LENGTH, _CHILDREN, _PLACE, _VALUE, _POINTED, _MOVED, _CLASS, _FOCUSED = map(
    struct.Struct,
    ("=4xI", "=8xIIH", "=xB10xhhHHH", "=xB6xI4xI", "=xB6xIIhhhhH", "=xB6xIhh", "=12xH", "=8xI"),
)
_ffi, _lib = xcffib.ffi, xcffib.lib
_REQUEST, _PARTS, _BYTES, _ERROR = map(
    _ffi.typeof, ("xcb_protocol_request_t *", "struct iovec[4]", "char[]", "xcb_generic_error_t **")
)
Read = Callable[[bytes], Any]


@dataclass(slots=True)
class Tree:
    """The parent and the children of a window, the lowest child first."""

    root: int
    parent: int
    children: tuple[int, ...]


@dataclass(slots=True)
class Attributes:
    """The attributes of a window that this library uses, by the names of xcffib."""

    _class: int
    map_state: int
    override_redirect: int


@dataclass(slots=True)
class Geometry:
    """The place of a window in its parent, without the border."""

    depth: int
    x: int
    y: int
    width: int
    height: int
    border_width: int


@dataclass(slots=True)
class Pointed:
    """The pointer's position, the child of the window below it, and the pressed buttons and modifiers."""

    same_screen: int
    root: int
    child: int
    root_x: int
    root_y: int
    win_x: int
    win_y: int
    mask: int


@dataclass(slots=True)
class Moved:
    """A point in the coordinates of another window, and the child there."""

    same_screen: int
    child: int
    dst_x: int
    dst_y: int


@dataclass(slots=True)
class Focus:
    """The window with the input focus."""

    revert_to: int
    focus: int


class Value:
    """The bytes of a property."""

    __slots__ = ("_bytes",)

    def __init__(self, raw: bytes) -> None:
        self._bytes = raw

    def buf(self) -> bytes:
        """Return the bytes."""
        return self._bytes

    def to_atoms(self) -> tuple[int, ...]:
        """Return the value as numbers of 32 bits."""
        return struct.unpack(f"={len(self._bytes) // 4}I", self._bytes)


@dataclass(slots=True)
class Property:
    """A property of a window. Its format is 0 if the window lacks it, else the number of bits of each item."""

    format: int
    type: int
    value_len: int
    value: Value


class Cookie:
    """A request that was sent."""

    __slots__ = ("_conn", "_read", "_sequence")

    def __init__(self, conn: Any, sequence: int, read: Read) -> None:
        self._conn, self._sequence, self._read = conn, sequence, read

    def reply(self) -> Any:
        """Wait for the reply. Raises the error of the X server, or `xcffib.ConnectionException` without a server."""
        failed = _ffi.new(_ERROR)
        if self._conn._conn is None:
            self._conn.invalid()
        data = _lib.xcb_wait_for_reply(self._conn._conn, self._sequence, failed)
        if data == _ffi.NULL:
            self._raise(failed)
        try:
            more = _LENGTH.unpack(_ffi.buffer(data, _LENGTH.size))[0]
            raw = _ffi.buffer(data, _HEADER + 4 * more)[:]
        finally:
            xcffib.c_free(data)
        return self._read(raw)

    def _raise(self, failed: Any) -> None:
        try:
            self._conn._process_error(failed[0])  # it also raises if the connection is lost
        finally:
            if failed[0] != _ffi.NULL:
                xcffib.c_free(failed[0])
        raise xcffib.XcffibException(f"Bad sequence number {self._sequence}")


class LeanCore(xcffib.xproto.xprotoExtension):  # type: ignore[misc]  # it has no types
    """The core requests of X. The methods below replace those of xcffib, with the same names."""

    def QueryTree(self, window: int) -> Cookie:
        """Ask for the parent and the children of a window."""
        return self._ask(_TREE, _OF_WINDOW.pack(window), _tree)

    def GetWindowAttributes(self, window: int) -> Cookie:
        """Ask for a window's class and whether it is shown."""
        return self._ask(_ATTRIBUTES, _OF_WINDOW.pack(window), _attributes)

    def GetGeometry(self, drawable: int) -> Cookie:
        """Ask for the place of a window."""
        return self._ask(_GEOMETRY, _OF_WINDOW.pack(drawable), lambda raw: Geometry(*_PLACE.unpack_from(raw)))

    def GetProperty(self, delete: bool, window: int, name: int, kind: int, offset: int, length: int) -> Cookie:
        """Ask for a property of a window. ``offset`` and ``length`` are in units of four bytes."""
        return self._ask(_PROPERTY, _OF_PROPERTY.pack(delete, window, name, kind, offset, length), _property)

    def QueryPointer(self, window: int) -> Cookie:
        """Ask where the pointer is, and what is pressed."""
        return self._ask(_POINTER, _OF_WINDOW.pack(window), lambda raw: Pointed(*_POINTED.unpack_from(raw)))

    def TranslateCoordinates(self, source: int, target: int, x: int, y: int) -> Cookie:
        """Ask where a point of one window is in another."""
        return self._ask(_TRANSLATE, _OF_POINT.pack(source, target, x, y), lambda raw: Moved(*_MOVED.unpack_from(raw)))

    def GetInputFocus(self) -> Cookie:
        """Ask for the window with the input focus."""
        return self._ask(_FOCUS, _OF_NOTHING.pack(), lambda raw: Focus(raw[1], _FOCUSED.unpack_from(raw)[0]))

    def _ask(self, opcode: int, request: bytes, read: Read) -> Cookie:
        if self.conn._conn is None:
            self.conn.invalid()
        # The buffers are new each time: another thread may send on this connection, too.
        asked, parts, sent = _ffi.new(_REQUEST), _ffi.new(_PARTS), _ffi.new(_BYTES, request)
        asked.count, asked.opcode = 2, opcode
        parts[2].iov_base, parts[2].iov_len = sent, len(request)  # libxcb also uses the parts before these
        sequence = _lib.xcb_send_request(self.conn._conn, _CHECKED, parts + 2, asked)
        if not sequence:
            self.conn.invalid()
        return Cookie(self.conn, sequence, read)


def _tree(raw: bytes) -> Tree:
    root, parent, count = _CHILDREN.unpack_from(raw)
    return Tree(root, parent, struct.unpack_from(f"={count}I", raw, _HEADER))


def _attributes(raw: bytes) -> Attributes:
    return Attributes(_CLASS.unpack_from(raw)[0], raw[26], raw[27])


def _property(raw: bytes) -> Property:
    bits, kind, count = _VALUE.unpack_from(raw)
    return Property(bits, kind, count, Value(raw[_HEADER : _HEADER + count * bits // 8]))
