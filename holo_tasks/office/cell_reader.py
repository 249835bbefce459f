"""Convert the cells of a sheet's XML to values of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from holo_tasks.office.package import BookPackage
from holo_tasks.office.styles_part import EMPTY, Styles
from holo_tasks.office.xml_spans import RawCell, Scanner, cell_text

_LETTERS = re.compile("[A-Z]+")


@dataclass(frozen=True, slots=True)
class ReadCell:
    """A cell with content. The value of a formula is its text with an equals sign."""

    value: Any
    number_format: str
    is_formula: bool


class CellReader:
    """Reads cells with the shared texts, the styles and the first day of one workbook."""

    def __init__(self, strings: bytes, styles: Styles, epoch: datetime) -> None:
        self._strings = _shared_strings(strings) if strings else []
        self._epoch = epoch
        self._styles = styles

    @classmethod
    def of(cls, package: BookPackage) -> CellReader:
        """Return a reader for the cells of a workbook."""
        styles = package.related(package.book, "styles")
        return cls(package.shared_strings(), Styles(package.read(styles.target) if styles else EMPTY), package.epoch())

    def cells(self, cells: Iterable[RawCell]) -> dict[int, ReadCell]:
        """Return the cells with content by column number."""
        found = {}
        for column, cell in numbered(cells):
            if cell.formula is not None or cell.text:
                number_format = self._number_format(cell)
                is_formula = cell.formula is not None
                value = f"={cell.formula}" if is_formula else self._value(cell, number_format)
                if value != "":
                    found[column] = ReadCell(value, number_format, is_formula)
        return found

    def result(self, cell: RawCell) -> Any:
        """Return the value of a cell; of a formula, the stored result."""
        return self._value(cell, self._number_format(cell)) if cell.text else None

    def _number_format(self, cell: RawCell) -> str:
        return self._styles.number_format(int(cell.attributes.get("s", "0")))

    def _value(self, cell: RawCell, number_format: str) -> Any:
        from openpyxl.utils import datetime as convert

        from_text: Any = convert.from_ISO8601
        kind, text = cell.attributes.get("t", "n"), cell.text
        if kind == "s":
            return cell_text(self._strings[int(text) if text.isdecimal() else len(self._strings)])
        if kind == "n":
            number = float(text) if re.search("[.eE]", text) else int(text)
            return self._moment(number, number_format) if _is_date(number_format) else number
        if kind == "b":
            return text.strip() in ("1", "true")
        return from_text(text) if kind == "d" else cell_text(text)

    def _moment(self, number: float, number_format: str) -> Any:
        from openpyxl.styles.numbers import is_timedelta_format
        from openpyxl.utils import datetime as convert

        from_number: Any = convert.from_excel
        try:
            return from_number(number, self._epoch, timedelta=is_timedelta_format(number_format))
        except (OverflowError, ValueError):
            return number  # beyond the calendar of Python


def numbered(cells: Iterable[RawCell]) -> Iterator[tuple[int, RawCell]]:
    """Return the cells of a row with the numbers of their columns. Raises `ValueError` for two cells in one column."""
    seen, column = set(), 0
    for cell in cells:
        address = cell.attributes.get("r")
        column = _column(address) if address else column + 1
        if column in seen:
            raise ValueError("two cells in one column")
        seen.add(column)
        yield column, cell


@cache
def _is_date(number_format: str) -> bool:
    from openpyxl.styles.numbers import is_date_format

    return bool(is_date_format(number_format))


def _column(address: str) -> int:
    from openpyxl.utils import column_index_from_string

    letters = _LETTERS.match(address)
    if not letters:
        raise ValueError("a cell without a column")
    return column_index_from_string(letters[0])


def _shared_strings(data: bytes) -> list[str]:
    """Return the texts of a part with shared texts, without how they are spoken."""
    texts = []
    for _, pieces in Scanner(data, leaf="si").read():
        texts.append("".join(piece.text for piece in pieces))
    return texts
