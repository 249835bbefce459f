"""Clears the field with keyboard focus, or refuses before any key is pressed that could clear more than that field."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.caret_probe import CaretProbe, Found, Press
from holo_tasks.desktop.fields.changed_field import Fields
from holo_tasks.desktop.fields.emptied_cells import CellCheck
from holo_tasks.desktop.fields.focused_field import Focus, FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

LATELY_NS = 1_000_000_000
"""Nanoseconds after an input during which the program may still move the focus to another field."""
CLOSES_S = 3.0
"""Seconds that a sheet may take to close the text of a cell."""
MOST_SEGMENTS = 8
"""Most parts of a date and time field: date, time of day to the millisecond, and AM or PM."""

NOTHING = "Nothing was typed."
TERMINAL = (
    f"{{}} has the keyboard, and it holds no field to overwrite. {NOTHING} Clear the line with the keys of the program "
    "in it, and write without overwrite."
)
NO_TEXT = (
    f"{{}} has the keyboard, and it is not open for text, so there is nothing to overwrite. {NOTHING} Click a text "
    "field, open a cell for editing (F2 or a double click), or write without overwrite."
)
DOCUMENT = (
    "The document itself has the keyboard, so overwriting would replace all of its text. "
    f"{NOTHING} Select the text to replace, and write without overwrite."
)
TABLE = (
    "The arrow keys select whole cells, so a table has the keyboard, and clearing could empty more than one of its "
    f"cells. {NOTHING} In a sheet, write without overwrite: typing replaces the cell. In another table, open the cell "
    "for editing first (F2 or a double click)."
)
EMPTY_CELL = (
    f"A cell has the keyboard, and typing would replace its text, but the text to type is empty. {NOTHING} Press "
    "Delete if only this cell is selected."
)
STILL_EDITED = f"The cell's text stayed open after Escape. {NOTHING} Look at the screen, and close the text first."


class FieldClearing:
    """Clears a field with the keys that suit the focused control."""

    def __init__(
        self, focused: FocusedField, probe: CaretProbe, fields: Fields, press: Press, interrupt: Interrupt
    ) -> None:
        self._focused = focused
        self._probe = probe
        self._fields = fields
        self._press = press
        self._interrupt = interrupt
        self._cells = CellCheck(focused, probe, press, interrupt)

    def focus(self, last_event_ns: int) -> Focus:
        """Return the focused control, once the program has finished with the last input."""
        if time.monotonic_ns() - last_event_ns < LATELY_NS:
            self._fields.look(last_event_ns)
        return self._focused.read()

    def clear(self, focus: Focus, *, far: bool, empty: bool) -> Focus:
        """Clear the field, if it must be cleared before typing. Return the control that is focused then.

        ``far`` says that the window shows another machine's screen, ``empty`` that no text follows. Raises
        `InvalidUsage` if more than one field could be cleared or was cleared, or if the control takes no text.
        """
        match focus.kind:
            case "field" if not focus.empty:  # the keys that clear a field could act on a calendar or list below it
                self._clear_text(one_line=focus.one_line)
            case "segment":
                self._clear_segments()
            case "edited cell":
                return self._close_cell()
            case "cell":
                if empty and not focus.office:
                    raise InvalidUsage(EMPTY_CELL)
            case "terminal":
                raise InvalidUsage(TERMINAL.format(_capital(focus.name)))
            case "document":
                raise InvalidUsage(DOCUMENT)
            case "no text":
                raise InvalidUsage(NO_TEXT.format(_capital(focus.name)))
            case "unknown":
                self._clear_unknown(far=far or focus.viewer, one_line=focus.one_line, tables=focus.tables)
        return focus

    def _clear_text(self, *, one_line: bool = False) -> None:
        """Select all text of the field, and delete it.

        Ctrl+A would not do: in Tk on X11, as in Emacs, it moves to the start of the line. Selecting from the very start
        to the very end works in Tk, GTK, Qt and Chromium, in fields of several lines. Fields of one line know the keys
        without Ctrl only in Qt, and elsewhere these keys do no harm. The text is deleted and not typed over, because in
        Tk a paste does not replace a selection. In the cells of Qt and Swing, the table takes the keys with Ctrl. In
        some programs a menu entry has them, which shows the first record. ``one_line`` leaves them out.
        """

        def select() -> None:
            self._go_to_start(one_line=one_line)
            self._select_rest(one_line=one_line)

        self._cells.delete(select)

    def _clear_segments(self) -> None:
        """Delete each part of a date or time field, and go to the first part. Arrows do not leave the field."""
        self._press_often(keynames.LEFT)
        for _ in range(MOST_SEGMENTS):
            self._press(keynames.DELETE)
            self._press(keynames.RIGHT)
        self._press_often(keynames.LEFT)

    def _press_often(self, arrow: int) -> None:
        for _ in range(MOST_SEGMENTS - 1):
            self._press(arrow)

    def _go_to_start(self, *, one_line: bool) -> None:
        if not one_line:
            self._press(keynames.CONTROL, keynames.HOME)
        self._press(keynames.HOME)

    def _select_rest(self, *, one_line: bool) -> None:
        if not one_line:
            self._press(keynames.CONTROL, keynames.SHIFT, keynames.END)
        self._press(keynames.SHIFT, keynames.END)

    def _clear_unknown(self, *, far: bool, one_line: bool, tables: Sequence[Box]) -> None:
        """Clear a field of a program without an accessibility tree. Delete only if the arrow keys move in a text.

        If they have no effect, only another machine's field is cleared, because its answer may be late. ``tables`` are
        the tables that may hold it. No cell outside of these can be selected.
        """
        found = self._confirmed(partial(self._probe.around_caret, far=far, inside=tables), unlike=("table",))
        if found == "nothing":
            if far:  # its answer may be late
                self._clear_text()
            return
        if found == "text":
            self._go_to_start(one_line=one_line)
            # A table that was being edited may have used these keys for itself.
            found = self._confirmed(partial(self._probe.after_start, tables), unlike=("table", "nothing"))
        if found != "text":
            raise InvalidUsage(TABLE)
        self._cells.delete(partial(self._select_rest, one_line=one_line))

    @staticmethod
    def _confirmed(probe: Callable[[], Found], unlike: Sequence[Found]) -> Found:
        """Return the result of a probe. Repeat the probe before a refusal: a busy program may have drawn late."""
        found = probe()
        return probe() if found in unlike else found

    def _close_cell(self) -> Focus:
        """Close the text of a sheet's cell by Escape, without changing it: typing replaces it anyway."""
        self._press(keynames.ESC)
        until = time.monotonic() + CLOSES_S
        while (now := self._focused.read()).kind != "cell":
            if time.monotonic() >= until:
                raise InvalidUsage(STILL_EDITED)
            self._interrupt.sleep(0.02)
        return now


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
