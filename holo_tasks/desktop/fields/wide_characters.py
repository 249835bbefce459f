"""Paste characters above U+FFFF into Java windows, which cannot receive them from keys.

AWT cuts the keysyms to 16 bits, so typing would change the characters.

Measured with OpenJDK 17: typed by keys, 🙂 (U+1F642) arrives in a text field of Swing as U+F642; pasted, it is whole.
Tk 8.6.13, GTK 3, Qt 6 and Chromium read such keys correctly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.programs.window_owners import innermost_window_at, windows_on_key_path
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

OF_JAVA = frozenset({"FocusProxy", "Content window"})
"""The names of AWT's inner windows: the one that receives its keys, and the one that it draws in."""
NOT_FETCHED = (
    "The text up to {text} was typed, and the program did not take {text} from the clipboard. The rest was not typed: "
    "look at the field, and correct it."
)
_WIDE = re.compile("([\U00010000-\U0010ffff]+)")


class WideCharacters:
    """Pastes characters that the keys of a Java window cannot carry."""

    def __init__(self, link: XConnection, paste: Callable[[str], bool]) -> None:
        self._link = link
        self._paste = paste

    def are_lost(self, parts: Sequence[str | Secret], at: Point | None) -> bool:
        """Return whether keys would turn characters of a text into others in the window that gets it.

        Raises `SecretRefused` if a secret holds such a character, because secrets are not put on the clipboard.
        """
        values = [part.value if isinstance(part, Secret) else part for part in parts]
        if not any(map(_WIDE.search, values)) or not self._is_java(at):
            return False
        for part, value in zip(parts, values, strict=True):
            if isinstance(part, Secret) and _WIDE.search(value):
                raise SecretRefused(
                    f"The secret {part.name!r} is not typed: it holds characters above U+FFFF, and Java programs read "
                    "other characters from their keys. Nothing was typed."
                )
        return True

    def write(self, text: str, type_: Callable[[str], None]) -> str:
        """Type a text and paste its wide characters; return a sentence if some text is missing, else an empty one."""
        for part in _parts(text):
            if _WIDE.fullmatch(part) is None:
                type_(part)
            elif not self._paste(part):
                return NOT_FETCHED.format(text=part)
        return ""

    def _is_java(self, at: Point | None) -> bool:
        """Return whether the window at a point or, without one, the window with the keyboard belongs to AWT."""
        link, found = self._link, list[str]()
        try:
            window = innermost_window_at(link, at) if at is not None else windows_on_key_path(link)[0]
            while window and window != link.root:
                found += [link.text(window, name) for name in ("_NET_WM_NAME", "WM_NAME")]
                window = int(link.conn.core.QueryTree(window).reply().parent)
        except Refused:
            return False
        return not OF_JAVA.isdisjoint(found)


def _parts(text: str) -> Iterator[str]:
    return (part for part in _WIDE.split(text) if part)
