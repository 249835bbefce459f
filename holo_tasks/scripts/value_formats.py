"""Write dates, times and amounts in a program's own format, and find the format of a written value.

A format is part of a placeholder: ``{due:DD.MM.YYYY}``, ``{due:MMMM}``, ``{start:h:mm AM}``, ``{total:#.##0,00}``. The
names of months and days are English, or those of a language, as in ``{due:MMMM@de}``.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import permutations, product

from holo_tasks.scripts.date_names import ENGLISH, LANGUAGES, month_words, names_in, plain_word, weekday_words

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_AMOUNT = re.compile(r"-?(\d+\.\d\d|\d{4,18})")
_DATE_TOKENS = re.compile("dddd|ddd|YYYY|YY|MMMM|MMM|MM|M|DD|Do|D")
_TIME_TOKENS = re.compile("HH|H|hh|h|mm|AM|am")
_AMOUNT_FORM = re.compile(r"(?:#([^#0])##)?0(?:([.,])(0+))?")
DAYS, MONTHS, YEARS = ("DD", "D"), ("MM", "M"), ("YYYY", "YY")
DAY_WORDS, MONTH_WORDS, YEAR_WORDS, WEEKDAY_WORDS = ("D", "DD", "Do"), ("MMM", "MMMM"), ("YYYY",), ("ddd", "dddd")
BETWEEN = r"[^\w{}]{1,3}(?:(?:of|the|de|del) )?"
"""What may stand between two words of a date."""
OF_YEAR = frozenset({"de", "del"})
"""Words between a month and its year, as in *marzo de 2026*."""
SEPARATORS = "-./ "
ORDINAL = re.compile(r"\d\. ?[^\W\d]")
"""The day of a date that is not English, as in *24. August*."""
NAMED = frozenset({"MMM", "MMMM", "ddd", "dddd"})
"""The formats that are words of a language."""
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
    date_form, _, language = form.partition("@")
    if _DATE.fullmatch(text) and _DATE_TOKENS.search(date_form) and language in ("", *LANGUAGES):
        return _DATE_TOKENS.sub(_written_with(_date_parts(text, language or ENGLISH)), date_form)
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
    """Return a text that says a whole date in words, with placeholders for the words of the date.

    A day of a calendar may be called ``Thursday, December 24th, 2026``, or ``24. Dezember 2026``. Returns an empty
    string for any other text, and for a date that is the same in two languages, such as ``24 de abril de 2026``. The
    language with the longest date counts, as in ``Montag 24 August 2026``. A date that may be English is English
    otherwise. Equal words elsewhere in the text stay, because they are not the date's.
    """
    if not _DATE.fullmatch(value) or value[:4] not in text:
        return ""
    said = {language: found for language in LANGUAGES if (found := _in_language(text, name, value, language))}
    longest = max((length for _, length in said.values()), default=0)
    written = {language: words for language, (words, length) in said.items() if length == longest}
    if len(written) > 1 and ORDINAL.search(text):
        written.pop(ENGLISH, None)
    if ENGLISH in written:
        return written[ENGLISH]
    return next(iter(written.values())) if len(written) == 1 else ""


def _in_language(text: str, name: str, value: str, language: str) -> tuple[str, int] | None:
    """Return a text with placeholders for the words of a date, and the length of the date; ``None`` without one.

    In ``Tue May 5, 2026`` the month is short, as the weekday is.
    """
    parts = _date_parts(value, language)
    if "MMMM" not in parts:
        return None
    forms = {parts[form]: form for form in IN_WORDS if form in parts}
    orders = permutations(_any_of(parts, kinds) for kinds in (DAY_WORDS, MONTH_WORDS, YEAR_WORDS))
    weekday = _any_of(parts, WEEKDAY_WORDS)
    dates = "|".join(BETWEEN.join(order) for order in orders)
    whole = re.compile(rf"(?<!\w)(?:{weekday}{BETWEEN})?(?:{dates})(?:{BETWEEN}{weekday})?")
    word = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, forms), key=len, reverse=True))})(?!\w)")

    def named(date: re.Match[str]) -> str:
        told = forms | ({parts["MMM"]: "MMM"} if parts["ddd"] in word.findall(date[0]) else {})
        return word.sub(lambda found: f"{{{name}:{_of_language(told[found[0]], language)}}}", date[0])

    lengths = [len(date[0]) for date in whole.finditer(text)]
    return (whole.sub(named, text), max(lengths)) if lengths else None


def _of_language(form: str, language: str) -> str:
    return f"{form}@{language}" if form in NAMED and language != ENGLISH else form


def _any_of(parts: Mapping[str, str], forms: Sequence[str]) -> str:
    return rf"(?:{'|'.join(re.escape(parts[form]) for form in forms if form in parts)})(?!\w)"


def is_part_of(text: str, value: str) -> bool:
    """Return whether the numbers of a text are parts of a date or a time, as of a day in a calendar, or its month."""
    tell = _date_parts if _DATE.fullmatch(value) else _time_parts if _TIME.fullmatch(value) else None
    said = re.findall(r"\d+", text) or [text.strip()]
    return tell is not None and ({*tell(value).values()}.issuperset(said) or _is_name_of(said[0], value))


def _is_name_of(word: str, value: str) -> bool:
    """Return whether a word is the name of a date's month or day of the week in some language."""
    if not any(map(str.isalpha, word)) or "MMMM" not in (_date_parts(value) if _DATE.fullmatch(value) else {}):
        return False
    day, plain = datetime.date.fromisoformat(value), plain_word(word)
    month = month_words().get(plain)
    return (month is not None and month.number == day.month) or day.weekday() in weekday_words().get(plain, ())


def day_and_month(text: str, value: str) -> tuple[str, str]:
    """Return the formats of a day of a calendar, such as ``17``, and of its month. Returns empty texts for others."""
    parts = _date_parts(value) if _DATE.fullmatch(value) else {}
    if "MMMM" not in parts:
        return "", ""
    return next((form for form in ("D", "DD") if parts[form] == text), ""), "MMMM YYYY"


def months_in(text: str) -> list[tuple[str, ...]]:
    """Return the years and the months of a text such as ``Nov 2026``, or an empty list if it lacks one of the two.

    The months have their English names; the text may have those of other languages. OCR may join a month and a year.
    A short name counts next to a year, because *mar* is also a day of the week, and *out* also a month in Portuguese.
    English short names count elsewhere as well, except among days of the week.
    """
    words = [plain_word(word) for word in re.findall(r"[^\W\d_]+|\d+", text)]
    years = {word for word in words if _YEAR.fullmatch(word)}
    if not years:
        return []
    months, is_sure = set[str](), False
    for place, word in enumerate(words):
        named = month_words().get(word)
        if named is None:
            continue
        is_certain = named.is_full or _is_next_to_year(words, place)
        if is_certain or (named.is_english and not _is_among_weekdays(words, place)):
            months.add(MONTH_NAMES[named.number - 1])
        is_sure = is_sure or is_certain
    return [tuple(sorted(years)), tuple(sorted(months))] if is_sure else []


def _is_next_to_year(words: Sequence[str], place: int) -> bool:
    """Return whether a word is right before a year, or right after a year that has no word before it."""
    after = [word for word in words[place + 1 : place + 3] if word not in OF_YEAR]
    if after and _YEAR.fullmatch(after[0]):
        return True
    is_after_year = place > 0 and _YEAR.fullmatch(words[place - 1]) is not None
    return is_after_year and not (place > 1 and words[place - 2].isalpha())


def _is_among_weekdays(words: Sequence[str], place: int) -> bool:
    """Return whether a word such as *mar* is the name of a day of the week, and so is a word next to it."""
    beside = [*words[max(0, place - 1) : place], *words[place + 1 : place + 2]]
    return words[place] in weekday_words() and any(word in weekday_words() for word in beside)


def month_number(text: str) -> int | None:
    """Return the number of months since the year 0 of a month such as ``February 2028``; ``None`` for another text."""
    found = months_in(text)
    if not found or any(len(part) != 1 for part in found):
        return None
    (year,), (month,) = found
    return int(year) * 12 + MONTH_NAMES.index(month)


def days_of_month(text: str) -> int:
    """Return the number of days of a month such as ``February 2028``; 0 for any other text."""
    number = month_number(text)
    return 0 if number is None else calendar.monthrange(number // 12, number % 12 + 1)[1]


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


def _date_parts(text: str, language: str = ENGLISH) -> dict[str, str]:
    year, month, day = text.split("-")
    number = int(day)
    parts = {"YYYY": year, "YY": year[2:], "MM": month, "M": str(int(month)), "DD": day, "D": str(number)}
    try:
        weekday = datetime.date.fromisoformat(text).weekday()
    except ValueError:
        return parts  # not a day of the calendar
    if language != ENGLISH:
        names, at = names_in(language), int(month) - 1
        named = {"MMMM": names.months[at], "MMM": names.short_months[at]}
        return {**parts, **named, "dddd": names.weekdays[weekday], "ddd": names.short_weekdays[weekday]}
    word, day_word = MONTH_NAMES[int(month) - 1], WEEKDAYS[weekday]
    end = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return {**parts, "MMMM": word, "MMM": word[:3], "dddd": day_word, "ddd": day_word[:3], "Do": f"{number}{end}"}


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
