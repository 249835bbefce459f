"""The keys of one X server, pressed through XTEST.

pyautogui is not used for keys: it looks them up in a table made at import, and drops every character that the layout
lacks without an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import xcffib.xkb
import xcffib.xproto
import xcffib.xtest

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input import keynames
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.programs.window_owners import focused_process, windows_on_key_path
from holo_tasks.desktop.x11.grabs import taken
from holo_tasks.desktop.x11.keyboard_map import Layout, Stroke
from holo_tasks.desktop.x11.x_connection import XConnection
from holo_tasks.machine.proc import runs_until_sleep

PRESS, RELEASE, RELEASE_BUTTON = 2, 3, 5
CORE_KEYBOARD = 0x100
HELD_LEAST_S, HELD_S, NAP_S = 0.012, 0.1, 0.004
"""Shortest and longest time that several keys are held until the program has read them, and the interval of the checks.

The X server repeats a held key only after 0.2 s or more.
"""
SHIFT, LOCK = 1, 2  # the Shift and CapsLock bits of a modifier mask


@dataclass(frozen=True, slots=True)
class Latched:
    """Locks and group of a keyboard."""

    locks: int
    group: int


class Keyboard:
    """Presses keys, lends free keys to characters that the layout lacks, and restores the keyboard map."""

    def __init__(self, link: XConnection, gate: Gate) -> None:
        if not link.has("XTEST"):
            raise DesktopFailed(
                f"Display {link.display} lacks the XTEST extension, so nothing can be typed or clicked: "
                "start its X server without `-extension XTEST`."
            )
        self._link = link
        self._gate = gate
        self._sent = True
        self._test: Any = link.conn(xcffib.xtest.key)
        self._xkb: Any = link.conn(xcffib.xkb.key) if link.has("XKEYBOARD") else None
        if self._xkb is not None:
            self._xkb.UseExtension(1, 0).reply()
        self.layout = self.read()
        self.free = self.layout.free()
        self._strokes = self.layout.strokes(0)
        self._down: list[int] = []
        self.events = 0
        self.last_event_ns = 0

    def read(self) -> Layout:
        """Read the keyboard map again: a person or another program may have changed it."""
        first, last = self._link.setup.min_keycode, self._link.setup.max_keycode
        reply = self._link.conn.core.GetKeyboardMapping(first, last - first + 1).reply()
        width, symbols = reply.keysyms_per_keycode, list(reply.keysyms)
        rows = [symbols[at : at + width] for at in range(0, len(symbols), width)]
        return Layout(first, rows)

    @contextmanager
    def plain(self, *, keep_locks: bool = False) -> Iterator[None]:
        """Type as if CapsLock were off, no key were held and the layout were the Latin one.

        Restores the locks afterwards.
        """
        if (now := self.read()) != self.layout:  # usually it is the same, and its strokes are known
            self.layout = now
        group = self.layout.best_group()
        self._strokes = self.layout.strokes(group)
        before = self._state()
        if not keep_locks:
            self._lock(Latched(before.locks & ~LOCK, group))
        self.release_all(held_by_others=True)
        try:
            yield
        finally:
            self.release_all()
            if not keep_locks:
                self._lock(before)
            self._link.sync()

    def _state(self) -> Latched:
        if self._xkb is None:
            return Latched(0, 0)
        state = self._xkb.GetState(CORE_KEYBOARD).reply()
        return Latched(state.lockedMods, state.lockedGroup)

    def _lock(self, wanted: Latched) -> None:
        if self._xkb is not None:
            self._xkb.LatchLockState(CORE_KEYBOARD, 0xFF, wanted.locks, True, wanted.group, 0, False, 0)

    def stroke(self, keysym: int) -> Stroke | None:
        """Return the key that produces a keysym now, or ``None``."""
        return self._strokes.get(keysym)

    def bind_free_keys(self, symbols: Iterable[int], keys: Iterable[int]) -> None:
        """Make free keys produce these keysyms. Before, all programs must have read earlier presses of those keys."""
        for keycode, symbol in zip(keys, symbols, strict=False):
            # Both levels, so that Shift and CapsLock have no effect. With one level "Ë" would become "ë".
            self._link.conn.core.ChangeKeyboardMapping(1, keycode, 2, [symbol, symbol])
        self._link.sync()
        self.layout = self.read()
        self._strokes = self.layout.strokes(self.layout.best_group())

    def bound_keys(self) -> dict[int, int]:
        """Return the free keys that produce a keysym now, with that keysym."""
        return {key: symbol for key in self.free if (symbol := self.layout.symbol(key))}

    def put_back(self) -> None:
        """Clear the free keys again, including those that other programs lent."""
        self.layout = self.read()
        restore(self._link, list(self.bound_keys()))
        self.layout = self.read()
        self._strokes = self.layout.strokes(self.layout.best_group())

    def with_server_grabbed(self) -> AbstractContextManager[None]:
        """Block all other clients, so that the focus cannot move until the context ends."""
        return self._link.with_server_grabbed()

    def is_grabbed_elsewhere(self, strokes: Iterable[Stroke]) -> bool:
        """Return whether another program has a passive grab on one of these keys, typed as in `plain`."""
        strokes = list(strokes)
        held = self._state().locks & ~LOCK
        keys = [(stroke.keycode, held | SHIFT if stroke.shift else held) for stroke in strokes]
        if any(stroke.shift for stroke in strokes):
            keys.append((self.shift, held))
        return taken(self._link, keys, windows_on_key_path(self._link))

    def is_reader_awake(self) -> bool:
        """Return whether the focused program may still read keys; false if its process is unknown.

        A program may sleep because it waits for an answer of the X server. Then it runs again during a round trip.
        """
        pid = focused_process(self._link)
        if not pid:
            return False
        try:
            runs = runs_until_sleep(pid)
            self._link.sync()
            return runs < 0 or runs_until_sleep(pid) != runs
        except OSError:  # it has ended
            return False

    def press(self, keycode: int) -> None:
        if self._sent:  # the events between two flushes go to one window
            self._gate.belongs(None)
            self._sent = False
        self._gate.event()
        self._down.append(keycode)
        self._send(PRESS, keycode)

    def release(self, keycode: int) -> None:
        self._send(RELEASE, keycode)
        self._down.remove(keycode)

    def reader_runs(self) -> int | None:
        """Return how often the focused program has run until it slept: -1 if it is awake, ``None`` if it is unknown."""
        try:
            return runs_until_sleep(pid) if (pid := focused_process(self._link)) else None
        except OSError:  # it has ended
            return None

    def await_reader(self, runs: int | None) -> None:
        """Wait until the program has read the pressed keys. ``runs`` is its `reader_runs` before them.

        When some programs, such as those of Lazarus, read a key, they ask the server which modifiers are held then.
        They may sleep between two keys, so they have read all keys only if two checks show the same. An unknown
        program gets the shortest time.
        """
        self.flush()
        self.arrive()
        time.sleep(HELD_LEAST_S)
        until = time.monotonic() + HELD_S - HELD_LEAST_S
        last = runs
        while runs is not None and time.monotonic() < until:
            self._link.sync()
            now = self.reader_runs()
            if now == last and now not in (-1, runs):
                return
            last = now
            time.sleep(NAP_S)

    def holds(self, keycode: int) -> bool:
        return keycode in self._down

    @property
    def holds_any(self) -> bool:
        return bool(self._down)

    def flush(self) -> None:
        self._link.conn.flush()
        self._sent = True

    def arrive(self) -> None:
        """Wait until the X server has processed all sent events.

        Otherwise keys would queue up in a blocked server, which would press them long after a stop.
        """
        began = time.monotonic()
        self._link.sync()
        self._gate.took(time.monotonic() - began)

    def _send(self, kind: int, keycode: int) -> None:
        self._test.FakeInput(kind, keycode, 0, 0, 0, 0, 0)
        self.events += 1
        self.last_event_ns = time.monotonic_ns()

    def release_all(self, *, held_by_others: bool = False) -> None:
        """Release every key that this object pressed.

        With ``held_by_others``, also keys that other programs left pressed.
        """
        for keycode in reversed(self._down):
            self._send(RELEASE, keycode)
        self._down.clear()
        if held_by_others:
            let_go(self._link)
        self.flush()

    @property
    def shift(self) -> int:
        """The keycode of Shift."""
        return self.keycode(keynames.SHIFT)

    def keycode(self, keysym: int) -> int:
        """Return the key that produces a keysym without Shift."""
        stroke = self._strokes.get(keysym)
        if stroke is None:
            raise DesktopFailed(f"The keyboard of display {self._link.display} has no key for this: change its layout.")
        return stroke.keycode


def let_go(link: XConnection) -> None:
    """Release every key that XTEST holds down. Keys that a person holds on a keyboard stay pressed."""
    test = link.conn(xcffib.xtest.key)
    pressed = bytes(link.conn.core.QueryKeymap().reply().keys)
    for keycode in range(8, 256):
        if pressed[keycode // 8] >> (keycode % 8) & 1:
            test.FakeInput(RELEASE, keycode, 0, 0, 0, 0, 0)
    link.conn.flush()


def let_go_of_buttons(link: XConnection) -> None:
    """Release every pressed button."""
    test = link.conn(xcffib.xtest.key)
    held = link.conn.core.QueryPointer(link.root).reply().mask
    for button in range(1, 6):
        if held >> (7 + button) & 1:
            test.FakeInput(RELEASE_BUTTON, button, 0, 0, 0, 0, 0)
    link.conn.flush()


def restore(link: XConnection, keys: Iterable[int]) -> None:
    """Make keys produce no keysym."""
    for keycode in keys:
        link.conn.core.ChangeKeyboardMapping(1, keycode, 1, [0])
    link.sync()
