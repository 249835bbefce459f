"""Find a message of a program that something failed, which came while a playbook did its steps.

Only texts that programs report are read. Tables, lists, controls and fields that take texts show contents, and no
messages. A text that was there before the first step says nothing about the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from holo_tasks.core.elements.elements import EDITABLE, TEXTS, Element, ElementTree
from holo_tasks.core.texts.failure_words import says_failure
from holo_tasks.core.texts.typed_text import quoted
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Sight, matches

MESSAGES = TEXTS | {"text field", "alert", "notification", "status bar", "panel", "info bar", "section"}
"""Roles of elements that show messages."""
CONTENTS = frozenset({"table", "tree table", "tree", "list", "menu bar", "menu", "tool bar", "tab list", "terminal"})
"""Roles of containers whose texts are contents and controls."""


class FailureNotes:
    """The messages of failures on the first screen of a playbook, and those that came later."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._given = values
        self._values = [str(value) for value in values.values() if len(str(value)) > 1]
        self._first: Collection[str] | None = None

    def new(self, sight: Sight, allowed: Sequence[str] = ()) -> str:
        """Return a message of a failure that the first seen screen did not have; empty without one.

        ``allowed`` are messages that do not count, with the names of values in braces.
        """
        tree = (sight.shown or sight).elements
        if tree is None:
            return ""
        found = [*self._messages(tree)]
        if self._first is None:
            self._first = {*found}
        labels = [label_of(text, self._given) for text in allowed]
        new = (text for text in found if text not in self._first)
        return next((quoted(text) for text in new if not any(matches(label, text) for label in labels)), "")

    def _messages(self, tree: ElementTree) -> Iterator[str]:
        for element in tree.elements:
            if not _may_be_message(element) or any(each.role in CONTENTS for each in tree.ancestors(element)):
                continue
            for line in (*element.name.splitlines(), *element.value.splitlines()):
                if says_failure(self._without_values(line)):
                    yield line.strip()

    def _without_values(self, line: str) -> str:
        """Return a text without the values of the item, which may have such a word themselves."""
        for value in self._values:
            line = line.replace(value, " ")
        return line


def _may_be_message(element: Element) -> bool:
    return element.role in MESSAGES and element.on_screen and EDITABLE not in element.states
