"""Regular expressions that a person wrote, looked for within a time: one that never ends must not hold up a run.

Not with `re`: it keeps the whole process from going on until it is done.
"""

from __future__ import annotations

import regex

from holo_tasks.core.errors import RedactionFailed

PATIENCE_S = 2.0
"""How long one expression may take for one text."""
LONGEST = 2_000
"""Characters of a text that are looked at in one go; no line of a screen and no title is longer."""


class Pattern:
    """An expression, in any case, by the kind that it stands for."""

    def __init__(self, kind: str, pattern: str) -> None:
        self._kind = kind
        self._regex = regex.compile(pattern, regex.IGNORECASE)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where it is in a text. Raises `RedactionFailed` if that takes too long, or the text is too long."""
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
                "screen was sent; write it without repetitions inside of repetitions."
            ) from None


def check(pattern: str) -> None:
    """Raise `ValueError` for what is no expression, or matches where nothing is."""
    try:
        if regex.compile(pattern).match("", timeout=PATIENCE_S):
            raise ValueError(f"{pattern!r} matches where nothing is")
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    except MemoryError:
        raise ValueError(f"{pattern!r} repeats something too often") from None
