"""A day of a calendar is found in its month by the order of the days, also if other months are shown beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from holo_tasks.core.elements.calendar_days import day_of
from holo_tasks.core.elements.elements import Element, ElementTree
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


def test_a_sheet_of_numbers_is_read_once_for_all_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it once per cell takes a second for 6,000 cells."""
    tree, read = calendar_of([1 + place % 31 for place in range(2000)]), list[Element]()
    below, ancestors = ElementTree.below, ElementTree.ancestors

    def counted(tree: ElementTree, element: Element) -> Iterator[Element]:
        for each in below(tree, element):
            read.append(each)
            yield each

    monkeypatch.setattr(ElementTree, "below", counted)
    monkeypatch.setattr(ElementTree, "ancestors", lambda tree, one: read.append(one) or ancestors(tree, one))
    cells = [each for each in tree.elements if each.name == "17"]
    assert [day_of(tree, each) for each in cells] == [None] * len(cells)
    assert len(read) <= len(tree.elements) + len(cells)


def test_a_calendar_beside_a_sheet_of_numbers_has_its_days() -> None:
    calendar, sheet = calendar_of(MONTH), calendar_of([1 + place % 31 for place in range(2000)])
    root = len(calendar.elements) - 1
    moved = [replace(each, id=each.id + root, parent=root + 1 if each.id > 1 else 0) for each in sheet.elements[1:]]
    tree = ElementTree((*calendar.elements, *moved))
    found = day_of(tree, tree.elements[2 + 16])
    assert found is not None
    assert (found.number, found.count) == (17, 30)
    assert day_of(tree, tree.elements[60]) is None
