"""Numbers and dates that programs write in another format than a person: whether two texts have the same value."""

from __future__ import annotations

import datetime
import re
from contextlib import suppress
from decimal import Decimal, DecimalException
from itertools import permutations

_SIGNS = re.compile(r"[^\d.,'’\s+\-eE]|(?<!\d)[eE]|[eE](?![+-]?\d)")
"""Characters outside numbers. An E belongs to it only between two digits, as in ``1e6``, but not in ``15 EUR``."""
_NUMBER = re.compile(r"[+-]?\d[\d.,'’\s]*(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:([.,'’\s])\d{3})(?:\1\d{3})*")
_DATE = re.compile(r"(\d{1,4})([./\-\s])(\d{1,2})\2(\d{1,4})")
_CLOCK = re.compile(r"(\d{1,2})([:.h])([0-5]\d)(?:[:.]([0-5]\d))?\s*([ap]\.?m\.?)?", re.IGNORECASE)
_HALF_DAY = 12 * 60 * 60
"""Seconds before noon."""
EXACT_DIGITS = 6
"""Accessibility tells the number of a spin button with six significant digits."""
MOST_DIGITS = 15
"""Digits that a program keeps of each number. A longer one, as of an account, loses its last digits as a number."""
_CODE = re.compile(r"0\d{2,}|\d+E\d+")
"""A code with leading zeros, such as a postal code, or with an E, such as ``12E5``, which a sheet takes for a power.

A day or an hour has two digits at most.
"""


def signs_of(text: str) -> str:
    """Return the signs around the digits of a number: a currency, a unit, a percent sign."""
    return "".join(_SIGNS.findall(text)).casefold()


def numbers_of(text: str) -> frozenset[float]:
    """Return the values that a text may have as a number.

    ``1,234`` has two: a comma may separate thousands or decimals. The set is empty if the text is not a number.
    """
    return frozenset(map(float, _exact_numbers_of(text)))


def same_number(one: str, other: str) -> bool:
    """Say whether a number that was typed and another text have the same value, under some reading of their separators.

    A code without its leading zeros, and a long number without its last digits, are other values.
    """
    if _loses_code(one, other):
        return False
    first, second = _exact_numbers_of(one), _exact_numbers_of(other)
    if is_code(one):
        return not first.isdisjoint(second)
    rough = "e" in other.casefold()
    return any(float(a) == float(b) or (rough and _rough(a) == _rough(b)) for a in first for b in second)


def _rough(number: Decimal) -> str:
    return f"{float(number):.{EXACT_DIGITS}g}"


def _exact_numbers_of(text: str) -> frozenset[Decimal]:
    plain = _SIGNS.sub("", text).strip()
    if not _NUMBER.fullmatch(plain) or re.search(r"\d\D*[^\d.,'’\s+\-eE]+\D*\d", text):
        return frozenset()
    sign, plain = ("-" if plain[0] == "-" else ""), plain.lstrip("+-")
    mantissa, _, power = plain.lower().partition("e")
    found = set()
    for whole, fraction in _readings(mantissa.strip()):
        with suppress(DecimalException, ValueError, OverflowError):
            number = Decimal(f"{sign}{whole or 0}.{fraction or 0}e{power or 0}")
            if abs(float(number)) != float("inf"):
                found.add(number)
    return frozenset(found)


def is_code(text: str) -> bool:
    """Say whether digits are a code rather than an amount: they begin with zeros, have an E, or exceed a number.

    Many decimals, as of a computed amount, make no code.
    """
    if _CODE.fullmatch(text.strip()) is not None:
        return True
    numbers = _exact_numbers_of(text)
    is_long = not numbers or any(abs(number) >= 10**MOST_DIGITS for number in numbers)
    return is_long and sum(map(str.isdigit, text)) > MOST_DIGITS


def is_rounded(typed: str, shown: str) -> bool:
    """Say whether a number is shown with fewer decimals than it was typed with, as the cell of a sheet does."""
    return not _loses_code(typed, shown) and any(
        abs(a - b) <= Decimal("0.5").scaleb(-places)
        for places in decimals_of(shown)
        for a in _exact_numbers_of(typed)
        for b in _exact_numbers_of(shown)
    )


def _loses_code(typed: str, shown: str) -> bool:
    """Say whether a code such as ``01067`` or ``12E5`` is shown as a number."""
    return _CODE.fullmatch(typed.strip()) is not None and typed.strip().casefold() not in shown.casefold()


def decimals_of(text: str) -> set[int]:
    """Return how many decimals a number has, for each way to read its separators."""
    return {len(fraction) for _, fraction in _readings(_SIGNS.sub("", text).strip().lstrip("+-"))}


def same_date(one: str, other: str) -> bool:
    """Say whether two texts are the same date beyond doubt: one reading each, or the same parts in the same order."""
    first, second = _DATE.fullmatch(one.strip()), _DATE.fullmatch(other.strip())
    if first is None or second is None:
        return False
    if _parts(first) == _parts(second):
        return True
    days = _days(first)
    return len(days) == 1 and bool(days & _days(second))


def is_date(text: str) -> bool:
    """Say whether a text is a date in digits."""
    return _DATE.fullmatch(text.strip()) is not None


def may_be_same_date(one: str, other: str) -> bool:
    """Say whether two texts are the same date in some order of day, month and year.

    A program may put a year of two digits into another century, from the year 1000 on.
    """
    first, second = days_of(one), days_of(other)
    if re.search(r"\d{4}", one):
        return bool(first & second)
    in_century = {(day.year % 100, day.month, day.day) for day in first}
    return any(day.year >= 1000 and (day.year % 100, day.month, day.day) in in_century for day in second)


def times_of(text: str) -> set[int]:
    """Return the seconds of the day that a time such as ``14:30`` or ``2h30`` may mean; empty if it is not a time.

    A time up to ``12:59`` without ``am`` or ``pm`` may be in either half of the day.
    """
    second = _second_of(text)
    if second is None:
        return set()
    either = _HALF_DAY // 12 <= second < _HALF_DAY // 12 * 13 and "m" not in text.casefold()
    return {second, (second + _HALF_DAY) % (2 * _HALF_DAY)} if either else {second}


def same_time(one: str, other: str) -> bool:
    """Say whether two texts are the same time of day, as ``14:30`` and ``02:30 PM``."""
    first, second = _second_of(one), _second_of(other)
    return first is not None and first == second


def days_of(text: str) -> set[datetime.date]:
    """Return the days that a date may mean, in any order of day, month and year; empty if it is not a date."""
    found = _DATE.fullmatch(text.strip())
    return _days(found) if found else set()


def _second_of(text: str) -> int | None:
    """Return the second of the day that a time of day means, ``None`` if the text is not a time.

    Hour and minute with only a point between them are a time with ``am`` or ``pm``, and a decimal number without.
    """
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hour, half = int(found[1]), (found[5] or "").lower()[:1]
    if not (1 <= hour <= 12 if half else hour < 24 and found[2] != "."):
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return (hour * 60 + int(found[3])) * 60 + int(found[4] or 0)


def _readings(mantissa: str) -> list[tuple[str, str]]:
    """Return digits before and after the decimal separator, for each way to read the separators."""
    found = []
    if mantissa.isdecimal():
        found.append((mantissa, ""))
    if _GROUPED.fullmatch(mantissa):
        found.append((re.sub(r"\D", "", mantissa), ""))
    for separator in ".,":
        whole, there, fraction = mantissa.rpartition(separator)
        if there and (not fraction or fraction.isdecimal()) and (not whole or whole.isdecimal()):
            found.append((whole, fraction))
        elif there and fraction.isdecimal() and (grouped := _GROUPED.fullmatch(whole)) and grouped[1] != separator:
            found.append((re.sub(r"\D", "", whole), fraction))
    return found


def _parts(date: re.Match[str]) -> list[int]:
    """Return the numbers of a date in their order; a year of two digits is one of this century."""
    first, second, third = (int(date[each]) for each in (1, 3, 4))
    return [first, second, 2000 + third if len(date[4]) == 2 and len(date[1]) < 3 else third]


def _days(date: re.Match[str]) -> set[datetime.date]:
    found = set()
    for year, month, day in permutations(_parts(date)):
        with suppress(ValueError):
            if year > 31:
                found.add(datetime.date(year, month, day))
    return found
