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
    ("header", "days", "due"),
    [
        ("März 2026 Mo Di Mi Do Fr Sa So", DECEMBER, "2026-03-17"),
        ("MARZ 2026", DECEMBER, "2026-03-17"),
        ("janv. 2026 lun. mar. mer. jeu.", DECEMBER, "2026-01-17"),
        ("marzo de 2026 lu ma mi ju", DECEMBER, "2026-03-17"),
        ("dicembre 2026 lun mar mer", DECEMBER, "2026-12-17"),
        ("marzec 2026 pon. wt. śr.", DECEMBER, "2026-03-17"),
        ("set. de 2026 seg. ter. qua.", NOVEMBER, "2026-09-17"),
        ("mei 2026 ma di wo do vr", DECEMBER, "2026-05-17"),
        ("listopad 2026 po út st", NOVEMBER, "2026-11-17"),
        ("Set date November 2026", NOVEMBER, "2026-11-17"),
    ],
)
def test_the_month_may_be_written_in_another_language(header: str, days: Sequence[int], due: str) -> None:
    assert find(DAY, {"due": due}, sight(header, days)).left == SIDE * 2


@pytest.mark.parametrize(
    ("due", "seen"),
    [
        pytest.param("2026-04-17", sight("mar – apr 2026", NOVEMBER), id="a month that is no weekday"),
        pytest.param("2026-04-17", sight("marzo – abril 2026", NOVEMBER), id="two months in Spanish"),
        pytest.param("2026-10-17", sight("listopad 2026", DECEMBER), id="October in Croatian, November in Polish"),
        pytest.param("2026-10-17", sight("out November 2026", DECEMBER), id="an English word like a month"),
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
