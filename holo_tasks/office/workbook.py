"""Keep one row per key in an Excel workbook, safely with several writers.

`Workbook` is the main class.
"""

from __future__ import annotations

import io
import logging
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from xml.etree.ElementTree import ParseError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.office.atomic_file import FileBusy, FileNotWritten, file_lock, naming_the_cause, replace_whole
from holo_tasks.office.columns import CellContent, Column, clean_text, content, current_content, plain_value, put
from holo_tasks.office.lost_parts import lost_parts

if TYPE_CHECKING:
    from openpyxl import Workbook as Book
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

__all__ = ["Column", "FileBusy", "FileNotWritten", "Workbook"]

_log = logging.getLogger(__name__)
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_UNPACKED = 300 * 1024 * 1024
# openpyxl raises any of these for an invalid file.
BROKEN = (
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, AttributeError,
    IndexError, EOFError, NotImplementedError, ArithmeticError, RecursionError, AssertionError,
)  # fmt: skip


@dataclass
class _Rows:
    """Row numbers by key. ``last`` is the last row that holds something; formats and borders alone do not count."""

    last: int
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, key: str) -> int:
        """Return the number of a new row for this key."""
        self.last += 1
        self.numbers[key] = self.last
        return self.last


class Workbook:
    """A sheet of a workbook whose rows are identified by one column.

    `upsert` and `upsert_many` lock the file, read it, change it and replace it. A person may sort, filter, and add
    columns, sheets and comments in between. Methods raise `InvalidUsage` if the file is something else, `FileBusy`
    after ``lock_timeout_seconds``, and `FileNotWritten` if the disk is full. The message says what to do.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        columns: Sequence[Column],
        key: str,
        sheet: str = "Audit",
        title: str = "",
        lock_timeout_seconds: float = 30.0,
    ) -> None:
        # Follow a link, so that its target is replaced and not the link.
        self.path = Path(path).expanduser().resolve()
        self.columns = {column.name: column for column in columns}
        self.key = key
        self.sheet = sheet
        self.title = title or sheet
        self.lock_timeout_seconds = lock_timeout_seconds
        if self.path.suffix.lower() not in (".xlsx", ".xlsm"):
            raise InvalidUsage(f"{self.path} is not a workbook's name: let it end in .xlsx.")
        if len(self.columns) != len(columns) or not all(name.strip() for name in self.columns):
            raise InvalidUsage("The columns of a workbook need names, all different: rename them.")
        if key not in self.columns:
            raise InvalidUsage(f"The key {key!r} is not one of the columns: name one that is.")
        if not 0 < len(sheet) <= 31 or set(sheet) & set("[]:*?/\\"):
            raise InvalidUsage(f"{sheet!r} cannot name a sheet: use at most 31 characters, none of []:*?/\\.")

    @property
    def notices(self) -> tuple[str, ...]:
        """Return notices for a person, for example that an office program has the file open."""
        marks = {f".~lock.{self.path.name}#": "LibreOffice", f"~${self.path.name}": "Excel"}
        return tuple(
            f"{self.path.name} is open in {program}: reload it there to see the new rows, and do not save over it."
            for mark, program in marks.items()
            if self.path.with_name(mark).exists()
        )

    def upsert(self, row: Mapping[str, object]) -> bool:
        """Add the row, or update the one with its key; return whether it is new.

        Columns that the row does not name stay unchanged. If nothing differs, the file is not written.
        """
        return self.upsert_many([row]) == 1

    def upsert_many(self, rows: Iterable[Mapping[str, object]]) -> int:
        """Add or update all rows or none, as `upsert` does; return the number of new rows."""
        checked = [self._checked(row) for row in rows]
        _require_openpyxl()
        with file_lock(self.path, timeout_s=self.lock_timeout_seconds):
            book, before, data = self._open()
            added, changed = 0, not before
            places = self._places(book[self.sheet])
            known = self._known(book[self.sheet], places)
            for wanted in checked:
                new, different = self._write(book[self.sheet], places, known, wanted)
                added += new
                changed = changed or different
            if changed:
                for notice in self.notices:
                    _log.warning("%s", notice)
                _cover(book[self.sheet])
                with naming_the_cause(self.path):
                    packed = io.BytesIO()
                    book.save(packed)
                if data:
                    self._check_nothing_lost(data, packed.getvalue())
                replace_whole(self.path, packed.getvalue())
        return added

    def rows(self) -> list[dict[str, object]]:
        """Return the rows by column name, with dates, numbers and text; ``None`` for an empty cell."""
        _require_openpyxl()
        if not self.path.exists():
            return []
        book, _, _ = self._open()
        sheet = book[self.sheet]
        places = self._places(sheet)
        return [
            {
                name: current_content(_cell(sheet, number, places[name]), column).value
                for name, column in self.columns.items()
            }
            for number in self._known(sheet, places).numbers.values()
        ]

    def has_sheet(self) -> bool:
        """Return whether the file has this sheet. `upsert` adds a missing one."""
        _require_openpyxl()
        with naming_the_cause(self.path):
            data = self.path.read_bytes()
        return bool(data) and self.sheet in self._parsed(data).sheetnames

    def _checked(self, row: Mapping[str, object]) -> dict[str, CellContent]:
        if unknown := sorted(set(row) - set(self.columns)):
            raise InvalidUsage(f"The workbook has no column {unknown[0]!r}: name one of its columns.")
        if not clean_text(str(row.get(self.key) or "")).strip():
            raise InvalidUsage(f"A row needs a value in {self.key!r}: it tells the rows apart.")
        out = {}
        for name, value in row.items():
            column = self.columns[name]
            out[name] = content(column, value, str(row.get(column.currency_column) or ""))
        return out

    def _check_nothing_lost(self, before: bytes, after: bytes) -> None:
        """Raise `InvalidUsage` if the new file lacks contents of the file that is there."""
        if lost := lost_parts(before, after):
            raise InvalidUsage(
                f"{self.path} has {', '.join(lost)}, which would be lost when rows are written. Nothing was written. "
                "Remove them, or give another path."
            )

    def _open(self) -> tuple[Book, bool, bytes]:
        """Return the workbook with the sheet in it, whether the sheet existed before, and the bytes of the file."""
        import openpyxl

        with naming_the_cause(self.path):
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                data = b""
            if data and not os.access(self.path, os.W_OK):
                raise InvalidUsage(f"{self.path} is write-protected: allow writing or give another path.")
            if not data and self.path.exists():
                raise InvalidUsage(f"{self.path} is empty, not a workbook: remove it or give another path.")
        book = self._parsed(data) if data else openpyxl.Workbook()
        if not data:
            book.remove(book.worksheets[0])
            book.properties.title = self.title
            book.properties.creator = "prefect-holo"
            book.properties.description = f"One row per {self.key}, written by holo_tasks."
        if self.sheet not in book.sheetnames:
            self._furnish(book.create_sheet(self.sheet))
            return book, False, data
        sheet = book[self.sheet]
        if not hasattr(sheet, "auto_filter"):
            raise InvalidUsage(f"{self.path} has a chart named {self.sheet!r}: give another sheet name.")
        if sheet.max_row == 1 and sheet.max_column == 1 and _cell(sheet, 1, 1).value is None:
            self._furnish(sheet)
            return book, False, data
        return book, True, data

    def _parsed(self, data: bytes) -> Book:
        import openpyxl

        if data.startswith(_OLE_MAGIC):
            raise InvalidUsage(
                f"{self.path} is password-protected or an old .xls file: save it as a plain .xlsx or give another path."
            )
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                if sum(one.file_size for one in packed.infolist()) > MAX_UNPACKED:
                    raise InvalidUsage(f"{self.path} is too big to be added to: give another path.")
            macros = self.path.suffix.lower() == ".xlsm"
            return openpyxl.load_workbook(io.BytesIO(data), rich_text=True, keep_vba=macros)
        except (*BROKEN, OSError):  # the bytes are in memory, so an OSError is about their content
            raise InvalidUsage(
                f"{self.path} is not a workbook or is damaged: move it away or give another path."
            ) from None

    def _places(self, sheet: Worksheet) -> dict[str, int]:
        """Return the present number of each column, since a person may have moved columns."""
        headings: dict[str, int] = {}
        for number, cell in enumerate(sheet[1], start=1):
            name = key_text(str(cell.value or ""))
            if name in headings and name in self.columns:
                raise InvalidUsage(f"Sheet {self.sheet!r} of {self.path} has two columns {name!r}: rename one.")
            headings.setdefault(name, number)
        missing = [name for name in self.columns if key_text(name) not in headings]
        if missing:
            raise InvalidUsage(
                f"Sheet {self.sheet!r} of {self.path} has other headings (no {missing[0]!r} in row 1): "
                "put it back or give another path or sheet."
            )
        return {name: headings[key_text(name)] for name in self.columns}

    def _known(self, sheet: Worksheet, places: Mapping[str, int]) -> _Rows:
        """Return the row number of each key. If a person copied a row, the first one counts."""
        # Not sheet.cell(), which would make a cell in each row that a person only formatted.
        cells = {place: cell for place, cell in sheet._cells.items() if cell.value is not None}
        known = _Rows(last=max((row for row, _ in cells), default=1))
        for row, column in sorted(cells):
            if row > 1 and column == places[self.key] and (key := _key(cells[row, column].value)):
                known.numbers.setdefault(key, row)
        return known

    def _write(
        self, sheet: Worksheet, places: Mapping[str, int], known: _Rows, wanted: Mapping[str, CellContent]
    ) -> tuple[bool, bool]:
        """Write one row; return whether it is new, and whether any cell differs."""
        from openpyxl.styles import Alignment

        key = _key(wanted[self.key].value)
        new = key not in known.numbers
        number = known.add(key) if new else known.numbers[key]
        different = new
        for name, column in self.columns.items():
            cell = _cell(sheet, number, places[name])
            if new:
                cell.alignment = Alignment(vertical="top", wrap_text=column.shown_width >= 40)
                put(cell, column, wanted.get(name, CellContent(None)))
            elif name in wanted and name != self.key and current_content(cell, column) != wanted[name]:
                put(cell, column, wanted[name])
                different = True
        return new, different

    def _furnish(self, sheet: Worksheet) -> None:
        """Give an empty sheet its headings and the format of a finished table."""
        from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.properties import PageSetupProperties

        for number, column in enumerate(self.columns.values(), start=1):
            cell = _cell(sheet, 1, number)
            put(cell, Column(column.name), CellContent(clean_text(column.name)))
            cell.font = Font(bold=True, color="FFFFFF")
            cell.fill = PatternFill("solid", fgColor="1F3864")
            cell.border = Border(bottom=Side(style="medium", color="0B1B3A"))
            cell.alignment = Alignment(vertical="center", wrap_text=True)
            sheet.column_dimensions[get_column_letter(number)].width = column.shown_width
        sheet.row_dimensions[1].height = 24
        sheet.freeze_panes = "A2"
        sheet.sheet_view.showGridLines = False
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.paperSize = 9  # A4
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        sheet.print_title_rows = "1:1"
        footer: Any = sheet.oddFooter
        footer.left.text = self.title.replace("&", "&&")
        footer.right.text = "Page &P of &N"
        sheet.auto_filter.ref = sheet.dimensions


def _cover(sheet: Worksheet) -> None:
    """Extend the filter to the last row, unless a person removed the filter."""
    if sheet.auto_filter.ref:
        sheet.auto_filter.ref = f"A1:{sheet.dimensions.split(':')[-1]}"


def _key(value: object) -> str:
    """Return the key in a cell as text. Excel stores the key 4711 as the number 4711.0, and a day with a time."""
    return key_text(str(plain_value(value)))


def _cell(sheet: Worksheet, row: int, column: int) -> Cell:
    return cast("Cell", sheet.cell(row, column))


def _require_openpyxl() -> None:
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise InvalidUsage("Writing a workbook needs openpyxl: run pip install 'prefect-holo[office]'.") from None
