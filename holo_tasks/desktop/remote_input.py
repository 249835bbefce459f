"""A person's hands on a screen from elsewhere: what their keys mean arrives, whatever keyboard they have.

A VNC server could press keys itself, but Debian's drops what the screen's own layout lacks or has elsewhere. Nothing of
this is kept or logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import xcffib.xproto
import xcffib.xtest

from holo_tasks.core import keynames
from holo_tasks.core.errors import HoloError
from holo_tasks.core.remote_input import ByHand, Key, Pointing
from holo_tasks.desktop.gate import Gate
from holo_tasks.desktop.keyboard import RELEASE_BUTTON, Keyboard
from holo_tasks.desktop.liveness_ping import Pulse
from holo_tasks.desktop.typist import Typist
from holo_tasks.desktop.xlink import XLink

PRESS_BUTTON, MOTION = 4, 6
BUTTONS = 7
"""Three, and four for wheels."""
SHIFTS = {0xFFE1, 0xFFE2}
OTHERS = set(range(0xFFE3, 0xFFEF)) - {0xFFE5, 0xFFE6}
"""Control, Meta, Alt, Super, Hyper on either side, without the locks."""
IGNORED = {0xFFE5, 0xFFE6, 0xFF7F, 0xFF14, 0xFE03, 0xFF7E}
"""Locks, and what chooses another level: the person's keyboard has applied these already."""

PAD = {symbol: symbol - 0xFF80 for symbol in (*range(0xFFAA, 0xFFBA), 0xFFBD)}
"""Signs of the number pad: their keys mean something else without NumLock."""


class Guest:
    """Presses what a person presses; their modifiers stay down as long as they hold them."""

    def __init__(self, link: XLink, gate: Gate, keyboard: Keyboard, typist: Typist, pulse: Pulse) -> None:
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
        """Do one thing after the other. Raises before any event unless a person has the screen."""
        for one in inputs:
            self._gate.check()
            match one:
                case Pointing():
                    self._point(one)
                case Key(keysym, down):
                    self._key(keysym, down)

    def finish(self) -> None:
        """Let go of all, and wait until what was typed has been read."""
        self.let_go()
        with suppress(HoloError):  # a frozen program
            self._typist.finish()

    def let_go(self) -> None:
        """Release what the person holds."""
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
                self._pulse.await_manager()  # what is queued behind a press may be lost
        self._buttons = to.buttons
        self._link.conn.flush()

    def _key(self, keysym: int, down: bool) -> None:
        if keysym in IGNORED:
            return
        keysym = PAD.get(keysym, keysym)
        if self._clicked:  # as after a click of the agent's: keys would overtake it
            self._clicked = False
            self._pulse.await_manager()
        if keysym in SHIFTS or keysym in OTHERS:
            self._modify(keysym, down)
        elif down and OTHERS.isdisjoint(self._modifiers) and not 0xFD00 <= keysym <= 0xFFFF:
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
        """Press a key along with the modifiers that are held, and with Shift if it takes that here."""
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
