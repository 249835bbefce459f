"""Read the rows of a saved table: a CSV file, or the first visible sheet of a workbook."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.office.columns import plain_value

if TYPE_CHECKING:
    from holo_tasks.office.package import BookPackage

MOST_BYTES, MOST_ROWS = 50_000_000, 200_000
_SAMPLE, _HEAD = 50, 1 << 16
"""How many rows, and how many characters of the first one, are read to find the delimiter."""
_NAMED_DELIMITER = re.compile(r"sep=([,;\t])\r?\n")
"""The first line by which some exporters tell Excel the delimiter."""
LAST_ROW = 1_048_576
"""The number of the last row that a sheet can have."""


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts by the names in its first row. Empty rows are left out.

    A CSV file is UTF-8 with commas, semicolons or tabs, and all its values are text. A workbook (``.xlsx``) gives its
    first visible sheet, with numbers and dates. An empty cell is an empty string. Raises `InvalidUsage` for other
    files, for formulas that no program has calculated yet, for cells merged over several rows, and above 50 MB or
    200,000 rows.
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
    text = text.lstrip("\r\n")
    if named := _NAMED_DELIMITER.match(text):
        return _parsed(place, text[named.end() :], named[1])
    # The delimiter that divides the most rows into as many cells as the names: a name may hold a comma.
    first = text[:_HEAD].split("\n", 1)[0]
    found = sorted(",;\t", key=first.count, reverse=True)
    return _parsed(place, text, max(found, key=lambda delimiter: _regular_rows(text, delimiter)))


def _regular_rows(text: str, delimiter: str) -> int:
    """Return how many of the first rows have as many cells as the first one, if this character divides it."""
    rows = []
    with suppress(csv.Error):
        for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), _SAMPLE):
            rows.append(len(row))
    return rows.count(rows[0]) if rows and rows[0] > 1 else 0


def _parsed(place: Path, text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InvalidUsage(f"{place} is not a valid CSV file ({error}); save it again as CSV.") from None


def _of_workbook(place: Path, data: bytes) -> Iterable[Sequence[Any]]:
    require_extra("office", "openpyxl", "Reading a workbook")
    from holo_tasks.office.package import BookPackage, unpacked_size
    from holo_tasks.office.workbook import BROKEN, MAX_UNPACKED

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if unpacked_size(packed, MAX_UNPACKED) > MAX_UNPACKED:
                raise InvalidUsage(f"{place} is too large when unpacked; divide it.")
        package = BookPackage(data)
        sheets = [sheet for sheet in package.sheets() if sheet.has_cells]
        if not sheets:
            raise InvalidUsage(f"{place} has no sheet with cells.")
        return _of_sheet(place, package, next((one for one in sheets if one.is_visible), sheets[0]).part)
    except InvalidUsage:
        raise
    except BROKEN as error:
        raise InvalidUsage(f"{place} is not a readable workbook ({type(error).__name__}); save it again.") from None


def _of_sheet(place: Path, package: BookPackage, part: str) -> list[list[Any]]:
    """Return the values of a sheet's rows with content."""
    from holo_tasks.office.cell_reader import CellReader, numbered
    from holo_tasks.office.sheet_part import Area, address
    from holo_tasks.office.xml_spans import Scanner

    scanner, reader = Scanner(package.read(part), leaf="row"), CellReader.of(package)
    outdated = package.calculates_on_load
    rows: dict[int, list[Any]] = {}
    last = 0
    for row, cells in scanner.read():
        number = int(row.attributes.get("r", last + 1))
        if not last < number <= LAST_ROW:
            raise InvalidUsage(f"Row {number} of {place} is not where a sheet can have it; save the file again.")
        last = number
        line: dict[int, Any] = {}
        for column, cell in numbered(cells):
            if cell.formula is not None and (outdated or not cell.has_result):
                raise InvalidUsage(
                    f"Cell {address(number, column)} of {place} is a formula without a current result; open the file "
                    "in Excel or LibreOffice, calculate all formulas (LibreOffice: Ctrl+Shift+F9), and save it there."
                )
            line[column] = reader.result(cell)
        if any(value not in ("", None) for value in line.values()):
            rows[number] = [line.get(column) for column in range(1, max(line) + 1)]
    merges = scanner.root.first("mergeCells")
    for merged in merges.children if merges else ():
        area = Area.of(merged.attributes["ref"])
        width = len(next(iter(rows.values()), ()))
        if area.left <= width and any(area.top < number <= area.bottom for number in rows):
            raise InvalidUsage(
                f"The cells {area} of {place} are merged, so that only their first row has the value; split them, and "
                "write the value into each row."
            )
    return list(rows.values())
