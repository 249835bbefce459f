"""Quote the texts on a screen that tell a person most about why a playbook stopped."""

from __future__ import annotations

from holo_tasks.core.texts.failure_words import says_failure
from holo_tasks.scripts.element_search import is_fully_reported
from holo_tasks.vision.screen_text import Sight

MOST_READ = 14
"""Most texts of the screen that a question quotes."""


def texts_in_words(sight: Sight, what: str = "The screen", before: Sight | None = None) -> str:
    """Return the text on the screen as a sentence, without texts that only programs report.

    Not every model may see the reported texts. Messages of a failure come first, then the texts that the screen
    ``before`` the last action did not have. Otherwise the texts keep their order on the screen.
    """
    texts = [line.text for line in (sight.shown or sight).lines]
    if not texts and is_fully_reported(sight):
        return ""
    earlier = _texts_on(before) if before is not None else frozenset()
    texts.sort(key=lambda text: (not says_failure(text), text in earlier))
    return f" {what} reads: {'; '.join(texts[:MOST_READ]) or 'no text at all'}."


def _texts_on(sight: Sight) -> frozenset[str]:
    """Return the texts that are written on a screen, and those that its programs report."""
    lines = {line.text for line in (sight.shown or sight).lines}
    elements = () if sight.elements is None else sight.elements.elements
    return frozenset(lines.union(text for each in elements if each.on_screen for text in (each.name, each.value)))
