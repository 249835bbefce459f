"""Write rows into one sheet of a workbook file, and leave everything else in the file unchanged.

openpyxl drops the contents that it does not know, such as threaded comments, slicers and drop-downs over other sheets.
So this module changes the cells in the XML of the sheet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import unescape

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.cell_reader import CellReader, ReadCell
from holo_tasks.office.columns import CellContent, Column, look
from holo_tasks.office.package import BookPackage
from holo_tasks.office.sheet_part import (
    MOST_ROWS,
    Area,
    FormulaShared,
    NewCell,
    SheetPart,
    address,
    formulas_in,
    without_results,
)
from holo_tasks.office.styles_part import EMPTY, Look, Styles
from holo_tasks.office.table_part import TablePart
from holo_tasks.office.xml_spans import escaped, scan, spliced

_FORMULA = re.compile(rb"<(?:\w+:)?(?:f|formula|formula1|formula2|definedName)\b[^>]*>([^<]+)<")
_HEADING = Look(
    ink="FFFFFF", bold=True, fill="1F3864", number_format=None, alignment={"vertical": "center", "wrapText": "1"}
)


@dataclass
class Occupied:
    """The rows of a sheet that hold something. Formats and borders alone do not count."""

    last: int = 1
    """The last row with content; in an Excel table, the last one of the table with a value."""
    below: tuple[int, int] | None = None
    """Row and column of the first content below the table, in its columns."""

    def note(self, row: int, cells: Mapping[int, ReadCell], table: TablePart | None, columns: Collection[int]) -> None:
        """Take account of a row's cells with content. ``columns`` are those of the table and of the rows to write."""
        if not cells:
            return
        if table is None:
            self.last = max(self.last, row)
        elif row <= table.last:
            # Calculated columns have formulas in empty rows of a table as well.
            if any(not cells[column].is_formula for column in columns if column in cells):
                self.last = max(self.last, row)
        elif self.below is None and (row > table.area.bottom or not table.totals):
            column = next((column for column in columns if column in cells), None)
            self.below = (row, column) if column else None


class ExistingSheet:
    """A sheet of a workbook file that gets new rows and new values. `packed` returns the changed file."""

    def __init__(self, data: bytes, name: str, path: object) -> None:
        self._package = package = BookPackage(data)
        self._path = path
        sheet = package.sheet(name)
        if sheet is None:
            raise KeyError(name)
        self._name, self.part = sheet.name, sheet.part
        self._index = package.sheets().index(sheet)
        self._epoch = package.epoch()
        self._sheet = SheetPart(package.read(self.part), epoch=self._epoch)
        self._styles_part, self._styles = self._read_styles()
        self._relationships = package.relationships(self.part)
        tables = [one.target for one in self._relationships if one.kind == "table"]
        self._tables = [TablePart(part, package.read(part)) for part in tables]
        self._targets = {one.id: one.target for one in self._relationships if one.kind == "hyperlink"}
        self._links: dict[tuple[int, int], str | None] = {}
        self._totals_moved_from = 0
        self._calculated: frozenset[int] = frozenset()

    def _read_styles(self) -> tuple[str, Styles]:
        if found := self._package.related(self._package.book, "styles"):
            return found.target, Styles(self._package.read(found.target))
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"
        self._package.add("xl/styles.xml", EMPTY, kind)
        self._package.relate(self._package.book, "styles", ["/xl/styles.xml"])
        return "xl/styles.xml", Styles(EMPTY)

    def lines(self) -> Iterator[tuple[int, dict[int, ReadCell]]]:
        """Read the sheet, and return the number of each row, and its cells with content by column number.

        The first row always comes first, also if it is empty. Read all rows before anything is written.
        """
        reader = CellReader(self._package.shared_strings(), self._styles, self._epoch)
        wanted = True
        for number, cells in self._sheet.lines():
            if wanted and number != 1:
                yield 1, {}
            wanted = False
            yield number, reader.cells(cells)
        if wanted:
            yield 1, {}

    def is_empty(self) -> bool:
        """Read the sheet up to its first content, and return whether it has no content."""
        return not any(cell.text or cell.formula is not None for _, cells in self._sheet.lines() for cell in cells)

    def check_writable(self) -> None:
        """Raise `InvalidUsage` if a person signed the workbook."""
        if any(one.kind == "origin" for one in self._package.relationships("")):
            raise InvalidUsage(
                f"{self._path} has a digital signature, which new rows would make invalid: remove it or give another "
                "path."
            )

    def table(self, column: int) -> TablePart | None:
        """Return the Excel table whose headings include the cell in row 1 of this column."""
        own = (table for table in self._tables if table.area.top == 1 and column in table.columns)
        return next((table for table in own if table.has_header), None)

    def totals(self, column: int) -> range:
        """Return the rows with totals of the table with a heading in this column."""
        table = self.table(column)
        return range(table.last + 1, table.area.bottom + 1) if table else range(0)

    def link(self, row: int, column: int) -> str | None:
        """Return the target of a cell's hyperlink to the outside."""
        return self._targets.get(self._sheet.link(row, column))

    def write_headings(self, columns: Collection[Column]) -> None:
        """Write the headings into the first row of an empty sheet."""
        self.check_writable()
        for number, column in enumerate(columns, start=1):
            style = self._styles.variant(self._sheet.style(1, number) or 0, _HEADING)
            self._put(1, number, NewCell(style, column.name))

    def _put(self, row: int, column: int, cell: NewCell) -> None:
        """Write a cell.

        Raises `InvalidUsage` if the sheet is protected and the cell is locked, as most cells are, or if merged cells
        cover it.
        """
        area = next((one for one in self._sheet.merged if one.holds(row, column)), None)
        if area and (row, column) != (area.top, area.left):
            raise InvalidUsage(
                f"Cell {address(row, column)} in sheet {self._name!r} of {self._path} is covered by the merged cells "
                f"{area}, so its value would not be visible: split them, or give another path."
            )
        if self._sheet.is_protected and not self._sheet.is_editable(row, column):
            style = self._sheet.shown_style(row, column)
            if self._styles.is_locked(style):
                raise InvalidUsage(
                    f"Cell {address(row, column)} in sheet {self._name!r} of {self._path} is locked, because the sheet "
                    "is protected: unlock the cell or remove the protection (in Excel: Review, Unprotect Sheet), or "
                    "give another path or sheet."
                )
        self._sheet.put(row, column, cell)

    def make_room(self, rows: int, places: Collection[int], key: int, occupied: Occupied) -> int:
        """Extend the table and the filter for new rows, and return the number of the first one.

        Raises `InvalidUsage` if the rows do not fit.
        """
        table, last = self.table(key), occupied.last
        self._calculated = frozenset(table.formulas if table else ())
        others = [one.area for one in self._tables if one is not table] + self._sheet.merged
        if table is None:
            # Rows below merged cells and other tables, which may end in empty rows.
            ends = [area.bottom for area in others if any(area.left <= column <= area.right for column in places)]
            last = max([last, *ends])
        if last + rows > MOST_ROWS:
            raise InvalidUsage(f"Sheet {self._name!r} of {self._path} is full: give another path or sheet.")
        if table is not None and (more := last + rows - table.last) > 0:
            self._grow(table, more, occupied, others)
        area = self._sheet.grow_filter(max(places), last + rows)
        if area:
            self._grow_filter_name(area)
        if table is not None:
            for row in range(last + 1, last + rows + 1):
                self._continue_table(table, row)
        return last + 1

    def _grow(self, table: TablePart, rows: int, occupied: Occupied, others: Collection[Area]) -> None:
        """Make the table longer, and move its totals row. Raises `InvalidUsage` if that is not possible."""
        if self._sheet.is_protected:
            raise InvalidUsage(
                f"The table in sheet {self._name!r} of {self._path} cannot get longer, because the sheet is protected: "
                "remove the protection (in Excel: Review, Unprotect Sheet), or give another path or sheet."
            )
        bottom = table.area.bottom + rows
        blocked = occupied.below
        for area in others:
            crosses = area.left <= table.area.right and area.right >= table.area.left
            if crosses and table.area.bottom < area.top <= bottom:
                blocked = blocked or (area.top, area.left)
        if blocked and blocked[0] <= bottom:
            raise InvalidUsage(
                f"Sheet {self._name!r} of {self._path} holds something in {address(*blocked)}, where the table gets "
                "its new rows: move it, or extend the table over it."
            )
        if table.totals:
            self._move_totals(table, rows)
        self._package.write(table.part, table.grown(rows))
        data_area = Area(table.area.left, table.area.top, table.area.right, table.last)
        self._sheet.grow_rules(data_area, table.last + rows)

    def _move_totals(self, table: TablePart, rows: int) -> None:
        row = table.area.bottom
        if reason := self._user_of_row(row):
            raise InvalidUsage(
                f"The table in sheet {self._name!r} of {self._path} has a totals row that moves down, but {reason} "
                f"refers to row {row}: switch the totals row off, or give another path."
            )
        # A range that ends at the last row for data grows with the table.
        replace = (rf"(:\$?[A-Z]{{1,3}}\$?){table.last}(?![\d(])", rf"\g<1>{table.last + rows}")
        for column in table.columns:
            self._sheet.move(row, column, row + rows, replace=replace)
        self._totals_moved_from = row

    def _user_of_row(self, row: int) -> str:
        """Return the name of a formula or comment that refers to a cell of a row, or an empty string."""
        reference = re.compile(rf"(?:('[^']+'|[\w.]+)!)?(?<![:\w$])\$?[A-Z]{{1,3}}\$?{row}(?![\d(:])(?![\w])")
        for part in self._package.names():
            if not re.search(r"/(worksheets|charts)/[^/]+\.xml$", "/" + part) and part != self._package.book:
                continue
            for found in _FORMULA.findall(self._package.read(part)):
                for match in reference.finditer(unescape(found.decode("utf-8", "replace"))):
                    sheet = (match[1] or "").strip("'")
                    if sheet == self._name or (not sheet and part == self.part):
                        return "a formula"
        for one in self._relationships:
            noted = one.kind in ("comments", "threadedComment") and self._package.read(one.target)
            if noted and re.search(rb'\bref="[A-Z]+%d"' % row, noted):
                return "a comment"
        return ""

    def _continue_table(self, table: TablePart, row: int) -> None:
        """Give a new row of a table the formats and formulas of the row above."""
        for column in table.columns:
            found, formula = self._sheet.cell(row, column), table.formulas.get(column, "")
            is_prepared = found is not None and (found[0].first("f") is not None or not formula)
            if row == self._totals_moved_from or not is_prepared:
                self._put(row, column, NewCell(self._base_style(row, column), None, formula))

    def _base_style(self, row: int, column: int) -> int:
        """Return the style of a new cell: its own, or the one of the cell above, or the one of the column."""
        own = self._sheet.style(row, column) if row != self._totals_moved_from else 0
        above = self._sheet.style(row - 1, column) if row > 2 else 0
        return own or above or self._sheet.column_style(column)

    def write(self, row: int, cells: Iterable[tuple[int, Column, CellContent]], *, new: bool) -> None:
        """Write values into cells of a row, given by the number of their column."""
        for place, column, value in cells:
            if new and value.value is None and place in self._calculated:
                continue
            style = self._base_style(row, place) if new else self._sheet.shown_style(row, place)
            if row == 2 and new and style == 0:
                wrap = "1" if column.shown_width >= 40 else "0"
                style = self._styles.variant(0, Look(alignment={"vertical": "top", "wrapText": wrap}))
            style = self._styles.variant(style, look(column, value, self._styles.number_format(style)))
            try:
                self._put(row, place, NewCell(style, value.value))
            except FormulaShared:
                raise InvalidUsage(
                    f"Cell {address(row, place)} in sheet {self._name!r} of {self._path} holds the formula of several "
                    "cells: replace it by values, or give another path."
                ) from None
            if column.kind == "link" and (value.link or self._sheet.link(row, place)):
                self._links[row, place] = value.link

    def packed(self) -> bytes:
        """Return the file with all changes."""
        package = self._package
        if targets := [target for target in self._links.values() if target]:
            ids = iter(package.relate(self.part, "hyperlink", targets, outside=True))
        for (row, column), target in self._links.items():
            self._sheet.set_link(row, column, next(ids) if target else None)
        if unused := self._sheet.unused_relationships():
            package.drop_relationships(self.part, unused)
        package.write(self.part, self._sheet.data())
        has_formulas = self._drop_results()
        if self._styles.is_changed:
            package.write(self._styles_part, self._styles.data())
        if self._sheet.formula_removed and (chain := package.related(package.book, "calcChain")):
            package.drop(package.book, chain)  # Excel repairs a file whose calculation chain names other cells
        if has_formulas:
            package.calculate_on_load()
        return package.packed()

    def _drop_results(self) -> bool:
        """Remove the stored results of formulas that may depend on this sheet; return whether there are any.

        Programs that trust stored results would show old sums. Excel and LibreOffice calculate missing results.
        """
        package = self._package
        waiting = {sheet.part: sheet.name for sheet in package.sheets() if sheet.has_cells}
        formulas = {part: formulas_in(package.read(part)) for part in waiting}
        names = scan(package.read(package.book)).first("definedNames")
        defined = {one.attributes.get("name", ""): one.text for one in (names.children if names else [])}
        affected = [self.part]
        for part in affected:
            words = {waiting.pop(part), *self._table_names(part)}
            words |= {name for name, text in defined.items() if any(word in text for word in words)}
            affected += [one for one in waiting if one not in affected and any(word in formulas[one] for word in words)]
            if formulas[part]:
                package.write(part, without_results(package.read(part)))
        return any(formulas[part] for part in affected)

    def _table_names(self, part: str) -> list[str]:
        tables = [one.target for one in self._package.relationships(part) if one.kind == "table"]
        return [scan(self._package.read(table)).attributes.get("displayName", "") for table in tables]

    def _grow_filter_name(self, area: Area) -> None:
        """Set the hidden defined name that Excel keeps for the sheet's filter."""
        data = self._package.read(self._package.book)
        names = scan(data).first("definedNames")
        for name in names.children if names else []:
            own = name.attributes.get("localSheetId") == str(self._index)
            if own and name.attributes.get("name") == "_xlnm._FilterDatabase":
                first, last = (re.sub(r"([A-Z]+)", r"$\1$", address(*place)) for place in area.corners)
                sheet = name.text.rpartition("!")[0]
                edit = (name.inner, name.inner_end, escaped(f"{sheet}!{first}:{last}"))
                self._package.write(self._package.book, spliced(data, [edit]))


def add_sheet(data: bytes, name: str, pattern: bytes) -> bytes:
    """Return a workbook file with one more sheet, which has the settings of a pattern and no cells."""
    package = BookPackage(data)
    rows = [row for row in scan(pattern, leaf="row").walk() if row.name == "row"]
    package.add_sheet(name, spliced(pattern, [(row.start, row.end, b"") for row in rows]))
    return package.packed()
