"""Shorten foreign text for use in error messages."""

from __future__ import annotations

MOST = 300


def shortened(text: str, most: int = MOST) -> str:
    """Return a text cut to ``most`` characters, with an ellipsis at the end if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
