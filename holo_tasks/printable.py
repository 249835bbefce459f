"""Text that a model or a program wrote, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Take out what would make a terminal show something else than what is there."""
    return "".join(character if character.isprintable() else " " for character in text)


def one_line(text: str, most: int) -> str:
    """Return a text for a list or a log: one line of what shows as itself, cut where it is longer than that."""
    line = " ".join(printable(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"
