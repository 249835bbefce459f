"""Read an Excel table (the XML of a table part), and extend its range."""

from __future__ import annotations

from holo_tasks.office.sheet_part import Area
from holo_tasks.office.xml_spans import attribute_edit, scan, spliced


class TablePart:
    """An Excel table: its area, the rows for data in it, and the formulas of its calculated columns."""

    def __init__(self, part: str, data: bytes) -> None:
        self.part = part
        self._data = data
        self._root = scan(data)
        attributes = self._root.attributes
        self.area = Area.of(attributes["ref"])
        self.has_header = attributes.get("headerRowCount", "1") != "0"
        self.totals = int(attributes.get("totalsRowCount", "0"))
        columns = self._root.first("tableColumns")
        self.formulas: dict[int, str] = {}
        """The formula of each calculated column, by the column's number in the sheet. Array formulas are left out."""
        for number, column in enumerate(columns.children if columns else [], start=self.area.left):
            formula = column.first("calculatedColumnFormula")
            if formula and formula.text and formula.attributes.get("array") not in ("1", "true"):
                self.formulas[number] = formula.text

    @property
    def columns(self) -> range:
        """The numbers of its columns."""
        return range(self.area.left, self.area.right + 1)

    @property
    def last(self) -> int:
        """The last row for data."""
        return self.area.bottom - self.totals

    def grown(self, rows: int) -> bytes:
        """Return the part with the table's range and filter this many rows longer."""
        area = self.area
        edits = [attribute_edit(self._data, self._root, ref=str(_longer(area, rows)))]
        for name in ("autoFilter", "sortState"):
            for element in self._root.walk():
                if element.name == name and "ref" in element.attributes:
                    edits.append(
                        attribute_edit(self._data, element, ref=str(_longer(Area.of(element.attributes["ref"]), rows)))
                    )
        return spliced(self._data, edits)


def _longer(area: Area, rows: int) -> Area:
    return Area(area.left, area.top, area.right, area.bottom + rows)
