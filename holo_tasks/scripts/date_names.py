"""Names of months and days of the week in the languages of Europe, from the Unicode CLDR, by Babel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from holo_tasks.core.texts.failure_words import without_accents

ENGLISH = "en"
LANGUAGES = (ENGLISH, *("cs", "da", "de", "es", "fi", "fr", "hu", "it", "nb", "nl", "pl", "pt", "ro", "sk", "sv"))
SHORT = 3
"""The most letters of a word that may be a month only next to a year. *Mai* and *out* also have other meanings."""


@dataclass(frozen=True)
class DateNames:
    """The names of one language within a date, such as *15 marca 2026* in Polish, from January and from Monday on."""

    months: tuple[str, ...]
    short_months: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]


@dataclass(frozen=True)
class MonthWord:
    """A word that is the name of a month, from 1 to 12, in some language."""

    number: int
    is_full: bool
    """Whether it is a whole name of more than three letters."""
    is_english: bool


@lru_cache(maxsize=len(LANGUAGES))
def names_in(language: str) -> DateNames:
    """Return the names of a language of `LANGUAGES`."""
    from babel.dates import get_day_names, get_month_names  # reads its data when it is imported

    months, weekdays = range(1, 13), range(7)
    wide, short = (get_month_names(width, "format", language) for width in ("wide", "abbreviated"))
    days, short_days = (get_day_names(width, "format", language) for width in ("wide", "abbreviated"))
    return DateNames(
        tuple(wide[number] for number in months),
        tuple(short[number] for number in months),
        tuple(days[number] for number in weekdays),
        tuple(short_days[number] for number in weekdays),
    )


def plain_word(text: str) -> str:
    """Return a word without case, accents and dots. OCR may miss an accent."""
    return without_accents(text).strip(" .")


@lru_cache(maxsize=1)
def month_words() -> Mapping[str, MonthWord]:
    """Return the names of months in all languages by their plain words. No name is of two months."""
    from babel.dates import get_month_names

    found: dict[str, MonthWord] = {}
    for width in ("wide", "abbreviated"):
        for language in LANGUAGES:
            for context in ("format", "stand-alone"):  # Polish calendars show *marzec* and dates *marca*
                for number, name in get_month_names(width, context, language).items():
                    word = plain_word(name)
                    is_full = width == "wide" and len(word) > SHORT
                    found.setdefault(word, MonthWord(number, is_full, language == ENGLISH))
    return found


@lru_cache(maxsize=1)
def weekday_words() -> Mapping[str, frozenset[int]]:
    """Return the names of days of the week in all languages by their plain words, with their numbers from Monday on."""
    from babel.dates import get_day_names

    found: dict[str, frozenset[int]] = {}
    for language in LANGUAGES:
        for width in ("wide", "abbreviated", "short"):
            for number, name in get_day_names(width, "format", language).items():
                word = plain_word(name)
                found[word] = found.get(word, frozenset()) | {number}
    return found
