"""Paste a text that keys cannot enter, such as a whole date in a date field of Qt.

Such a field refuses the first digit of a date that replaces the old one, since that digit alone is not a date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from holo_tasks.core.input import keynames
from holo_tasks.desktop.input.keyboard import Keyboard
from holo_tasks.desktop.x11.offered_text import ClipboardOffer
from holo_tasks.desktop.x11.x_connection import XConnection

PASTE_S = 3.0
NOT_PASTED = (
    "The program did not take {text} from the clipboard, so it was not typed. The field may be empty now: look at it, "
    "and correct it."
)
_NUMBER = re.compile(r"[-+]?\d{1,3}(?:[.,' ]?\d{3})*(?:[.,]\d+)?")


class PastedText:
    """Pastes texts into the control with keyboard focus."""

    def __init__(
        self,
        link: XConnection,
        keyboard: Keyboard,
        press: Callable[[Sequence[int]], None],
        sleep: Callable[[float], None],
    ) -> None:
        self._link = link
        self._keyboard = keyboard
        self._press = press
        self._sleep = sleep

    def paste(self, text: str) -> bool:
        """Paste a text. Return whether the program took it from the clipboard."""
        with ClipboardOffer(self._link.display, text) as offer:
            self._press([self._keyboard.keycode(keynames.CONTROL), self._keyboard.keycode(ord("v"))])
            return offer.await_fetched(PASTE_S, self._sleep)

    def write(self, value: str, rest: str, type_: Callable[[str], None]) -> str:
        """Paste a value and type the text after it; return a sentence if the program did not take it, else ""."""
        if not self.paste(value):
            return NOT_PASTED.format(text=value)
        type_(rest)
        return ""


def value_to_paste(text: str) -> str:
    """Return the part of a text before Tab or Enter if it has several numbers and is not one; else an empty text.

    That is so for a date and a time of day.
    """
    value = re.split(r"[\t\r\n]", text, maxsplit=1)[0]
    has_parts = len(re.findall(r"\d+", value)) > 1 and _NUMBER.fullmatch(value.strip()) is None
    return value if has_parts else ""
