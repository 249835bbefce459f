"""Look again at the fields that a playbook has filled in, after the keyboard left them and before a press sends them.

A program may complete a name or limit a number at that moment. The typed text was read back before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core.elements.elements import FOCUSED, Element
from holo_tasks.core.elements.typed_field import CELL, same_field_in, takes_text
from holo_tasks.core.texts.typed_text import changed_later
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.scripts.element_search import FIELDS
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.steps_and_targets import Action
from holo_tasks.vision.screen_text import Sight

MOVES = frozenset({"tab", "shift", "up", "down", "left", "right"})
"""Keys that go to another field, and send nothing."""


@dataclass(frozen=True)
class _Filled:
    """A field that was filled in: its step, its element after the typing, the typed text, and its text before."""

    rule: Rule
    field: Element
    typed: str
    before: str


@dataclass
class LeftFields:
    """The fields that were filled in since the last press that may have sent them, each with its step."""

    _filled: list[_Filled] = field(default_factory=list)
    _aimed: Element | None = None

    def aim(self, sight: Sight) -> None:
        """Keep the field with the keyboard before a text is typed. A busy program may not answer after it."""
        focused = None if sight.elements is None else sight.elements.focused()
        self._aimed = focused if takes_text(focused) else None

    def note(self, rule: Rule, action: Action, typed: str, read: ReadBack) -> None:
        """Keep the field of a step that typed a text. Forget all after a step that may have sent the form."""
        if action.write is not None and not action.write.press_enter:
            target = read.target or self._aimed
            if target is not None and not action.write.shows:
                self._filled.append(_Filled(rule, target, typed, read.before))
        elif not _stays(action):
            self._filled.clear()

    def changed(self, sight: Sight) -> Rule | None:
        """Return the step whose field holds another value now than the typed one; ``None`` without such a field."""
        tree = sight.elements
        if tree is None:
            return None
        for each in self._filled:
            now = same_field_in(each.field, tree)
            if now is None or FOCUSED in now.states or now.value in ("", each.field.value):
                continue  # it is still at work, was emptied, or has not changed since
            if changed_later(each.typed, now.value, before=each.before, in_cell=now.role == CELL):
                return each.rule
        return None


def _stays(action: Action) -> bool:
    """Return whether an action only goes from one field of a form to another."""
    if action.hotkey is not None:
        return MOVES.issuperset(map(str.casefold, action.hotkey))
    target = action.click
    return target is not None and (target.field is not None or target.role in FIELDS | {CELL})
