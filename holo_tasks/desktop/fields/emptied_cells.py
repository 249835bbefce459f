"""Notices that the keys which clear a field act on cells of a table, and undoes their effect if the program can.

A grid may receive its keys in an invisible field that holds the text of the selected cell. For the grid, the keys that
select all text of a field select cells. `CellCheck` is used by `clear_field`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from holo_tasks.core.elements.elements import ACTIVE, CELLS, FOCUSED, Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.caret_probe import CaretProbe, Press
from holo_tasks.desktop.fields.changed_field import Pixels
from holo_tasks.desktop.fields.focused_field import FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

PATIENCE_S, NAP_S = 1.0, 0.05
"""Longest time for a program to report its new contents, and the pause between two readings."""
SELECTED = (
    "The keys that select the text of a field have selected cells of a table, so a table has the keyboard. Nothing was "
    "typed. In a sheet, write without overwrite: typing replaces the cell. In another table, open the cell for editing "
    "first (F2 or a double click)."
)
EMPTIED = "The keys that clear a field have emptied cells of a table: {count}. {outcome} Nothing was typed."
UNDONE = "Ctrl+Z was pressed, and their texts are back. In a sheet, write without overwrite: typing replaces the cell."
NOT_UNDONE = "Ctrl+Z did not bring their texts back: look at the table, and restore them."

Cells = Mapping[Box, str]


class CellCheck:
    """Compares the cells of the focused program before and after a field is selected and emptied."""

    def __init__(self, focused: FocusedField, probe: CaretProbe, press: Press, interrupt: Interrupt) -> None:
        self._focused = focused
        self._probe = probe
        self._press = press
        self._interrupt = interrupt

    def delete(self, select: Callable[[], None]) -> None:
        """Select a field's text by ``select``, and delete it. Raises `InvalidUsage` if cells of a table are affected.

        They are affected if several are drawn anew after the selecting, which changes no text, or if they are empty
        after the deleting and the field is not. One cell may be open for editing, unreported. A form may empty cells by
        itself when a field is emptied.
        """
        cells = {box: text for box, text in self._cells().items() if text}
        before = self._probe.picture() if cells else None
        select()
        if before is not None and self._are_selected(before, cells):
            raise InvalidUsage(SELECTED)
        self._press(keynames.DELETE)
        if before is None or not (drawn := self._drawn(before, cells)):
            return
        now = self._read(lambda now: all(now.get(box) != text for box, text in drawn.items()))
        emptied = {box: text for box, text in drawn.items() if now.get(box) == ""}
        if emptied and self._field_has_text():
            raise InvalidUsage(self._undo(emptied))

    def _undo(self, emptied: Cells) -> str:
        """Press Ctrl+Z, and return the error."""
        self._press(keynames.CONTROL, ord("z"))
        now = self._read(lambda now: _holds(now, emptied))
        return EMPTIED.format(count=len(emptied), outcome=UNDONE if _holds(now, emptied) else NOT_UNDONE)

    def _are_selected(self, before: Pixels, cells: Cells) -> bool:
        """Return whether several cells were drawn anew.

        The frame around one cell may reach over its neighbors, as the pulsing frame of the current day in a calendar.
        It does not reach their middles.
        """
        changed = self._probe.changed(before)
        drawn = [box for box in cells if any(box.intersects(each) for each in changed)]
        there = [each for each in changed if any(box.intersects(each) for box in drawn)]

        def is_frame_of(cell: Box) -> bool:
            frame = cell.grown(min(cell.width, cell.height) // 2)
            others = [box.center for box in drawn if box != cell]
            return all(frame.encloses(each) and not any(map(each.contains, others)) for each in there)

        return len(drawn) > 1 and not any(map(is_frame_of, drawn))

    def _drawn(self, before: Pixels, cells: Cells) -> Cells:
        """Return the cells whose pixels have changed."""
        changed = self._probe.changed(before)
        return {box: text for box, text in cells.items() if any(box.intersects(each) for each in changed)}

    def _read(self, reached: Callable[[Cells], bool]) -> Cells:
        """Return the texts of the cells once a condition holds, or at the end of the patience."""
        until = time.monotonic() + PATIENCE_S
        while True:
            self._focused.read()
            now = self._cells()
            if reached(now) or time.monotonic() >= until:
                return now
            self._interrupt.sleep(NAP_S)

    def _cells(self) -> Cells:
        tree = self._focused.tree
        return {} if tree is None else cells_beside(tree, self._focused.pid)

    def _field_has_text(self) -> bool:
        tree, pid = self._focused.tree, self._focused.pid
        return tree is not None and any(each.value for each in _focused(tree, pid))


def cells_beside(tree: ElementTree, pid: int) -> dict[Box, str]:
    """Return the texts of the cells in the window with the keyboard, without those at or around its focused control.

    Cells of a window behind a dialog have their boxes at places that the dialog covers. If no control is focused, the
    cells of all windows count. Qt reports cells that are scrolled out of sight at the places of controls below the
    table.
    """
    around = {above.id for each in _focused(tree, pid) for above in (each, *tree.ancestors(each))}
    focused_in = [tree.window_of(each) for each in _focused(tree, pid)]
    windows = {each.id for each in focused_in if ACTIVE in each.states} or {each.id for each in focused_in}
    at = [each.box for each in _focused(tree, pid) if each.on_screen]
    return {
        each.box: _text(tree, each)
        for each in tree.elements
        if (each.pid == pid and each.role in CELLS and each.on_screen and each.id not in around)
        and (not windows or tree.window_of(each).id in windows)
        and not any(each.box.intersects(box) for box in at)
    }


def _focused(tree: ElementTree, pid: int) -> list[Element]:
    return [each for each in tree.elements if each.pid == pid and FOCUSED in each.states]


def _text(tree: ElementTree, cell: Element) -> str:
    return " ".join(filter(None, (text for each in (cell, *tree.below(cell)) for text in (each.name, each.value))))


def _holds(now: Cells, texts: Cells) -> bool:
    return all(now.get(box) == text for box, text in texts.items())
