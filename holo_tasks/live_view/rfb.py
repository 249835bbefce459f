"""Parse the bytes of a VNC viewer, message by message (RFC 6143). Take input out and pass the other messages on.

A message that cannot be parsed ends the connection. `view.Bridge` feeds a `Viewer` with the bytes of each websocket.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from holo_tasks.core.input.remote_input import ByHand, Key, Pointing

VERSIONS = (b"RFB 003.007\n", b"RFB 003.008\n")
NO_SECURITY = (b"\x01",)
SHARED = (b"\x00", b"\x01")
LONGEST = 1 << 20
"""Longest message in bytes: more text than anybody copies by hand."""

_KEY, _POINTER, _TEXT, _RESIZE, _XVP, _EXTENDED_KEY = 4, 5, 6, 251, 250, 255
_INPUT = {_KEY, _POINTER, _EXTENDED_KEY}
_NEVER = {_TEXT, _RESIZE, _XVP}
"""Messages that are dropped. The server has no clipboard, the agent decides the screen size, and XVP would switch a
machine off."""
_FIXED = {0: 20, 3: 10, _KEY: 8, _POINTER: 6, 150: 10, _XVP: 4, _EXTENDED_KEY: 12}


class NotRfb(ValueError):
    """A viewer's message is not part of RFB, or not one of the messages understood here."""


class Viewer:
    """Parser of one viewer's side of a connection. It remembers which keys and buttons the viewer holds down."""

    def __init__(self) -> None:
        self._rest = b""
        self._handshake = [VERSIONS, NO_SECURITY, SHARED]
        self._down: set[int] = set()
        self._pointing = Pointing(0, 0, 0)

    def receive(self, data: bytes) -> tuple[bytes, list[ByHand]]:
        """Parse received bytes. Return the bytes for the server and the person's input.

        Raises `NotRfb` if the connection has to end.
        """
        self._rest += data
        out, inputs = bytearray(), []
        while message := self._next_message():
            if self._handshake:
                self._check_handshake(message)
            elif message[0] in _INPUT:
                inputs.append(self._input(message))
                continue
            elif message[0] in _NEVER:
                continue
            out += message
        return bytes(out), inputs

    def release_all(self) -> list[ByHand]:
        """Return the input that releases every key and button that this viewer holds down."""
        keys = [Key(keysym, down=False) for keysym in sorted(self._down)]
        return [*keys, replace(self._pointing, buttons=0)] if self._pointing.buttons else [*keys]

    def _input(self, message: bytes) -> ByHand:
        if message[0] == _POINTER:
            buttons, x, y = struct.unpack(">xBHH", message)
            self._pointing = Pointing(x, y, buttons)
            return self._pointing
        down, keysym = struct.unpack(">xBxxI" if message[0] == _KEY else ">xxHI4x", message)
        (self._down.add if down else self._down.discard)(keysym)
        return Key(keysym, bool(down))

    def _next_message(self) -> bytes:
        """Remove and return the next message. Returns ``b""`` if it has not arrived completely."""
        length = len(self._handshake[0][0]) if self._handshake else _length(self._rest)
        if length > LONGEST:
            raise NotRfb("a message is too long")
        if not length or len(self._rest) < length:
            return b""
        message, self._rest = self._rest[:length], self._rest[length:]
        return message

    def _check_handshake(self, message: bytes) -> None:
        if message not in self._handshake.pop(0):
            raise NotRfb("the RFB version or security type is not supported")


def _length(head: bytes) -> int:
    """Return the length in bytes of the message that starts with ``head``. Returns 0 if more bytes are needed to tell.

    Raises `NotRfb` for an unknown message type.
    """
    if not head:
        return 0
    kind = head[0]
    if kind in _FIXED:
        if kind == _EXTENDED_KEY and len(head) > 1 and head[1] != 0:
            raise NotRfb("the QEMU extension is unknown")
        return _FIXED[kind]
    if kind == 2:
        return 4 + 4 * int(struct.unpack_from(">H", head, 2)[0]) if len(head) >= 4 else 0
    if kind == _TEXT:
        return 8 + abs(int(struct.unpack_from(">i", head, 4)[0])) if len(head) >= 8 else 0
    if kind == 248:
        return 9 + head[8] if len(head) >= 9 else 0
    if kind == _RESIZE:
        return 8 + 16 * head[6] if len(head) >= 7 else 0
    raise NotRfb(f"message type {kind} is unknown")
