"""The workbook looks as expected, keeps the additions of people, and refuses bad files."""

from __future__ import annotations

import io
import random
import sys
import zipfile
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image as Picture
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Border, Side
from openpyxl.worksheet.datavalidation import DataValidation
from PIL import Image as PillowImage

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.workbook import Column, Workbook

COLUMNS = [
    Column("Receipt"),
    Column("Merchant", width=40),
    Column("Amount", kind="money", currency_column="Currency"),
    Column("Currency"),
    Column("Date", kind="date"),
    Column("Audited", kind="datetime"),
    Column("Status", kind="status"),
    Column("Evidence", kind="link"),
]
ROW: dict[str, Any] = {
    "Receipt": "R-1", "Merchant": "Café", "Amount": Decimal("1284.50"), "Currency": "EUR", "Date": date(2026, 9, 14),
    "Audited": datetime(2026, 10, 5, 10, 0, 0, 5, tzinfo=timezone(timedelta(hours=2))), "Status": "match",
    "Evidence": "report <https://report.example/1>",
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "audit.xlsx"


def book(path: Path, **more: Any) -> Workbook:
    return Workbook(path, columns=COLUMNS, key="Receipt", **more)


def sheet(path: Path) -> Any:
    return openpyxl.load_workbook(path)["Audit"]


def test_a_new_workbook_looks_finished(path: Path) -> None:
    assert book(path, title="Expense audit").upsert(ROW) is True
    loaded = openpyxl.load_workbook(path)
    page = loaded["Audit"]
    assert loaded.sheetnames == ["Audit"]
    assert loaded.properties.title == "Expense audit"
    assert [cell.value for cell in page[1]] == [column.name for column in COLUMNS]
    assert page["A1"].font.bold
    assert page["A1"].fill.fgColor.rgb == "001F3864"
    assert (page.freeze_panes, page.auto_filter.ref) == ("A2", "A1:H2")
    assert page.column_dimensions["B"].width == 40
    assert (page.page_setup.orientation, page.page_setup.fitToHeight) == ("landscape", 0)
    assert page.sheet_properties.pageSetUpPr.fitToPage
    assert page.print_title_rows == "$1:$1"
    assert (page["C2"].value, page["C2"].data_type) == (1284.5, "n")
    assert page["C2"].number_format == "[$€-2] #,##0.00"
    assert page["E2"].is_date
    assert page["F2"].value == datetime(2026, 10, 5, 8)
    assert (page["H2"].value, page["H2"].hyperlink.target) == ("report", "https://report.example/1")


@pytest.mark.parametrize(("status", "fill"), [("match", "00C6EFCE"), ("Flagged", "00FFEB9C"), ("missing", "00FFC7CE")])
def test_a_status_has_its_colour_and_changes_it(path: Path, status: str, fill: str) -> None:
    book(path).upsert({**ROW, "Status": "match"})
    book(path).upsert({**ROW, "Status": status})
    assert sheet(path)["G2"].fill.fgColor.rgb == fill


def test_the_same_row_again_does_not_touch_the_file(path: Path) -> None:
    book(path).upsert(ROW)
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
    assert book(path).upsert(dict(ROW)) is False
    assert book(path).upsert({"Receipt": "R-1", "Amount": 1284.5, "Currency": "eur".upper()}) is False
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_a_changed_row_is_brought_up_to_date_in_place(path: Path) -> None:
    assert book(path).upsert_many([ROW, {**ROW, "Receipt": "R-2"}]) == 2
    assert (
        book(path).upsert({"Receipt": "R-1", "Amount": Decimal("9.5"), "Currency": "USD", "Status": "flagged"}) is False
    )
    first, second = book(path).rows()
    assert (first["Amount"], first["Merchant"], first["Status"]) == (Decimal("9.5"), "Café", "flagged")
    assert second["Status"] == "match"
    assert sheet(path)["C2"].number_format == "[$$-409]#,##0.00"


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-5", "@SUM(A1)", '=HYPERLINK("x")', "#N/A", "\t=1"])
def test_text_that_looks_like_a_formula_stays_text(path: Path, text: str) -> None:
    book(path).upsert({**ROW, "Merchant": text, "Status": text, "Evidence": text})
    book(path).upsert({**ROW, "Receipt": "R-2"})  # read and written again
    page = sheet(path)
    for place in ("B2", "G2", "H2"):
        assert (page[place].value, page[place].data_type) == (text, "s")
    with zipfile.ZipFile(path) as packed:
        assert b"<f>" not in packed.read("xl/worksheets/sheet1.xml")
    before = path.read_bytes()
    assert book(path).upsert({**ROW, "Merchant": text, "Status": text, "Evidence": text}) is False
    assert path.read_bytes() == before


def test_text_that_a_workbook_cannot_hold_is_cleaned(path: Path) -> None:
    row = {**ROW, "Merchant": "a\0b\x07\ud800\r\nc" + "x" * 40_000}
    book(path).upsert(row)
    text = str(book(path).rows()[0]["Merchant"])
    assert text.startswith("ab?\nc")
    assert len(text) == 32_767
    before = path.read_bytes()
    book(path).upsert(row)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("address", "opens"),
    [
        *[
            (one, True)
            for one in ("https://a.example/x", "HTTP://a.example", "mailto:a@b.example", "runs/1/report.html")
        ],
        *[
            (one, False)
            for one in (r"\\evil\share", "//evil/share", "file://evil/share", "file:///etc/passwd", "/etc/x")
        ],
        *[(one, False) for one in (r"\/evil/x", r"/\evil\x", " //evil/x", " file://evil/x", "ms-word:ofe|u|x", "C:/x")],
        *[(one, False) for one in ("javascript:x()", "FILE:x", "ht\ttp://a.example")],
    ],
)
def test_links_lead_to_sites_or_relative_paths(path: Path, address: str, opens: bool) -> None:
    for shown in (address, f"report <{address}>"):
        book(path).upsert({**ROW, "Receipt": shown, "Evidence": shown})
    assert all(bool(sheet(path)[cell].hyperlink) is opens for cell in ("H2", "H3"))


def test_a_link_that_could_do_harm_stays_text(path: Path) -> None:
    book(path).upsert({**ROW, "Evidence": "javascript:alert(1)"})
    assert sheet(path)["H2"].hyperlink is None


def test_additions_of_a_person_are_kept(path: Path) -> None:
    book(path).upsert(ROW)
    loaded = openpyxl.load_workbook(path)
    page = loaded["Audit"]
    page.insert_cols(1)
    page["A1"], page["A2"] = "My notes", "ask Anna"
    page["C2"].comment = Comment("looks odd", "Anna")
    loaded.create_sheet("Pivot")["B2"] = "=SUM(1,2)"
    loaded.save(path)
    book(path).upsert_many([{**ROW, "Receipt": "R-2"}, {**ROW, "Status": "missing"}])
    loaded = openpyxl.load_workbook(path)
    page = loaded["Audit"]
    assert (page["A2"].value, page["C2"].comment.text) == ("ask Anna", "looks odd")
    assert (page["H2"].value, page["B3"].value, page["A3"].value) == ("missing", "R-2", None)
    assert loaded["Pivot"]["B2"].value == "=SUM(1,2)"
    assert page.auto_filter.ref == "A1:I3"


def test_a_workbook_with_other_sheets_gets_one_more(path: Path) -> None:
    path.parent.mkdir()
    other = openpyxl.Workbook()
    other.active["A1"] = "mine"
    other.save(path)
    book(path).upsert(ROW)
    loaded = openpyxl.load_workbook(path)
    assert (loaded.sheetnames, loaded["Sheet"]["A1"].value) == (["Sheet", "Audit"], "mine")


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"hello", "not a workbook"),
        (b"", "is empty"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "password-protected"),
        (zipped(readme=b"x"), "not a workbook"),
        (zipped(**{"[Content_Types].xml": b"<x", "xl/workbook.xml": b"<x"}), "not a workbook"),
    ],
)
def test_a_file_that_is_not_a_workbook_is_refused_and_unchanged(path: Path, content: bytes, says: str) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(InvalidUsage, match=says) as caught:
        book(path).upsert(ROW)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content
    assert {one.name for one in path.parent.iterdir()} == {"audit.xlsx", ".audit.xlsx.lock"}


def test_a_cut_off_workbook_is_refused_wherever_it_is_cut(path: Path) -> None:
    book(path).upsert(ROW)
    whole = path.read_bytes()
    for end in range(1, len(whole), 397):
        path.write_bytes(whole[:end])
        with pytest.raises(InvalidUsage):
            book(path).upsert(ROW)


def test_a_workbook_damaged_inside_is_refused_or_read_but_never_a_traceback(path: Path) -> None:
    book(path).upsert(ROW)
    whole = path.read_bytes()
    chance = random.Random(7)
    for _ in range(40):
        hurt = bytearray(whole)
        for _ in range(3):
            hurt[chance.randrange(len(hurt))] = chance.randrange(256)
        path.write_bytes(hurt)
        with suppress(InvalidUsage):
            book(path).upsert({**ROW, "Receipt": "R-2"})
            continue
        assert path.read_bytes() == hurt


def test_other_headings_are_refused_and_unchanged(path: Path) -> None:
    Workbook(path, columns=[Column("Name"), Column("Age")], key="Name").upsert({"Name": "x"})
    before = path.read_bytes()
    with pytest.raises(InvalidUsage, match="other headings"):
        book(path).upsert(ROW)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "Receipt": " "}, {**ROW, "Amount": float("nan")}, {**ROW, "Amount": "12"}, {**ROW, "Amount": True},
        {**ROW, "Date": "2026-01-01"}, {**ROW, "Audited": datetime(2026, 1, 1)}, {**ROW, "Colour": "red"},
        {**ROW, "Currency": "EU"},
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_refused_before_anything_is_written(path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(InvalidUsage):
        book(path).upsert_many([ROW, row])
    assert not path.parent.exists()


def test_a_file_open_in_libreoffice_is_written_with_a_notice(path: Path) -> None:
    book(path).upsert(ROW)
    assert book(path).notices == ()
    (path.parent / ".~lock.audit.xlsx#").write_text(",anna,desk,,;")
    assert book(path).upsert({**ROW, "Receipt": "R-2"}) is True
    assert "LibreOffice" in book(path).notices[0]


def test_a_link_to_the_workbook_and_its_permissions_stay(path: Path) -> None:
    book(path).upsert(ROW)
    path.chmod(0o640)
    link = path.parent / "latest.xlsx"
    link.symlink_to(path)
    book(link).upsert({**ROW, "Receipt": "R-2"})
    assert link.is_symlink()
    assert len(book(path).rows()) == 2
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_bad_folder_or_name_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidUsage, match="give another path"):
        book(tmp_path / "file" / "audit.xlsx").upsert(ROW)
    for wrong in (tmp_path / "audit.csv", tmp_path / "audit"):
        with pytest.raises(InvalidUsage, match=r"\.xlsx"):
            book(wrong)


def test_without_openpyxl_the_error_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InvalidUsage, match=r"pip install 'prefect-holo\[office\]'"):
        book(path).upsert(ROW)


def test_the_moment_of_a_row_reads_the_same_in_any_zone(path: Path) -> None:
    book(path).upsert(ROW)
    before = path.read_bytes()
    book(path).upsert({**ROW, "Audited": ROW["Audited"].astimezone(UTC)})
    assert path.read_bytes() == before


def test_spellings_of_one_key_are_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = Workbook(path, columns=[Column("Order"), Column("Note")], key="Order")
    assert book.upsert({"Order": "4711", "Note": "first"})
    loaded = openpyxl.load_workbook(path)
    loaded["Audit"]["A2"] = 4711.0  # a person typed it as a number
    loaded.save(path)
    for spelling in ("4711 ", "\u00a04711", "4711\u200b"):
        assert not book.upsert({"Order": spelling, "Note": "again"})
    assert [row["Note"] for row in book.rows()] == ["again"]


@pytest.mark.parametrize("last", [59, 60_000])
def test_rows_that_a_person_only_formatted_are_filled(tmp_path: Path, last: int) -> None:
    path = tmp_path / "a.xlsx"
    book = Workbook(path, columns=[Column("Key"), Column("Note")], key="Key")
    book.upsert({"Key": "A", "Note": "first"})
    loaded = openpyxl.load_workbook(path)
    loaded["Audit"].cell(last, 1).border = Border(bottom=Side(style="thin"))
    loaded.save(path)
    book.upsert_many([{"Key": "B", "Note": "second"}, {"Key": "C", "Note": "third"}])
    sheet = openpyxl.load_workbook(path)["Audit"]
    assert [cell.row for cell in sheet["A"] if cell.value] == [1, 2, 3, 4]
    assert sheet.cell(last, 1).border.bottom.style == "thin"
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize(
    ("kind", "key"),
    [("date", date(2026, 1, 31)), ("money", Decimal(100)), ("money", Decimal("1e20")), ("text", "0042")],
)
def test_a_key_of_each_kind_is_found_again(tmp_path: Path, kind: Any, key: object) -> None:
    book = Workbook(tmp_path / "a.xlsx", columns=[Column("Key", kind), Column("Note")], key="Key")
    assert book.upsert({"Key": key, "Note": "a"})
    assert not book.upsert({"Key": key, "Note": "b"})
    assert [row["Note"] for row in book.rows()] == ["b"]


def test_charts_pictures_and_validations_are_no_reason_for_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = Workbook(path, columns=[Column("Key"), Column("Amount", "money")], key="Key")
    book.upsert({"Key": "A", "Amount": 1})
    loaded = openpyxl.load_workbook(path)
    sheet = loaded["Audit"]
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=2))
    sheet.add_chart(chart, "D2")
    PillowImage.new("RGB", (4, 4)).save(tmp_path / "picture.png")
    sheet.add_image(Picture(str(tmp_path / "picture.png")), "D20")
    sheet["A2"].comment = Comment("checked", "Ann")
    validation = DataValidation(type="list", formula1='"A,B"')
    sheet.add_data_validation(validation)
    validation.add("A2:A9")
    sheet.conditional_formatting.add("B2:B9", CellIsRule(operator="greaterThan", formula=["5"]))
    loaded.save(path)
    assert book.upsert({"Key": "B", "Amount": 2})
    kept = openpyxl.load_workbook(path)["Audit"]
    assert (len(kept._charts), len(kept._images), kept["A2"].comment.text) == (1, 1, "checked")
    assert book.upsert({"Key": "C", "Amount": 3}), "a file that openpyxl wrote is written again"
