"""What stands at a point of a recorded picture, said so that it is found again: by words, never by coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from holo_tasks.core.geometry import Box, Point
from holo_tasks.scripts.actions import Target
from holo_tasks.scripts.element_search import NotFound, Several
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Line, Sight, digits, matches, on_row

REACH, HEIGHT = 24, 8
"""A text so far beside a point, and above or below it, in pixels, is on the button that was pressed there."""
CENTERED = 3
"""A text so near to the middle of a button, in pixels, stands in its middle."""
TELLING, TELLING_NUMBER = 8, 3
"""A value of so many characters stands in no label by chance; one with a digit in it as words of its own not even if it
is that short."""
MOST_ANCHORS = 12
"""So many texts around a target are tried as what it stands beside."""

Shown = Sequence[tuple[Sight, Mapping[str, Value]]]
"""Pictures, read, each with what its recording was told."""


def target_at(point: Point, sight: Sight, values: Mapping[str, Value], also: Shown = ()) -> Target | None:
    """Return the first way of saying what is at a point that finds it, and nothing else, on this picture.

    A field is named by its label, anything else by its text; one that is there more than once by what it stands
    beside. ``values`` are those of parameters: where a text holds one, the parameter stands in the target. ``also`` are
    other pictures of its screen: where one of them has the text twice, it is told by a parameter that it stands beside,
    if it does. None if what is there has no words.
    """
    found = (way for way in _ways(point, sight, values) if _finds(way, point, sight, values))
    first = next(found, None)
    if first is None or not _is_doubled(first, also):
        return first
    # Whatever else is beside it may be of this item, and something else beside the next one.
    beside = (way for way in found if any("{" in label for label in way.relations.values()))
    return next((way for way in beside if not _is_doubled(way, also)), first)


def _finds(target: Target, point: Point, sight: Sight, values: Mapping[str, Value]) -> bool:
    try:
        return hits(find(target, values, sight), point, of_field=target.field is not None)
    except NotFound:
        return False


def _is_doubled(target: Target, shown: Shown) -> bool:
    """Say whether one of some pictures shows two things that a target may be."""
    for sight, values in shown:
        try:
            find(target, values, sight)
        except Several:
            return True
        except NotFound:
            continue
    return False


def is_of_words(target: Target) -> bool:
    """Say whether a target is found by its own text and nothing else."""
    return target.text is not None and not target.is_named and not target.relations


def is_of_item(text: str, values: Iterable[str]) -> bool:
    """Say whether a text is one of some values, or holds one that is too long to stand in a label by chance."""
    return any(matches(value, text) or _holds(text, value) for value in values if value)


def _holds(text: str, value: str) -> bool:
    if len(value) >= TELLING:
        return value in text
    return len(value) >= TELLING_NUMBER and bool(digits(value)) and matches(f"*{value}*", text)


def templated(text: str, values: Mapping[str, Value]) -> str:
    """Return a text in which parameters stand for their values, the longest first."""
    for name, value in sorted(values.items(), key=lambda item: -len(str(item[1]))):
        said = str(value)
        if len(said) > 1 or said == text:
            text = text.replace(said, f"{{{name}}}")
    return text


def _ways(point: Point, sight: Sight, values: Mapping[str, Value]) -> Iterator[Target]:
    field = next((box for box in (*sight.fields, *sight.colored_fields) if box.contains(point)), None)
    near = sorted(sight.lines, key=lambda line: _away(line.box, field.center if field else point))
    if field is not None and _is_button(field, near, values):
        field = None  # a light one looks like a field
    if field is not None:
        labels = sorted(near[:MOST_ANCHORS], key=lambda line: not _is_left(line.box, field))
        yield from (Target(field=templated(line.text, values)) for line in labels)
    pressed = [line for line in near if hits(line.box, point, of_field=False)]
    for line in pressed:
        words = templated(line.text, values)
        yield Target(text=words)
        for anchor in _anchors(line, near):
            yield from _beside(words, line.box, anchor, values)


def _is_button(field: Box, lines: Sequence[Line], values: Mapping[str, Value]) -> bool:
    """Say whether what looks like a field is a button: its text stands in its middle, and no label beside it."""
    inside = [line for line in lines if field.contains(line.box.center)]
    if len(inside) != 1 or any(_is_left(line.box, field) for line in lines if line is not inside[0]):
        return False
    (said,) = inside
    words = sum(map(str.isalpha, said.text)) > 1 and templated(said.text, values) == said.text
    room = min(said.box.left - field.left, field.right - said.box.right)
    return words and room >= 0 and abs(said.box.center.x - field.center.x) <= CENTERED


def _anchors(line: Line, near: Sequence[Line]) -> list[Line]:
    """Return the texts that a target may stand beside: those of its row, then those above it, the nearest first."""
    others = [other for other in near if other is not line and other.text != line.text]
    row = [other for other in others if on_row(other.box, line.box)]
    above = [other for other in others if other.box.bottom <= line.box.top]
    return [*row, *above][:MOST_ANCHORS]


def _is_left(box: Box, field: Box) -> bool:
    """Say whether a text is where the label of a field mostly is: left of it, beside its first line."""
    return box.right <= field.left + 2 and field.top - HEIGHT <= box.center.y <= field.bottom


def _beside(words: str, box: Box, anchor: Line, values: Mapping[str, Value]) -> Iterator[Target]:
    said = templated(anchor.text, values)
    if not on_row(box, anchor.box):
        yield Target(text=words, below=said)
    elif box.left >= anchor.box.right - 2:
        yield Target(text=words, right_of=said)
    else:
        yield Target(text=words, left_of=said)


def hits(box: Box, point: Point, *, of_field: bool) -> bool:
    """Say whether what was pressed at a point is what is found in a box: a field, or a control with a text on it."""
    around = Box(box.left - REACH, box.top - HEIGHT, box.width + 2 * REACH, box.height + 2 * HEIGHT)
    return (box if of_field else around).contains(point)


def _away(box: Box, point: Point) -> int:
    across = max(box.left - point.x, 0, point.x - box.right)
    down = max(box.top - point.y, 0, point.y - box.bottom)
    return across + 4 * down
