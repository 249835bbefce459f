"""The main job, as a person runs it: real mail, a real legacy program, a real bucket, a real workbook."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from expense_audit import PortalRecord, Reason, audit_receipt, compare, duplicates, imap_account, was_audited
from legacy_ledger_db import LedgerFile
from prefect import flow
from pydantic import SecretStr
from receipts_mailbox import write_maildir

from holo_tasks import InvalidUsage
from holo_tasks.core.errors import TokenConflict
from holo_tasks.office.receipts import Receipt
from tests.support.agents import agent
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


def demo(out: Path, *options: str) -> str:
    """Run `make demo`'s program and return what it printed."""
    command = [sys.executable, str(ROOT / "flows" / "demo.py"), "--out", str(out), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def rows(workbook: Path) -> list[dict[str, Any]]:
    sheet = openpyxl.load_workbook(workbook)["Audit"]
    header, *body = sheet.iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in body]


@pytest.mark.slow
@pytest.mark.desktop
@pytest.mark.parametrize("letters", few([["--quick"], []]))
def test_the_audit_is_right_on_another_screen_and_a_second_run_does_nothing(tmp_path: Path, letters: list[str]) -> None:
    out = tmp_path / "out"
    options = ["--size", "1600x1000", "--font-size", "13", "--position", "420,170", "--seed", "3", *letters]
    demo(out, *options)
    sent = write_maildir(tmp_path / "mailbox", one_of_each=bool(letters))
    expected = [item for item in sent if item.outcome != "not_a_receipt"]
    found = {row["Receipt"]: row for row in rows(out / "expense-audit.xlsx")}
    assert len(found) == len(expected) == (6 if letters else 15)
    words = {
        "match": "match",
        "no_transaction": "missing: no transaction",
        "unreadable": "missing: receipt cannot be read",
    }
    for item in expected:
        row = found[item.receipt_id]
        assert row["Status"] == words.get(item.outcome, f"flagged: {(item.flag_reason or '').lower()}"), item
        if item.amount is not None:
            assert Decimal(str(row["Amount"])).quantize(Decimal("0.01")) == item.amount
            assert row["Reference"] == item.reference
            assert row["Currency"] == item.currency
            assert isinstance(row["Date"], datetime)
        if item.ledger_amount is not None:
            assert Decimal(str(row["Ledger amount"])).quantize(Decimal("0.01")) == item.ledger_amount
    ledger = LedgerFile(out / "meridian.db")
    wanted = sorted((item.reference, item.flag_reason) for item in expected if item.flag_reason)
    assert sorted((flag.reference, flag.reason) for flag in ledger.flags()) == wanted
    assert {row["Flag"] for row in found.values() if row["Flag"]} == {str(flag.id) for flag in ledger.flags()}

    attempts, workbook = len(ledger.journal()), (out / "expense-audit.xlsx").read_bytes()
    report = (out / "expense-audit.html").read_text()
    said = demo(out, *options)
    assert "0 steps in" in said
    assert len(ledger.journal()) == attempts
    assert (out / "expense-audit.xlsx").read_bytes() == workbook
    assert (out / "expense-audit.html").read_text() == report
    password = (out / "portal-password").read_text()
    assert password not in report
    assert password not in said
    for path in [*(out / "holo").rglob("*"), *(out / "s3" / "data").rglob("*")]:
        if path.is_file():
            assert password.encode() not in path.read_bytes(), path


def receipt(**fields: Any) -> Receipt:
    base = {
        "receipt_id": "R-1",
        "message_id": "m",
        "subject": "s",
        "kind": "receipt",
        "merchant": "Café Grünwald",
        "amount": Decimal("84.20"),
        "currency": "EUR",
        "date": None,
        "reference": "TX-10563",
        "problems": (),
    }
    return Receipt.model_validate({**base, **fields})


def record(**fields: Any) -> PortalRecord:
    base = {"found": True, "merchant": "Café Grünwald", "amount": Decimal("84.20"), "currency": "EUR"}
    return PortalRecord.model_validate({**base, **fields})


@pytest.mark.parametrize(
    ("ledger", "duplicate_of", "reason"),
    [
        ({}, None, None),
        ({"merchant": "CAFE GRUNWALD"}, None, None),
        ({"merchant": "Cafe Grunwa1d"}, None, None),
        ({"amount": Decimal("84.2")}, None, None),
        ({"amount": Decimal("84.02")}, None, "Wrong amount"),
        ({"amount": None}, None, "Wrong amount"),
        ({"currency": "CHF"}, None, "Wrong amount"),
        ({"merchant": "UNKNOWN MERCHANT 0042"}, None, "Unknown merchant"),
        ({"merchant": None}, None, "Unknown merchant"),
        ({}, "R-0", "Duplicate receipt"),
    ],
)
def test_receipt_and_record_are_compared_as_a_person_would(
    ledger: dict[str, Any], duplicate_of: str | None, reason: Reason | None
) -> None:
    verdict = compare(receipt(), record(**ledger), duplicate_of)
    assert (verdict[0] if verdict else None) == reason
    if verdict:
        assert len(verdict[1]) >= 10
        assert verdict[1].isascii()


async def test_a_receipt_that_changed_is_not_taken_for_done_and_the_others_are_looked_up(
    prefect: str, tmp_path: Path
) -> None:
    done, other = receipt(kind="unreadable"), receipt(receipt_id="R-2", kind="unreadable")
    looked_up: list[bool] = []

    @flow(name="around", persist_result=False)
    async def around() -> None:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path):
                await audit_receipt(done, None)
                changed = done.model_copy(update={"amount": Decimal(1)})
                looked_up.extend(was_audited(one, None) for one in (changed, other, done))
                with pytest.raises(TokenConflict):
                    await audit_receipt(changed, None)

    await around()
    assert looked_up == [False, False, True]


def test_only_the_later_of_two_equal_receipts_is_a_duplicate() -> None:
    first, second = receipt(receipt_id="R-1"), receipt(receipt_id="R-2")
    other = receipt(receipt_id="R-3", amount=Decimal(1))
    assert duplicates([first, second, other]) == {"R-1": None, "R-2": "R-1", "R-3": None}


def test_an_imap_address_is_read_and_a_password_in_it_is_refused() -> None:
    account = imap_account("imaps://a%40b@mail.example:9/Receipts", SecretStr("x"))
    assert (account.host, account.port, account.user, account.folder) == ("mail.example", 9, "a@b", "Receipts")
    for url in ("imaps://a:secret@mail.example/", "pop3://a@b", "imaps:///INBOX"):
        with pytest.raises(InvalidUsage):
            imap_account(url, SecretStr("x"))
    with pytest.raises(InvalidUsage, match="Secret"):
        imap_account("imaps://a@mail.example/INBOX", None)
