"""Write foreign text so that a reader sees every character, or without its invisible characters."""

from __future__ import annotations

import re
import shlex
import unicodedata

# Characters that Unicode calls printable but that show nothing: joiners, fillers, blanks, variation selectors.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def exact(text: str) -> str:
    """Return a printable text unchanged, and any other text quoted with its unprintable characters escaped."""
    return text if text.isprintable() else repr(text)


def shell_word(text: str) -> str:
    """Return a text as one word for a shell. Unprintable characters are escaped in the way that bash reads."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_shell_escaped(character) for character in text) + "'"


def one_line(text: str, most: int) -> str:
    """Return a text as one line without invisible characters, cut to ``most`` characters."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return " ".join(text.split())
    seen = "".join(" " if character.isspace() else character for character in text[: 8 * most])
    flat = " ".join("".join(character for character in seen if not is_hidden(character)).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def is_hidden(character: str) -> bool:
    """Return whether a character is invisible."""
    if character.isascii():
        return not " " <= character < "\x7f"
    if not character.isprintable():
        return unicodedata.category(character) != "Zs"
    return _HIDDEN.match(character) is not None


def _shell_escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
