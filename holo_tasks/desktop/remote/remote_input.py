"""Send the keys and clicks of a person at a live view to the screen, by the symbols of their keys.

The person's keyboard layout makes no difference. A VNC server could press keys itself, but Debian's drops symbols that
the screen's layout lacks or has on other keys. This input is neither stored nor logged.

`ViewerInput` is the main class; the process that owns the desktop uses it during a hand-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import xcffib.xproto
import xcffib.xtest

from holo_tasks.core.errors import HoloError
from holo_tasks.core.input import keynames
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.desktop.capture.liveness_ping import Pinger
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.input.keyboard import RELEASE_BUTTON, Keyboard
from holo_tasks.desktop.input.typing import Typist
from holo_tasks.desktop.x11.x_connection import XConnection

PRESS_BUTTON, MOTION = 4, 6
BUTTONS = 7
"""Number of buttons: three, and four for wheels."""
SHIFTS = {0xFFE1, 0xFFE2}
MODIFIERS = set(range(0xFFE3, 0xFFEF)) - {0xFFE5, 0xFFE6}
"""Keysyms of Control, Meta, Alt, Super and Hyper on either side, without the locks."""
IGNORED = {0xFFE5, 0xFFE6, 0xFF7F, 0xFF14, 0xFE03, 0xFF7E}
"""Keysyms of locks and of keys that choose a level. The person's keyboard has applied these already."""

NUMBER_PAD = {symbol: symbol - 0xFF80 for symbol in (*range(0xFFAA, 0xFFBA), 0xFFBD)}
"""Characters of the number pad, mapped to the same characters of the main keys: without NumLock the pad's keys move."""


class ViewerInput:
    """The input of a person at a live view. Modifiers stay down as long as the person holds them."""

    def __init__(self, link: XConnection, gate: Gate, keyboard: Keyboard, typist: Typist, pulse: Pinger) -> None:
        self._link = link
        self._gate = gate
        self._keyboard = keyboard
        self._typist = typist
        self._pulse = pulse
        self._test = link.conn(xcffib.xtest.key)
        self._modifiers: list[int] = []
        self._buttons = 0
        self._clicked = False

    def do(self, inputs: Sequence[ByHand]) -> None:
        """Send inputs in order. The gate raises before any event unless a person has the screen."""
        for one in inputs:
            self._gate.check()
            match one:
                case Pointing():
                    self._point(one)
                case Key(keysym, down):
                    self._key(keysym, down)

    def finish(self) -> None:
        """Release everything, and wait until the program has read the typed keys."""
        self.let_go()
        with suppress(HoloError):  # a frozen program
            self._typist.finish()

    def let_go(self) -> None:
        """Release the buttons and keys that the person holds."""
        self._modifiers.clear()
        for button in range(1, BUTTONS + 1):
            if self._buttons & 1 << button - 1:
                self._test.FakeInput(RELEASE_BUTTON, button, 0, 0, 0, 0, 0)
        self._buttons = 0
        self._keyboard.release_all()

    def _point(self, to: Pointing) -> None:
        size = self._link.size()
        x, y = min(max(to.x, 0), size.width - 1), min(max(to.y, 0), size.height - 1)
        self._test.FakeInput(MOTION, 0, 0, self._link.root, x, y, 0)
        for button in range(1, BUTTONS + 1):
            bit = 1 << button - 1
            if (to.buttons ^ self._buttons) & bit:
                self._test.FakeInput(PRESS_BUTTON if to.buttons & bit else RELEASE_BUTTON, button, 0, 0, 0, 0, 0)
                self._clicked = True
                self._pulse.await_manager()  # events that are queued behind a press may be lost
        self._buttons = to.buttons
        self._link.conn.flush()

    def _key(self, keysym: int, down: bool) -> None:
        if keysym in IGNORED:
            return
        keysym = NUMBER_PAD.get(keysym, keysym)
        if self._clicked:  # keys would overtake the click, as after a click of the agent
            self._clicked = False
            self._pulse.await_manager()
        if keysym in SHIFTS or keysym in MODIFIERS:
            self._modify(keysym, down)
        elif down and MODIFIERS.isdisjoint(self._modifiers) and not 0xFD00 <= keysym <= 0xFFFF:
            with self._keyboard.plain():
                self._typist.strike([keysym])
            for held in self._modifiers:
                self._hold(held)
        elif down:
            self._tap(keysym)
        self._keyboard.flush()

    def _modify(self, keysym: int, down: bool) -> None:
        if down and keysym not in self._modifiers:
            self._modifiers.append(keysym)
            self._hold(keysym)
        elif not down and keysym in self._modifiers:
            self._modifiers.remove(keysym)
            stroke = self._keyboard.stroke(keysym)
            if stroke is not None and self._keyboard.holds(stroke.keycode):
                self._keyboard.release(stroke.keycode)

    def _hold(self, keysym: int) -> None:
        stroke = self._keyboard.stroke(keysym)
        if stroke is not None:
            self._keyboard.press(stroke.keycode)

    def _tap(self, keysym: int) -> None:
        """Press a key together with the held modifiers, and with Shift if the symbol needs it in this layout."""
        small = keynames.small(keysym) if self._modifiers else keysym
        self._typist.make_typable([small])
        stroke, shift = self._typist.stroke(small), self._keyboard.shift
        shifted = stroke.shift and SHIFTS.isdisjoint(self._modifiers)
        if shifted:
            self._keyboard.press(shift)
        self._keyboard.press(stroke.keycode)
        self._keyboard.release(stroke.keycode)
        if shifted:
            self._keyboard.release(shift)
