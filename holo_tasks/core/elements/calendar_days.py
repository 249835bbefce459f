"""Find the days of a month that a calendar shows, and the boxes in which its month is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from holo_tasks.core.elements.elements import DAY, Element, ElementTree
from holo_tasks.core.screen.geometry import Box

SHORTEST, LONGEST = 28, 31
"""The days of the shortest and the longest month."""
MOST_OTHERS = 14
"""The most days of the month before, and of the month after, that a calendar shows."""
MOST_AROUND = 10
HIGHEST = 120
"""Largest height of the part of a calendar above its days, in pixels."""


@dataclass(frozen=True)
class CalendarDay:
    """A day of the month that a calendar shows, and the number of days of this month."""

    number: int
    count: int
    headers: tuple[Box, ...]
    """The areas above the first row of days in the calendar and its containers, the smallest first."""


def day_of(tree: ElementTree, element: Element) -> CalendarDay | None:
    """Return the day of a calendar that an element is, or ``None``.

    The calendar has all days of one month in order, from 1 on. Days of the month before may precede them, and days of
    the next month may follow. Those belong to another month, so they are no result.
    """
    if not DAY.fullmatch(element.name):
        return None
    above = tree.ancestors(element)
    for place, around in enumerate(above[:MOST_AROUND]):
        days = tree.days_below.get((around.id, element.role), ())
        if len(days) < SHORTEST:
            continue
        month = _month_in(days)
        if element not in month:
            return None
        top = min((each.box.top for each in days if each.on_screen), default=None)
        if top is None:
            return None
        headers = dict.fromkeys(_headers([each.box for each in above[place:]], top))
        return CalendarDay(month.index(element) + 1, len(month), tuple(headers))
    return None


def _month_in(days: Sequence[Element]) -> list[Element]:
    """Return the elements from the first 1 to the end of this month; empty if anything else is among the days."""
    numbers = [int(each.name) for each in days]
    begin = numbers.index(1) if 1 in numbers else len(numbers)
    end = next((place for place in range(begin + 1, len(numbers)) if numbers[place] == 1), len(numbers))
    parts = numbers[:begin], numbers[begin:end], numbers[end:]
    in_order = all(later == earlier + 1 for part in parts for earlier, later in pairwise(part))
    is_month = in_order and SHORTEST <= end - begin <= LONGEST and (not begin or numbers[begin - 1] >= SHORTEST)
    is_alone = begin <= MOST_OTHERS and len(parts[2]) <= MOST_OTHERS
    return list(days[begin:end]) if is_month and is_alone else []


def _headers(boxes: Sequence[Box], top: int) -> Iterator[Box]:
    for box in boxes:
        if 0 < top - box.top <= HIGHEST:
            yield Box.of_corners(box.left, box.top, box.right, top)
