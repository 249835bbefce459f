"""Convert and style the values of a workbook's columns.

`Column` declares a column. `content` checks a value, `look` returns its style, and `current_content` reads a cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.styles_part import Look

Kind = Literal["text", "money", "date", "datetime", "status", "link"]
Value = str | int | float | Decimal | date | datetime | None

_WIDTHS: dict[Kind, float] = {
    "text": 24,
    "money": 16,
    "date": 12,
    "datetime": 18,
    "status": 12,
    "link": 30,
}
_MONEY = {
    "EUR": "[$€-2] #,##0.00",
    "USD": "[$$-409]#,##0.00",
    "GBP": "[$£-809]#,##0.00",
    "JPY": "[$¥-411]#,##0",
}
# Fill and text colors, by the first letters of the status.
_STATUS = {
    "match": ("C6EFCE", "006100"),
    "flagged": ("FFEB9C", "7F6000"),
    "missing": ("FFC7CE", "9C0006"),
}
_MAX_TEXT = 32_767
_MAX_LINK = 2_079
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Column:
    """A column, identified by its heading.

    ``money`` takes numbers. Their currency is ``currency``, or the row's value in ``currency_column``. ``datetime`` is
    stored in UTC, because a sheet has no time zones. ``link`` takes an address or a path relative to the workbook. Its
    text is the address, unless the row's value is ``"text <address>"``.
    """

    name: str
    kind: Kind = "text"
    width: float | None = None
    currency: str = ""
    currency_column: str = ""

    @property
    def shown_width(self) -> float:
        return self.width or max(_WIDTHS[self.kind], len(self.name) + 4)


@dataclass(frozen=True)
class CellContent:
    """The value and format of a cell. Equal contents look the same in the sheet."""

    value: Value
    number_format: str = "General"
    link: str | None = None


def content(column: Column, value: object, currency: str = "") -> CellContent:
    """Return the checked content of a cell. Raises `InvalidUsage` if the value does not fit the column."""
    if value is None or value == "":
        return CellContent(None)
    if column.kind == "money":
        return _money(column, value, currency)
    if column.kind == "date":
        if isinstance(value, datetime) or not isinstance(value, date):
            raise InvalidUsage(f"Column {column.name!r} takes a date, not {value!r}: pass a datetime.date.")
        return CellContent(value, "yyyy-mm-dd") if value.year >= 1901 else CellContent(value.isoformat())
    if column.kind == "datetime":
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise InvalidUsage(
                f"Column {column.name!r} takes a moment, not {value!r}: pass a datetime with its time zone."
            )
        moment = value.astimezone(UTC).replace(tzinfo=None, microsecond=0)
        if moment.year < 1901:
            return CellContent(moment.isoformat(" "))
        return CellContent(moment, "yyyy-mm-dd hh:mm:ss")
    if column.kind == "link":
        return _link(str(value))
    return CellContent(clean_text(str(value)))


def clean_text(text: str) -> str:
    """Return text that a workbook can hold: no control characters or lone surrogates, and at most 32,767 characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def current_content(cell: Any, column: Column, link: str | None = None) -> CellContent:
    """Return the present content of a cell of openpyxl, comparable with the result of `content`."""
    value: Any = cell.value
    if value is None or value == "":
        return CellContent(None)
    if column.kind == "money" and isinstance(value, (int, float, Decimal)):
        return CellContent(_plain(Decimal(str(value))), cell.number_format)
    if isinstance(value, datetime):
        whole = value.replace(microsecond=0)
        return CellContent(whole.date() if column.kind == "date" else whole, cell.number_format)
    if column.kind in ("date", "money", "datetime") and not isinstance(value, str):
        return CellContent(str(value), cell.number_format)
    return CellContent(str(value).replace("\r\n", "\n"), link=link if column.kind == "link" else None)


def same_content(current: CellContent, wanted: CellContent) -> bool:
    """Return whether a cell needs no change. A person may have chosen another format for the same value."""
    if (current.value, current.link) != (wanted.value, wanted.link):
        return False
    return current.number_format == wanted.number_format or keeps_format(current.number_format, wanted)


def keeps_format(present: str, wanted: CellContent) -> bool:
    """Return whether a cell's present number format shows the wanted content correctly.

    A text has any format, a day or moment any date format, and an amount any format with the same currency.
    """
    from openpyxl.styles.numbers import is_date_format

    if isinstance(wanted.value, date):
        return present != "General" and bool(is_date_format(present))
    if isinstance(wanted.value, Decimal):
        return (
            present != "General"
            and not is_date_format(present)
            and _currency(present) == _currency(wanted.number_format)
        )
    return True


def _currency(number_format: str) -> str:
    """Return the currency that a number format shows, as a symbol or code, or an empty string."""
    shown = re.sub(r"\[\$([^\]-]*)[^\]]*\]", r"\1", number_format)
    match = re.search(r"[€£¥]|(?<!\[)\$|\b[A-Z]{3}\b", re.sub(r"\[[A-Za-z]+\]", "", shown))
    return {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}.get(match[0], match[0]) if match else ""


def plain_value(cell: Any) -> Any:
    """Return a cell's value as a text or a number: a day as ``2026-01-31``, and 4711.0 as 4711."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if (cell.hour, cell.minute, cell.second) == (0, 0, 0) else cell.isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return "" if cell is None else cell if isinstance(cell, bool | int | float) else str(cell)


def look(column: Column, wanted: CellContent, present: str) -> Look:
    """Return the changes of a cell's style that follow from its value; ``present`` is its number format.

    Everything else about the style is a person's choice.
    """
    text = wanted.value if isinstance(wanted.value, str) else None
    changes: dict[str, Any] = {"number_format": None if keeps_format(present, wanted) else wanted.number_format}
    if wanted.value is not None:
        # A quote prefix keeps a text such as "=1+1" text when a person edits the cell.
        changes["quote_prefix"] = text is not None and text.startswith(_FORMULA_STARTS)
    if column.kind == "link":
        changes |= {"ink": "0563C1" if wanted.link else "", "underline": bool(wanted.link)}
    if column.kind == "status":
        words = str(wanted.value or "").casefold()
        fill, ink = next((two for start, two in _STATUS.items() if words.startswith(start)), ("", ""))
        changes |= {"fill": fill, "ink": ink, "bold": True}
    return Look(**changes)


def _money(column: Column, value: object, currency: str) -> CellContent:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise InvalidUsage(f"Column {column.name!r} takes an amount, not {value!r}: pass a Decimal.")
    amount = Decimal(str(value))
    if not amount.is_finite():
        raise InvalidUsage(f"Column {column.name!r} takes an amount, not {value!r}: pass a finite number.")
    code = (currency or column.currency).upper()
    if code and not re.fullmatch(r"[A-Z]{3}", code):
        raise InvalidUsage(f"{code!r} is not a currency: use a three-letter code such as EUR.")
    shown = _MONEY.get(code, f"[${code}] #,##0.00" if code else "#,##0.00")
    return CellContent(_plain(amount), shown)


def _plain(amount: Decimal) -> Decimal:
    """Return the number in one form, so that 5, 5.0 and 5.00 are equal and have one hash."""
    return amount.normalize() + 0


def _link(value: str) -> CellContent:
    match = re.fullmatch(r"(.+?)\s*<([^<>]+)>", value, re.S)
    text, address = (match[1], match[2]) if match else (value, value)
    scheme = re.match(r"\s*([a-zA-Z][a-zA-Z0-9+.\-]*):", address)
    # Only harmless addresses become links. When Windows opens a file on a network share (`//`, `\\` or `file:`), it
    # sends the user's password hash to the server.
    place = not scheme and not address.lstrip().startswith(("/", "\\"))
    opens = place or (scheme is not None and scheme[1].lower() in ("http", "https", "mailto"))
    usable = opens and len(address) <= _MAX_LINK and not re.search(r"[\0-\x1f]", address)
    return CellContent(clean_text(text), link=address if usable else None)
