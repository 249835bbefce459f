"""Write dates, times and amounts in a program's own format, and find the format of a written value.

A format is part of a placeholder: ``{due:DD.MM.YYYY}``, ``{due:MMMM}``, ``{start:h:mm AM}``, ``{total:#.##0,00}``.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import permutations, product

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_AMOUNT = re.compile(r"-?(\d+\.\d\d|\d{4,18})")
_DATE_TOKENS = re.compile("dddd|ddd|YYYY|YY|MMMM|MMM|MM|M|DD|Do|D")
_TIME_TOKENS = re.compile("HH|H|hh|h|mm|AM|am")
_AMOUNT_FORM = re.compile(r"(?:#([^#0])##)?0(?:([.,])(0+))?")
DAYS, MONTHS, YEARS = ("DD", "D"), ("MM", "M"), ("YYYY", "YY")
DAY_WORDS, MONTH_WORDS, YEAR_WORDS, WEEKDAY_WORDS = ("D", "DD", "Do"), ("MMM", "MMMM"), ("YYYY",), ("ddd", "dddd")
BETWEEN = r"[^\w{}]{1,3}(?:(?:of|the) )?"
"""What may stand between two words of a date."""
SEPARATORS = "-./ "
IN_WORDS = ("ddd", "dddd", "MMM", "MMMM", "Do", "DD", "D", "YYYY")
"""The formats of the words of a date. Of two that write a date alike, the last one counts."""
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
GROUPS = ("", ",", ".", " ", "'")


def formatted(text: str, form: str) -> str:
    """Return a date (2026-03-05), a time (14:05) or an amount (1284.50) in a format. Other texts stay unchanged.

    An amount keeps decimals that the format lacks.
    """
    if _DATE.fullmatch(text) and _DATE_TOKENS.search(form):
        return _DATE_TOKENS.sub(_written_with(_date_parts(text)), form)
    if _TIME.fullmatch(text) and _TIME_TOKENS.search(form):
        return _TIME_TOKENS.sub(_written_with(_time_parts(text)), form)
    shape = _AMOUNT_FORM.fullmatch(form)
    return _amount(text, shape) if shape and re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def format_of(text: str, value: str) -> str:
    """Return the format in which a text is a value. Returns an empty string without one, or if two are possible.

    On the third of March, ``03/03/2026`` may begin with the day or the month. Before dots, the day comes first.
    """
    found = forms_of(text, value)
    first = next(iter(found), "")
    orders = {_order(form) for form in found}
    return first if len(orders) < 2 or (text.count(".") == 2 and _order(first) == "DMY") else ""


def forms_of(text: str, value: str) -> list[str]:
    """Return each format in which a text may be a value, such as two of ``03/03/2026``, the usual ones first."""
    forms = _forms(value) if text != value and any(map(str.isdigit, text)) else ()
    return [*dict.fromkeys(form for form in forms if formatted(value, form) == text)]


def with_words_of(text: str, name: str, value: str) -> str:
    """Return a text that says a whole date in English words, with placeholders for the words of the date.

    A day of a calendar may be called ``Thursday, December 24th, 2026``. Returns an empty string for any other text. In
    ``Tue May 5, 2026`` the month is short, as the weekday is.
    Equal words elsewhere in the text stay, because they are not the date's.
    """
    parts = _date_parts(value) if _DATE.fullmatch(value) else {}
    if "MMMM" not in parts:
        return ""
    forms = {parts[form]: form for form in IN_WORDS}
    orders = permutations(_any_of(parts, kinds) for kinds in (DAY_WORDS, MONTH_WORDS, YEAR_WORDS))
    weekday = _any_of(parts, WEEKDAY_WORDS)
    dates = "|".join(BETWEEN.join(order) for order in orders)
    whole = rf"\b(?:{weekday}{BETWEEN})?(?:{dates})(?:{BETWEEN}{weekday})?"

    def named(date: re.Match[str]) -> str:
        words = re.split(r"(\w+)", date[0])
        told = forms | ({parts["MMM"]: "MMM"} if parts["ddd"] in words else {})
        return "".join(f"{{{name}:{told[word]}}}" if word in told else word for word in words)

    said = re.sub(whole, named, text)
    return "" if said == text else said


def _any_of(parts: Mapping[str, str], forms: Sequence[str]) -> str:
    return rf"(?:{'|'.join(parts[form] for form in forms)})\b"


def is_part_of(text: str, value: str) -> bool:
    """Return whether the numbers of a text are parts of a date or a time, as of a day in a calendar, or its month."""
    tell = _date_parts if _DATE.fullmatch(value) else _time_parts if _TIME.fullmatch(value) else None
    said = re.findall(r"\d+", text) or [text.strip()]
    return tell is not None and {*tell(value).values()}.issuperset(said)


def day_and_month(text: str, value: str) -> tuple[str, str]:
    """Return the formats of a day of a calendar, such as ``17``, and of its month. Returns empty texts for others."""
    parts = _date_parts(value) if _DATE.fullmatch(value) else {}
    if "MMMM" not in parts:
        return "", ""
    return next((form for form in ("D", "DD") if parts[form] == text), ""), "MMMM YYYY"


def months_in(text: str) -> list[tuple[str, ...]]:
    """Return the years and the months of a text such as ``Nov 2026``, or an empty list if it lacks one of the two.

    OCR may join a month and a year. One month must be in full or next to a year, because *mar* is a day of the week in
    other languages.
    """
    words = re.findall(r"[^\W\d_]+|\d+", text)
    months = {name for word in words for name in MONTH_NAMES if word.casefold() in (name[:3].lower(), name.lower())}
    years = {word for word in words if _YEAR.fullmatch(word)}
    is_sure = any(len(word) > 3 and word.title() in months for word in words) or _has_short_month(words)
    return [tuple(sorted(years)), tuple(sorted(months))] if years and is_sure else []


def _has_short_month(words: Sequence[str]) -> bool:
    """Return whether the word right before a year, or without one the word after it, is the short name of a month."""
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        month = before if before.isalpha() else after
        if _YEAR.fullmatch(word) and any(month.title() == name[:3] for name in MONTH_NAMES):
            return True
    return False


def days_of_month(text: str) -> int:
    """Return the number of days of a month such as ``February 2028``; 0 for any other text."""
    found = months_in(text)
    if not found or any(len(part) != 1 for part in found):
        return 0
    (year,), (month,) = found
    return calendar.monthrange(int(year), MONTH_NAMES.index(month) + 1)[1]


def _order(form: str) -> str:
    """Return the order of day, month and year in a format. Returns an empty string for another format."""
    return "".join(dict.fromkeys(token[0] for token in _DATE_TOKENS.findall(form)))


def _forms(value: str) -> Iterator[str]:
    """Yield the formats that programs write a value in, the usual ones first."""
    if _DATE.fullmatch(value):
        for day, month, year, mark in product(DAYS, MONTHS, YEARS, SEPARATORS):
            yield from (mark.join(order) for order in ((day, month, year), (month, day, year), (year, month, day)))
        yield from ("DDMMYYYY", "MMDDYYYY", "YYYYMMDD", "DDMMYY", "MMDDYY")
    elif _TIME.fullmatch(value):
        for hour, mark in product(("HH", "H"), (".", ":", "")):
            yield f"{hour}{mark}mm"
        for hour, half in product(("h", "hh"), (" AM", " am", "AM", "am")):
            yield f"{hour}:mm{half}"
    elif _AMOUNT.fullmatch(value):
        for group, mark, decimals in product(GROUPS, ".,", (2, 0, 1)):
            if group != mark:
                yield (f"#{group}##" if group else "") + "0" + (mark + "0" * decimals if decimals else "")


def _written_with(parts: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda token: parts.get(token[0], token[0])


def _date_parts(text: str) -> dict[str, str]:
    year, month, day = text.split("-")
    number = int(day)
    parts = {"YYYY": year, "YY": year[2:], "MM": month, "M": str(int(month)), "DD": day, "D": str(number)}
    try:
        weekday = WEEKDAYS[datetime.date.fromisoformat(text).weekday()]
    except ValueError:
        return parts  # not a day of the calendar
    named = MONTH_NAMES[int(month) - 1]
    end = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return {**parts, "MMMM": named, "MMM": named[:3], "dddd": weekday, "ddd": weekday[:3], "Do": f"{number}{end}"}


def _time_parts(text: str) -> dict[str, str]:
    at = datetime.time.fromisoformat(text)
    hour, half = at.hour % 12 or 12, "PM" if at.hour >= 12 else "AM"
    hours = {"HH": text[:2], "H": str(at.hour), "hh": f"{hour:02}", "h": str(hour)}
    return {**hours, "mm": text[3:], "AM": half, "am": half.lower()}


def _amount(text: str, shape: re.Match[str]) -> str:
    group, mark, decimals = shape[1] or "", shape[2] or "", len(shape[3] or "")
    exact = Decimal(text).normalize()
    places = max(decimals, -int(exact.as_tuple().exponent))
    if places and not mark:
        return text  # the format has no decimals, and the amount has some
    whole, _, part = f"{exact:,.{places}f}".partition(".")
    return whole.replace(",", group) + (mark + part if part else "")
