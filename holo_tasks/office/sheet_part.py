"""Change cells in the XML of a worksheet. Everything else in the sheet stays byte by byte."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any
from xml.sax.saxutils import quoteattr, unescape

from holo_tasks.office.package import OFFICE
from holo_tasks.office.xml_spans import (
    Edit,
    Element,
    RawCell,
    Scanner,
    attribute_edit,
    content_edit,
    escaped,
    escaped_cell_text,
    scan,
    spliced,
    tag_with,
)

MOST_ROWS = 1_048_576
_BEFORE_HYPERLINKS = frozenset(
    ("sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "sheetCalcPr", "sheetProtection",
     "protectedRanges", "scenarios", "autoFilter", "sortState", "dataConsolidate", "customSheetViews", "mergeCells",
     "phoneticPr", "conditionalFormatting", "dataValidations")
)  # fmt: skip
"""The elements of a worksheet that come before its hyperlinks."""
_NEEDS_PASSWORD = frozenset({"password", "hashValue", "securityDescriptor"})
_FORMULA_TAG = re.compile(rb"<(?:\w+:)?f\s[^>]*>")
_OF_AREA = re.compile(rb"""\st=["'](?:array|dataTable)["']""")
_REFERENCE = re.compile(rb"""\sref=["']([A-Z]+\d+(?::[A-Z]+\d+)?)["']""")
_FORMULA_TEXT = re.compile(rb"<(?:\w+:)?f(?:\s[^>]*)?>([^<]+)</")
_FORMULA_CELL = re.compile(
    rb"""(<(?:\w+:)?c\b[^>]*?)(?:\s+t=["']\w+["'])?((?:\s[^>]*?)?>\s*)"""
    rb"(<(?:\w+:)?f\b[^>]*?(?:/>|>[^<]*</(?:\w+:)?f>))\s*<(?:\w+:)?v(?:/>|>[^<]*</(?:\w+:)?v>)"
)
"""A cell with a formula and its result."""


@dataclass(frozen=True)
class Area:
    """A block of cells, borders included."""

    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def of(cls, reference: str) -> Area:
        """Return the area of a reference such as ``A1:C9``. Raises `ValueError` for others."""
        from openpyxl.utils import range_boundaries

        left, top, right, bottom = range_boundaries(reference)
        return cls(left or 1, top or 1, right or 16_384, bottom or MOST_ROWS)

    @property
    def corners(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Row and column of the first and the last cell."""
        return (self.top, self.left), (self.bottom, self.right)

    def holds(self, row: int, column: int) -> bool:
        """Return whether a cell is in the area."""
        return self.left <= column <= self.right and self.top <= row <= self.bottom

    def __str__(self) -> str:
        first, last = address(self.top, self.left), address(self.bottom, self.right)
        return first if first == last else f"{first}:{last}"


@dataclass(frozen=True)
class NewCell:
    """The new content of a cell, with the number of its style."""

    style: int
    value: str | int | float | Decimal | date | None = None
    formula: str = ""


class FormulaShared(ValueError):
    """A cell holds the formula of several cells, so that it cannot be replaced alone."""


class SheetPart:
    """The XML of one worksheet. `put` and the methods that grow areas collect changes, and `data` applies them."""

    def __init__(self, data: bytes, *, epoch: datetime) -> None:
        self._data = data
        self._epoch = epoch
        self._rows: dict[int, Element] = {}
        self._cells: dict[int, dict[int, tuple[Element, bytes]]] = {}
        self._puts: dict[int, dict[int, NewCell | bytes]] = {}
        self._edits: list[Edit] = []
        self._links: dict[str, str | None] = {}
        self.formula_removed = False

    def lines(self) -> Iterator[tuple[int, list[RawCell]]]:
        """Read the sheet, and return the number and the cells of each row. Read the whole sheet before any other
        call."""
        scanner = Scanner(self._data, leaf="row")
        number = 0
        for row, cells in scanner.read():
            last, number = number, int(row.attributes.get("r", number + 1))
            if not last < number <= MOST_ROWS:
                raise ValueError("rows that are not in order")
            self._rows[number] = row
            yield number, cells
        self.root = scanner.root
        sheet_data = self.root.first("sheetData")
        if self.root.name != "worksheet" or sheet_data is None:
            raise ValueError("not a worksheet")
        self._sheet_data = sheet_data
        self._prefix = self.root.prefix
        links, columns = self.root.first("hyperlinks"), self.root.first("cols")
        self._old_links = {one.attributes["ref"]: _relationship(one) for one in (links.children if links else [])}
        self._column_styles = [
            (int(one.attributes["min"]), int(one.attributes["max"]), int(one.attributes.get("style", "0")))
            for one in (columns.children if columns else [])
        ]

    @property
    def is_protected(self) -> bool:
        protection = self.root.first("sheetProtection")
        return protection is not None and protection.attributes.get("sheet") in ("1", "true")

    def is_editable(self, row: int, column: int) -> bool:
        """Return whether a cell is in a range that everybody may edit although the sheet is protected."""
        ranges = self.root.first("protectedRanges")
        free = [one for one in (ranges.children if ranges else []) if not _NEEDS_PASSWORD & one.attributes.keys()]
        areas = [Area.of(part) for one in free for part in one.attributes.get("sqref", "").split()]
        return any(one.holds(row, column) for one in areas)

    def shown_style(self, row: int, column: int) -> int:
        """Return the number of the style that a cell has in the file, also one without an element of its own."""
        found, line = self.cell(row, column), self._rows.get(row)
        if found:
            return int(found[0].attributes.get("s", "0"))
        if line and line.attributes.get("customFormat") in ("1", "true"):
            return int(line.attributes.get("s", "0"))
        return self.column_style(column)

    @cached_property
    def merged(self) -> list[Area]:
        """The areas of merged cells."""
        merges = self.root.first("mergeCells")
        return [Area.of(one.attributes["ref"]) for one in (merges.children if merges else [])]

    @cached_property
    def _arrays(self) -> list[Area]:
        """The areas whose cells have one formula together."""
        tags = (tag for tag in _FORMULA_TAG.findall(self._data) if _OF_AREA.search(tag))
        return [Area.of(found[1].decode()) for tag in tags if (found := _REFERENCE.search(tag))]

    def cell(self, row: int, column: int) -> tuple[Element, bytes] | None:
        """Return the present element of a cell and its XML."""
        if row not in self._cells:
            self._cells[row] = {}
            if at := self._rows.get(row):
                line, number = self._data[at.start : at.end], 0
                for cell in scan(line).all("c"):
                    number = Area.of(cell.attributes["r"]).left if "r" in cell.attributes else number + 1
                    self._cells[row][number] = (cell, line[cell.start : cell.end])
        return self._cells[row].get(column)

    def style(self, row: int, column: int) -> int | None:
        """Return the style number of a cell after the pending changes; ``None`` if the file has no such cell."""
        new = self._puts.get(row, {}).get(column)
        if isinstance(new, NewCell):
            return new.style
        found = self.cell(row, column)
        return int(found[0].attributes.get("s", "0")) if found else None

    def column_style(self, column: int) -> int:
        """Return the number of the style that empty cells of a column have."""
        return next((style for first, last, style in self._column_styles if first <= column <= last), 0)

    def put(self, row: int, column: int, cell: NewCell) -> None:
        """Replace the content of a cell. Raises `FormulaShared` if other cells use its formula."""
        found = self.cell(row, column)
        formula = found[0].first("f") if found else None
        if formula:
            if "ref" in formula.attributes:
                raise FormulaShared
            self.formula_removed = True
        if any(area.holds(row, column) for area in self._arrays):
            raise FormulaShared
        self._puts.setdefault(row, {})[column] = cell

    def move(self, row: int, column: int, to_row: int, *, replace: tuple[str, str] | None = None) -> None:
        """Move a cell to another row. A formula loses its result; ``replace`` is a pattern for its text."""
        found = self.cell(row, column)
        if not found:
            return
        _, xml = found
        moved = tag_with(xml, r=address(to_row, column))
        root = scan(moved)
        if formula := root.first("f"):
            self.formula_removed = True
            text = re.sub(*replace, formula.text) if replace else formula.text
            edits = [(formula.inner, formula.inner_end, escaped(text))]
            if value := root.first("v"):
                edits.append((value.start, value.end, b""))
            moved = spliced(moved, edits)
        self._puts.setdefault(to_row, {})[column] = moved

    def link(self, row: int, column: int) -> str:
        """Return the relationship of a cell's hyperlink, or an empty string if it has none to the outside."""
        return self._old_links.get(address(row, column), "")

    def set_link(self, row: int, column: int, relationship: str | None) -> None:
        """Give a cell a hyperlink; ``None`` removes it."""
        self._links[address(row, column)] = relationship

    def unused_relationships(self) -> list[str]:
        """Return the relationships of the hyperlinks that were replaced or removed and that no other one uses."""
        used = {id for place, id in self._old_links.items() if place not in self._links}
        return sorted({self._old_links[place] for place in self._links if place in self._old_links} - used - {""})

    def grow_filter(self, right: int, bottom: int) -> Area | None:
        """Extend the sheet's filter to a cell, if it begins in the first row, and return its area."""
        element = self.root.first("autoFilter")
        if element is None or "ref" not in element.attributes:
            return None
        area = Area.of(element.attributes["ref"])
        if area.top != 1:
            return None
        area = Area(area.left, 1, max(area.right, right), max(area.bottom, bottom))
        self._edits.append(attribute_edit(self._data, element, ref=str(area)))
        return area

    def grow_rules(self, table: Area, bottom: int) -> None:
        """Extend drop-downs and conditional formats that cover whole columns of a table to its new last row."""
        for element in self.root.walk():
            where = (
                element.attributes.get("sqref") if element.name in ("conditionalFormatting", "dataValidation") else None
            )
            if where and (new := _grown(where, table, bottom)) != where:
                self._edits.append(attribute_edit(self._data, element, sqref=new))
            elif element.tag == "xm:sqref" and (new := _grown(element.text, table, bottom)) != element.text:
                self._edits.append((element.inner, element.inner_end, escaped(new)))

    def data(self) -> bytes:
        """Return the sheet with all changes."""
        new_rows: dict[int, bytes] = {}
        edits = list(self._edits)
        for number, cells in sorted(self._puts.items()):
            row = self._rows.get(number)
            if row is None:
                inner = b"".join(self._cell_xml(number, at, cell) for at, cell in sorted(cells.items()))
                new_rows[number] = (
                    f'<{self._prefix}row r="{number}">'.encode() + inner + f"</{self._prefix}row>".encode()
                )
            else:
                edits.append((row.start, row.end, self._edited_row(number, row, cells)))
        edits += self._insertions(new_rows)
        edits += self._link_edits()
        edits += self._dimension()
        return spliced(self._data, edits)

    def _cell_xml(self, row: int, column: int, cell: NewCell | bytes) -> bytes:
        if isinstance(cell, bytes):
            return cell
        p, value = self._prefix, cell.value
        style = f' s="{cell.style}"' if cell.style else ""
        kind, inner = "", b""
        if cell.formula:
            inner = f"<{p}f>".encode() + escaped(cell.formula) + f"</{p}f>".encode()
        elif isinstance(value, str):
            kind = ' t="inlineStr"'
            inner = (
                f'<{p}is><{p}t xml:space="preserve">'.encode() + escaped_cell_text(value) + f"</{p}t></{p}is>".encode()
            )
        elif value is not None:
            inner = f"<{p}v>{self._number(value)}</{p}v>".encode()
        return f'<{p}c r="{address(row, column)}"{style}{kind}>'.encode() + inner + f"</{p}c>".encode()

    def _number(self, value: int | float | Decimal | date) -> str:
        from openpyxl.utils import datetime as convert

        to_number: Any = convert.to_excel
        return str(to_number(value, self._epoch) if isinstance(value, date) else value).removesuffix(".0")

    def _edited_row(self, number: int, row: Element, cells: dict[int, NewCell | bytes]) -> bytes:
        line = self._data[row.start : row.end]
        root, added, edits, column = scan(line), dict(cells), [], 0
        places: list[tuple[int, int]] = []
        for cell in root.all("c"):
            column = Area.of(cell.attributes["r"]).left if "r" in cell.attributes else column + 1
            places.append((column, cell.start))
            if column in added:
                edits.append((cell.start, cell.end, self._cell_xml(number, column, added.pop(column))))
            elif "r" not in cell.attributes and added:
                edits.append(attribute_edit(line, cell, r=address(number, column)))
        if not places:
            inner = b"".join(self._cell_xml(number, at, cell) for at, cell in sorted(added.items()))
            return spliced(line, content_edit(line, root, inner, spans=None))
        for at, new in sorted(added.items()):
            following = next((start for other, start in places if other > at), None)
            where = root.inner_end if following is None else following
            edits.append((where, where, self._cell_xml(number, at, new)))
        return spliced(line, [attribute_edit(line, root, spans=None), *edits])

    def _insertions(self, new_rows: dict[int, bytes]) -> list[Edit]:
        if new_rows and not self._rows:
            return content_edit(self._data, self._sheet_data, b"".join(new_rows.values()))
        present = sorted(self._rows)
        edits = []
        for number, xml in new_rows.items():
            at = bisect_left(present, number)
            where = self._rows[present[at]].start if at < len(present) else self._rows[present[-1]].end
            edits.append((where, where, xml))
        return edits

    def _link_edits(self) -> list[Edit]:
        links = self.root.first("hyperlinks")
        new = "".join(
            f'<{self._prefix}hyperlink ref="{place}" xmlns:r="{OFFICE}" r:id={quoteattr(id)}/>'
            for place, id in self._links.items()
            if id
        )
        edits: list[Edit] = []
        if links:
            gone = [one for one in links.children if one.attributes.get("ref") in self._links]
            if gone and len(gone) == len(links.children) and not new:
                return [(links.start, links.end, b"")]
            edits = [(one.start, one.end, b"") for one in gone]
            return edits + (content_edit(self._data, links, new.encode()) if new else [])
        if not new:
            return []
        last = max(one.end for one in self.root.children if one.name in _BEFORE_HYPERLINKS)
        return [(last, last, f"<{self._prefix}hyperlinks>{new}</{self._prefix}hyperlinks>".encode())]

    def _dimension(self) -> list[Edit]:
        element = self.root.first("dimension")
        places = [(row, column) for row, cells in self._puts.items() for column in cells]
        if element is None or not places:
            return []
        old = Area.of(element.attributes["ref"])
        rows, columns = zip(*places, strict=True)
        new = Area(min(old.left, *columns), min(old.top, *rows), max(old.right, *columns), max(old.bottom, *rows))
        return [] if new == old else [attribute_edit(self._data, element, ref=str(new))]


def address(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def formulas_in(data: bytes) -> str:
    """Return the texts of all formulas in a sheet, one a line."""
    return unescape("\n".join(text.decode("utf-8", "replace") for text in _FORMULA_TEXT.findall(data)))


def without_results(data: bytes) -> bytes:
    """Return the XML of a sheet in which no formula has a stored result, so that programs calculate them."""
    return _FORMULA_CELL.sub(rb"\1\2\3", data)


def _relationship(link: Element) -> str:
    return next((value for name, value in link.attributes.items() if name.endswith(":id")), "")


def _grown(ranges: str, table: Area, bottom: int) -> str:
    """Return a list of ranges in which those that cover whole columns of a table reach its new last row."""
    return " ".join(_grown_ranges(ranges.split(), table, bottom))


def _grown_ranges(ranges: Iterable[str], table: Area, bottom: int) -> Iterable[str]:
    for one in ranges:
        area = Area.of(one)
        inside = table.left <= area.left and area.right <= table.right
        whole = area.top <= table.top + 1 and area.bottom == table.bottom
        yield str(Area(area.left, area.top, area.right, bottom)) if inside and whole else one
