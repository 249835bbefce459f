"""Look again at the fields that were filled in, after the keyboard left them or the form was sent.

A program may limit a number, complete a name, put back the old text or empty the field at that moment. The typed text
was read back before it. `ReadBack` uses it after each step, and a playbook once more before its next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from holo_tasks.core.elements.elements import FOCUSED, Element, ElementTree, is_level
from holo_tasks.core.elements.target_words import FIELD_ROLES
from holo_tasks.core.elements.typed_field import CELL, changed_beside, is_same, same_field_in, takes_text
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Write
from holo_tasks.core.input.keynames import CONTROL, SHIFT, keysym, small
from holo_tasks.core.input.pressed_elements import pressed_at
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.same_value import numbers_of
from holo_tasks.core.texts.typed_text import TypedText, changed_later, plain, quoted

MOVES = frozenset({"tab", "shift", "up", "down", "left", "right"})
"""Keys that go to another field, and send nothing."""
LEAVES = frozenset({"tab", "shift"})
"""Keys that leave the text of a field unchanged."""
IN_FIELD = frozenset(map(keysym, ("backspace", "delete", "insert", "home", "end", "left", "right", "up", "down")))
"""Keys that act in the field with the keyboard, alone and with Ctrl."""
WITH_CTRL = IN_FIELD | frozenset(map(keysym, "acvxyz"))
UNICODE = 0x01000000
"""Keysyms of Unicode's characters begin here. Those of Latin-1 are the numbers of the characters."""
DAYS = frozenset(map(str, range(1, 29)))
"""The names of the days that each month has."""
STEPS = frozenset("+-−–▲▼▴▾↑↓")
"""Names of buttons that change the number of the field next to them."""
AROUND = 4
"""Pixels around a control in which its outline may be drawn."""
ChangedOutside: TypeAlias = Callable[[Sequence[Box]], bool]
STAYS = FIELD_ROLES | {CELL, "label", "terminal", "slider"}
"""Roles of elements on which a click sends no form."""


@dataclass(frozen=True)
class Filled:
    """A field that was filled in: its element after the typing, the typed text, and its text before."""

    field: Element
    typed: str
    before: str

    def sentence(self, held: str) -> str:
        """Return the sentence about the text that the field holds now."""
        name = f"The field ‘{quoted(self.field.name)}’" if self.field.name else "The field"
        now = f"now holds ‘{quoted(held)}’, not" if held else "is empty now and did not keep"
        return f"{name} {now} ‘{quoted(self.typed)}’."


@dataclass
class LeftFields:
    """The fields that were filled in since the last step that may have sent them.

    ``found`` are those that hold another value since the last step, each with its element then.
    """

    filled: list[Filled] = field(default_factory=list)
    found: list[tuple[Filled, Element]] = field(default_factory=list)
    _tree: ElementTree | None = field(default=None, repr=False)
    """The last tree, by which a form that shows another record is recognized."""
    _changed_outside: ChangedOutside = field(default=lambda boxes: True, repr=False)
    _pressed: Element | None = field(default=None, repr=False)

    def note(self, write: Write, result: TypedText, target: Element | None, before: str) -> None:
        """Keep the field that a text was typed into, in its state after the typing."""
        if target is None:
            return
        self.filled = [each for each in self.filled if not is_same(each.field, target)]
        is_read = result.kind == "exact" and result.by == "accessibility"  # the text may be only a part of the field's
        typed = target.value if is_read else write.text
        self.filled.append(Filled(target, typed, before))

    def look(
        self,
        tree: ElementTree,
        done: Gesture | None,
        was: ElementTree | None,
        changed_outside: ChangedOutside = lambda boxes: True,
    ) -> None:
        """Compare the fields after a gesture. ``was`` is the tree right before it, if there was one in time.

        ``changed_outside`` says whether the gesture has changed the picture outside some boxes.
        """
        before = was or self._tree
        pressed = pressed_at(before, done.at) if isinstance(done, Click) and before is not None else None
        self._pressed, self._changed_outside = pressed, changed_outside
        edits = _edits(done) and all(each is not None and takes_text(each.focused()) for each in (before, tree))
        sent = not edits and _sends(done, pressed)
        if edits or (isinstance(done, Hotkey) and not LEAVES.issuperset(map(str.casefold, done.keys)) and not sent):
            self.filled = [each for each in self.filled if not _has_keyboard(each, tree)]  # its text may be edited
        taken: list[Element] = []
        if pressed is not None and before is not None:
            self.filled = [each for each in self.filled if not _sets(pressed, each, before, tree)]
            taken = [each for each in (pressed, *before.row_of(pressed)) if not takes_text(each)]
        self.found = list(self._changed(tree, sent=sent, taken=taken))
        changed = [each for each, _ in self.found]
        self.filled = [] if sent else [each for each in self.filled if each not in changed]
        self._tree = tree

    def changed(self, tree: ElementTree) -> list[Filled]:
        """Return the fields that the keyboard has left and that hold another value now."""
        return [each for each, _ in self._changed(tree, sent=False)]

    def forget(self) -> None:
        """Forget all fields, because a person or a sequence works on the screen."""
        self.filled, self.found = [], []

    def _changed(
        self, tree: ElementTree, *, sent: bool, taken: Sequence[Element] = ()
    ) -> Iterator[tuple[Filled, Element]]:
        """Yield the fields that hold another value. A field may be empty if ``taken``, a pressed row, has its text."""
        for each in self.filled:
            now = same_field_in(each.field, tree)
            if now is None or now.name != each.field.name or now.value == each.field.value:
                continue
            if not sent and FOCUSED in now.states:
                continue  # it is still at work
            if not plain(now.value):
                if not sent and not self._shows_anew(each.typed, tree, taken):
                    yield each, now
            elif changed_later(each.typed, now.value, before=each.before, in_cell=now.role == CELL) and (
                not sent or self._is_same_record(each, now, tree)
            ):
                yield each, now

    def _shows_anew(self, typed: str, tree: ElementTree, taken: Sequence[Element]) -> bool:
        """Say whether another element shows a text that it did not show before: the program took it from its field.

        The row that was pressed may have shown it before.
        """
        known = {(each.role, each.name, each.value) for each in self._tree.elements} if self._tree else set()
        texts = (each for each in tree.elements if (each.role, each.name, each.value) not in known)
        return any(typed.strip() in text for each in (*texts, *taken) for text in (each.name, each.value))

    def _is_same_record(self, filled: Filled, now: Element, tree: ElementTree) -> bool:
        """Say whether a form that was sent still shows the same record: it may be empty now, or show another record.

        A form that is empty again has put back the texts of all its fields, and something else shows that it was sent.
        A program that rejects a text puts back that field alone, as Swing and Qt do with numbers and dates.
        """
        others = [each for each in tree.below(tree.window_of(now)) if takes_text(each) and each.id != now.id]
        if self._tree is None or not is_same(filled.field, now):
            return False
        own = [each.box.grown(AROUND) for each in (filled.field, now, self._pressed) if each is not None]
        if (
            plain(now.value) == plain(filled.before)
            and not self._kept_others(filled, tree)
            and self._changed_outside(own)
        ):
            return False
        return any(each.value for each in others) and not changed_beside(self._tree, now, tree)

    def _kept_others(self, filled: Filled, tree: ElementTree) -> bool:
        """Say whether all other filled-in fields, at least one, still hold their new texts."""
        others = [each for each in self.filled if each is not filled and plain(each.field.value) != plain(each.before)]
        now = [same_field_in(each.field, tree) for each in others]
        kept = [a is not None and not changed_later(each.typed, a.value) for each, a in zip(others, now, strict=True)]
        return bool(kept) and all(kept)


def _has_keyboard(filled: Filled, tree: ElementTree) -> bool:
    now = same_field_in(filled.field, tree)
    return now is not None and FOCUSED in now.states


def _edits(done: Gesture | None) -> bool:
    """Say whether a gesture presses only keys that a field with the keyboard uses itself, as Backspace and Ctrl+V."""
    if not isinstance(done, Hotkey | HoldAndTap):
        return False
    names = done.keys if isinstance(done, Hotkey) else (*done.hold, *done.tap)
    symbols = {small(keysym(name)) for name in names} - {SHIFT}
    if CONTROL in symbols:
        return symbols <= WITH_CTRL | {CONTROL}
    return all(each in IN_FIELD or 0x20 <= each <= 0xFF or each > UNICODE for each in symbols)


def _sets(pressed: Element, filled: Filled, before: ElementTree, tree: ElementTree) -> bool:
    """Say whether a pressed element has set the value of a field: an entry or a day of its list, or its ‘+’ or ‘-’."""
    now = same_field_in(filled.field, tree)
    if now is None or now.value == filled.field.value or not plain(now.value):
        return False
    name, held, field = plain(pressed.name), plain(now.value), filled.field
    if name.casefold() == held.casefold() or (_is_day(name, before) and _numbers(name) <= _numbers(held)):
        return True
    is_beside = is_level(pressed.box, field.box) and pressed.box.gap(field.box) <= field.box.height
    is_step = any(abs(one - other) == 1 for one in numbers_of(filled.typed) for other in numbers_of(held))
    return pressed.role == "button" and is_beside and (is_step or name in STEPS)


def _is_day(name: str, tree: ElementTree) -> bool:
    """Say whether a name may be that of a day in a calendar: a date, or a number while all days of a month show."""
    shown = {each.name for each in tree.elements} if name.isdecimal() else set()
    return len(re.findall(r"\d+", name)) > 1 or shown >= DAYS


def _numbers(text: str) -> set[int]:
    """Return the numbers in a text, a year without its century."""
    return {number % 100 if number > 999 else number for number in map(int, re.findall(r"\d+", text))}


def _sends(done: Gesture | None, pressed: Element | None) -> bool:
    """Say whether a gesture may send a form, rather than only go from one field to another.

    ``pressed`` is the element that a click has hit, if there was a tree in time.
    """
    match done:
        case Click():
            return pressed is None or pressed.role not in STAYS
        case Hotkey(keys=keys):
            return not MOVES.issuperset(map(str.casefold, keys))
        case Write(text=text, press_enter=enters):
            return enters or not {"\n", "\r"}.isdisjoint(text)
        case Drag() | HoldAndTap():
            return True
        case _:
            return False
