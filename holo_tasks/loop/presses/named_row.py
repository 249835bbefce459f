"""Withholds a click whose words name a value of the task if its point lies in the row of another such value.

In a list every row looks alike, so a model may mean one row and hit its neighbor. `named_click` compares the words with
the control at the point, which has the same name in each row, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holo_tasks.core.elements.known_elements import redacted_tree
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.tool_calls import AnyCall, ClickCall, DoubleClickCall
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.outside_text import named
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.element_tree import NewestTree
from holo_tasks.loop.presses.model_place import model_place
from holo_tasks.loop.services import Services

ALIGNED = 8
"""Largest distance of the left edges of two texts in one column, in pixels."""
EDGE = 3
"""Pixels around a text that belong to its row."""
MOST_TOLD = 60
"""Maximal number of characters of a text in a message."""

ENTERED = re.compile(r"\b(?:to|with|as|enter|set|type|auf|mit)[\s:]*[\"'‘“„]?$", re.IGNORECASE)
"""Words right before a value that the model is about to enter."""
NAMES = re.compile(
    r"\b(?:next|close|belonging|belongs|corresponding|corresponds|linked|related|refers|adjacent)\s+to\W*$"
    r"|\b(?:row|line|record|entry|item|zeile|eintrag)\s+(?:with|mit)\W*$",
    re.IGNORECASE,
)
"""Words right before a value that names a row."""


@dataclass(frozen=True)
class OtherRow:
    """The place of the value that the words name, and the text in its column in the row of the point."""

    value: str
    place: Point
    there: str


async def row_contradiction(
    services: Services,
    call: AnyCall,
    seen: NewestScreen,
    values: Sequence[str],
    newest: NewestTree | None = None,
) -> str:
    """Return the reason for withholding a call, in sentences for the model; an empty string if it is carried out.

    ``newest`` is the tree that `named_click` has read for this call.
    """
    if not isinstance(call, ClickCall | DoubleClickCall):
        return ""
    keys = keys_in(call.element, values)
    if not keys:
        return ""
    at = to_pixel(call.x, call.y, seen.shot)
    found = other_row(call.element, keys, at, await _texts(services, seen, newest))
    where = None if found is None else model_place(found.place, seen.shot, services.model.space)
    if found is None or where is None:
        return ""
    value, there = named(found.value, MOST_TOLD), named(found.there, MOST_TOLD)
    return (
        f"You named ‘{value}’; the point is in the row of ‘{there}’. ‘{value}’ is at {where}. Nothing was pressed. "
        "To act at that point all the same, repeat this call."
    )


def keys_in(words: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the values with a digit by which a description names a row.

    A value that is about to be entered, as in “to change 40 to 25”, names none.
    """
    return tuple(
        value
        for value in values
        if len(value) > 1
        and any(map(str.isdigit, value))
        and any(not ENTERED.search(words[:place]) or NAMES.search(words[:place]) for place in _places(words, value))
    )


def other_row(words: str, keys: Sequence[str], at: Point, texts: Sequence[tuple[str, Box]]) -> OtherRow | None:
    """Return the contradiction between named values and the row at a point, ``None`` without one.

    The row of the point must have, in the column of a named value, another text of the same shape, such as another
    number. A value that is in this row, or that the screen does not show, contradicts nothing. Neither does a value if
    the words have another text of this row that no row of the value has.
    """
    row = _row(texts, at.y)
    found = None
    for key in keys:
        boxes = [box for text, box in texts if _same(text, key)]
        if any(_places(text, key) for text, _ in row):
            return None
        elsewhere = {text for box in boxes for text, _ in _row(texts, box.center.y)}
        if any(text not in elsewhere and _is_named(text, words) for text, _ in row):
            return None
        for text, box in row:
            column = [one for one in boxes if abs(one.left - box.left) <= ALIGNED]
            if column and _shape(text) == _shape(key) and found is None:
                found = OtherRow(key, column[0].center, text.strip())
    return found


def _row(texts: Sequence[tuple[str, Box]], y: int) -> list[tuple[str, Box]]:
    return [(text, box) for text, box in texts if box.top - EDGE <= y < box.bottom + EDGE]


def _is_named(text: str, words: str) -> bool:
    """Return whether a description has the text of a label or a value, written in the same way."""
    bare = text.strip().rstrip(":")
    return len(bare) > 1 and any(words.startswith(bare, place) for place in _places(words, bare))


async def _texts(services: Services, seen: NewestScreen, newest: NewestTree | None) -> list[tuple[str, Box]]:
    """Return the texts on the screen with their places: those of the tree, or those that OCR reads without elements.

    Returns no texts if a program reports elements and they did not come in time, or still move.
    """
    if (elements := services.elements) is not None:
        if newest is None or newest.tree.moving:
            return []
        tree = redacted_tree(newest.tree, seen.masks, elements.text_filter, unseen=elements.unseen)
        if tree.elements:
            return [(each.name, each.box) for each in tree.elements if each.name and each.on_screen]
    return [] if services.spots is None else await services.spots.texts(seen.redacted)


def _same(text: str, key: str) -> bool:
    return text.strip().casefold() == key.casefold()


def _places(text: str, part: str) -> list[int]:
    """Return where a text has a part as words of its own."""
    return [found.start() for found in re.finditer(rf"(?<![\w.-]){re.escape(part)}(?![\w-])", text, re.IGNORECASE)]


def _shape(text: str) -> str:
    """Return a text with one sign for each run of digits and each run of letters."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text.strip()))
