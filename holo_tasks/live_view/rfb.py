"""What a viewer says to a VNC server, message by message (RFC 6143): input is taken out, the rest is passed on.

What is not understood ends the conversation.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from holo_tasks.core.remote_input import ByHand, Key, Pointing

VERSIONS = (b"RFB 003.007\n", b"RFB 003.008\n")
NO_SECURITY = (b"\x01",)
SHARED = (b"\x00", b"\x01")
LONGEST = 1 << 20
"""More text than anybody copies by hand."""

_KEY, _POINTER, _TEXT, _RESIZE, _XVP, _EXTENDED_KEY = 4, 5, 6, 251, 250, 255
_INPUT = {_KEY, _POINTER, _EXTENDED_KEY}
_NEVER = {_TEXT, _RESIZE, _XVP}
"""The server keeps no clipboard, the size of the screen is the agent's, and there is no machine to be switched off."""
_FIXED = {0: 20, 3: 10, _KEY: 8, _POINTER: 6, 150: 10, _XVP: 4, _EXTENDED_KEY: 12}


class NotRfb(ValueError):
    """A viewer says something that is not in the protocol, or not in what is understood of it."""


class Viewer:
    """One viewer's side of a conversation."""

    def __init__(self) -> None:
        self._rest = b""
        self._greeting = [VERSIONS, NO_SECURITY, SHARED]
        self._down: set[int] = set()
        self._pointing = Pointing(0, 0, 0)

    def heard(self, data: bytes) -> tuple[bytes, list[ByHand]]:
        """Take what came in; return what the server is to hear, and what was done by hand.

        Raises `NotRfb` if the conversation has to end.
        """
        self._rest += data
        out, inputs = bytearray(), []
        while message := self._next():
            if self._greeting:
                self._greet(message)
            elif message[0] in _INPUT:
                inputs.append(self._input(message))
                continue
            elif message[0] in _NEVER:
                continue
            out += message
        return bytes(out), inputs

    def left(self) -> list[ByHand]:
        """Return what lets go of all that this viewer holds."""
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

    def _next(self) -> bytes:
        """Cut off the next message; empty while it is not there as a whole."""
        length = len(self._greeting[0][0]) if self._greeting else _length(self._rest)
        if length > LONGEST:
            raise NotRfb("a message is too long")
        if not length or len(self._rest) < length:
            return b""
        message, self._rest = self._rest[:length], self._rest[length:]
        return message

    def _greet(self, message: bytes) -> None:
        if message not in self._greeting.pop(0):
            raise NotRfb("the greeting is another one")


def _length(head: bytes) -> int:
    """Return how long the message is that begins so; 0 while that cannot be said."""
    if not head:
        return 0
    kind = head[0]
    if kind in _FIXED:
        if kind == _EXTENDED_KEY and len(head) > 1 and head[1] != 0:
            raise NotRfb("an unknown extension")
        return _FIXED[kind]
    if kind == 2:
        return 4 + 4 * int(struct.unpack_from(">H", head, 2)[0]) if len(head) >= 4 else 0
    if kind == _TEXT:
        return 8 + abs(int(struct.unpack_from(">i", head, 4)[0])) if len(head) >= 8 else 0
    if kind == 248:
        return 9 + head[8] if len(head) >= 9 else 0
    if kind == _RESIZE:
        return 8 + 16 * head[6] if len(head) >= 7 else 0
    raise NotRfb(f"message {kind} is unknown")
