"""Keep one row per key in an Excel workbook, safely with several writers.

`Workbook` is the main class.
"""

from __future__ import annotations

import io
import logging
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.office.atomic_file import FileBusy, FileNotWritten, file_lock, naming_the_cause, replace_whole
from holo_tasks.office.columns import (
    CellContent,
    Column,
    clean_text,
    content,
    current_content,
    plain_value,
    same_content,
)
from holo_tasks.office.existing_sheet import ExistingSheet, Occupied, add_sheet
from holo_tasks.office.package import BookPackage, Sheet, unpacked_size

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

__all__ = ["Column", "FileBusy", "FileNotWritten", "Workbook"]

_log = logging.getLogger(__name__)
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_UNPACKED = 300 * 1024 * 1024
# openpyxl raises any of these for an invalid file.
BROKEN = (
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, AttributeError,
    IndexError, EOFError, NotImplementedError, ArithmeticError, RecursionError, AssertionError, ExpatError,
    StopIteration,
)  # fmt: skip


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
        wanted: dict[str, dict[str, CellContent]] = {}
        for row in rows:
            checked = self._checked(row)
            wanted.setdefault(_key(checked[self.key].value), {}).update(checked)
        require_extra("office", "openpyxl", "Writing a workbook")
        with file_lock(self.path, timeout_s=self.lock_timeout_seconds):
            data, is_new = self._open()
            with self._naming_damage():
                changed, added = self._changed(data, wanted)
            if changed is not None or is_new:
                for notice in self.notices:
                    _log.warning("%s", notice)
                replace_whole(self.path, data if changed is None else changed)
        return added

    def rows(self) -> list[dict[str, object]]:
        """Return the rows by column name, with dates, numbers and text; ``None`` for an empty cell."""
        require_extra("office", "openpyxl", "Writing a workbook")
        if not self.path.exists():
            return []
        data, _ = self._open()
        with self._naming_damage():
            sheet = ExistingSheet(data, self.sheet, self.path)
            lines = sheet.lines()
            places = self._places(next(lines)[1])
            totals = sheet.totals(places[self.key])
            found: dict[str, dict[str, object]] = {}
            for number, cells in lines:
                key = _key(cells[places[self.key]].value) if places[self.key] in cells else ""
                if key and key not in found and number not in totals:
                    current = self._current(cells, places)
                    found[key] = {name: current[name].value if name in current else None for name in self.columns}
        return list(found.values())

    def has_sheet(self) -> bool:
        """Return whether the file has this sheet. `upsert` adds a missing one."""
        require_extra("office", "openpyxl", "Writing a workbook")
        with naming_the_cause(self.path):
            data = self.path.read_bytes()
        return bool(data) and self._sheet_of(data) is not None

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

    def _open(self) -> tuple[bytes, bool]:
        """Return the file with the sheet and its headings in it, and whether the file on disk lacks them."""
        with naming_the_cause(self.path):
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return self._new_book(), True
            if data and not os.access(self.path, os.W_OK):
                raise InvalidUsage(f"{self.path} is write-protected: allow writing or give another path.")
            if not data:
                raise InvalidUsage(f"{self.path} is empty, not a workbook: remove it or give another path.")
        sheet = self._sheet_of(data)
        if sheet is not None and not sheet.has_cells:
            raise InvalidUsage(f"{self.path} has a chart named {self.sheet!r}: give another sheet name.")
        with self._naming_damage():
            if sheet is None:
                pattern = BookPackage(self._new_book())
                data = add_sheet(data, self.sheet, pattern.read(pattern.sheets()[0].part))
            existing = ExistingSheet(data, self.sheet, self.path)
            if existing.is_empty():
                existing.write_headings([Column(clean_text(name)) for name in self.columns])
                return existing.packed(), True
        return data, False

    def _sheet_of(self, data: bytes) -> Sheet | None:
        """Return the sheet in a file. Raises `InvalidUsage` if it is not a workbook that can be read."""
        if data.startswith(_OLE_MAGIC):
            raise InvalidUsage(
                f"{self.path} is password-protected or an old .xls file: save it as a plain .xlsx or give another path."
            )
        with self._naming_damage():
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                if unpacked_size(packed, MAX_UNPACKED) > MAX_UNPACKED:
                    raise InvalidUsage(f"{self.path} is too big to be added to: give another path.")
            return BookPackage(data).sheet(self.sheet)

    @contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """Convert the errors of an invalid file into an error that says what to do."""
        try:
            yield
        except InvalidUsage:
            raise
        except (*BROKEN, OSError):  # the bytes are in memory, so an OSError is about their content
            raise InvalidUsage(
                f"{self.path} is not a workbook or is damaged: move it away or give another path."
            ) from None

    def _changed(self, data: bytes, wanted: Mapping[str, dict[str, CellContent]]) -> tuple[bytes | None, int]:
        """Return the file with the wanted rows and the number of new ones; ``None`` if nothing differs."""
        sheet = ExistingSheet(data, self.sheet, self.path)
        lines = sheet.lines()
        places = self._places(next(lines)[1])
        table, totals = sheet.table(places[self.key]), sheet.totals(places[self.key])
        occupied, numbers, present = Occupied(), {}, {}
        area = {*table.columns, *places.values()} if table else set()
        for number, cells in lines:
            occupied.note(number, cells, table, area)
            key = _key(cells[places[self.key]].value) if places[self.key] in cells else ""
            if key and key not in numbers and number not in totals:  # if a person copied a row, the first one counts
                numbers[key] = number
                if key in wanted:
                    present[key] = cells
        updates: list[tuple[int, list[tuple[int, Column, CellContent]]]] = []
        for key, cells in present.items():
            links = {place: sheet.link(numbers[key], place) for place in places.values()}
            current = self._current(cells, places, links)
            differing = [
                (places[name], self.columns[name], value)
                for name, value in wanted[key].items()
                if name != self.key and not same_content(current.get(name, CellContent(None)), value)
            ]
            updates += [(numbers[key], differing)] if differing else []
        new = [row for key, row in wanted.items() if key not in numbers]
        if not new and not updates:
            return None, 0
        sheet.check_writable()
        for number, changes in updates:
            sheet.write(number, changes, new=False)
        if new:
            first = sheet.make_room(len(new), places.values(), places[self.key], occupied)
            for number, row in enumerate(new, start=first):
                values = ((places[name], self.columns[name], row.get(name, CellContent(None))) for name in self.columns)
                sheet.write(number, values, new=True)
        return sheet.packed(), len(new)

    def _current(
        self, cells: Mapping[int, Any], places: Mapping[str, int], links: Mapping[int, str | None] = {}
    ) -> dict[str, CellContent]:
        """Return the present content of a row's cells by column name."""
        return {
            name: current_content(cells[place], self.columns[name], links.get(place))
            for name, place in places.items()
            if place in cells
        }

    def _places(self, first: Mapping[int, Any]) -> dict[str, int]:
        """Return the present number of each column, since a person may have moved columns."""
        headings: dict[str, int] = {}
        for number, cell in first.items():
            name = key_text(str(cell.value))
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

    def _new_book(self) -> bytes:
        """Return the file of a new workbook with the sheet and its headings."""
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.worksheets[0])
        book.properties.title = self.title
        book.properties.creator = "prefect-holo"
        book.properties.description = f"One row per {self.key}, written by holo_tasks."
        self._furnish(book.create_sheet(self.sheet))
        packed = io.BytesIO()
        book.save(packed)
        return packed.getvalue()

    def _furnish(self, sheet: Worksheet) -> None:
        """Give an empty sheet its headings and the format of a finished table."""
        from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.properties import PageSetupProperties

        for number, column in enumerate(self.columns.values(), start=1):
            cell = sheet.cell(1, number, clean_text(column.name))
            cell.data_type = "s"  # also for a heading such as "=1"
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


def _key(value: object) -> str:
    """Return the key in a cell as text. Excel stores the key 4711 as the number 4711.0, and a day with a time."""
    return key_text(str(plain_value(value)))
