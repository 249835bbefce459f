"""Trees of calendars, for tests without a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.elements.elements import NOWHERE, SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box

HEADER, FIRST_ROW, SIDE = 40, 80, 30


def calendar_of(days: Sequence[int], role: str = "cell", *, shown: int = 99) -> ElementTree:
    """Return a calendar with seven days in a row below a header of 40 pixels. Only the first ``shown`` are in view."""
    states = frozenset({SHOWING})
    window = Element(0, "window", "Orders", states, Box(0, 0, 640, 400), -1, "orders", 1)
    made = [window, Element(1, "table", "", states, Box(0, HEADER, 7 * SIDE, 300), 0, "orders", 1)]
    for place, day in enumerate(days):
        box = Box(SIDE * (place % 7), FIRST_ROW + SIDE * (place // 7), SIDE, SIDE)
        at = replace(made[1], id=2 + place, role=role, name=str(day), box=box, parent=1)
        made.append(at if place < shown else replace(at, box=NOWHERE, states=frozenset()))
    return ElementTree(tuple(made))
