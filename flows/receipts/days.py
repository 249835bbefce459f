"""Find calendar days in the forms that people write."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "mär": 3, "mae": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
}  # fmt: skip
_MONTH = (
    r"(?P<month>jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz?|maerz|apr(?:il)?|may|mai|june?|juni|"
    r"july?|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\b\.?"
)
_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})(?!\d)",
        r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})(?!\d)",
        r"(?<![\d/])(?P<slash1>\d{1,2})/(?P<slash2>\d{1,2})/(?P<y>\d{4})(?![\d/])",
        rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?[ \-]{{1,3}}(?:of )?{_MONTH},?[ \-]{{1,3}}(?P<y>\d{{4}})(?!\d)",
        rf"\b{_MONTH} {{1,3}}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?, {{0,3}}(?P<y>\d{{4}})(?!\d)",
    )
]


def find_days(text: str) -> tuple[set[date], list[str]]:
    """Return the days in a text, and the texts that can be read as two days ("03/04/2026") or as none."""
    days: set[date] = set()
    unclear: list[str] = []
    for form in _FORMS:
        for match in form.finditer(text):
            parts = match.groupdict()
            year = int(parts["y"])
            if "slash1" in parts:
                one, two = int(parts["slash1"]), int(parts["slash2"])
                readings = {day for day in (_day(year, two, one), _day(year, one, two)) if day}
            else:
                month = int(parts["m"]) if parts.get("m") else _MONTHS[parts["month"][:3].lower()]
                readings = {day for day in (_day(year, month, int(parts["d"])),) if day}
            if len(readings) == 1:
                days |= readings
            else:
                unclear.append(match[0])
    return days, unclear


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
