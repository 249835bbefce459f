"""Make text from a model or a program safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Replace every unprintable character by a space, so that no control sequence reaches the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
