"""Send the core requests of the X protocol that are made most, with little CPU time. `CoreRequests` is the main class.

A step makes some 250 requests. xcffib allocates memory several times for each, and converts every field of a reply.
"""

from __future__ import annotations

import struct
from typing import Any

import xcffib
import xcffib.xproto

HEADER = 32
"""Bytes of a reply before its variable part."""


class WindowAttributes:
    """The fields of a reply to ``GetWindowAttributes`` that are used."""

    form = struct.Struct("=12xH12xBB")

    def __init__(self, data: bytes) -> None:
        self._class, self.map_state, self.override_redirect = self.form.unpack_from(data)


class Geometry:
    """A reply to ``GetGeometry``."""

    form = struct.Struct("=xB6xIhhHHH")

    def __init__(self, data: bytes) -> None:
        read = self.form.unpack_from(data)
        self.depth, self.root, self.x, self.y, self.width, self.height, self.border_width = read


class Tree:
    """A reply to ``QueryTree``."""

    form = struct.Struct("=8xIIH")

    def __init__(self, data: bytes) -> None:
        self.root, self.parent, count = self.form.unpack_from(data)
        self.children: tuple[int, ...] = struct.unpack_from(f"={count}I", data, HEADER)


class Value(bytes):
    """The value of a property, with the methods that a value of xcffib has."""

    def buf(self) -> bytes:
        return self

    def to_atoms(self) -> tuple[int, ...]:
        return struct.unpack(f"={len(self) // 4}I", self)


class Property:
    """A reply to ``GetProperty``."""

    form = struct.Struct("=xB6xIII")

    def __init__(self, data: bytes) -> None:
        self.format, self.type, self.bytes_after, self.value_len = self.form.unpack_from(data)
        self.value = Value(data[HEADER : HEADER + self.value_len * self.format // 8])


class PointerPlace:
    """A reply to ``QueryPointer``."""

    form = struct.Struct("=xB6xIIhhhhH")

    def __init__(self, data: bytes) -> None:
        read = self.form.unpack_from(data)
        self.same_screen, self.root, self.child, self.root_x, self.root_y, self.win_x, self.win_y, self.mask = read


class Translated:
    """A reply to ``TranslateCoordinates``."""

    form = struct.Struct("=xB6xIhh")

    def __init__(self, data: bytes) -> None:
        self.same_screen, self.child, self.dst_x, self.dst_y = self.form.unpack_from(data)


class Focus:
    """A reply to ``GetInputFocus``."""

    form = struct.Struct("=xB6xI")

    def __init__(self, data: bytes) -> None:
        self.revert_to, self.focus = self.form.unpack_from(data)


REPLIES: dict[int, type[Any]] = {
    3: WindowAttributes, 14: Geometry, 15: Tree, 20: Property, 38: PointerPlace, 40: Translated, 43: Focus
}  # fmt: skip
"""The replies by the opcodes of their requests."""


class CoreRequests(xcffib.xproto.xprotoExtension):  # type: ignore[misc]  # it has no types
    """The core requests of a connection, which one thread uses at a time. Those in `REPLIES` skip the code of xcffib.

    The errors are those of xcffib.
    """

    def __init__(self, conn: Any) -> None:
        super().__init__(conn)
        ffi = xcffib.ffi
        self._request = ffi.new("xcb_protocol_request_t *")
        self._request.count, self._request.ext = 1, ffi.NULL
        self._parts = ffi.new("struct iovec[4]")  # libxcb writes to the two before the request's own
        self._error = ffi.new("xcb_generic_error_t **")

    def send_request(self, opcode: int, data: Any, *given: Any, **named: Any) -> Any:
        """Send a request; return the cookie whose ``reply`` waits for the reply."""
        if opcode not in REPLIES:
            return super().send_request(opcode, data, *given, **named)
        sent, part = data.getvalue(), self._parts[2]
        part.iov_base, part.iov_len = (kept := xcffib.ffi.from_buffer(sent)), len(sent)
        self._request.opcode = opcode
        number = xcffib.lib.xcb_send_request(
            self.conn._conn, xcffib.lib.XCB_REQUEST_CHECKED, self._parts + 2, self._request
        )
        del kept
        if not number:
            self.conn.invalid()
        return Awaited(self, number, REPLIES[opcode])

    def reply(self, number: int) -> bytes:
        """Wait for the reply to a request, and return its bytes."""
        ffi, error = xcffib.ffi, self._error
        data = xcffib.lib.xcb_wait_for_reply(self.conn._conn, number, error)
        if data == ffi.NULL:
            try:
                self.conn._process_error(error[0])
            finally:
                if error[0] != ffi.NULL:
                    xcffib.c_free(error[0])
            raise xcffib.XcffibException(f"Bad sequence number {number}")
        head = ffi.buffer(data, HEADER)
        (more,) = struct.unpack_from("=I", head, 4)
        found = bytes(ffi.buffer(data, HEADER + 4 * more) if more else head)
        xcffib.c_free(data)
        return found


class Awaited:
    """A request whose reply was not read yet."""

    def __init__(self, core: CoreRequests, number: int, kind: type[Any]) -> None:
        self._core, self._number, self._kind = core, number, kind

    def reply(self) -> Any:
        """Wait for the reply. Raises an `xcffib.Error` if the server refused the request."""
        return self._kind(self._core.reply(self._number))
