"""Clean text of a mail before it is put into a page, a log line or a typed field."""

from __future__ import annotations

import unicodedata

from holo_tasks.core.texts.outside_text import named

MOST_NAME, MOST_TEXT = 60, 200
_NOT_IN_NAMES = set('"{}<>[]\\|`')
"""Characters that quote, fill in, link or mark up in some target of the name. Merchants' names do not contain them."""


def plain_text(text: str) -> str:
    """Return one line of visible characters, at most ``MOST_TEXT`` long."""
    return named(text, MOST_TEXT)


def plain_name(text: str) -> str:
    """Return a name that is safe to type into a program: short, and without quotes, placeholders or markup."""
    # Cut first: a line of a mail may have millions of characters.
    usual = unicodedata.normalize("NFKC", text[: 8 * MOST_NAME])  # replaces full-width forms of markup characters
    allowed = "".join(" " if one in _NOT_IN_NAMES else one for one in usual)
    return named(allowed, 8 * MOST_NAME)[:MOST_NAME].strip(" .,;")
