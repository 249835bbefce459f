"""Wrong flow parameters are reported in one sentence before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from receipts_mailbox import write_maildir

from expense_audit import expense_audit
from holo_blocks import HoloMailbox
from holo_tasks import InvalidUsage, named_file
from run_goal import run_goal

pytestmark = pytest.mark.usefixtures("prefect")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"mailbox": "nobody"}, "holo-mailbox block 'nobody' cannot be loaded"),
    ({"mailbox": "mail"}, "There is no mail folder"),
    ({"mailbox": "imaps://x@127.0.0.1:9/INBOX"}, "is not the name of a holo-mailbox block"),
    ({"mailbox": "/etc"}, "is not the name of a holo-mailbox block"),
    ({"workbook": "not-a-workbook.xlsx"}, "not a workbook"),
    ({"workbook": "somebody-elses.xlsx"}, "has no sheet ‘Audit’"),
    ({"report": "somebody-elses.html"}, "is not a report"),
    ({"model": "nobody"}, "Prefect UI"),
    ({"max_cost_usd": float("nan")}, "finite"),
    ({"max_cost_usd": -1.0}, "0 or more"),
]


async def test_an_audit_with_wrong_parameters_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path))
    write_maildir(tmp_path / "mail", one_of_each=True)
    await HoloMailbox(maildir=str(tmp_path / "mail")).asave("bad-input", overwrite=True)
    await HoloMailbox(maildir=str(tmp_path / "none")).asave("mail", overwrite=True)
    for name in ("not-a-workbook.xlsx", "somebody-elses.html"):
        (tmp_path / name).write_text("hello")
    openpyxl.Workbook().save(tmp_path / "somebody-elses.xlsx")
    before = contents(tmp_path)
    for wrong, words in WRONG:
        with pytest.raises(InvalidUsage, match=words) as caught:
            await expense_audit(**{"mailbox": "bad-input", **wrong})
        assert "\n" not in str(caught.value)
        assert contents(tmp_path) == before, wrong


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


PLACES = [
    "/tmp/holo-elsewhere.html", "../elsewhere.html", "below/page.html", "below\\page.html", "..", ".html",
    ".bashrc", "x.pth", "authorized_keys", "page.html\n", "page\u202e.html", "~/page.html",
    "x" * 300 + ".html", "a.xlsx",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_file_name_with_a_folder_is_refused(tmp_path: Path, place: str) -> None:
    for ending, name in (
        (".html", place),
        (".xlsx", place.replace(".xlsx", ".xlsm").replace(".html", ".xlsx") + "/x"),
    ):
        with pytest.raises(InvalidUsage, match="is not a file's name") as caught:
            named_file(name, ending, environ={"HOLO_REPORTS": str(tmp_path / "reports")})
        assert "HOLO_REPORTS" in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_a_flow_run_can_choose_a_file_name_but_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path / "reports"))
    for run in (
        run_goal(goal="Say hello", report="../elsewhere.html"),
        expense_audit(report="page.html\n"),
        expense_audit(workbook="../elsewhere.xlsx"),
    ):
        with pytest.raises(InvalidUsage, match="is not a file's name"):
            await run
    assert [path for path in tmp_path.rglob("*") if path.suffix in (".html", ".xlsx")] == []


def test_file_names_resolve_into_the_deployments_folder(tmp_path: Path) -> None:
    env = {"HOLO_HOME": str(tmp_path / "home")}
    assert named_file("Run 7 (März).html", ".html", environ=env) == tmp_path / "home" / "reports" / "Run 7 (März).html"
    assert (tmp_path / "home" / "reports").stat().st_mode & 0o777 == 0o700
    env["HOLO_REPORTS"] = str(tmp_path / "chosen" / "deep")
    assert named_file("audit.XLSX", ".xlsx", environ=env) == tmp_path / "chosen" / "deep" / "audit.XLSX"
    for table in ("rows.csv", "rows.xlsx"):
        assert named_file(table, ".csv", ".xlsx", environ=env) == tmp_path / "chosen" / "deep" / table
    with pytest.raises(InvalidUsage, match=r"ends in \.csv or \.xlsx, such as ‘audit\.csv’"):
        named_file("rows.txt", ".csv", ".xlsx", environ=env)
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text("<!doctype html>")
    chosen = tmp_path / "chosen" / "deep"
    (chosen / "link.html").symlink_to(elsewhere)
    (chosen / "round.html").symlink_to(chosen / "round.html")
    (chosen / "folder.html").mkdir()
    for name, words in (
        ("link.html", "leads elsewhere"),
        ("round.html", "another name"),
        ("folder.html", "not a file"),
    ):
        with pytest.raises(InvalidUsage, match=words):
            named_file(name, ".html", environ=env)


@pytest.mark.parametrize(
    ("wrong", "words"), [({"goal": " "}, "empty"), ({"max_cost_usd": float("nan")}, "finite"), ({}, "Prefect UI")]
)
async def test_a_goal_with_wrong_parameters_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidUsage, match=words):
        await run_goal(**{"goal": "Say hello", **wrong})
