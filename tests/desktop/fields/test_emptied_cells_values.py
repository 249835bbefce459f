"""Keys that clear a field and reach a table instead: nothing is deleted, or it is undone, and the step fails."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Application, Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields import clear_field, emptied_cells
from holo_tasks.desktop.fields.clear_field import FieldClearing
from holo_tasks.desktop.fields.emptied_cells import CellCheck, cells_beside
from holo_tasks.desktop.fields.focused_field import Focus, Kind

PID = 7
FIELD = Box(0, 0, 1, 1)
PLACES = [Box(10, 20 + 30 * row, 80, 20) for row in range(4)]


class Grid:
    """A program with a column of cells, the last one empty, and a field with a text that has the keyboard."""

    def __init__(
        self,
        selects: int = 0,
        empties: int = 0,
        clears: bool = True,
        undoes: bool = True,
        marks: int = 0,
        late: int = 0,
    ) -> None:
        self.selects, self.empties, self.clears, self.undoes, self.marks = selects, empties, clears, undoes, marks
        self.texts, self.looks, self.value = ["one", "two", "three", ""], [""] * 4, "old"
        self.pressed: list[tuple[int, ...]] = []
        self.pid, self.tree, self.late, self._left, self._told = PID, None, late, 0, list(self.texts)

    def select(self) -> None:
        self.looks = ["selected"] * self.selects + [""] * (4 - self.selects)

    def press(self, *keys: int) -> None:
        self.pressed.append(keys)
        self._left = self.late
        if keys == (keynames.DELETE,):
            self.value = "" if self.clears else self.value
            self.texts = [""] * self.empties + self.texts[self.empties :]
            self.looks = ["drawn"] * max(self.empties, self.marks) + [""] * 4
        elif keys == (keynames.CONTROL, ord("z")) and self.undoes:
            self.texts = ["one", "two", "three", ""]

    def read(self) -> None:
        """Report the elements. The texts of the cells come ``late`` readings after a key."""
        self._left -= 1
        self._told = self._told if self._left >= 0 else list(self.texts)
        states, shown = frozenset({SHOWING, FOCUSED}), frozenset({SHOWING})
        window = Element(0, "window", "Grid", shown | {ACTIVE}, Box(0, 0, 400, 300), -1, "grid", PID)
        field = Element(1, "text field", "", states, FIELD, 0, "grid", PID, self.value)
        cells = [
            Element(n + 2, "cell", "", shown, box, 0, "grid", PID, text)
            for n, (box, text) in enumerate(zip(PLACES, self._told, strict=True))
        ]
        self.tree: Any = ElementTree((window, field, *cells), (Application("grid", PID, "chrome", "cache"),))

    def picture(self) -> list[str]:
        return list(self.looks)

    def changed(self, before: list[str]) -> list[Box]:
        return [box for box, was, now in zip(PLACES, before, self.looks, strict=False) if was != now]

    def delete(self) -> str:
        """Delete the field's text; return the error, empty without one."""
        self.read()
        anything: Any = self
        interrupt: Any = SimpleNamespace(sleep=lambda seconds: None)
        try:
            CellCheck(anything, anything, self.press, interrupt).delete(self.select)
        except InvalidUsage as error:
            return str(error)
        return ""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptied_cells, "PATIENCE_S", 0.0)


DELETED, UNDONE = (keynames.DELETE,), (keynames.CONTROL, ord("z"))


@pytest.mark.parametrize(
    ("grid", "said", "pressed", "texts"),
    [
        pytest.param(Grid(), "", [DELETED], ["one", "two", "three", ""], id="no cell is affected"),
        pytest.param(Grid(selects=1), "", [DELETED], ["one", "two", "three", ""], id="one cell is open"),
        pytest.param(Grid(selects=2), "have selected cells", [], ["one", "two", "three", ""], id="two are selected"),
        pytest.param(
            Grid(empties=1, clears=False),
            "of a table: 1. Ctrl+Z was pressed, and their texts are back.",
            [DELETED, UNDONE],
            ["one", "two", "three", ""],
            id="one is emptied and comes back",
        ),
        pytest.param(
            Grid(empties=3, clears=False, undoes=False),
            "of a table: 3. Ctrl+Z did not bring their texts back",
            [DELETED, UNDONE],
            ["", "", "", ""],
            id="three are emptied and stay so",
        ),
        pytest.param(Grid(empties=1), "", [DELETED], ["", "two", "three", ""], id="a form empties it with its field"),
        pytest.param(
            Grid(marks=3, clears=False), "", [DELETED], ["one", "two", "three", ""], id="cells are only drawn anew"
        ),
    ],
)
def test_cells_that_the_keys_reach(grid: Grid, said: str, pressed: list[object], texts: list[str]) -> None:
    found = grid.delete()
    assert said in found if said else not found, found
    assert (grid.pressed, grid.texts) == (pressed, texts)


@pytest.mark.parametrize(
    ("changed", "is_refused"),
    [
        pytest.param([Box(2, 32, 96, 36)], False, id="the frame around one cell reaches over its neighbors"),
        pytest.param([Box(10, 40, 80, 40)], True, id="two cells are selected"),
        pytest.param([Box(2, 12, 96, 36), Box(10, 60, 80, 20)], True, id="a frame and another cell"),
    ],
)
def test_the_frame_around_one_cell_is_no_selection(
    changed: list[Box], is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "PLACES", [Box(10, 20 + 20 * row, 80, 20) for row in range(4)])
    grid = Grid()
    monkeypatch.setattr(grid, "changed", lambda before: changed if not grid.pressed else [])
    assert ("have selected cells" in grid.delete()) == is_refused


@pytest.mark.parametrize("narrow", [Box(90, 20, 8, 20), Box(10, 40, 80, 9)])
def test_a_selected_cell_beside_a_narrow_one_is_no_frame(narrow: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PLACES", [Box(10, 20, 80, 20), narrow, Box(10, 60, 80, 20), Box(10, 80, 80, 20)])
    grid = Grid()
    monkeypatch.setattr(grid, "changed", lambda before: [Box.around([Box(10, 20, 80, 20), narrow])])
    assert "have selected cells" in grid.delete()


@pytest.mark.parametrize("late", [1, 3])
def test_a_program_may_report_its_emptied_cells_late(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptied_cells, "PATIENCE_S", 60.0)
    grid = Grid(empties=2, clears=False, late=late)
    assert "of a table: 2. Ctrl+Z was pressed, and their texts are back." in grid.delete()


def test_the_open_cell_and_one_that_is_reported_over_the_field_are_not_watched() -> None:
    shown = frozenset({SHOWING})
    elements = (
        Element(0, "window", "Grid", shown, Box(0, 0, 400, 300), -1, "grid", PID),
        Element(1, "cell", "", shown, PLACES[0], 0, "grid", PID, "open"),
        Element(2, "text field", "", shown | {FOCUSED}, Box(200, 200, 9, 9), 1, "grid", PID, "old"),
        Element(3, "cell", "", shown, PLACES[1], 0, "grid", PID, "two"),
        Element(4, "label", "named", shown, PLACES[1], 3, "grid", PID),
        Element(5, "cell", "", shown, Box(204, 204, 80, 20), 0, "grid", PID, "scrolled out of sight"),
        Element(6, "cell", "", frozenset(), PLACES[2], 0, "grid", PID, "hidden"),
        Element(7, "cell", "", shown | {FOCUSED}, PLACES[3], 0, "other", PID + 1, "of another program"),
        Element(8, "label", "no cell", shown, PLACES[2], 0, "grid", PID),
    )
    tree = ElementTree(elements, (Application("grid", PID, "chrome", "cache"),))
    assert cells_beside(tree, PID) == {PLACES[1]: "two named"}


class Keys:
    """Records the keys that clear a control of some kind."""

    def __init__(self, *found: str, kinds: tuple[Kind, ...] = ("cell",)) -> None:
        self.pressed: list[tuple[int, ...]] = []
        self.tree, self.pid, self._found, self._kinds = None, PID, list(found), list(kinds)

    def press(self, *keys: int) -> None:
        self.pressed.append(keys)

    def read(self) -> Focus:
        return Focus(self._kinds.pop(0) if len(self._kinds) > 1 else self._kinds[0])

    def probe(self, *_: object, **__: object) -> str:
        return self._found.pop(0)

    around_caret = after_start = probe

    def clear(self, focus: Focus, *, far: bool = False, empty: bool = False) -> str:
        """Clear the control; return the start of the refusal."""
        it: Any = self
        sleep: Any = SimpleNamespace(sleep=lambda seconds: None)
        try:
            FieldClearing(it, it, it, self.press, sleep).clear(focus, far=far, empty=empty)
        except InvalidUsage as error:
            return str(error).split(",")[0]
        return ""


START, END = (keynames.HOME,), (keynames.SHIFT, keynames.END)
ALL_BEFORE, ALL_AFTER = (keynames.CONTROL, keynames.HOME), (keynames.CONTROL, keynames.SHIFT, keynames.END)
WHOLE = [ALL_BEFORE, START, ALL_AFTER, END, DELETED]
LINE = [START, END, DELETED]


@pytest.mark.parametrize(
    ("focus", "pressed"),
    [
        (Focus("field"), WHOLE),
        (Focus("field", one_line=True), LINE),
        (Focus("field", empty=True), []),
        (Focus("cell"), []),
        (Focus("edited cell"), [(keynames.ESC,)]),
    ],
)
def test_the_keys_that_clear_a_control(focus: Focus, pressed: list[object]) -> None:
    keys = Keys()
    assert (keys.clear(focus), keys.pressed) == ("", pressed)


@pytest.mark.parametrize(
    ("focus", "empty", "said"),
    [
        (Focus("terminal", "xterm"), False, "Xterm has the keyboard"),
        (Focus("document"), False, "The document itself has the keyboard"),
        (Focus("no text", "the button ‘Save’"), False, "The button ‘Save’ has the keyboard"),
        (Focus("cell"), True, "A cell has the keyboard"),
        (Focus("cell", office=True), True, ""),
    ],
)
def test_a_control_without_a_text_of_its_own_is_refused_before_any_key(focus: Focus, empty: bool, said: str) -> None:
    keys = Keys()
    assert (keys.clear(focus, empty=empty), keys.pressed) == (said, [])


TABLE = "The arrow keys select whole cells"


@pytest.mark.parametrize(
    ("focus", "found", "far", "said", "pressed"),
    [
        (Focus("unknown"), ("text", "text"), False, "", WHOLE),
        (Focus("unknown", one_line=True), ("text", "text"), False, "", LINE),
        (Focus("unknown"), ("table", "text", "text"), False, "", WHOLE),  # drawn late
        (Focus("unknown"), ("table", "table"), False, TABLE, []),
        (Focus("unknown"), ("nothing",), False, "", []),
        (Focus("unknown"), ("nothing",), True, "", WHOLE),
        (Focus("unknown", viewer=True), ("nothing",), False, "", WHOLE),
        (Focus("unknown"), ("text", "nothing", "nothing"), False, TABLE, WHOLE[:2]),
        (Focus("unknown"), ("text", "nothing", "text"), False, "", WHOLE),
    ],
)
def test_a_program_without_elements_is_asked_by_arrow_keys(
    focus: Focus, found: tuple[str, ...], far: bool, said: str, pressed: list[object]
) -> None:
    keys = Keys(*found)
    assert (keys.clear(focus, far=far), keys.pressed) == (said, pressed)


@pytest.mark.parametrize(("ago_s", "looks"), [(0.0, 1), (60.0, 0)])
def test_a_program_may_move_the_keyboard_after_an_input(ago_s: float, looks: int) -> None:
    keys, seen = Keys(), list[int]()
    it: Any = keys
    fields: Any = SimpleNamespace(look=seen.append)
    last = time.monotonic_ns() - int(ago_s * 1e9)
    assert FieldClearing(it, it, fields, keys.press, it).focus(last).kind == "cell"
    assert seen == [last] * looks


def test_each_part_of_a_date_is_deleted_between_the_first_and_the_last() -> None:
    keys = Keys()
    keys.clear(Focus("segment"))
    lefts = [(keynames.LEFT,)] * (clear_field.MOST_SEGMENTS - 1)
    assert keys.pressed == [*lefts, *[DELETED, (keynames.RIGHT,)] * clear_field.MOST_SEGMENTS, *lefts]


def test_a_cell_whose_text_stays_open_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(kinds=("edited cell", "edited cell", "cell"))
    assert keys.clear(Focus("edited cell")) == ""
    monkeypatch.setattr(clear_field, "CLOSES_S", 0.0)
    assert (
        Keys(kinds=("edited cell",)).clear(Focus("edited cell"))
        == "The cell's text stayed open after Escape. Nothing was typed. Look at the screen"
    )
