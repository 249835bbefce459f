"""Tables that other programs wrote: every column is read, or the error names the cell."""

from __future__ import annotations

import re
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.read_rows import read_rows
from holo_tasks.office.workbook import Column, Workbook

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


HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>Order</t></is></c></row>'


def with_rows(path: Path, rows: str) -> Path:
    """Save a workbook with these rows in the XML of its sheet."""
    good = saved(path.with_name("good.xlsx"), *ROWS)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, re.sub(rb"<row.*</row>", rows.encode(), source.read(name)))
    return path


def row(number: int, value: int = 7) -> str:
    return f'<row r="{number}"><c r="A{number}"><v>{value}</v></c></row>'


@pytest.mark.parametrize(
    "rows", [f"{row(3)}{HEAD}", f"{HEAD}{row(2, 1)}{row(2, 2)}", HEAD + row(10**12), HEAD + row(-5)]
)
def test_rows_that_are_not_in_order_are_refused_and_not_left_out(tmp_path: Path, rows: str) -> None:
    path = with_rows(tmp_path / "odd.xlsx", rows)
    with pytest.raises(InvalidUsage, match=r"^Row -?\d+ of .* save the file again"):
        read_rows(path)
    book = Workbook(path, columns=[Column("Order", "text")], key="Order", sheet="Sheet")
    with pytest.raises(InvalidUsage, match=r"is damaged|has other headings"):
        book.upsert({"Order": "2"})


def test_the_last_row_of_a_sheet_is_read(tmp_path: Path) -> None:
    assert read_rows(with_rows(tmp_path / "long.xlsx", HEAD + row(1_048_576))) == [{"Order": 7}]


def test_characters_by_number_are_read_and_such_a_text_stays_itself(tmp_path: Path) -> None:
    cell = '<row r="2"><c r="A2" t="inlineStr"><is><t>a_x00E4_b_x005F_x0041__xD83D_</t></is></c></row>'
    path = with_rows(tmp_path / "numbered.xlsx", HEAD.replace("Order", "_x004F_rder") + cell)
    text = "aäb_x0041__xD83D_"
    assert read_rows(path) == [{"Order": text}]
    book = Workbook(path, columns=[Column("Order", "text")], key="Order", sheet="Sheet")
    assert not book.upsert({"Order": text}), "it is there"
    assert book.upsert({"Order": "c_x000D_d"})
    assert [row["Order"] for row in book.rows()] == [text, "c_x000D_d"]
    assert read_rows(path)[1] == {"Order": "c_x000D_d"}
    with zipfile.ZipFile(path) as packed:
        assert b"c_x005F_x000D_d" in packed.read("xl/worksheets/sheet1.xml"), "as Excel writes it"


def test_a_part_that_is_larger_than_the_file_says_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    path = with_rows(tmp_path / "bomb.xlsx", HEAD + " " * (40 << 20))
    data = bytearray(path.read_bytes())
    for entry, size in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        at = data.index(
            b"xl/worksheets/sheet1.xml", data.index(entry) if entry == b"PK\3\4" else data.rindex(b"PK\3\4")
        )
        start = data.rindex(entry, 0, at)
        data[start + size : start + size + 4] = (100).to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidUsage, match="not a readable workbook"):
            read_rows(path)
        with pytest.raises(InvalidUsage, match="is damaged"):
            Workbook(path, columns=[Column("Order", "text")], key="Order", sheet="Sheet").rows()
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
    finally:
        tracemalloc.stop()


def test_deeply_nested_elements_are_refused_at_once(tmp_path: Path) -> None:
    nested = f'<row r="2"><c r="A2" t="inlineStr"><is>{"<r>" * 5000}{"</r>" * 5000}</is></c></row>'
    path = with_rows(tmp_path / "deep.xlsx", HEAD + nested)
    book = Workbook(path, columns=[Column("Order", "text")], key="Order", sheet="Sheet")
    with pytest.raises(InvalidUsage, match="is damaged"):
        book.upsert({"Order": "2"})


def changed(source: Path, name: str, part: str, change: Callable[[str], str], renamed: str = "") -> Path:
    """Save a copy of a package with one changed part, which may get another name."""
    path = source.with_name(name)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for one in old.namelist():
            text = old.read(one).decode().replace(f"{part}.xml", f"{renamed or part}.xml")
            text = change(text) if one.endswith(f"{part}.xml") else text
            new.writestr(one.replace(f"{part}.xml", f"{renamed or part}.xml"), text)
    return path


def with_prefixes(text: str) -> str:
    return re.sub(r"<(/?)(?=[a-zA-Z])", r"<\1x:", text).replace("xmlns=", "xmlns:x=")


@pytest.mark.parametrize(
    ("change", "renamed"), [(str, ""), (str, "orders"), (with_prefixes, "")], ids=["usual", "other part", "prefixes"]
)
def test_a_formula_without_a_stored_result_is_refused_with_its_cell(
    tmp_path: Path, change: Callable[[str], str], renamed: str
) -> None:
    path = saved(tmp_path / "orders.xlsx", ("token", "goal"), ("A-1", '="Post "&A2'))
    path = changed(changed(path, "a.xlsx", "workbook", without_order), "b.xlsx", "sheet1", change, renamed)
    with pytest.raises(InvalidUsage, match=r"Cell B2 of .* open the file in Excel or LibreOffice"):
        read_rows(path)


def without_order(text: str) -> str:
    """Return a workbook part that does not ask programs to calculate everything when they open the file."""
    return text.replace(' fullCalcOnLoad="1"', "")


STORED = '<c r="B2" t="{}"><f>A2</f><v>{}</v></c>'


@pytest.mark.parametrize(("kind", "stored", "value"), [("str", "", ""), ("str", "Post A-1", "Post A-1"), ("n", "0", 0)])
def test_a_stored_result_is_read_also_if_it_is_empty(tmp_path: Path, kind: str, stored: str, value: object) -> None:
    path = saved(tmp_path / "a.xlsx", ("token", "goal"), ("A-1", "=A2"))

    def store(text: str) -> str:
        return re.sub(r'<c r="B2".*?</c>', STORED.format(kind, stored), text)

    current = changed(changed(path, "b.xlsx", "sheet1", store), "c.xlsx", "workbook", without_order)
    assert read_rows(current) == [{"token": "A-1", "goal": value}]


def test_results_that_the_file_asks_to_calculate_are_refused(tmp_path: Path) -> None:
    """XlsxWriter stores 0 for each formula, with the order to calculate all formulas."""
    path = saved(tmp_path / "a.xlsx", ("token", "amount"), ("A-1", "=2*21"))
    path = changed(path, "b.xlsx", "sheet1", lambda text: re.sub(r'<c r="B2".*?</c>', STORED.format("n", "0"), text))
    with pytest.raises(InvalidUsage, match=r"Cell B2 of .* without a current result"):
        read_rows(path)


def cells(text: str, order: str) -> str:
    """Return a sheet whose second row has the cells of these columns, in this order."""
    new = "".join(f'<c r="{one}2"><v>{ord(one)}</v></c>' for one in order)
    return re.sub(r'(<row r="2"[^>]*>).*?</row>', rf"\1{new}</row>", text)


def test_cells_in_any_order_are_read_and_two_in_one_place_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xlsx", *ROWS[:2])
    mixed = changed(path, "b.xlsx", "sheet1", lambda text: cells(text, "CAB"))
    assert read_rows(mixed) == [{"Order": 65, "Customer": 66, "Amount": 67}]
    twice = changed(path, "c.xlsx", "sheet1", lambda text: cells(text, "ABCB"))
    with pytest.raises(InvalidUsage, match="not a readable workbook"):
        read_rows(twice)
    with pytest.raises(InvalidUsage, match="is damaged"):
        Workbook(twice, columns=[Column("Order", "text")], key="Order", sheet="Sheet").upsert({"Order": "1"})


@pytest.mark.parametrize(("area", "refused"), [("A2:A3", True), ("A1:A2", True), ("B2:C2", False), ("A3:A9", False)])
def test_cells_merged_over_several_rows_are_refused(tmp_path: Path, area: str, refused: bool) -> None:
    path = saved(tmp_path / "a.xlsx", *ROWS)
    book = openpyxl.load_workbook(path)
    book.worksheets[0].merge_cells(area)
    book.save(path)
    if refused:
        with pytest.raises(InvalidUsage, match=rf"The cells {area} of .* split them"):
            read_rows(path)
    else:
        assert len(read_rows(path)) == 2


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("Name, first;Amount\nAnn;5\nBob;7\n", {"Name, first": "Ann", "Amount": "5"}),
        ("sep=;\r\nOrder;Amount, EUR\r\nA;5\r\n", {"Order": "A", "Amount, EUR": "5"}),
        ("\r\n\r\nOrder\tAmount\r\nA\t5\r\n", {"Order": "A", "Amount": "5"}),
        ('"Order;1",Amount\nA,5\n', {"Order;1": "A", "Amount": "5"}),
        ("Order\n1,5\n2\n", None),
        ("Order\nA\nB\n", {"Order": "A"}),
    ],
)
def test_the_delimiter_is_found(tmp_path: Path, text: str, row: dict[str, str] | None) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    if row is None:
        with pytest.raises(InvalidUsage, match="more cells than"):
            read_rows(path)
    else:
        assert read_rows(path)[0] == row


@pytest.mark.parametrize("state", ["hidden", "veryHidden", "chart"])
def test_the_first_visible_sheet_is_read(tmp_path: Path, state: str) -> None:
    path = saved(tmp_path / "lists.xlsx", ("hidden",), ("x",))
    book = openpyxl.load_workbook(path)
    book.worksheets[0].sheet_state = "hidden" if state == "chart" else state
    if state == "chart":
        book.create_chartsheet("Chart", 0)
    book.create_sheet("Orders").append(["Order"])
    book["Orders"].append(["00123"])
    book.save(path)
    assert read_rows(path) == [{"Order": "00123"}]
