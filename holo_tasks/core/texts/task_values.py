"""Find the values that a task names, and compare them with typed texts and with the texts of a screen.

A value is a quoted text, a token with digits such as a number, a date or a reference, or a short entry of the data
whose name the task mentions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from holo_tasks.core.texts.outside_text import strings_in
from holo_tasks.core.texts.same_value import may_be_same_date, same_number

MOST_VALUES = 20
"""A task with more values is a list or a letter, and is not compared."""
LONGEST = 80
"""Maximal number of characters of a value."""
MOST_TOKENS = 200
"""A task or a typed text with more tokens is not compared digit by digit."""
LEAST_DIGITS = 3
"""A token with fewer digits is not compared digit by digit: too many other tokens differ from it in one digit."""
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]{0,100}\}\}")
_QUOTED = re.compile(r"“([^“”\n]+)”|„([^„“”\n]+)[“”]|‘([^‘’\n]+)’|«([^«»\n]+)»|\"([^\"\n]+)\"")
_BETWEEN = re.compile(r"[\s“”„‘’«»\"()\[\]{};]+")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Slip:
    """A token of a typed text that differs in one digit from a token of the task."""

    typed: str
    named: str


@dataclass(frozen=True)
class TaskValues:
    """The text of a task without placeholders of secrets, and its values."""

    text: str = ""
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, goal: str, data: Mapping[str, Any] | None = None) -> Self:
        """Return the values of a goal and its data. A task with many values gets none."""
        text = _PLACEHOLDER.sub(" ", goal)
        entries = [one.strip() for one in _entries(data or {}, text)]
        quoted = [next(filter(None, found.groups())).strip() for found in _QUOTED.finditer(text)]
        tokens = [token for token in _tokens(_QUOTED.sub(" ", text)) if _is_specific(token)]
        short = [one for one in entries if "\n" not in one and "{{" not in one]
        values = [one for one in dict.fromkeys((*quoted, *tokens, *short)) if len(one) <= LONGEST and loose(one)]
        return cls("\n".join([text, *entries]), tuple(values) if len(values) <= MOST_VALUES else ())

    def missing_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the values that are in none of the texts, in any format of a number or a date."""
        read = [(text, loose(text)) for text in texts]
        return tuple(value for value in self.values if not any(_holds(text, bare, value) for text, bare in read))

    def slip_in(self, typed: str) -> Slip | None:
        """Return a token of a typed text that looks like a misread token of the task, or ``None``.

        A whole text is also compared with the task's values, and there one digit is enough.
        """
        whole_text = [value for value in self.values if is_one_digit_off(typed, value, least=1)]
        if len(whole_text) == 1 and not any(_is_same(typed, value) for value in self.values):
            return Slip(typed, whole_text[0])
        named, tokens = dict.fromkeys(_tokens(self.text)), _tokens(_PLACEHOLDER.sub(" ", typed))
        if max(len(named), len(tokens)) > MOST_TOKENS:
            return None
        whole, bare = loose(self.text), loose(typed)
        for token in tokens:
            if loose(token) in whole or any(_is_same(token, one) for one in named):
                continue
            near = [one for one in named if is_one_digit_off(token, one) and loose(one) not in bare]
            if len(near) == 1:
                return Slip(token, near[0])
        return None


def loose(text: str) -> str:
    """Return only the letters and digits of a text, without case."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())


def mentions_label(text: str, label: str) -> bool:
    """Say whether a text names the label of a control, in the label's own case.

    A label without a capital letter is an ordinary word, and so is the first word of a sentence.
    """
    if not any(map(str.isupper, label)) or not 1 < len(label) <= LONGEST:
        return False
    found = re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", text)
    return any(before[-1:] not in ".!?:\n" for one in found if (before := text[: one.start()].rstrip(" ‘“\"'«")))


def is_one_digit_off(one: str, other: str, least: int = LEAST_DIGITS) -> bool:
    """Say whether two texts differ in one digit only, or in the order of two adjacent digits.

    Texts with less than ``least`` digits, or of one or two characters, are not compared.
    """
    first, second = loose(one), loose(other)
    if len(first) != len(second) or len(first) < 3 or sum(sign.isdigit() for sign in first) < least:
        return False
    apart = [place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if not all(first[place].isdigit() and second[place].isdigit() for place in apart):
        return False
    if len(apart) == 2 and apart[1] == apart[0] + 1:
        return first[apart[0]] == second[apart[1]] and first[apart[1]] == second[apart[0]]
    return len(apart) == 1


def _entries(data: Mapping[str, Any], goal: str) -> Iterable[str]:
    """Yield the texts and numbers of the data whose names the goal mentions."""
    for name, value in data.items():
        if loose(name) not in loose(goal):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
        else:
            yield from strings_in(value)


def _tokens(text: str) -> list[str]:
    """Return the words with a digit, in linear time: a typed text may be long and hostile."""
    words = (word.strip(".,:!?'") for word in _BETWEEN.split(text))
    return [word for word in words if any(map(str.isdigit, word))]


def _is_specific(token: str) -> bool:
    """Say whether a token is an amount, a date, a reference or a long number, and not a mere count."""
    bare = loose(token)
    digits = sum(sign.isdigit() for sign in bare)
    return digits >= 4 or (digits >= 2 and (len(bare) < len(token) or bool(_LETTER.search(token))))


def _is_same(one: str, other: str) -> bool:
    return loose(one) == loose(other) or same_number(one, other) or may_be_same_date(one, other)


def _holds(text: str, bare: str, value: str) -> bool:
    return loose(value) in bare or any(_is_same(token, value) for token in _tokens(text) if len(token) <= LONGEST)
