"""Check that a proposed target means the same control for every item: in loops, in rows, and for targets by place.

`check_target` raises `NotProposed` with a sentence. `check_items` compares the items of one loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from holo_tasks.core.elements.elements import CELLS, ROWS, Element
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.loops import LoopPlace
from holo_tasks.scripts.step_outcome import StepOutcome
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.values import PLACEHOLDER, Value
from holo_tasks.vision.screen_text import Sight


class NotProposed(Exception):
    """No change is proposed, because it is not certain that it is right. The message is a reason for the user."""


def values_of_step(place: LoopPlace | None, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that a step may name: those of its own item, without those of other items of a list."""
    return {name: value for name, value in values.items() if place is None or name not in place.foreign}


def check_target(
    old: Target, new: Target, point: Point, sight: Sight, place: LoopPlace | None, values: Mapping[str, Value]
) -> None:
    """Raise `NotProposed` unless the new way to a target means the same control for every item."""
    if any(way.place for way in old.ways):
        _check_place(old, new, point, sight)
    if place is None:
        return
    texts = [*_texts(new)]
    if any(_has_word(text, str(values[name])) for name in place.foreign for text in texts):
        raise NotProposed("the text of the control contains a value of another item of the list")
    if not place.each:
        return
    if _fields(_texts(old), place) != _fields(texts, place):
        raise NotProposed("the control does not name the item of the list as the step does")
    known = {label for way in old.ways for label in way.relations.values()}
    if any(label not in known and not _fields([label], place) for label in new.relations.values()):
        raise NotProposed("the control is next to a text that may belong to only one item of the list")
    if not _fields(texts, place) and _row_at(point, sight) is not None:
        raise NotProposed("the control is in a row of a table, and its text does not name the item of the list")


def _check_place(old: Target, new: Target, point: Point, sight: Sight) -> None:
    """Raise `NotProposed` if a control that was found by its place among equal ones may be another one now."""
    pressed = _pressed(point, sight)
    roles = {way.role for way in old.ways}
    if pressed is None or pressed.role not in roles:
        raise NotProposed("the step finds its target by its place among equal ones, and no such element was pressed")
    if not PLACEHOLDER.search(" ".join(_texts(new))) and _row_at(point, sight) is not None:
        raise NotProposed(
            "the step finds its target by its place, and the row of a table may have another place next time"
        )


def check_items(rule: str, at: LoopPlace, places: Mapping[str, LoopPlace], outcomes: Sequence[StepOutcome]) -> bool:
    """Return whether the model did the step of a loop for every item, and for at least two items.

    Raises `NotProposed` if the playbook did the step itself for another item.
    """
    same = {name for name, other in places.items() if other.rule == at.rule}
    of_loop = [one for one in outcomes if one.rule in same]
    if any(one.outcome == "fitted" for one in of_loop if one.rule != rule):
        raise NotProposed("the step fitted for another item of the list")
    return len({one.rule for one in of_loop if one.outcome == "healed"}) >= max(2, len(same))


def _texts(target: Target) -> Iterator[str]:
    """Yield all texts of a target and of its alternatives that name something."""
    for way in target.ways:
        named = (way.text, way.field, way.name, way.within, way.holds, *way.relations.values())
        yield from (text for text in named if text)


def _has_word(text: str, value: str) -> bool:
    """Return whether a text has a value as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _fields(texts: Iterator[str] | Sequence[str], place: LoopPlace) -> set[str]:
    """Return the names of the item's values that texts have placeholders for."""
    found = {match[0].strip("{}").partition(":")[0] for text in texts for match in PLACEHOLDER.finditer(text)}
    return found & {*place.values}


def _pressed(point: Point, sight: Sight) -> Element | None:
    """Return the smallest element at a point."""
    reported = () if sight.elements is None else sight.elements.elements
    here = [each for each in reported if each.on_screen and each.box.contains(point)]
    return min(here, key=lambda each: each.box.area, default=None)


def _row_at(point: Point, sight: Sight) -> Element | None:
    """Return the row or cell of a table or list that a point is in."""
    pressed, tree = _pressed(point, sight), sight.elements
    if pressed is None or tree is None:
        return None
    return next((each for each in (pressed, *tree.ancestors(pressed)) if each.role in CELLS | ROWS), None)
