"""Convert and style the values of a workbook's columns.

`Column` declares a column. `content` checks a value, and `put` and `current_content` write and read a cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from holo_tasks.core.errors import InvalidUsage

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell

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


def current_content(cell: Cell, column: Column) -> CellContent:
    """Return the present content of a cell, comparable with the result of `content`."""
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
    link = cell.hyperlink.target if column.kind == "link" and cell.hyperlink else None
    return CellContent(str(value).replace("\r\n", "\n"), link=link)


def plain_value(cell: Any) -> Any:
    """Return a cell's value as a text or a number: a day as ``2026-01-31``, and 4711.0 as 4711."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if (cell.hour, cell.minute, cell.second) == (0, 0, 0) else cell.isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return "" if cell is None else cell if isinstance(cell, bool | int | float) else str(cell)


def put(cell: Cell, column: Column, what: CellContent) -> None:
    """Write content into a cell. A person's formatting stays, except for formats that follow from the value."""
    from openpyxl.styles import Font, PatternFill

    cell.value = what.value
    cell.number_format = what.number_format
    if isinstance(what.value, str):
        # openpyxl would make "=…" a formula and "#N/A" an error; a quote prefix keeps it text when edited.
        cell.data_type = "s"
        cell.quotePrefix = what.value.startswith(_FORMULA_STARTS)
    if column.kind == "link":
        cell.hyperlink = what.link
        cell.font = Font(color="0563C1", underline="single") if what.link else Font()
    if column.kind == "status":
        words = str(what.value or "").casefold()
        fill, ink = next((two for start, two in _STATUS.items() if words.startswith(start)), (None, None))
        cell.fill = PatternFill("solid", fgColor=fill) if fill else PatternFill()
        cell.font = Font(bold=True, color=ink) if ink else Font(bold=True)


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
