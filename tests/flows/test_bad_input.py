"""What is wrong with a flow's parameters is said in one sentence, before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from expense_audit import expense_audit
from receipts_mailbox import write_maildir
from run_goal import run_goal

from holo_tasks import InvalidUsage

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mailbox": "none"}, "Maildir"),
        ({"mailbox": "pop3://a@b"}, "not a mailbox"),
        ({"mailbox": "imaps://a@127.0.0.1:1/INBOX"}, "Secret"),
        ({"workbook": "not-a-workbook.xlsx"}, "not a workbook"),
        ({"workbook": "not-a-folder/audit.xlsx"}, "cannot be"),
        ({"model": "nobody"}, "Prefect UI"),
        ({"max_cost_usd": float("nan")}, "finite"),
        ({"max_cost_usd": -1.0}, "0 or more"),
    ],
)
async def test_an_audit_that_cannot_work_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_maildir(tmp_path / "mail")
    (tmp_path / "not-a-workbook.xlsx").write_text("hello")
    (tmp_path / "not-a-folder").write_text("hello")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidUsage, match=words) as caught:
        await expense_audit(**{"mailbox": "mail", **wrong})
    assert "\n" not in str(caught.value)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name[0] != "."] == before
    assert (tmp_path / "not-a-workbook.xlsx").read_text() == "hello"


@pytest.mark.parametrize(
    ("wrong", "words"), [({"goal": " "}, "empty"), ({"max_cost_usd": float("nan")}, "finite"), ({}, "Prefect UI")]
)
async def test_a_goal_that_cannot_be_pursued_says_so(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidUsage, match=words):
        await run_goal(**{"goal": "Say hello", **wrong})
