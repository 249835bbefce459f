"""Find the values that a task names, and compare them with typed texts and with the texts of a screen.

A value is a quoted text, a token with digits such as a number, a date or a reference, an e-mail address, a short
number to enter, the name of a recipient, or a short entry of the data whose name the task mentions.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from holo_tasks.core.texts.same_value import EXACT_DIGITS, days_of, numbers_of, times_of
from holo_tasks.core.texts.task_sentences import entered_numbers, recipients

MOST_VALUES = 20
"""A task with more values is a list or a letter, and is not compared."""
LONGEST = 80
"""Maximal number of characters of a value."""
MOST_TOKENS = 200
"""A task or a typed text with more tokens is not compared digit by digit."""
LEAST_DIGITS = 3
"""A token with fewer digits is not compared digit by digit: too many other tokens differ from it in one digit."""
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]{0,100}\}\}")
_QUOTED = re.compile(
    r"“([^“”\n]+)”|„([^„“”\n]+)[“”]|”([^“”\n]+)”|‘([^‘’\n]+)’|«([^«»\n]+)»|»([^«»\n]+)«"
    r"|「([^「」\n]+)」|『([^『』\n]+)』|\"([^\"\n]+)\""
)
_BETWEEN = re.compile(r"[\s“”„‘’«»\"()\[\]{};（）「」『』【】《》，。、；]+")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_LETTER = re.compile(r"[^\W\d_]")
_UNCASED = frozenset({"Lo", "Lm", "Mn", "Mc"})
"""The Unicode categories of letters without capitals, and of the signs on them."""


@dataclass(frozen=True)
class Slip:
    """A token of a typed text that differs in one digit from a token of the task."""

    typed: str
    named: str


@dataclass(frozen=True)
class TaskValues:
    """The text of a task without placeholders of secrets, and its values. ``goal`` is the text without the data."""

    text: str = ""
    values: tuple[str, ...] = ()
    goal: str = ""

    @classmethod
    def of(cls, goal: str, data: Mapping[str, Any] | None = None) -> Self:
        """Return the values of a goal and its data. A task with many values gets none.

        If all data are too many, only those that the goal names count.
        """
        text, given = _PLACEHOLDER.sub(" ", goal), data or {}
        entries = [one.strip() for one in _entries(given, text, every=_enters_all(text))]
        values = _values(text, entries)
        if len(values) > MOST_VALUES:
            entries = [one.strip() for one in _entries(given, text, every=False)]
            values = _values(text, entries)
        return cls("\n".join([text, *entries]), values if len(values) <= MOST_VALUES else (), text)

    def missing_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the values that are in none of the texts, in any format of a number or a date."""
        read = [(loose(text), _Meanings.of(_tokens(text))) for text in texts] if self.values else []
        return tuple(value for value in self.values if not any(_holds(bare, has, value) for bare, has in read))

    def slip_in(self, typed: str) -> Slip | None:
        """Return a token of a typed text that looks like a misread token of the task, or ``None``.

        A whole text is also compared with the task's values, and there one digit is enough.
        """
        whole_text = [value for value in self.values if is_one_digit_off(typed, value, least=1)]
        if len(whole_text) == 1 and not any(_may_mean(typed, value) for value in self.values):
            return Slip(typed, whole_text[0])
        named, tokens = dict.fromkeys(_tokens(self.text)), _tokens(_PLACEHOLDER.sub(" ", typed))
        if max(len(named), len(tokens)) > MOST_TOKENS:
            return None
        whole, bare = loose(self.text), loose(typed)
        for token in tokens:
            if loose(token) in whole or any(_may_mean(token, one) for one in named):
                continue
            near = [one for one in named if is_one_digit_off(token, one) and loose(one) not in bare]
            if len(near) == 1:
                return Slip(token, near[0])
        return None


def loose(text: str) -> str:
    """Return only the letters and digits of a text, without case."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())


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


_ALL_DATA = re.compile(
    r"\b(?:with|from|using|enter|type|fill in|mit|avec|con)\s+(?:all\s+)?(?:of\s+)?"
    r"(?:the|this|these|den|diesen|les|ces|los|estos)\s+(?:data|values|details|Daten|Werten|Angaben|données|datos)\b",
    re.IGNORECASE,
)
"""Words by which a goal has all its data entered."""
_COMPARES = re.compile(r"\b(?:compar|match|check|verif|differ|audit|vergleich|prüf)", re.IGNORECASE)
"""Words of a goal whose data may not be on the screen."""
_CHOICES = frozenset({"yes", "no", "true", "false", "on", "off", "ja", "nein", "oui", "non", "si", "sí"})
"""Entries that a check box shows, and no text."""


_INTERNAL = frozenset({"id", "url", "uri", "link"})
"""Names of entries that a program may not show. They count only if the goal has them as words."""
_URL = re.compile(r"(?:\w[\w+.-]*://|www\.)\S+", re.IGNORECASE)


def _values(text: str, entries: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a goal and of the entries of its data."""
    quoted = [next(filter(None, found.groups())).strip() for found in _QUOTED.finditer(text)]
    tokens = [token for token in _tokens(_QUOTED.sub(" ", text)) if _is_specific(token)]
    short = [one for one in entries if "\n" not in one and "{{" not in one]
    asked = [*_ADDRESS.findall(text), *entered_numbers(text), *recipients(_QUOTED.sub(" ", text))]
    found = dict.fromkeys((*quoted, *tokens, *asked, *short))
    return tuple(one for one in found if len(one) <= LONGEST and loose(one))


def _enters_all(goal: str) -> bool:
    """Say whether a goal has all its data entered."""
    return _ALL_DATA.search(goal) is not None and _COMPARES.search(goal) is None


def _entries(data: Mapping[str, Any], goal: str, every: bool) -> Iterator[str]:
    """Yield the texts and numbers of the data whose names the goal mentions, or of all data that programs show."""
    for name, value in data.items():
        is_named = _is_named(name, goal)
        if not is_named and not (every and _is_shown(name, value)):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
        elif isinstance(value, str):
            yield value
        else:
            yield from _texts_in(value)


def _is_named(name: str, goal: str) -> bool:
    """Say whether a goal mentions the name of an entry."""
    if loose(name) in _INTERNAL:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", goal, re.IGNORECASE) is not None
    return loose(name) in loose(goal)


def _is_shown(name: str, value: Any) -> bool:
    """Say whether a program probably shows an entry as a text once it was entered."""
    if isinstance(value, str) and _URL.fullmatch(value.strip()):
        return False
    return loose(name) not in _INTERNAL and str(value).strip().casefold() not in _CHOICES


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of lists and dictionaries at any depth, without names of entries."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if _is_shown(name, one):
                yield from _texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            if _is_shown("", one):
                yield from _texts_in(one)


def _tokens(text: str) -> list[str]:
    """Return the words with a digit, in linear time: a typed text may be long and hostile.

    Letters of scripts without capitals divide words: these scripts put numbers into the text without blanks, or
    particles after them.
    """
    if not text.isascii():
        composed = unicodedata.normalize("NFC", text)
        text = "".join(" " if unicodedata.category(sign) in _UNCASED else sign for sign in composed)
    words = (word.strip(".,:!?'") for word in _BETWEEN.split(text))
    return [word for word in words if any(map(str.isdigit, word))]


def _is_specific(token: str) -> bool:
    """Say whether a token is an amount, a date, a reference or a long number, and not a mere count."""
    bare = loose(token)
    digits = sum(sign.isdigit() for sign in bare)
    return digits >= 4 or (digits >= 2 and (len(bare) < len(token) or bool(_LETTER.search(token))))


@dataclass(frozen=True)
class _Meanings:
    """The numbers, days and times that some words may mean."""

    numbers: frozenset[float] = frozenset()
    rough: frozenset[str] = frozenset()
    """The numbers with as many digits as programs tell."""
    days: frozenset[datetime.date] = frozenset()
    times: frozenset[int] = frozenset()

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Return the numbers, days and times that the words mean, in linear time."""
        short = [word for word in dict.fromkeys(words) if len(word) <= LONGEST]
        numbers = frozenset(number for word in short for number in numbers_of(word))
        rough = frozenset(f"{number:.{EXACT_DIGITS}g}" for number in numbers)
        days = frozenset(day for word in short for day in days_of(word))
        times = frozenset(time for word in short for time in times_of(word))
        return cls(numbers, rough, days, times)

    def may_mean(self, value: str) -> bool:
        """Say whether one of the words may mean the same as a value."""
        if len(value) > LONGEST:
            return False
        own = self.of([value])
        shared = [self.numbers & own.numbers, self.days & own.days, self.times & own.times]
        return any(shared) or ("e" in value.casefold() and bool(self.rough & own.rough))


def _may_mean(one: str, other: str) -> bool:
    return loose(one) == loose(other) or _Meanings.of([one]).may_mean(other)


def _holds(bare: str, meanings: _Meanings, value: str) -> bool:
    return loose(value) in bare or meanings.may_mean(value)
