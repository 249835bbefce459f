"""Find the requests in the English sentences of a task: to press, choose, save or enter something, or to send it.

A sentence that forbids something, or makes it depend on something, asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST_LABEL = 80
"""Maximal number of characters of a label that a task may name."""
_SENTENCE = re.compile(r"[.!?\n]+(?=\s|$)")
LEAST_REPEATED, MOST_REPEATED = 20, 1000
"""Least and greatest number of letters and digits of a sentence that a screen may repeat from its task."""
_MARKS = r"[“„‘«\"']?"
_PRESS = rf"\b(?:click|press|push|hit|tap)\s+(?:on\s+)?(?:the\s+)?(?:button\s+)?{_MARKS}"
_CHOOSE = re.compile(r"\b(?:select|check|tick|choose|mark|enable|activate)\b", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:not|never|no|cannot|without|instead|unless|if|when|whether|or|avoid|except|before)\b|n['’]t\b", re.IGNORECASE
)
"""Words with which a sentence may forbid an action or make it depend on something."""
_SAVE = re.compile(
    r"(?:^|[,;:]|\band|\bthen)\s*save\s+(?:(?:the|this|your|all)\s+)?(?:file|document|sheet|workbook|spreadsheet|text|changes)\b",
    re.IGNORECASE,
)
_ENTER = re.compile(r"\b(?:enter|type|put|set|fill|write|insert|record|change)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,:/+-])\d{2,}(?![\w:/%+-]|[.,]\d)")
_BEFORE_VALUE = re.compile(
    r"(?:\b(?:to|as|is|with|and|enter|type|put|set|write|insert|record)|[,:=(])\s*$", re.IGNORECASE
)
_AFTER_VALUE = re.compile(r"\s*(?:$|[,;)€$£]|(?:for|in|into|as|to|and|at|on|beside|under|below|EUR|USD|GBP|CHF)\b)")
_SEND = re.compile(r"\b(?i:forward|send|e-?mail|share|assign)\b[^,;:]*?\bto\s+(?=[A-Z])(.+)", re.DOTALL)
_NAME = re.compile(r"(?:,\s*(?:and\s+)?|\s+and\s+)?([A-Z][\w'’-]*(?:[ ][A-Z][\w'’-]*){0,3})")


def asks_to_press(text: str, label: str) -> bool:
    """Say whether an English text asks without a condition to press the control with a label."""
    if not 1 < len(label) <= LONGEST_LABEL:
        return False
    asked = re.compile(rf"{_PRESS}{re.escape(label)}(?!\w)", re.IGNORECASE)
    return any(asked.search(one) for one in _requests(text))


def asks_for_a_choice(text: str) -> bool:
    """Say whether an English text has a verb of choosing: only then is a tree worth reading for options."""
    return _CHOOSE.search(text) is not None


def asks_to_choose(text: str, label: str) -> bool:
    """Say whether an English text asks without a condition to choose an option, by its whole label in its own case."""
    if not 1 < len(label) <= LONGEST_LABEL:
        return False
    asked = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)")
    for one in _requests(text):
        verb = _CHOOSE.search(one)
        if verb is not None and asked.search(one, verb.end()):
            return True
    return False


def asks_to_save(text: str) -> bool:
    """Say whether an English text asks without a condition to save a document."""
    return any(_SAVE.search(one.strip()) for one in _requests(text))


def entered_numbers(text: str) -> Iterator[str]:
    """Yield the short whole numbers that an English text asks to enter: neither counts of things nor limits."""
    for one in _requests(text):
        verb = _ENTER.search(one)
        for found in _NUMBER.finditer(one, verb.start()) if verb is not None else ():
            if _BEFORE_VALUE.search(one[: found.start()]) and _AFTER_VALUE.match(one, found.end()):
                yield found.group()


def recipients(text: str) -> Iterator[str]:
    """Yield the names, with capitals, to whom an English text asks to send something."""
    for one in _requests(text):
        found = _SEND.search(one)
        at, end = (found.start(1), found.end()) if found is not None else (0, 0)
        while at < end and (name := _NAME.match(one, at)) is not None:
            yield name.group(1)
            at = name.end()


def without_sentences_of(task: str, shown: str) -> str:
    """Return the texts of a screen without the sentences that it repeats from the task, also over several lines.

    A page with an exercise, or with a list of work, shows the task from the start. So it does not prove that the work
    is done.
    """
    for one in _SENTENCE.split(task):
        signs = [sign for sign in one if sign.isalnum()]
        if LEAST_REPEATED <= len(signs) <= MOST_REPEATED:
            shown = re.sub(r"[\W_]*".join(map(re.escape, signs)), " ", shown, flags=re.IGNORECASE)
    return shown


def _requests(text: str) -> Iterator[str]:
    """Yield the sentences that neither forbid anything nor depend on anything."""
    return (one for one in _SENTENCE.split(text) if not _OPEN.search(one))
