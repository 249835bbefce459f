"""A click whose words name a value of the task is withheld once if its point is in the row of another value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.presses.named_row import NamedRows, keys_in, other_row
from holo_tasks.vision.spot_text import SpotText
from tests.support.element_trees import TellsTree, element, tree_of, window
from tests.support.painted_desktop import WHOLE, PaintedDesktop
from tests.support.shots import MemoryModel, a_step, as_model, walk_of

ROWS = [("T-10", Box(20, 20, 40, 16)), ("Ann", Box(100, 20, 40, 16)), ("Close", Box(200, 20, 40, 16))]
ROWS += [("T-11", Box(20, 50, 40, 16)), ("Ben", Box(100, 50, 40, 16)), ("Close", Box(200, 50, 40, 16))]
FIRST, SECOND, BELOW = Point(210, 28), Point(210, 58), Point(210, 120)


@pytest.mark.parametrize(
    ("keys", "at", "there"),
    [
        pytest.param(("T-11",), FIRST, "T-10", id="the row above"),
        pytest.param(("T-10",), SECOND, "T-11", id="the row below"),
        pytest.param(("T-11",), SECOND, None, id="the row itself"),
        pytest.param(("T-11",), BELOW, None, id="no row"),
        pytest.param(("T-12",), FIRST, None, id="a value that is not on the screen"),
        pytest.param(("2026-03-05",), FIRST, None, id="no such column"),
        pytest.param(("T-10", "T-11"), FIRST, None, id="one of two values"),
        pytest.param((), FIRST, None, id="no value"),
    ],
)
def test_the_row_of_the_point_is_compared(keys: tuple[str, ...], at: Point, there: str | None) -> None:
    found = other_row(keys, at, ROWS)
    assert (None if found is None else found.there) == there


def test_a_row_whose_text_contains_the_value_is_its_row() -> None:
    assert other_row(("T-11",), FIRST, [*ROWS, ("see T-11", Box(260, 20, 60, 16))]) is None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Close button in the row of T-11", ("T-11",)),
        ("the T-11 row", ("T-11",)),
        ("the row of T-110", ()),
        ("the second Close button", ()),
        ("row of AT-11", ()),
    ],
)
def test_only_whole_values_are_named(words: str, found: tuple[str, ...]) -> None:
    assert keys_in(words, ("T-11", "Ann", "7")) == found


async def test_a_click_is_withheld_once_and_the_right_row_is_told() -> None:
    tree = tree_of(window(WHOLE), *(element("cell", name, box) for name, box in ROWS))
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(TellsTree(tree)))
    seen = await walk.look()
    rows, x, y = NamedRows(), round(210_000 / WHOLE.width), round(28_000 / WHOLE.height)
    call = a_step("click", element="Close button of T-11", x=x, y=y).tool_call
    said = await rows.contradiction(walk.services, call, seen, ("T-11",))
    assert said.startswith("You named ‘T-11’; the point is in the row of ‘T-10’. ‘T-11’ is at (")
    assert await rows.contradiction(walk.services, call, seen, ("T-11",)) == "", "repeated"
    assert await rows.contradiction(walk.services, call, seen, ()) == "", "no value of the task"


async def test_without_a_tree_the_picture_is_read() -> None:
    class Texts(SpotText):
        async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
            return ROWS

    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, spots=Texts())
    x, y = round(210_000 / WHOLE.width), round(28_000 / WHOLE.height)
    call = a_step("click", element="Close button of T-11", x=x, y=y).tool_call
    assert "the row of ‘T-10’" in await NamedRows().contradiction(walk.services, call, await walk.look(), ("T-11",))
