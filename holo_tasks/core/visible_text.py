"""A text told exactly, or so that all of it can be seen, though others wrote what no eye sees or a terminal obeys."""

from __future__ import annotations

import re
import shlex
import unicodedata

# Printable to Unicode, but nothing to the eye either: joiners, fillers, blanks, variation selectors.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def exact(text: str) -> str:
    """Return a text as it is if all of it can be seen; else in quotation marks, what cannot by its number."""
    return text if text.isprintable() else repr(text)


def shell_word(text: str) -> str:
    """Return a text as a shell is given it; what cannot be seen is written by its number, as bash reads that."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_typed(character) for character in text) + "'"


def one_line(text: str, most: int) -> str:
    """Return a text as one line with nothing invisible in it, no longer than ``most``."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return " ".join(text.split())
    seen = "".join(" " if character.isspace() else character for character in text[: 8 * most])
    flat = " ".join("".join(character for character in seen if not is_hidden(character)).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def is_hidden(character: str) -> bool:
    """Say whether no eye can see a character."""
    if character.isascii():
        return not " " <= character < "\x7f"
    if not character.isprintable():
        return unicodedata.category(character) != "Zs"
    return _HIDDEN.match(character) is not None


def _typed(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
