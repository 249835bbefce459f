"""Type into cells of a LibreOffice sheet so that neither AutoInput nor AutoCorrect changes a text before Tab or Enter.

AutoInput completes a text from its column while it is typed. Enter accepts the completion, and Delete removes it.
AutoCorrect changes the word before the caret at a blank or another sign, and at Enter if nothing is selected. So a
text is typed from its last word to its first, each at the start of the cell, and is selected when Enter is pressed.
These keys need a cell that was opened with F2. A double quote still becomes a typographic one.

Typed plainly are formulas and a text whose cell does not open. Neither function changes a formula. A text without
letters is also typed plainly, and its completion is deleted.

The text after the last Tab or Enter is typed plainly too, so that the arrow keys still leave its cell. If the next key
is Tab or Enter, `before_keys` cancels that text and types it again as above.

`SheetTyping` is the main class; `gesture_player` uses it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from difflib import SequenceMatcher

from holo_tasks.core.input import keynames
from holo_tasks.desktop.fields.caret_probe import Press
from holo_tasks.desktop.fields.focused_field import Focus, FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

PATIENCE_S, NAP_S = 5.0, 0.02
"""Longest time in which a busy sheet has to open a cell or show its new text, and the pause between two checks."""
KEYS = {"\t": keynames.TAB, "\n": keynames.RETURN}
ENDS = ({keynames.TAB}, {keynames.RETURN})
"""Keys that leave a cell, also one that F2 opened, where the arrow keys move the caret. Shift may be held."""
ALIKE = 0.5
"""Least similarity of a text that AutoCorrect may have changed with the typed one."""
PIECE = re.compile(r"[^\W_]+|[\W_][^\W_]*")
"""A word, or another character with the word after it. So no piece has such a character behind a word."""


class SheetTyping:
    """Types a text into cells in order; Tab and Enter move on to the next cell."""

    def __init__(self, focused: FocusedField, write: Callable[[str], None], press: Press, interrupt: Interrupt) -> None:
        self._focused = focused
        self._write = write
        self._press = press
        self._interrupt = interrupt
        self._open_text = ""

    def before_keys(self, symbols: Collection[int]) -> None:
        """Prepare the cell whose text was left open for the keys that are pressed next, by their keysyms."""
        text = self.forget()
        if not any(map(str.isalpha, text)) or text.startswith("="):
            return
        if set(symbols) - {keynames.SHIFT} not in ENDS:
            return
        if self._await(lambda now: _may_be(now.value, text)) is None:
            return
        self._press(keynames.ESC)
        if self._await(lambda now: now.is_office_cell, kind="cell") is not None:
            self._enter(text, "", replaces=False)

    def forget(self) -> str:
        """Return the text that was left open in a cell, and forget it, because something else happens."""
        text, self._open_text = self._open_text, ""
        return text

    def type(self, text: str, *, replaces: bool) -> None:
        """Type a text that may hold tabs and newlines. The cell with the text after the last of these stays open.

        With ``replaces`` an empty text empties the cell.
        """
        parts = re.split(r"([\t\n])", text.replace("\r\n", "\n"))
        place = ""
        for number in range(0, len(parts) - 1, 2):
            place = self._enter(parts[number], place, replaces=replaces and not number)
            self._press(KEYS[parts[number + 1]])
        last = parts[-1]
        if last:
            self._write(last)
            self._open_text = last
        elif replaces and len(parts) == 1:
            self._open("")
            self._press(keynames.DELETE)

    def _enter(self, text: str, before: str, *, replaces: bool) -> str:
        """Type the text of one cell so that Enter can follow.

        ``before`` is the name of the cell before. Returns the name of this cell, or ``before`` if it is unknown.
        """
        if not text and not replaces:
            return before
        if text.startswith("="):
            self._write(text)  # a formula is neither completed nor corrected
            return before
        if text and not any(map(str.isalpha, text)):
            return self._enter_number(text, before)
        opened = self._open(before)
        if opened is None:
            self._write(text)
            return before
        pieces = PIECE.findall(text)
        if not pieces:
            self._press(keynames.DELETE)
        for number, piece in enumerate(reversed(pieces)):
            self._write(piece)
            if not number:
                self._press(keynames.DELETE)  # removes a completion, which is selected behind the caret
            self._press(keynames.HOME)
        self._press(keynames.SHIFT, keynames.END)
        return opened

    def _enter_number(self, text: str, before: str) -> str:
        """Type a number character by character, because a percent cell adds its sign; then delete a completion."""
        self._write(text)
        edited = self._await(lambda now: now.place != before and now.value.startswith(text))
        if edited is not None and edited.value not in (text, f"{text}%"):
            self._press(keynames.DELETE)
        return edited.place if edited else before

    def _open(self, before: str) -> str | None:
        """Open the cell that has the keyboard and select its text. Returns its name, ``None`` if it did not open."""
        self._press(keynames.F2)
        edited = self._await(lambda now: now.place != before)
        if edited is None:
            self._press(keynames.ESC)
            return None
        self._press(keynames.CONTROL, keynames.END)
        self._press(keynames.CONTROL, keynames.SHIFT, keynames.HOME)
        return edited.place

    def _await(self, holds: Callable[[Focus], bool], kind: str = "edited cell") -> Focus | None:
        until = time.monotonic() + PATIENCE_S
        while True:
            now = self._focused.read()
            if now.kind == kind and holds(now):
                return now
            if time.monotonic() >= until:
                return None
            self._interrupt.sleep(NAP_S)


def _may_be(held: str, typed: str) -> bool:
    """Say whether the text of a cell is a typed one, as it is or after AutoInput and AutoCorrect."""
    held, typed = held.casefold(), typed.casefold()
    return held.startswith(typed) or SequenceMatcher(None, held, typed).ratio() >= ALIKE
