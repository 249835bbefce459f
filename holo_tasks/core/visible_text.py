"""A text told exactly, also where it holds what no eye can see or what a terminal would take for a command."""

from __future__ import annotations

import shlex


def exact(text: str) -> str:
    """Return a text as it is if all of it can be seen; else in quotation marks, what cannot by its number."""
    return text if text.isprintable() else repr(text)


def shell_word(text: str) -> str:
    """Return a text as a shell is given it; what cannot be seen is written by its number, as bash reads that."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_typed(character) for character in text) + "'"


def _typed(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
