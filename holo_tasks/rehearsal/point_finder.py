"""Find the text that a question refers to on a read picture: a quoted text, or one that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holo_tasks.core.screen.geometry import Point
from holo_tasks.vision.screen_text import Sight, plain

_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|‘([^’\n]+)’|«([^»\n]+)»|`([^`\n]+)`|(?<!\w)\'([^\'\n]+)\'(?!\w)')
_EXAMPLE = re.compile(r"```.*?```|\{.*\}", re.DOTALL)
_SHORTEST = 3


_BEFORE_TARGET = "Your target is:"
"""Holo's prompt for localization has the target behind these words."""


def point_of(question: str, sight: Sight) -> Point | None:
    """Return the center of the text that a question refers to.

    A quoted text is searched for first, then the text after a colon. Last comes the longest visible text that the
    question contains. Code blocks and schemas in the question are ignored. Returns ``None`` if no such text is on
    the picture exactly once.
    """
    _, marked, target = question.rpartition(_BEFORE_TARGET)
    asked = _EXAMPLE.sub(" ", target)
    descriptions = [asked.strip().partition("\n\n")[0]] if marked else []
    descriptions += [paragraph.rpartition(":")[2].strip() for paragraph in asked.split("\n\n") if ":" in paragraph]
    named = [label for text in (*descriptions, asked) for label in _named(text, sight)]
    for label in (*_quoted(asked), *descriptions, *named):
        box = sight.anchor(label)
        if box is not None:
            return box.center
    return None


def _quoted(question: str) -> Iterator[str]:
    return (text for found in _QUOTED.findall(question) for text in found if text.strip())


def _named(question: str, sight: Sight) -> list[str]:
    """Return the longest visible text that the question contains as whole words, as a list of at most one."""
    words = f" {_words(question)} "
    held = {
        line.text for line in sight.lines if len(plain(line.text)) >= _SHORTEST and f" {_words(line.text)} " in words
    }
    return sorted(held, key=len, reverse=True)[:1]


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
