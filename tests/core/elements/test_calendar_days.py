"""A day of a calendar is found in its month by the order of the days, also if other months are shown beside it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holo_tasks.core.elements.calendar_days import day_of
from tests.support.calendars import calendar_of

MONTH = [*range(1, 31)]


@pytest.mark.parametrize(
    ("days", "place", "number"),
    [
        pytest.param(MONTH, 16, 17, id="a month alone"),
        pytest.param([29, 30, 31, *MONTH, 1, 2, 3], 32, 30, id="between other months"),
        pytest.param([29, 30, 31, *MONTH, 1, 2, 3], 1, None, id="of the month before"),
        pytest.param([29, 30, 31, *MONTH, 1, 2, 3], 34, None, id="of the month after"),
        pytest.param([*MONTH[:10], *MONTH[20:], *MONTH[:5]], 12, None, id="days are missing"),
        pytest.param([48, *MONTH[:4], 49, *MONTH[4:]], 8, 7, id="numbers that are no days, as of weeks"),
        pytest.param([1, 2, *MONTH], 16, None, id="weeks that look like days"),
        pytest.param([*MONTH, *MONTH], 16, None, id="two months"),
        pytest.param([*range(1, 32), *range(1, 29)], 16, None, id="a longer and a shorter month"),
        pytest.param(MONTH[:12], 3, None, id="a part of a month"),
    ],
)
def test_a_day_is_one_of_its_month_in_order(days: Sequence[int], place: int, number: int | None) -> None:
    tree = calendar_of(days)
    found = day_of(tree, tree.elements[2 + place])
    assert (found and (found.number, found.count)) == (number and (number, 30))


def test_the_header_is_above_the_days_also_if_some_of_them_are_out_of_view() -> None:
    tree = calendar_of([30, 31, *MONTH], shown=20)
    found = day_of(tree, tree.elements[10])
    assert found is not None
    assert [(box.top, box.bottom) for box in found.headers] == [(40, 80), (0, 80)]
    assert day_of(tree, tree.elements[2]) is None, "the other 30 is out of view"


def test_a_calendar_out_of_view_has_no_day() -> None:
    tree = calendar_of(MONTH, shown=0)
    assert day_of(tree, tree.elements[10]) is None
