"""Carries out gestures on one screen, with its pointer and its keyboard."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.input import keynames
from holo_tasks.core.input.gestures import (
    Click,
    Drag,
    Gesture,
    HoldAndTap,
    Hotkey,
    Move,
    Pause,
    Receipt,
    Scroll,
    Typed,
    Write,
)
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.remote_screen import untypable
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.capture.liveness_ping import Pinger
from holo_tasks.desktop.fields.caret_probe import CaretProbe
from holo_tasks.desktop.fields.changed_field import Fields
from holo_tasks.desktop.fields.clear_field import FieldClearing
from holo_tasks.desktop.fields.focused_field import Focus, FocusedField
from holo_tasks.desktop.fields.offered_entries import OfferedEntries
from holo_tasks.desktop.fields.pasted_text import PastedText, value_to_paste
from holo_tasks.desktop.fields.sheet_typing import SheetTyping
from holo_tasks.desktop.fields.typing_watch import SecretTypingCheck
from holo_tasks.desktop.fields.wide_characters import WideCharacters
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.input.keyboard import Keyboard
from holo_tasks.desktop.input.pointer import Pointer
from holo_tasks.desktop.input.remote_typing import RemoteTyping
from holo_tasks.desktop.input.typing import BATCH, Typist
from holo_tasks.desktop.programs.window_owners import owner_of
from holo_tasks.desktop.secrets.code_windows import CodeWindows, Ticket
from holo_tasks.desktop.secrets.secret_store import SecretStore
from holo_tasks.desktop.x11 import clipboard
from holo_tasks.desktop.x11.keyboard_map import Stroke
from holo_tasks.desktop.x11.monitors import BoundMonitor
from holo_tasks.desktop.x11.x_connection import XConnection

MOST_CLICKS, MOST_NOTCHES, MOST_REPEATS = 10, 200, 200


class GesturePlayer:
    """The pointer and the keyboard of one screen. Each gesture is checked before its first event.

    `desktop.session.x_session` creates it in the host process. ``bound`` is the monitor that the agent is limited to,
    ``vault`` has the secrets, and ``far`` types into windows that show another machine's screen.
    """

    def __init__(
        self,
        link: XConnection,
        pointer: Pointer,
        keyboard: Keyboard,
        typist: Typist,
        pulse: Pinger,
        gate: Gate,
        vault: SecretStore,
        fields: Fields,
        bound: BoundMonitor,
        far: RemoteTyping,
        focused: FocusedField,
    ) -> None:
        self._link = link
        self._pointer = pointer
        self._keyboard = keyboard
        self._typist = typist
        self._pulse = pulse
        self._gate = gate
        self._vault = vault
        self._fields = fields
        self._bound = bound
        self._far = far
        self._focused = focused
        probe = CaretProbe(fields, typist, self._press_keys, gate)
        self._clearing = FieldClearing(focused, probe, fields, self._press_keys, gate)
        self._sheet = SheetTyping(focused, typist.type, self._press_keys, gate)
        self._windows = CodeWindows(gate.sleep)
        self._pasted = PastedText(link, keyboard, self._press_codes, gate.sleep)
        self._wide = WideCharacters(link, self._pasted.paste)
        self._offers = OfferedEntries(focused, fields, gate)
        self._value_events = 0
        self.typed: list[Typed] = []

    def do(self, gesture: Gesture) -> Receipt:
        """Carry out a gesture. Keys and buttons are released in any case."""
        began = time.monotonic_ns()
        before = self._events
        self.typed = []
        self._value_events = 0
        self._gate.check()
        left_out = ""
        if not isinstance(gesture, Hotkey | Move | Pause):
            self._sheet.forget()
        try:
            left_out = self._carry_out(gesture)
        finally:
            self.let_go()
            if isinstance(gesture, Click | Drag | Scroll):
                # A window manager holds a press back until it has decided which window to focus. Keys are not held
                # back, so without this wait the next ones would overtake the click.
                self._pulse.await_manager()
        # The keys of a secret's value are not counted: their number would reveal its length.
        events = self._events - before - self._value_events
        return Receipt(time.time_ns(), time.monotonic_ns() - began, events, tuple(self.typed), left_out)

    def let_go(self) -> None:
        """Release all keys and buttons."""
        self._pointer.release_all()
        self._keyboard.release_all()

    @property
    def last_event_ns(self) -> int:
        """When the last input event was sent (monotonic nanoseconds)."""
        return max(self._pointer.last_event_ns, self._keyboard.last_event_ns)

    @property
    def _events(self) -> int:
        return self._pointer.events + self._keyboard.events

    def _carry_out(self, gesture: Gesture) -> str:
        """Carry out a gesture. Return the omitted part and the reason, or an empty string."""
        pointer = self._pointer
        match gesture:
            case Click(at, button, count):
                self._check(at)
                if button == "middle":
                    self._check_pasted((clipboard.PRIMARY,), at)
                _in_range("clicks", count, MOST_CLICKS)
                return pointer.click(at, button, count)
            case Move(to):
                self._check(to)
                pointer.move(to)
            case Drag(start, end, button):
                self._check(start, end)
                self._gate.belongs(end)  # the window there gets the drop
                return pointer.drag(start, end, button)
            case Scroll(at, direction, notches):
                self._check(at)
                _in_range("notches", notches, MOST_NOTCHES)
                pointer.scroll(at, direction, notches)
            case Write():
                return self._write(gesture)
            case Hotkey(keys, repeat):
                _in_range("repeats", repeat, MOST_REPEATS)
                self._check_pasted(clipboard.pasted_by(keys), None)
                self._tap(hold=(), groups=[keys] * repeat)
            case HoldAndTap(hold, tap):
                self._check_pasted(clipboard.pasted_by({*hold, *tap}), None)
                self._tap(hold=hold, groups=[(key,) for key in tap])
            case Pause(seconds):
                if not (math.isfinite(seconds) and seconds >= 0):
                    raise InvalidUsage(f"A pause lasts a number of seconds from 0 up, not {seconds!r}.")
                self._gate.sleep(seconds)
        return ""

    def _check(self, *points: Point) -> None:
        size = self._link.size()
        for point in points:
            if not point.inside(size):
                raise InvalidUsage(
                    f"The point ({point.x}, {point.y}) is not on the screen of {size} pixels: look again."
                )
            self._bound.check(point)

    def _check_keys(self) -> None:
        """Raise `InvalidUsage` if keys would go to a window on another monitor than this agent's."""
        if self._bound.box is not None:
            self._bound.check_keys(owner_of(self._link, None).box)

    def _check_pasted(self, selections: tuple[str, ...], at: Point | None) -> None:
        """Raise `SecretRefused` if a paste would insert a secret's value where the secret may not be typed."""
        for selection in selections if self._vault.any else ():
            found = self._vault.held_in(clipboard.text_of(self._link.display, selection))
            if found and (refusal := self._gate.binding(found, at)):
                raise SecretRefused(f"The text to paste contains the value of a secret. {refusal} Nothing was pasted.")

    def _write(self, gesture: Write) -> str:
        """Type a text. Return a warning if its arrival is uncertain, otherwise an empty string."""
        parts = list(self._vault.parts(gesture.text))
        for part in parts:
            self._typist.check(_with_possible_value(part).value if isinstance(part, Secret) else part)
        if gesture.at is not None:
            self._check(gesture.at)
        else:
            self._check_keys()
        if client := self._far.client(gesture.at):
            self._far.check(
                [_with_possible_value(part) if isinstance(part, Secret) else part for part in parts], client
            )
        are_lost = not client and self._wide.are_lost(parts, gesture.at)
        warning = ""
        secrets = [part for part in parts if isinstance(part, Secret)]
        for secret in secrets:
            self._typist.check_alone(_with_possible_value(secret))
        tickets = {one.name: self._windows.ticket(one, self._gate.code_window(one.name)) for one in secrets if one.totp}
        with self._gate.typing(secrets, gesture.at):
            if gesture.at is not None:
                self._pointer.click(gesture.at, "left", 1)
                self._pulse.await_manager()
            else:
                self._gate.compare()
            with self._keyboard.plain():
                focus = self._clear(gesture, client=client)
                if focus.is_office_cell and not secrets:
                    text = gesture.text + "\n" * gesture.press_enter
                    self._sheet.type(text, replaces=gesture.overwrite)
                    return warning
                for part in parts:
                    if warning:
                        break
                    if isinstance(part, Secret):
                        self._write_secret(self._with_value(part, tickets), self._gate.field)
                    elif client and untypable(part):
                        warning = self._far.paste(part, self._press_codes, self._keyboard)
                    elif focus.qt_spin and not client and (value := value_to_paste(part)):
                        warning = self._pasted.write(value, part.removeprefix(value), self._typist.type)
                    elif are_lost:
                        warning = self._wide.write(part, self._typist.type)
                    else:
                        self._typist.type(part)
                if gesture.press_enter and not warning:
                    if not secrets and not client and gesture.text.strip():
                        self._offers.await_entries(self.last_event_ns)
                    self._typist.type("\n")
        return warning

    def _press_codes(self, codes: Sequence[int]) -> None:
        self._press_together([Stroke(code) for code in codes])

    def _with_value(self, secret: Secret, tickets: dict[str, Ticket]) -> Secret:
        """Return a secret with the value to type. For a TOTP seed it is the current code, which counts as used then."""
        if not secret.totp:
            return secret
        ticket = tickets.pop(secret.name, None) or self._windows.ticket(secret, self._gate.code_window(secret.name))
        code = self._windows.code(secret, ticket)
        self._vault.typed()
        return replace(secret, value=code, totp=False)

    def _write_secret(self, secret: Secret, field: Box | None = None) -> None:
        """Type a value, and record where it shows on the screen before anything else happens.

        With a ``field``, the first character is typed alone, and typing continues only while the value shows there.
        """
        self._fields.mark(self.last_event_ns)
        before = self._events
        try:
            try:
                if field is None:
                    self._typist.type(secret.value)
                else:
                    self._write_in_field(field, secret)
            finally:
                self._value_events += max(0, self._events - before - 1)
                self._typist.forget()
            shown = self._fields.shown(self.last_event_ns, secret.value)
        except BaseException:
            if self._events > before:
                self.typed += self._fields.stopped()
            raise
        self.typed += shown

    def _write_in_field(self, field: Box, secret: Secret) -> None:
        landing, rest, count = (
            SecretTypingCheck(self._fields, field, secret.name),
            secret.value.replace("\r\n", "\n"),
            1,
        )
        while rest:
            began_ns = time.monotonic_ns()
            self._typist.type(rest[:count])
            rest = rest[count:]
            only = landing.check(began_ns, self.last_event_ns)
            # Other changes may be a hint, or the next field, into which the program moved the focus. The next
            # character, typed alone, decides.
            count = BATCH if only or count == 1 else 1

    def _press_keys(self, *keys: int) -> None:
        """Press keys of the layout together, by their keysyms."""
        self._gate.check()
        self._press_together([Stroke(self._keyboard.keycode(key)) for key in keys])

    def _clear(self, gesture: Write, *, client: str) -> Focus:
        """Clear the field if the text replaces its content. Return the focused control if it decides how to type."""
        last = self.last_event_ns
        if not gesture.overwrite:
            return self._clearing.focus(last) if self._focused.in_sheets else Focus("unknown")
        return self._clearing.clear(self._clearing.focus(last), far=bool(client), empty=not gesture.text)

    def _tap(self, *, hold: tuple[str, ...], groups: list[tuple[str, ...]]) -> None:
        """Hold some keys, and press the groups of other keys one after the other."""
        if not groups or not all(groups):
            raise InvalidUsage("A hotkey needs at least one key.")
        named = [*hold, *(key for group in groups for key in group)]
        symbols = {key: keynames.keysym(key) for key in named}
        # "Ctrl+A" usually means Ctrl and the A key; "A" alone is the capital letter.
        self._check_keys()
        modified = any(symbols[key] in keynames.MODIFIERS.values() for key in named)
        if modified:
            symbols = {key: keynames.small(symbol) for key, symbol in symbols.items()}
        keyboard = self._keyboard
        self._gate.compare()
        client = self._far.client(None)
        with keyboard.plain(keep_locks=not keynames.LOCKS.isdisjoint(symbols.values())):
            if client:
                self._far.check_keys(symbols.values(), keyboard, client)
            self._typist.make_typable(list(symbols.values()))
            strokes = {key: self._typist.stroke(symbol) for key, symbol in symbols.items()}
            self._sheet.before_keys(symbols.values())
            for key in hold:
                self._press_key(strokes[key])
            for group in groups:
                (self._gate.check if hold else self._gate.turn)()
                self._press_together([strokes[key] for key in group])
            keyboard.release_all()

    def _press_together(self, strokes: list[Stroke]) -> None:
        keyboard = self._keyboard
        has_modifiers = keyboard.holds_any or len(strokes) > 1 or any(stroke.shift for stroke in strokes)
        runs = keyboard.reader_runs() if has_modifiers else None
        pressed = [code for stroke in strokes for code in self._press_key(stroke)]
        if has_modifiers:
            keyboard.await_reader(runs)
        for code in reversed(pressed):
            keyboard.release(code)
        keyboard.flush()

    def _press_key(self, stroke: Stroke) -> list[int]:
        """Press a key, after Shift if its character needs it. Return the pressed keys."""
        codes = [self._keyboard.shift, stroke.keycode] if stroke.shift else [stroke.keycode]
        codes = [code for code in codes if not self._keyboard.holds(code)]
        for code in codes:
            self._keyboard.press(code)
        return codes


def _with_possible_value(secret: Secret) -> Secret:
    """Return a secret with all characters that its value may contain, to check that the keyboard can type them.

    A one-time code is generated only right before it is typed.
    """
    return replace(secret, value="0123456789", totp=False) if secret.totp else secret


def _in_range(what: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise InvalidUsage(f"The number of {what} is from 1 to {most}, not {number}.")
