"""A click whose words name a value of the task is withheld once if its point is in the row of another value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.loop.element_tree import Elements, NewestTree
from holo_tasks.loop.presses.named_row import keys_in, other_row, row_contradiction
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
    found = other_row("Close", keys, at, ROWS)
    assert (None if found is None else found.there) == there


def test_a_row_whose_text_contains_the_value_is_its_row() -> None:
    assert other_row("Close", ("T-11",), FIRST, [*ROWS, ("see T-11", Box(260, 20, 60, 16))]) is None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Close button in the row of T-11", ("T-11",)),
        ("the T-11 row", ("T-11",)),
        ("the row of T-110", ()),
        ("the second Close button", ()),
        ("row of AT-11", ()),
        ("the button next to T-11", ("T-11",)),
        ("the row with T-11", ("T-11",)),
        ("Number field, to enter T-11", ()),
        ("Number field: set ‘T-11’", ()),
        ("Feld Nummer, auf T-11", ()),
        ("Number field of T-11, to set T-11", ("T-11",)),
    ],
)
def test_only_whole_values_are_named(words: str, found: tuple[str, ...]) -> None:
    assert keys_in(words, ("T-11", "Ann", "7")) == found


STOCK = [("Widget", Box(20, 20, 60, 16)), ("25", Box(120, 20, 20, 16))]
STOCK += [("Bolt", Box(20, 50, 60, 16)), ("40", Box(120, 50, 20, 16))]
LABELS = [("Quantity A:", Box(20, 20, 80, 16)), ("10", Box(120, 20, 20, 16))]
LABELS += [("Quantity B:", Box(20, 50, 80, 16)), ("0", Box(120, 50, 20, 16))]
DATES = [("2026-03-01", Box(20, 20, 90, 16)), ("INV-1", Box(200, 20, 60, 16))]
DATES += [("2026-03-15", Box(20, 50, 90, 16)), ("INV-2", Box(200, 50, 60, 16))]


@pytest.mark.parametrize(
    ("words", "values", "texts", "there"),
    [
        ("Quantity cell of Bolt to change 40 to 25", ("25",), STOCK, None),
        ("Quantity cell of Bolt, soon 25", ("25",), STOCK, None),
        ("Quantity cell that has 40, soon 25", ("25",), STOCK, None),
        ("Quantity cell of Widget, which has 25", ("25",), STOCK, "40"),
        ("Quantity cell of the bolts, which has 25", ("25",), STOCK, "40"),
        ("Quantity B field, to enter 10", ("10",), LABELS, None),
        ("Quantity B field, soon 10", ("10",), LABELS, None),
        ("Quantity A field, now 10", ("10",), LABELS, "0"),
        ("Due date field of INV-2 to set 2026-03-01", ("2026-03-01",), DATES, None),
        ("Due date field of INV-2, 2026-03-01", ("2026-03-01",), DATES, None),
        ("Due date field of INV-1, 2026-03-01", ("2026-03-01",), DATES, "2026-03-15"),
    ],
)
def test_words_for_the_row_of_the_point_and_a_value_to_enter_are_right(
    words: str, values: tuple[str, ...], texts: list[tuple[str, Box]], there: str | None
) -> None:
    found = other_row(words, keys_in(words, values), Point(130, 58) if texts is not DATES else Point(30, 58), texts)
    assert (None if found is None else found.there) == there


async def test_a_click_is_withheld_and_the_right_row_is_told() -> None:
    tree = tree_of(window(WHOLE), *(element("cell", name, box) for name, box in ROWS))
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(TellsTree(tree)))
    seen = await walk.look()
    x, y = round(210_000 / WHOLE.width), round(28_000 / WHOLE.height)
    call = a_step("click", element="Close button of T-11", x=x, y=y).tool_call
    newest = NewestTree(tree, is_fresh=True)
    said = await row_contradiction(walk.services, call, seen, ("T-11",), newest)
    assert said.startswith("You named ‘T-11’; the point is in the row of ‘T-10’. ‘T-11’ is at (")
    assert await row_contradiction(walk.services, call, seen, (), newest) == "", "no value of the task"


async def test_without_a_tree_the_picture_is_read() -> None:
    class Texts(SpotText):
        async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
            return ROWS

    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, spots=Texts())
    x, y = round(210_000 / WHOLE.width), round(28_000 / WHOLE.height)
    call = a_step("click", element="Close button of T-11", x=x, y=y).tool_call
    assert "the row of ‘T-10’" in await row_contradiction(walk.services, call, await walk.look(), ("T-11",))


@pytest.mark.parametrize(
    ("told", "is_withheld"),
    [
        pytest.param(None, False, id="late"),
        pytest.param(tree_of(window(WHOLE)), False, id="elements without texts"),
        pytest.param(replace(tree_of(window(WHOLE)), moving=True), False, id="moving"),
        pytest.param(ElementTree(complete=False), True, id="a program without elements"),
    ],
)
async def test_a_late_tree_is_not_waited_for_and_only_an_empty_one_is_replaced_by_the_picture(
    told: ElementTree | None, is_withheld: bool
) -> None:
    class Texts(SpotText):
        async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
            return ROWS

    asked = TellsTree(tree_of(window(WHOLE)), takes_s=60)
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(asked), spots=Texts())
    x, y = round(210_000 / WHOLE.width), round(28_000 / WHOLE.height)
    call, seen = a_step("click", element="Close button of T-11", x=x, y=y).tool_call, await walk.look()
    newest = None if told is None else NewestTree(told, is_fresh=True)
    said = await row_contradiction(walk.services, call, seen, ("T-11",), newest)
    assert (bool(said), asked.asked) == (is_withheld, 0)


async def test_a_program_without_elements_is_known_while_it_is_not_asked() -> None:
    empty, late = TellsTree(ElementTree(complete=False)), TellsTree(tree_of(window(WHOLE)), takes_s=1)
    for told, is_known in ((empty, True), (late, False)):
        elements = Elements(told)
        for _ in range(5):
            newest = await elements.newest()
        assert (newest is not None) is is_known
