"""Read texts only at the places where the accessibility tree expects them.

The tree supplies only the places. OCR decides whether a text is there. A text outside the tree is not found, so callers
read the whole picture before they give up. `ExpectedTexts` is used by `checked_elements`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.elements.known_elements import HOLDERS
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.outside_text import defused
from holo_tasks.vision.element_check import WRITTEN_INTO, ElementCheck, is_bare
from holo_tasks.vision.screen_text import (
    LIKENESS,
    FilledLabel,
    Line,
    Sight,
    holds_values,
    label_pattern,
    likeness,
    on_row,
    plain,
)

MOST_TEXTS = 400
"""On a screen with more texts, comparing them takes as long as reading the screen, so nothing is answered."""
LONGEST_PHRASE = 4
"""Most texts side by side that are joined to one phrase."""
LONG, HIGH = 20, 36
"""Letters and height in pixels from which a text may wrap over several lines."""
DRAWN = frozenset(
    {"drawing area", "canvas", "image", "icon", "document", "embedded", "terminal", "animation", "unknown"}
)
"""Roles of elements that may draw text which the tree does not contain."""


class ExpectedTexts:
    """Answers whether and where a text is on one picture, from the tree and OCR at its places."""

    def __init__(self, frame: Frame, tree: ElementTree, check: ElementCheck) -> None:
        self._frame, self._tree, self._check = frame, tree, check

    def has(self, label: str) -> bool | None:
        """Return whether a text is visible, or ``None`` if only reading the whole picture can tell."""
        if len(self._written) > MOST_TEXTS:
            return None
        places = self._places(label)
        if any(self._reads(element, _without_values(label)) for element in places):
            return True
        if places or any(likeness(label, phrase) >= LIKENESS for phrase in self._phrases):
            return None
        return any(self._reads(element, label) for element in self._drawn)

    def shows(self, label: str) -> bool:
        """Return whether a text is read at the place of an element that has it."""
        few = len(self._written) <= MOST_TEXTS
        return few and any(self._reads(element, _without_values(label)) for element in self._places(label))

    def row_of(self, label: str) -> tuple[Line, ...] | None:
        """Return the lines in the row of a label, or ``None`` unless the tree has the label exactly once."""
        if len(self._written) > MOST_TEXTS or any(likeness(label, phrase) >= LIKENESS for phrase in self._phrases):
            return None
        found = [
            each.box
            for each, text in self._written
            if likeness(label, text) >= LIKENESS and holds_values(label, text, reported=True)
        ]
        if len(found) != 1:
            return None
        row = [each.box for each, _ in self._written if on_row(each.box, found[0])]
        high = Box.around(row)
        return self._lines(Box(0, high.top, self._frame.size.width, high.height))

    def _places(self, label: str) -> list[Element]:
        """Return the elements whose text in the tree may be this label."""
        return [
            element
            for element, text in self._written
            if _may_have(label, text, element.box) and holds_values(label, text, reported=True)
        ]

    def _reads(self, element: Element, label: str) -> bool:
        if not isinstance(label, FilledLabel) and self._check.row(self._frame, element.box, label) is not None:
            return True
        return any(Sight(self._lines(element.box, room=room), self._frame.size).has(label) for room in (False, True))

    def _lines(self, box: Box, *, room: bool = False) -> tuple[Line, ...]:
        lines = self._check.lines(self._frame, box, room=room)
        return tuple(replace(line, text=defused(line.text)) for line in lines)

    @cached_property
    def _written(self) -> list[tuple[Element, str]]:
        """Return the visible elements with the texts that the tree gives them. For a field, that is its content."""
        shown = (each for each in self._tree.elements if each.on_screen and (each.value or each.role not in HOLDERS))
        texts = ((each, each.value if each.role in WRITTEN_INTO else each.name or each.value) for each in shown)
        found = [(each, text) for each, text in texts if plain(text)]
        within = {(above.id, text) for each, text in found for above in self._tree.ancestors(each)}
        return [(each, text) for each, text in found if (each.id, text) not in within]  # drop a button with equal text

    @cached_property
    def _phrases(self) -> frozenset[str]:
        """Return the phrases of neighboring texts, which OCR may read as one text."""
        return frozenset(_join_phrases([(each.box, text) for each, text in self._written]))

    @cached_property
    def _drawn(self) -> list[Element]:
        """Return the visible elements that may draw text which the tree does not contain."""
        parents = {each.parent for each in self._tree.elements}
        return [
            each
            for each in self._tree.elements
            if each.on_screen and each.role in DRAWN and each.id not in parents and not is_bare(self._frame, each.box)
        ]


def _without_values(label: str) -> str:
    """Return a label without a check of its values, which the tree has word for word. An effect stays an effect."""
    if not isinstance(label, FilledLabel) or not label.is_effect:
        return str(label)
    effect = FilledLabel(label, ())
    effect.is_effect = True
    return effect


def _may_have(label: str, text: str, box: Box) -> bool:
    """Return whether a text of the tree is the label, or may contain it as one of several lines."""
    if likeness(label, text) >= LIKENESS:
        return True
    return len(text) >= LONG and box.height >= HIGH and bool(label_pattern(label).search(plain(text)))


def _join_phrases(texts_in_boxes: Sequence[tuple[Box, str]]) -> Iterator[str]:
    """Yield the phrases of neighboring texts in one row."""
    rows: list[list[tuple[Box, str]]] = []
    for box, text in sorted(texts_in_boxes, key=lambda one: (one[0].center.y, one[0].left)):
        if rows and on_row(rows[-1][0][0], box):
            rows[-1].append((box, text))
        else:
            rows.append([(box, text)])
    for row in rows:
        words = [text for _, text in sorted(row, key=lambda one: one[0].left)]
        for first in range(len(words)):
            for last in range(first + 2, min(len(words), first + LONGEST_PHRASE) + 1):
                yield " ".join(words[first:last])
