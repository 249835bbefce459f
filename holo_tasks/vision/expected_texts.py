"""Which texts a picture shows, where programs tell where to look: it is read there, and nowhere else.

What programs tell says only where a text would be; whether it is there the picture says, read at that place. A text
that no program tells of is not there as far as is told: whoever goes by that reads all of the picture before giving up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box
from holo_tasks.core.known_elements import HOLDERS
from holo_tasks.core.outside import defused
from holo_tasks.vision.element_check import WRITTEN_INTO, ElementCheck, is_bare
from holo_tasks.vision.screen_text import LIKENESS, Filled, Line, Sight, gapped, holds_values, likeness, on_row, plain

MOST_TEXTS = 400
"""Of a screen with more texts than this it is not said what is on it: to compare them takes as long as to read it."""
LONGEST_PHRASE = 4
"""So many texts side by side are taken for one, at most."""
LONG, HIGH = 20, 36
"""What is told of so many letters, in a box of so many pixels from top to bottom, may stand on several lines."""
DRAWN = frozenset(
    {"drawing area", "canvas", "image", "icon", "document", "embedded", "terminal", "animation", "unknown"}
)
"""Roles of what may show texts that nobody tells of."""


class ExpectedTexts:
    """Answers what is written on one picture by what programs tell, and by what is read there."""

    def __init__(self, frame: Frame, tree: ElementTree, check: ElementCheck) -> None:
        self._frame, self._tree, self._check = frame, tree, check

    def has(self, label: str) -> bool | None:
        """Say whether a text shows: it is read where it is told. None where only reading all of the picture tells."""
        if len(self._written) > MOST_TEXTS:
            return None
        places = self._places(label)
        if any(self._reads(element, str(label)) for element in places):  # what is told there is word for word
            return True
        if places or any(likeness(label, phrase) >= LIKENESS for phrase in self._phrases):
            return None
        return any(self._reads(element, label) for element in self._drawn)

    def row_of(self, label: str) -> tuple[Line, ...] | None:
        """Return what is read in the row that a label is told to be in; None unless just one is told of."""
        if len(self._written) > MOST_TEXTS or any(likeness(label, phrase) >= LIKENESS for phrase in self._phrases):
            return None
        found = [
            each.box
            for each, text in self._written
            if likeness(label, text) >= LIKENESS and holds_values(label, text, told=True)
        ]
        if len(found) != 1:
            return None
        row = [each.box for each, _ in self._written if on_row(each.box, found[0])]
        high = Box.around(row)
        return self._lines(Box(0, high.top, self._frame.size.width, high.height))

    def _places(self, label: str) -> list[Element]:
        """Return the elements that may have this text on them, as they are told."""
        return [
            element
            for element, text in self._written
            if _may_have(label, text, element.box) and holds_values(label, text, told=True)
        ]

    def _reads(self, element: Element, label: str) -> bool:
        if not isinstance(label, Filled) and self._check.row(self._frame, element.box, label) is not None:
            return True
        return any(Sight(self._lines(element.box, room=room), self._frame.size).has(label) for room in (False, True))

    def _lines(self, box: Box, *, room: bool = False) -> tuple[Line, ...]:
        lines = self._check.lines(self._frame, box, room=room)
        return tuple(replace(line, text=defused(line.text)) for line in lines)

    @cached_property
    def _written(self) -> list[tuple[Element, str]]:
        """The elements that show with the texts that are told to be on them: a field's is what it holds."""
        shown = (each for each in self._tree.elements if each.on_screen and (each.value or each.role not in HOLDERS))
        told = ((each, each.value if each.role in WRITTEN_INTO else each.name or each.value) for each in shown)
        found = [(each, text) for each, text in told if plain(text)]
        within = {(above.id, text) for each, text in found for above in self._tree.ancestors(each)}
        return [(each, text) for each, text in found if (each.id, text) not in within]  # a button, and the text in it

    @cached_property
    def _phrases(self) -> frozenset[str]:
        """The texts that those side by side make up: a reader may take them for one."""
        return frozenset(_joined([(each.box, text) for each, text in self._written]))

    @cached_property
    def _drawn(self) -> list[Element]:
        """The elements that may show texts that nobody tells of."""
        held = {each.parent for each in self._tree.elements}
        return [
            each
            for each in self._tree.elements
            if each.on_screen and each.role in DRAWN and each.id not in held and not is_bare(self._frame, each.box)
        ]


def _may_have(label: str, text: str, box: Box) -> bool:
    """Say whether a text that is told is a label, or stands on several lines, of which one may be."""
    if likeness(label, text) >= LIKENESS:
        return True
    return len(text) >= LONG and box.height >= HIGH and bool(gapped(label).search(plain(text)))


def _joined(told: Sequence[tuple[Box, str]]) -> Iterator[str]:
    """Yield what texts in one row say together."""
    rows: list[list[tuple[Box, str]]] = []
    for box, text in sorted(told, key=lambda one: (one[0].center.y, one[0].left)):
        if rows and on_row(rows[-1][0][0], box):
            rows[-1].append((box, text))
        else:
            rows.append([(box, text)])
    for row in rows:
        texts = [text for _, text in sorted(row, key=lambda one: one[0].left)]
        for first in range(len(texts)):
            for last in range(first + 2, min(len(texts), first + LONGEST_PHRASE) + 1):
                yield " ".join(texts[first:last])
