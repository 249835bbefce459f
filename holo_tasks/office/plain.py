"""Text of a mail made fit to stand among words of our own: on a page, in a log, in a note."""

from __future__ import annotations

import unicodedata

from holo_tasks.core.outside import named

MOST_NAME, MOST_TEXT = 60, 200
_NOT_IN_NAMES = set('"{}<>[]\\|`')
"""What quotes, fills in, links or marks up, wherever a name may get to; no merchant is called so."""


def plain_text(text: str) -> str:
    """Return one line of what shows as itself, not too long."""
    return named(text, MOST_TEXT)


def plain_name(text: str) -> str:
    """Return a name as it may be typed into a program: short, and without what quotes, fills in or marks up."""
    # Bounded before it is looked at: a line of a mail may have millions of characters.
    usual = unicodedata.normalize("NFKC", text[: 8 * MOST_NAME])  # else what marks up slips through in other letters
    kept = "".join(" " if one in _NOT_IN_NAMES else one for one in usual)
    return named(kept, 8 * MOST_NAME)[:MOST_NAME].strip(" .,;")
