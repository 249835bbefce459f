"""Type text so that every character arrives, whatever the keyboard layout.

A character that a key of the layout produces is typed with that key. Other characters are mapped to free keys while the
text is typed (lent keys). A lent key gets another character only after the program has answered a ping that was sent
after the key's last use. This is necessary because programs look a key up in the map when they process it.

`Typist` is the main class; `gesture_player`, `caret_probe` and `remote_input` use it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import islice

from holo_tasks.core.errors import DesktopFailed, HoloError, PolicyRefused, SecretRefused
from holo_tasks.core.input import keynames
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.capture.liveness_ping import Pinger
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.input.gate import POLL_S, Gate
from holo_tasks.desktop.input.keyboard import Keyboard
from holo_tasks.desktop.x11.keyboard_map import Stroke

# Keys per write: few enough that a stop or a deadline takes effect within a millisecond.
BATCH = 8
# Most keys that are sent before the program has read and drawn them. Later keys can still be stopped.
AHEAD = 128
PATIENCE_S = 10.0
HOT_KEYS_GRABBED = (
    "another program has grabbed some of its keys as hot keys, and would get them in place of the window with the "
    "keyboard. End that program, or turn off these hot keys in it."
)

# Waits for the first repaint after typing, and for quiet after the last one. The second line is for programs that
# answer no pings (xterm, Motif).
ECHO_NS, ECHO_QUIET_NS = 100_000_000, 20_000_000
NO_PING_NS = 150_000_000
MOST_ECHO_NS = 1_000_000_000


class Typist:
    """Types through one keyboard into the focused window."""

    def __init__(
        self,
        keyboard: Keyboard,
        pulse: Pinger,
        repaints: Repaints,
        gate: Gate,
    ) -> None:
        self._keyboard = keyboard
        self._pulse = pulse
        self._repaints = repaints
        self._gate = gate
        self._used: set[int] = set()

    def check(self, text: str) -> None:
        """Raise if the text holds a character that cannot be typed. It types nothing."""
        for character in text:
            keynames.of_character(character)

    def check_alone(self, secret: Secret) -> None:
        """Raise `SecretRefused` if another program has grabbed a key of the secret's value as a hot key."""
        symbols = map(keynames.of_character, secret.value)
        if self._keyboard.is_grabbed_elsewhere(
            stroke for symbol in symbols if (stroke := self._keyboard.stroke(symbol))
        ):
            raise SecretRefused(f"The secret {secret.name!r} is not typed: {HOT_KEYS_GRABBED} Nothing was typed.")

    def type(self, text: str) -> None:
        """Type a text. The caller holds `Keyboard.plain`."""
        self.strike([keynames.of_character(c) for c in text.replace("\r\n", "\n")])

    def strike(self, symbols: list[int]) -> None:
        """Type keysyms, as `type` does. The list is emptied."""
        while symbols:
            some = self._bind(symbols)
            self._strike(symbols[:some])
            del symbols[:some]

    def make_typable(self, symbols: list[int]) -> None:
        """Give each of a few keysyms a key. Raises `DesktopFailed` if too few keys are free."""
        if self._bind(symbols) < len(symbols):
            raise DesktopFailed("The keyboard map has too few free keys for this combination.")

    def stroke(self, symbol: int) -> Stroke:
        """Return the key of a keysym that was made typable. Raises `DesktopFailed` if the map was changed meanwhile."""
        stroke = self._keyboard.stroke(symbol)
        if stroke is None:
            raise DesktopFailed("The keyboard map was changed while typing: try again.")
        if stroke.keycode in self._keyboard.free:
            self._used.add(stroke.keycode)
        return stroke

    def await_read(self) -> bool:
        """Wait until the program has read all sent keys. Returns false at once if it answers no pings."""
        if self._pulse.ask() is None:
            return False
        self._barrier()
        return True

    def finish(self) -> None:
        """Wait until the program has read its keys, so that lent keys may be removed from the map."""
        if self._used:
            self._barrier()

    def forget(self) -> None:
        """Remove the typed characters from the keyboard map, which every program can read."""
        if self._keyboard.bound_keys():
            with suppress(HoloError):  # a frozen program or a stop: its last keys may be lost, but the map is cleared
                self.finish()
            self._keyboard.put_back()
            self._pulse.await_manager()

    def _bind(self, symbols: list[int]) -> int:
        """Make as many of the next keysyms typable as the free keys allow; return their number."""
        keyboard = self._keyboard
        wanted: list[int] = []
        count = 0
        for symbol in symbols:
            stroke = keyboard.stroke(symbol)
            if (stroke is None or stroke.keycode in keyboard.free) and symbol not in wanted:
                if len(wanted) == len(keyboard.free):
                    break
                wanted.append(symbol)
            count += 1
        if not count:
            raise DesktopFailed("The keyboard map has no free key for other characters: choose a plainer layout.")
        lent = keyboard.bound_keys()
        missing = [symbol for symbol in wanted if symbol not in lent.values()]
        if missing:
            keys = [key for key in keyboard.free if lent.get(key) not in wanted]
            keys.sort(key=lambda key: (key in lent, key in self._used))
            if self._used.intersection(keys[: len(missing)]):
                self._barrier(must=True)
            keyboard.bind_free_keys(missing, keys)
            self._barrier()
            self._pulse.await_manager()
        return count

    def _strike(self, symbols: list[int]) -> None:
        sent = 0
        for batch in _batches(symbols, BATCH):
            self._gate.turn()
            # No program may open another window between the check of the window's owner and the keys.
            with self._keyboard.with_server_grabbed() if self._gate.guards_secrets else nullcontext():
                if self._gate.guards_secrets and self._keyboard.is_grabbed_elsewhere(map(self.stroke, batch)):
                    raise PolicyRefused(f"Typing a secret was stopped: {HOT_KEYS_GRABBED}")
                self._send(batch)
            self._keyboard.arrive()
            sent += len(batch)
            if sent >= AHEAD:
                self._barrier()
                # A browser has read its keys long before its page has processed them.
                self._await_echo(first_ns=ECHO_NS, quiet_ns=ECHO_QUIET_NS)
                sent = 0

    def _send(self, symbols: list[int]) -> None:
        """Send a few keys in one write, so that no key stays pressed if this process is delayed."""
        keyboard = self._keyboard
        shifted = False
        shift = keyboard.shift
        for symbol in symbols:
            stroke = self.stroke(symbol)
            if stroke.shift != shifted:
                (keyboard.press if stroke.shift else keyboard.release)(shift)
                shifted = stroke.shift
            keyboard.press(stroke.keycode)
            keyboard.release(stroke.keycode)
        if shifted:
            keyboard.release(shift)
        keyboard.flush()

    def _barrier(self, *, must: bool = False) -> None:
        """Wait until the program has read all sent keys. If it answers no pings, wait until it has drawn and sleeps.

        With ``must`` it raises `DesktopFailed` after ``PATIENCE_S``; without, it returns.
        """
        ping = self._pulse.ask()
        until = time.monotonic() + PATIENCE_S
        if ping is None:
            self._await_echo(first_ns=NO_PING_NS, quiet_ns=NO_PING_NS)
        # Without pings, a program has read its keys once it sleeps. On a busy machine it may draw much later.
        while self._keyboard.is_reader_awake() if ping is None else self._pulse.answered(ping) is None:
            self._gate.check()
            if time.monotonic() >= until:
                if must:
                    raise DesktopFailed("The program does not read its keys: is it frozen?")
                return
            self._repaints.wait(20_000_000, serial=ping.serial if ping else None)
        self._used.clear()

    def _await_echo(self, *, first_ns: int, quiet_ns: int) -> None:
        """Wait until the program has drawn the typed text: for a first repaint, then for quiet after the last one."""
        began, sent = time.monotonic_ns(), self._keyboard.last_event_ns
        while (now := time.monotonic_ns()) - began < MOST_ECHO_NS:
            self._gate.check()
            drawn = [repaint.at_ns for repaint in self._repaints.latest()[-1:] if repaint.at_ns > sent]
            left = drawn[0] + quiet_ns - now if drawn else began + first_ns - now
            if left <= 0:
                return
            self._repaints.wait(min(left, round(POLL_S * 1e9)), repaint=not drawn)


def _batches(symbols: list[int], size: int) -> Iterator[list[int]]:
    rest = iter(symbols)
    while batch := list(islice(rest, size)):
        yield batch
