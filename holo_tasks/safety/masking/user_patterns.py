"""The user's regular expressions, matched with a time limit so that an expensive one cannot block a run.

The standard module `re` has no time limit, and blocks the whole process while it matches.
"""

from __future__ import annotations

import regex

from holo_tasks.core.errors import RedactionFailed

PATIENCE_S = 2.0
"""Longest time for one expression and one text, in seconds."""
LONGEST = 2_000
"""Characters in a text at most. No line on a screen and no window title is longer."""


class Pattern:
    """A regular expression for a kind of private text, matched without regard to case."""

    def __init__(self, kind: str, pattern: str) -> None:
        self._kind = kind
        self._regex = regex.compile(pattern, regex.IGNORECASE)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of all matches.

        Raises `RedactionFailed` if the text is too long or the search takes too long.
        """
        if len(text) > LONGEST:
            raise RedactionFailed(
                f"A text has more than {LONGEST} characters, too many for the pattern for ‘{self._kind}’, so nothing "
                "of the screen was sent."
            )
        try:
            matches = self._regex.finditer(text, timeout=PATIENCE_S, concurrent=True)
            return [match.span() for match in matches if match.group()]
        except TimeoutError:
            raise RedactionFailed(
                f"The pattern for ‘{self._kind}’ took more than {PATIENCE_S:g} seconds for one text, so nothing of the "
                "screen was sent; write it without nested repetitions."
            ) from None


def check(pattern: str) -> None:
    """Raise `ValueError` if the text is not a regular expression, or matches an empty text."""
    try:
        if regex.compile(pattern).match("", timeout=PATIENCE_S):
            raise ValueError(f"{pattern!r} matches an empty text")
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    except MemoryError:
        raise ValueError(f"{pattern!r} repeats something too often") from None
