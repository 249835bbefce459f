"""A playbook presses a day only in a calendar that shows the month and the year of the date."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.value_formats import days_of_month
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.calendars import SIDE, calendar_of

DAY = Target(role="cell", name="{due:D}", month="{due:MMMM YYYY}")
NOVEMBER, DECEMBER = [*range(1, 31)], [*range(1, 32)]
SHOWN = [29, 30, 31, *NOVEMBER, 1, 2, 3, 4, 5]


def sight(header: str, days: Sequence[int] = SHOWN, *, shown: int = 99) -> Sight:
    lines = () if not header else (Line(header, Box(20, 50, 160, 16)),)
    return Sight(lines, Size(640, 400), elements=calendar_of(days, shown=shown))


@pytest.mark.parametrize("header", ["November 2026", "< 2026 Nov >", "Nov2026", "Month November Year 2026"])
@pytest.mark.parametrize(("due", "place"), [("2026-11-17", 19), ("2026-11-30", 32), ("2026-11-01", 3)])
def test_a_day_is_found_in_its_month(header: str, due: str, place: int) -> None:
    """Days of the months before and after have the same numbers."""
    box = find(DAY, {"due": due}, sight(header))
    assert (box.left, box.top) == (SIDE * (place % 7), 80 + SIDE * (place // 7))


@pytest.mark.parametrize(
    ("due", "seen"),
    [
        pytest.param("2026-12-17", sight("November 2026"), id="another month"),
        pytest.param("2027-11-17", sight("November 2026"), id="another year"),
        pytest.param("2026-11-17", sight("November"), id="no year"),
        pytest.param("2026-11-17", sight(""), id="no month"),
        pytest.param("2026-11-17", sight("November 2026 December 2026"), id="two months"),
        pytest.param("2026-03-17", sight("dicembre 2026 lun mar mer", DECEMBER), id="a weekday like a month"),
        pytest.param("2026-11-17", sight("November 2026", [*NOVEMBER, 31]), id="a day that the month lacks"),
        pytest.param("2026-11-30", sight("November 2026", shown=20), id="its place is out of view"),
        pytest.param("2026-11-17", Sight((Line("November 2026", Box(0, 0, 99, 16)),), Size(640, 400)), id="no tree"),
    ],
)
def test_no_day_is_found_elsewhere(due: str, seen: Sight) -> None:
    with pytest.raises(NotFound):
        find(DAY, {"due": due}, seen)


def test_the_days_of_a_month() -> None:
    assert [days_of_month(text) for text in ("February 2028", "Feb 2026", "April 2026", "2026", "May")] == [
        *(29, 28, 30, 0, 0)
    ]
