"""Text that a model or a program wrote, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Take out what would make a terminal show something else than what is there."""
    return "".join(character if character.isprintable() else " " for character in text)
