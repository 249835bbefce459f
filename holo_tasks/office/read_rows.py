"""Read the rows of a saved table: a CSV file, or the first visible sheet of a workbook."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.office.columns import plain_value
from holo_tasks.office.xml_spans import cell_text

if TYPE_CHECKING:
    from openpyxl import Workbook

MOST_BYTES, MOST_ROWS = 50_000_000, 200_000
LAST_ROW = 1_048_576
"""The number of the last row that a sheet can have."""
_ROW = re.compile(rb"""<(?:\w+:)?row\b[^>]*?\sr=["'](-?\d{1,20})["']""")


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts by the names in its first row. Empty rows are left out.

    A CSV file is UTF-8 with commas, semicolons or tabs, and all its values are text. A workbook (``.xlsx``) gives its
    first visible sheet, with numbers and dates. An empty cell is an empty string. Raises `InvalidUsage` for other
    files, for formulas that no program has calculated yet, and above 50 MB or 200,000 rows.
    """
    place = Path(path)
    try:
        if place.stat().st_size > MOST_BYTES:
            raise InvalidUsage(f"{place} is larger than {MOST_BYTES // 1_000_000} MB; divide it.")
        data = place.read_bytes()
    except OSError as error:
        raise InvalidUsage(f"{place} cannot be read ({error.strerror}).") from None
    lines = _of_workbook(place, data) if place.suffix.lower() in (".xlsx", ".xlsm") else _of_csv(place, data)
    header: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in lines:
        if not any(cell not in ("", None) for cell in line):
            continue
        if not header:
            header = _header(place, line)
            continue
        if any(cell not in ("", None) for cell in line[len(header) :]):
            raise InvalidUsage(f"A row of {place} has more cells than the first one has names.")
        if len(rows) == MOST_ROWS:
            raise InvalidUsage(f"{place} has more than {MOST_ROWS:,} rows; divide it.")
        cells = [*line, *[""] * (len(header) - len(line))]
        rows.append({name: plain_value(cell) for name, cell in zip(header, cells, strict=False)})
    return rows


def _header(place: Path, line: Sequence[Any]) -> list[str]:
    names = [key_text(str(cell or "")) for cell in line]
    while names and not names[-1]:
        names.pop()
    if not all(names) or len(set(names)) < len(names):
        raise InvalidUsage(f"The first row of {place} names its columns: each needs a name, all different.")
    return names


def _of_csv(place: Path, data: bytes) -> Iterable[Sequence[Any]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidUsage(f"{place} is not UTF-8; save it as “CSV UTF-8”.") from None
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InvalidUsage(f"{place} is not a valid CSV file ({error}); save it again as CSV.") from None


def _of_workbook(place: Path, data: bytes) -> Iterable[Sequence[Any]]:
    require_extra("office", "openpyxl", "Reading a workbook")
    from openpyxl import load_workbook

    from holo_tasks.office.package import unpacked_size
    from holo_tasks.office.workbook import BROKEN, MAX_UNPACKED

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            parts = packed.infolist()
            if unpacked_size(packed, MAX_UNPACKED) > MAX_UNPACKED:
                raise InvalidUsage(f"{place} is too large when unpacked; divide it.")
            has_formulas = False
            for part in parts:
                if "worksheets/sheet" in part.filename:
                    sheet = packed.read(part)
                    _check_order(place, sheet)
                    has_formulas = has_formulas or b"<f" in sheet
        rows = _first_visible(load_workbook(io.BytesIO(data), read_only=True, data_only=True))
        if has_formulas:
            _check_calculated(place, rows, _first_visible(load_workbook(io.BytesIO(data), read_only=True)))
    except BROKEN as error:
        raise InvalidUsage(f"{place} is not a readable workbook ({type(error).__name__}); save it again.") from None
    return rows


def _check_order(place: Path, sheet: bytes) -> None:
    """Raise `InvalidUsage` if rows of a sheet are not in order, because openpyxl would leave some out."""
    last = 0
    for found in _ROW.finditer(sheet):
        number = int(found[1])
        if not last < number <= LAST_ROW:
            raise InvalidUsage(f"Row {number} of {place} is not where a sheet can have it; save the file again.")
        last = number


def _first_visible(book: Workbook) -> list[Sequence[Any]]:
    """Return the cells of the first visible sheet."""
    sheet: Any = next((one for one in book.worksheets if one.sheet_state == "visible"), book.worksheets[0])
    # Some exporters write a wrong dimension, for example "A1", which openpyxl would believe.
    sheet.reset_dimensions()
    lines = sheet.iter_rows(values_only=True)
    return [tuple(cell_text(cell) if isinstance(cell, str) else cell for cell in line) for line in lines]


def _check_calculated(place: Path, rows: list[Sequence[Any]], formulas: list[Sequence[Any]]) -> None:
    """Raise `InvalidUsage` for the first formula whose result is not in the file."""
    from openpyxl.utils import get_column_letter

    for number, (row, written) in enumerate(zip(rows, formulas, strict=False), start=1):
        for column, (value, formula) in enumerate(zip(row, written, strict=False), start=1):
            if value is None and formula is not None:
                raise InvalidUsage(
                    f"Cell {get_column_letter(column)}{number} of {place} is a formula without a stored result; open "
                    "the file in Excel or LibreOffice, and save it there."
                )
