"""Tables that other programs wrote: every column is read, or the error names the cell."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import openpyxl
import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.read_rows import read_rows

ROWS = (("Order", "Customer", "Amount"), ("00123", "Ann", 5), ("00124", "Bob", 7))


def saved(path: Path, *rows: tuple[object, ...]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(list(row))
    book.save(path)
    return path


@pytest.mark.parametrize("dimension", [b"A1", b"A1:A3", b"A1:ZZ9"])
def test_a_wrong_dimension_of_an_exporter_hides_no_column(tmp_path: Path, dimension: bytes) -> None:
    good, bad = saved(tmp_path / "good.xlsx", *ROWS), tmp_path / "bad.xlsx"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            data = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="%s"' % dimension, source.read(name))
            target.writestr(name, data)
    assert read_rows(bad) == read_rows(good) == [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]


def test_a_formula_without_a_stored_result_is_refused_with_its_cell(tmp_path: Path) -> None:
    path = saved(tmp_path / "orders.xlsx", ("token", "goal"), ("A-1", '="Post "&A2'))
    with pytest.raises(InvalidUsage, match=r"Cell B2 of .* open the file in Excel or LibreOffice"):
        read_rows(path)


def test_the_first_visible_sheet_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path / "lists.xlsx", ("hidden",), ("x",))
    book = openpyxl.load_workbook(path)
    book.worksheets[0].sheet_state = "hidden"
    book.create_sheet("Orders").append(["Order"])
    book["Orders"].append(["00123"])
    book.save(path)
    assert read_rows(path) == [{"Order": "00123"}]
