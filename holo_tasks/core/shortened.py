"""What others have written, short enough to be said of it what is wrong with it."""

from __future__ import annotations

MOST = 300


def shortened(text: str, most: int = MOST) -> str:
    """Return the beginning of a text that is too long to be read in a message."""
    return text if len(text) <= most else text[: most - 1] + "…"
