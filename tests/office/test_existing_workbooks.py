"""Rows are added to workbooks that other programs made, and everything else in the file stays byte by byte.

`workbooks/xlsxwriter.xlsm` was made by XlsxWriter: a table with a totals row and a calculated column, a data bar, a
sparkline, a drop-down over another sheet, a comment, a chart and macros. `workbooks/libreoffice.xlsx` is the same
without totals and macros, saved by LibreOffice.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import warnings
import zipfile
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Protection
from openpyxl.worksheet.formula import ArrayFormula
from openpyxl.worksheet.table import Table

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.read_rows import read_rows
from holo_tasks.office.workbook import Column, Workbook

pytestmark = pytest.mark.filterwarnings("ignore:.*extension is not supported and will be removed")  # by openpyxl
MADE = Path(__file__).with_name("workbooks")
COLUMNS = [
    Column("Receipt"), Column("Amount", "money", currency="EUR"), Column("Date", "date"), Column("Status", "status"),
]  # fmt: skip
NEW = [
    {"Receipt": "R-3", "Amount": Decimal("5.5"), "Date": date(2026, 2, 3), "Status": "missing"},
    {"Receipt": "R-4", "Amount": 7},
]
SHEET = "xl/worksheets/sheet1.xml"
RELATIONSHIPS = "xl/worksheets/_rels/sheet1.xml.rels"


def workbook(path: Path, **more: str) -> Workbook:
    return Workbook(path, columns=COLUMNS, key="Receipt", **more)


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copy(MADE / name, folder / name))


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def changed_parts(before: Mapping[str, bytes], path: Path) -> set[str]:
    """Return the names of the parts that were changed, added or removed."""
    after = parts(path)
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def repacked(path: Path, changes: Mapping[str, bytes | str]) -> dict[str, bytes]:
    """Replace and add parts of a workbook, and return all its parts."""
    content = {**parts(path), **{name: new.encode() if isinstance(new, str) else new for name, new in changes.items()}}
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in content.items():
            packed.writestr(name, data)
    return content


def replaced(path: Path, part: str, old: str, new: str) -> dict[str, bytes]:
    """Replace text in a part of a workbook, and return all its parts."""
    text = parts(path)[part].decode()
    assert old in text
    return repacked(path, {part: text.replace(old, new)})


def in_libreoffice(paths: list[Path], folder: Path) -> dict[str, list[list[str]]]:
    """Return the rows of each sheet of workbooks as LibreOffice shows them, by ``workbook-sheet``."""
    options = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    profile = f"-env:UserInstallation=file://{folder}/profile"
    words = ["soffice", profile, "--headless", "--convert-to", options, "--outdir", folder, *paths]
    subprocess.run(words, check=True, timeout=240, capture_output=True)
    return {one.stem: list(csv.reader(one.open(encoding="utf-8"))) for one in folder.glob("*.csv")}


@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice is not installed")
def test_libreoffice_shows_the_rows_and_calculates_formulas(tmp_path: Path) -> None:
    paths = [copied(name, tmp_path) for name in ("xlsxwriter.xlsm", "libreoffice.xlsx")]
    for path in paths:
        assert workbook(path).upsert_many([*NEW, {"Receipt": "R-1", "Status": "flagged"}]) == 2
    shown = in_libreoffice(paths, tmp_path)
    rows = [row[:5] for row in shown["xlsxwriter-Audit"]]
    assert rows[1:] == [
        ["R-1", "10", "01/02/2026", "flagged", "5"],
        ["R-2", "20", "01/03/2026", "flagged", "10"],
        ["R-3", "5.5", "02/03/2026", "missing", "2.75"],
        ["R-4", "7", "", "", "3.5"],
        ["Total", "42.5", "", "", ""],
    ]
    assert shown["xlsxwriter-Lists"][0] == ["match", "", "42.5"], "a formula in another sheet is calculated anew"
    assert [row[:4] for row in shown["libreoffice-Audit"]] == [row[:4] for row in rows[:5]]


def test_only_parts_with_new_rows_change(tmp_path: Path) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    before = parts(path)
    assert workbook(path).upsert_many(NEW) == 2
    with_results = "xl/worksheets/sheet2.xml"  # its formula adds up the table
    assert changed_parts(before, path) == {SHEET, with_results, "xl/tables/table1.xml", "xl/styles.xml"}
    assert parts(path)["xl/vbaProject.bin"] == b"macros of a person"
    assert workbook(path).upsert_many(NEW) == 0
    sheet, untouched = parts(path)[SHEET].decode(), before[SHEET].decode()
    head, tail = untouched.partition("<sheetData>")[0], untouched.partition("</sheetData>")[2]
    assert sheet.startswith(head.replace("A1:F4", "A1:F6"))
    assert sheet.endswith(tail.replace("B2:B3</xm:sqref>", "B2:B5</xm:sqref>").replace('sqref="B2:B3"', 'sqref="B2:B5"')
                          .replace('sqref="D2:D3"', 'sqref="D2:D5"'))  # fmt: skip


def test_the_table_grows_and_its_totals_row_moves_down(tmp_path: Path) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    workbook(path).upsert_many(NEW)
    sheet = openpyxl.load_workbook(path)["Audit"]
    assert (sheet.tables["Receipts"].ref, sheet.tables["Receipts"].autoFilter.ref) == ("A1:F6", "A1:F5")
    assert [cell.value for cell in sheet["A"]] == ["Receipt", "R-1", "R-2", "R-3", "R-4", "Total"]
    assert sheet["B6"].value == "=SUBTOTAL(109,Receipts[Amount])"
    assert [sheet[f"E{row}"].value for row in (4, 5)] == ["=Receipts[[#This Row],[Amount]]*0.5"] * 2
    assert (sheet["E5"].fill.fgColor.rgb, sheet["E5"].number_format) == ("FFEEEEEE", "#,##0.00 €")
    assert (sheet["B5"].number_format, sheet["C4"].number_format) == ("#,##0.00 €", "dd.mm.yyyy")
    assert sheet["D4"].fill.fgColor.rgb == "00FFC7CE"
    assert [row["Receipt"] for row in workbook(path).rows()] == ["R-1", "R-2", "R-3", "R-4"], "the totals are no row"
    assert workbook(path).upsert({"Receipt": "Total", "Amount": 1}), "a key may be called like the totals row"


def test_empty_rows_of_a_table_are_filled_first(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Audit"
    for row in (["Receipt", "Amount", "Date", "Status", "Double"], ["R-1", 1, None, None, "=B2*2"]):
        page.append(row)
    page["E3"], page["G9"], page["E4"] = "=B3*2", "a note beside the table", "=B4*2"
    page["A5"] = "a note below the table"
    page.add_table(Table(displayName="T", ref="A1:E4"))
    book.save(path)
    assert workbook(path).upsert_many(NEW) == 2
    page = openpyxl.load_workbook(path)["Audit"]
    assert [page[f"A{row}"].value for row in (3, 4, 5)] == ["R-3", "R-4", "a note below the table"]
    assert (page.tables["T"].ref, page["E4"].value, page["G9"].value) == ("A1:E4", "=B4*2", "a note beside the table")
    before = path.read_bytes()
    with pytest.raises(InvalidUsage, match="holds something in A5"):
        workbook(path).upsert({"Receipt": "R-5"})
    assert path.read_bytes() == before


def test_totals_that_a_formula_names_are_not_moved(tmp_path: Path) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    before = replaced(path, "xl/worksheets/sheet3.xml", "<f>1+1</f>", "<f>Audit!$B$4*2</f>")
    with pytest.raises(InvalidUsage, match="a formula refers to row 4"):
        workbook(path).upsert_many(NEW)
    assert not changed_parts(before, path)
    for harmless in ("B4*2", "Audit!B40+Audit!B3", "SUM(Audit!B1:B4)"):
        path = copied("xlsxwriter.xlsm", tmp_path)
        replaced(path, "xl/worksheets/sheet3.xml", "<f>1+1</f>", f"<f>{harmless}</f>")
        assert workbook(path).upsert_many(NEW) == 2, harmless


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
EXCEL_365 = {
    "threadedComments/threadedComment1.xml": "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment",
    "slicers/slicer1.xml": "http://schemas.microsoft.com/office/2007/relationships/slicer",
    "pivotTables/pivotTable1.xml": f"{OFFICE}/pivotTable",
    "ctrlProps/ctrlProp1.xml": f"{OFFICE}/ctrlProp",
    "queryTables/queryTable1.xml": f"{OFFICE}/queryTable",
    "embeddings/oleObject1.bin": f"{OFFICE}/oleObject",
}
"""Parts that belong to a sheet and that openpyxl drops, and the types of their relationships."""
BESIDE = ("persons/person.xml", "slicerCaches/slicerCache1.xml", "pivotCache/pivotCacheDefinition1.xml")
X14 = (
    '<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}" xmlns:x14="http://schemas.microsoft.com/office/'
    'spreadsheetml/2009/9/main"><x14:dataValidations count="1" xmlns:xm="http://schemas.microsoft.com/office/excel/2006/'
    'main"><x14:dataValidation type="list"><x14:formula1><xm:f>Lists!$A$1:$A$3</xm:f></x14:formula1><xm:sqref>{range}'
    "</xm:sqref></x14:dataValidation></x14:dataValidations></ext>"
)


def test_parts_that_openpyxl_drops_are_kept(tmp_path: Path) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    added = {f"xl/{name}": f"<part>{name}</part>" for name in (*EXCEL_365, *BESIDE)}
    relationships = parts(path)[RELATIONSHIPS].decode()
    more = "".join(
        f'<Relationship Id="rIdX{number}" Type="{kind}" Target="../{name}"/>'
        for number, (name, kind) in enumerate(EXCEL_365.items())
    )
    added[RELATIONSHIPS] = relationships.replace("</Relationships>", f"{more}</Relationships>")
    added[SHEET] = (
        parts(path)[SHEET].decode().replace("<extLst><ext xmlns", X14.replace("{range}", "D2:D3 H4") + "<ext xmlns", 1)
    )
    before = repacked(path, added)
    assert workbook(path).upsert_many(NEW) == 2
    changed = changed_parts(before, path)
    assert changed == {SHEET, "xl/worksheets/sheet2.xml", "xl/tables/table1.xml", "xl/styles.xml"}
    assert b"<xm:sqref>D2:D5 H4</xm:sqref>" in parts(path)[SHEET]


def test_an_update_leaves_the_table_and_other_rows_alone(tmp_path: Path) -> None:
    path = copied("libreoffice.xlsx", tmp_path)
    before = parts(path)
    assert not workbook(path).upsert({"Receipt": "R-1", "Amount": 10, "Status": "match"})
    assert not changed_parts(before, path), "a format of a person is no reason to write"
    assert not workbook(path).upsert({"Receipt": "R-1", "Amount": 11, "Date": date(2026, 1, 2)})
    changed = changed_parts(before, path)
    assert changed <= {SHEET, "xl/worksheets/sheet2.xml", "xl/workbook.xml"}
    old, new = (re.findall(r"<row .*?</row>", data[SHEET].decode()) for data in (before, parts(path)))
    assert (old[0], len(old)) == (new[0], len(new))
    assert new[1] != old[1]


@pytest.mark.parametrize(("attribute", "refused"), [('sheet="1"', True), ('sheet="0"', False), ("", False)])
def test_a_table_in_a_protected_sheet_does_not_grow(tmp_path: Path, attribute: str, refused: bool) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    before = replaced(path, SHEET, "</sheetData>", f"</sheetData><sheetProtection {attribute}/>")
    if refused:
        with pytest.raises(InvalidUsage, match="the sheet is protected"):
            workbook(path).upsert_many(NEW)
        assert not changed_parts(before, path)
        assert workbook(path).upsert({"Receipt": "R-1", "Status": "match"}) is False, "nothing differs"
    else:
        assert workbook(path).upsert_many(NEW) == 2


def protected_form(path: Path, *, range_of: str = "", password: str = "") -> dict[str, bytes]:
    """Write a protected sheet in which Status is unlocked in rows 2 to 3, and all of column D (Note)."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Audit"
    for row in (("Receipt", "Amount", "Status", "Note"), ("R-1", 5, None, None)):
        sheet.append(row)
    unlocked = Protection(locked=False)
    for place in ("C2", "C3", "A3", "B3"):
        sheet[place].protection = unlocked
    sheet.column_dimensions["D"].protection = unlocked
    sheet.protection.sheet = True
    book.save(path)
    guard = f' password="{password}"' if password else ""
    ranges = f'<protectedRanges><protectedRange sqref="{range_of}" name="a"{guard}/></protectedRanges>'
    if range_of:
        text = parts(path)[SHEET].decode()
        repacked(path, {SHEET: re.sub(r"(<sheetProtection[^>]*/>)", rf"\1{ranges}", text)})
    return parts(path)


def form(path: Path) -> Workbook:
    columns = [Column("Receipt", "text"), Column("Amount", "money"), Column("Status", "text"), Column("Note", "text")]
    return Workbook(path, columns=columns, key="Receipt")


def test_unlocked_cells_of_a_protected_sheet_are_written(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    protected_form(path)
    assert not form(path).upsert({"Receipt": "R-1", "Status": "match", "Note": "seen"})
    assert form(path).upsert({"Receipt": "R-2", "Amount": 7, "Status": "open", "Note": "new"}), "row 3 is unlocked"
    sheet = openpyxl.load_workbook(path)["Audit"]
    assert [cell.value for cell in sheet[2]] == ["R-1", 5, "match", "seen"]
    assert [cell.value for cell in sheet[3]] == ["R-2", 7, "open", "new"]
    assert sheet.protection.sheet
    assert [cell.protection.locked for cell in sheet[2]] == [True, True, False, False]
    assert not any(cell.protection.locked for cell in sheet[3])


@pytest.mark.parametrize(
    ("range_of", "password", "row", "locked"),
    [
        ("", "", {"Receipt": "R-1", "Status": "match", "Amount": 6}, "B2"),
        ("B2:B9 F1", "", {"Receipt": "R-1", "Amount": 6}, ""),
        ("B2:B9", "CC1A", {"Receipt": "R-1", "Amount": 6}, "B2"),
        ("A2:C9", "", {"Receipt": "R-3", "Amount": 6, "Status": "x"}, ""),
    ],
)
def test_a_locked_cell_is_refused_by_name(
    tmp_path: Path, range_of: str, password: str, row: dict[str, object], locked: str
) -> None:
    path = tmp_path / "form.xlsx"
    before = protected_form(path, range_of=range_of, password=password)
    if not locked:
        form(path).upsert(row)
        assert changed_parts(before, path)
        return
    with pytest.raises(InvalidUsage, match=f"Cell {locked} in sheet 'Audit' of .* is locked"):
        form(path).upsert(row)
    assert not changed_parts(before, path), "not even the unlocked cell is written"


def test_a_row_below_the_unlocked_ones_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    before = protected_form(path)
    with pytest.raises(InvalidUsage, match=r"Cell A4 .* is locked"):
        form(path).upsert_many([{"Receipt": "R-2", "Amount": 7}, {"Receipt": "R-3", "Amount": 8}])
    assert not changed_parts(before, path)


def test_no_headings_are_written_into_an_empty_protected_sheet(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Audit"
    book.active.protection.sheet = True
    book.save(path)
    with pytest.raises(InvalidUsage, match=r"Cell A1 .* is locked"):
        form(path).upsert({"Receipt": "R-2"})


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (lambda sheet: sheet.merge_cells("C2:D3"), "R-2", "Cell C3 .* covered by the merged cells C2:D3"),
        (lambda sheet: sheet.merge_cells("C2:D3"), "R-1", ""),
        (lambda sheet: sheet.__setitem__("C2", ArrayFormula("C2:C3", "=A2:A3")), "R-2", "Cell C3 .* several cells"),
        (lambda sheet: sheet.__setitem__("C2", ArrayFormula("C2", "=A2")), "R-2", ""),
    ],
)
def test_no_cell_is_written_that_nobody_would_see(tmp_path: Path, change: Any, key: str, said: str) -> None:
    path = tmp_path / "joined.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Audit"
    for row in (("Receipt", "Amount", "Status", "Note"), ("R-1", 5), ("R-2", 6)):
        book.active.append(row)
    change(book.active)
    book.save(path)
    before = parts(path)
    if not said:
        assert not form(path).upsert({"Receipt": key, "Status": "match"})
        return
    with pytest.raises(InvalidUsage, match=said):
        form(path).upsert({"Receipt": key, "Status": "match"})
    assert not changed_parts(before, path)


def test_a_calculation_chain_goes_only_if_formulas_move(tmp_path: Path) -> None:
    for name, is_kept in (("xlsxwriter.xlsm", False), ("libreoffice.xlsx", True)):
        path = copied(name, tmp_path)
        book, types = "xl/_rels/workbook.xml.rels", "[Content_Types].xml"
        has = parts(path)
        link = f'<Relationship Id="rId99" Type="{OFFICE}/calcChain" Target="calcChain.xml"/></Relationships>'
        entry = '<Override PartName="/xl/calcChain.xml" ContentType="x/y"/></Types>'
        added = {
            book: has[book].decode().replace("</Relationships>", link),
            types: has[types].decode().replace("</Types>", entry),
            "xl/calcChain.xml": '<calcChain><c r="B4" i="1"/></calcChain>',
        }
        repacked(path, added)
        workbook(path).upsert_many(NEW)
        after = parts(path)
        for part, word in ((book, b"calcChain"), (types, b"calcChain")):
            assert (word in after[part]) is is_kept
        assert ("xl/calcChain.xml" in after) is is_kept


def test_days_of_workbooks_that_count_from_1904_are_right(tmp_path: Path) -> None:
    path = copied("libreoffice.xlsx", tmp_path)
    text = parts(path)["xl/workbook.xml"].decode()
    repacked(path, {"xl/workbook.xml": re.sub(r"<workbookPr[^>]*/>", '<workbookPr date1904="1"/>', text)})
    workbook(path).upsert_many(NEW)
    assert openpyxl.load_workbook(path)["Audit"]["C4"].value.date() == date(2026, 2, 3)


def test_a_formula_of_several_cells_is_not_replaced(tmp_path: Path) -> None:
    path = copied("libreoffice.xlsx", tmp_path)
    text = parts(path)[SHEET].decode()
    shared = re.sub(r'(<c r="B2"[^>]*>)', r'\1<f t="shared" ref="B2:B3" si="0">5+5</f>', text)
    before = repacked(path, {SHEET: shared})
    with pytest.raises(InvalidUsage, match=r"Cell B2 .* holds the formula of several cells"):
        workbook(path).upsert({"Receipt": "R-1", "Amount": 12})
    assert not changed_parts(before, path)


def test_sheets_with_prefixed_names_and_rows_without_numbers_are_read_and_written(tmp_path: Path) -> None:
    """Some exporters write every element with a prefix, and rows and cells without addresses."""
    path = copied("libreoffice.xlsx", tmp_path)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = (
        "<x:row>"
        + "".join(f'<x:c t="inlineStr"><x:is><x:t>{{{at}}}</x:t></x:is></x:c>' for at in range(4))
        + "</x:row>"
    )
    rows = row.format(*(one.name for one in COLUMNS)) + row.format("R-1", "", "", "match")
    repacked(path, {
        SHEET: f'<x:worksheet xmlns:x="{main}"><x:sheetData>{rows}</x:sheetData></x:worksheet>', RELATIONSHIPS: "<a/>",
    })  # fmt: skip
    assert workbook(path).upsert_many([*NEW, {"Receipt": "R-1", "Status": "flagged"}]) == 2
    assert [row["Status"] for row in workbook(path).rows()] == ["flagged", "missing", None]
    assert openpyxl.load_workbook(path)["Audit"]["A4"].value == "R-4"


def test_a_sheet_is_added_beside_those_of_a_person(tmp_path: Path) -> None:
    path = copied("xlsxwriter.xlsm", tmp_path)
    before = parts(path)
    assert workbook(path, sheet="Run").upsert_many(NEW) == 2
    added = {"xl/worksheets/sheet4.xml", "xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"}
    assert changed_parts(before, path) == {*added, "[Content_Types].xml"}
    sheet = openpyxl.load_workbook(path)["Run"]
    assert ([cell.value for cell in sheet["A"]], sheet.freeze_panes) == (["Receipt", "R-3", "R-4"], "A2")
    assert (sheet["A1"].font.bold, sheet["A1"].fill.fgColor.rgb) == (True, "001F3864")


def test_links_are_added_and_replaced(tmp_path: Path) -> None:
    columns = [Column("Receipt"), Column("Notes", "link")]
    path = copied("xlsxwriter.xlsm", tmp_path)
    book = Workbook(path, columns=columns, key="Receipt")
    book.upsert_many([{"Receipt": "R-2", "Notes": "old <a&b.html>"}, {"Receipt": "R-9", "Notes": "https://a.example"}])
    assert not book.upsert({"Receipt": "R-2", "Notes": "new <c.html>"})
    sheet = openpyxl.load_workbook(path)["Audit"]
    assert (sheet["F3"].value, sheet["F3"].hyperlink.target) == ("new", "c.html")
    assert sheet["F4"].hyperlink.target == "https://a.example"
    assert b"a&amp;b.html" not in parts(path)[RELATIONSHIPS]
    before = path.read_bytes()
    assert not book.upsert({"Receipt": "R-2", "Notes": "new <c.html>"})
    assert path.read_bytes() == before
    assert not book.upsert({"Receipt": "R-2", "Notes": "no link </etc/x>"})
    assert openpyxl.load_workbook(path)["Audit"]["F3"].hyperlink is None


def test_many_writes_add_few_styles(tmp_path: Path) -> None:
    path = copied("libreoffice.xlsx", tmp_path)
    for number in range(6):
        workbook(path).upsert({"Receipt": f"N-{number}", "Status": ("match", "flagged", "missing")[number % 3]})
        if number == 2:
            styles = parts(path)["xl/styles.xml"]
    assert parts(path)["xl/styles.xml"] == styles


def test_parts_with_entities_are_refused(tmp_path: Path) -> None:
    path = copied("libreoffice.xlsx", tmp_path)
    text = re.sub(r"(<\?xml[^>]*>)", r'\1<!DOCTYPE worksheet [<!ENTITY a "aaaa">]>', parts(path)[SHEET].decode())
    before = repacked(path, {SHEET: text})
    with pytest.raises(InvalidUsage, match="is damaged"):
        workbook(path).upsert_many(NEW)
    assert not changed_parts(before, path)


def test_a_filter_of_a_person_covers_the_new_rows(tmp_path: Path) -> None:
    """Excel keeps the area of a filter twice: in the sheet, and in a hidden name."""
    path = tmp_path / "a.xlsx"
    workbook(path).upsert(NEW[0])
    assert "'Audit'!$A$1:$D$2" in parts(path)["xl/workbook.xml"].decode()
    workbook(path).upsert_many([{"Receipt": "R-8"}, {"Receipt": "R-9"}])
    assert "'Audit'!$A$1:$D$4" in parts(path)["xl/workbook.xml"].decode()
    assert openpyxl.load_workbook(path)["Audit"].auto_filter.ref == "A1:D4"


@pytest.mark.parametrize("name", ["xl/worksheets/sheet1.xml", "XL/worksheets/Sheet1.xml"])
def test_a_package_with_two_parts_of_one_name_is_refused(tmp_path: Path, name: str) -> None:
    """The rows went into the first part, and programs read the second one."""
    path = tmp_path / "a.xlsx"
    book = workbook(path, sheet="Orders")
    book.upsert({"Receipt": "A-1", "Amount": 1})
    with zipfile.ZipFile(path, "a") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package.writestr(name, package.read("xl/worksheets/sheet1.xml"))
    before = path.read_bytes()
    with pytest.raises(InvalidUsage, match="is damaged"):
        book.upsert({"Receipt": "A-2", "Amount": 2})
    assert path.read_bytes() == before
    with pytest.raises(InvalidUsage, match="not a readable workbook"):
        read_rows(path)


def test_a_sheet_whose_name_differs_in_case_is_the_same_one(tmp_path: Path) -> None:
    """Excel repairs a workbook with two sheets whose names differ in case only."""
    path = tmp_path / "a.xlsx"
    workbook(path, sheet="orders").upsert({"Receipt": "A-1", "Amount": 1})
    book = workbook(path, sheet="Orders")
    assert book.has_sheet()
    book.upsert({"Receipt": "A-2", "Amount": 2})
    assert openpyxl.load_workbook(path).sheetnames == ["orders"]
    assert [row["Receipt"] for row in book.rows()] == ["A-1", "A-2"]
