"""Records the mouse and keyboard input on a display from any source, by X RECORD."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable

import xcffib
import xcffib.record
import xcffib.xproto

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.desktop.session.borrowed import input_method
from holo_tasks.desktop.x11.x_connection import XConnection

QUERY_EXTENSION, CHANGE_KEYBOARD_MAPPING = 98, 100
FROM_SERVER, FROM_CLIENT, START = 0, 1, 4
KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION = 2, 3, 4, 5, 6
EVENT = struct.Struct("=BB2xI12xhh4xH2x")
"""Event type, key or button, the server's time, pointer position, and the modifiers in force before."""
REQUEST, MAPPING = struct.Struct("=BBH"), struct.Struct("=BBxx")
SHIFT, LOCK, NUM_LOCK, LEVEL_3 = 1, 2, 0x10, 0x80
MARK = "HOLO-SEEN"
PATIENCE_S = 2.0
LATEST_MS = 10_000
"""An older event has a time stamp from another machine's clock."""
MOST_BUTTONS = 7


class InputRecorder:
    """Passes each input event, in order, to ``on_input``, which is called in a thread of its own. Sends no events.

    Raises `DesktopFailed` if the X server has no X RECORD.
    """

    def __init__(self, display: str, on_input: Callable[[ByHand, float], None]) -> None:
        self._link, self._recording = XConnection(display), XConnection(display)
        if not self._link.has("RECORD"):
            raise DesktopFailed(f"Input on {display} cannot be recorded: its X server has no RECORD extension.")
        self._on_input = on_input
        self._keymap = _Keymap(self._link)
        self._buttons = 0
        self._news = threading.Condition()
        self._marks, self._seen, self._over = 0, -1, False
        record, self._context = self._link.conn(xcffib.record.key), self._link.conn.generate_id()
        none, nothing = (0, 0), ((0, 0), (0, 0))
        requests, inputs = (QUERY_EXTENSION, CHANGE_KEYBOARD_MAPPING), (KEY_PRESS, MOTION)
        recorded = xcffib.record.Range.synthetic(requests, none, nothing, nothing, none, inputs, none, False, False)
        all_clients = [xcffib.record.CS.AllClients]
        record.CreateContext(self._context, 0, 1, 1, all_clients, [recorded], is_checked=True).check()
        threading.Thread(target=self._listen, name="witness", daemon=True).start()
        self._await_mark(0)

    def catch_up(self) -> None:
        """Return when all earlier input has been passed on."""
        self._marks += 1
        self._link.has(f"{MARK}-{self._link.setup.resource_id_base:x}-{self._marks}")
        self._await_mark(self._marks)

    def input_method(self) -> str:
        """Return the name of the input method on the display, or an empty string."""
        return input_method(self._link)

    def close(self) -> None:
        """Stop recording."""
        self._link.conn(xcffib.record.key).DisableContext(self._context)
        self._link.close()

    def _await_mark(self, mark: int) -> None:
        with self._news:
            self._news.wait_for(lambda: self._over or self._seen >= mark, PATIENCE_S)

    def _listen(self) -> None:
        conn = self._recording.conn
        try:
            asking = conn(xcffib.record.key).EnableContext(self._context)
            conn.flush()
            while True:
                reply = xcffib.record.EnableContextReply(conn.wait_for_reply(asking.sequence))
                data = bytes(reply.data.buf())
                if reply.category == START:
                    self._go_on(0)
                elif reply.category == FROM_SERVER:
                    self._events(data)
                elif reply.category == FROM_CLIENT:
                    self._requests(data)
        except xcffib.XcffibException:
            pass  # the X server has ended, or `close` was called
        with self._news:
            self._over = True
            self._news.notify_all()

    def _go_on(self, mark: int) -> None:
        with self._news:
            self._seen = max(self._seen, mark)
            self._news.notify_all()

    def _events(self, data: bytes) -> None:
        for place in range(0, len(data) - EVENT.size + 1, EVENT.size):
            kind, detail, time_ms, x, y, state = EVENT.unpack_from(data, place)
            kind, now = kind & 0x7F, _when(time_ms)
            if kind in (KEY_PRESS, KEY_RELEASE):
                self._on_input(Key(self._keymap.symbol(detail, state), kind == KEY_PRESS), now)
            elif kind == MOTION:
                self._on_input(Pointing(x, y, self._buttons), now)
            elif kind in (BUTTON_PRESS, BUTTON_RELEASE) and detail <= MOST_BUTTONS:
                self._button(1 << detail - 1, x, y, now, down=kind == BUTTON_PRESS)

    def _button(self, bit: int, x: int, y: int, now: float, *, down: bool) -> None:
        if down and self._buttons & bit:  # some servers do not report each release
            self._on_input(Pointing(x, y, self._buttons & ~bit), now)
        self._buttons = self._buttons | bit if down else self._buttons & ~bit
        self._on_input(Pointing(x, y, self._buttons), now)

    def _requests(self, data: bytes) -> None:
        place = 0
        while place + REQUEST.size <= len(data):
            opcode, count, words = REQUEST.unpack_from(data, place)
            body = data[place + REQUEST.size : place + 4 * words]
            place += max(4 * words, REQUEST.size)
            if opcode == CHANGE_KEYBOARD_MAPPING and len(body) >= MAPPING.size:
                first, width = MAPPING.unpack_from(body)
                self._keymap.change(first, width, count, body[MAPPING.size :])
            elif opcode == QUERY_EXTENSION:
                name = body[4:].rstrip(b"\0").decode("ascii", errors="replace")
                own, _, number = name.rpartition("-")
                if own == f"{MARK}-{self._link.setup.resource_id_base:x}" and number.isdigit():
                    self._go_on(int(number))


class _Keymap:
    """The keyboard map at the time of each event. Programs that type may change the keys of characters temporarily."""

    def __init__(self, link: XConnection) -> None:
        first, last = link.setup.min_keycode, link.setup.max_keycode
        reply = link.conn.core.GetKeyboardMapping(first, last - first + 1).reply()
        symbols, width = list(reply.keysyms), reply.keysyms_per_keycode
        self._rows = {first + at // width: symbols[at : at + width] for at in range(0, len(symbols), width)}

    def change(self, first: int, width: int, count: int, data: bytes) -> None:
        symbols = struct.unpack_from(f"={min(width * count, len(data) // 4)}I", data)
        for number in range(count):
            self._rows[first + number] = list(symbols[number * width : (number + 1) * width])

    def symbol(self, code: int, state: int) -> int:
        """Return the keysym of a key with some modifiers in force."""
        row = [*self._rows.get(code, ()), 0, 0]
        group = state >> 13 & 3
        at = 4 if state & LEVEL_3 and any(row[4:6]) else 2 * group if any(row[2 * group : 2 * group + 2]) else 0
        small = row[at]
        large = row[at + 1] or _capital(small)
        shifted = bool(state & SHIFT)
        if 0xFF80 <= large <= 0xFFBD:
            return small if shifted or not state & NUM_LOCK else large
        if state & LOCK and _capital(small) != small:
            return small if shifted else large
        return large if shifted else small


def _when(time_ms: int) -> float:
    """Return the time of an event by this machine's clock, to which the server's milliseconds refer."""
    now = time.monotonic()
    ago_ms = (int(now * 1000) - time_ms) % (1 << 32)
    return now - ago_ms / 1000 if ago_ms < LATEST_MS else now


def _capital(symbol: int) -> int:
    if 0x61 <= symbol <= 0x7A or 0xE0 <= symbol <= 0xFE:
        return symbol - 0x20
    if 0x1000000 < symbol <= 0x110FFFF and len(letter := chr(symbol - 0x1000000).upper()) == 1:
        return 0x1000000 + ord(letter)
    return symbol
