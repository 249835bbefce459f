"""The main example as a person runs it: real mail, a real legacy program, a real bucket, a real workbook."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from legacy_ledger_db import LedgerFile
from prefect import flow
from pydantic import SecretStr
from receipts_mailbox import MANGLED_SAYS, write_maildir
from s3_server import S3Server

from expense_audit import _audited, audit_receipt
from holo_tasks import NeedsPerson
from holo_tasks.audit import open_trace
from holo_tasks.core.errors import TokenConflict
from holo_tasks.core.events import SubgoalClosed, SubgoalOpened
from holo_tasks.office.mailbox import Letter
from holo_tasks.office.workbook import Workbook
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from holo_tasks.safety.records.items import Items
from receipts.ask_person import IN_THE_NOTE, LEAVE_OUT
from receipts.finding import COLUMNS, Finding, row_of, too_many_in_a_row
from receipts.ledger_record import PortalRecord, Reason, compare
from receipts.receipt import Receipt, earlier_receipt_id, receipt_id, short_id
from receipts.selection import Selection, as_known_before, by_transaction, duplicates, was_audited
from tests.faults.faults import IDLE
from tests.support import warm
from tests.support.agents import agent
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

ROOT = Path(__file__).parent.parent.parent


SHARED = """
import runpy, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.support import prefect_shared
with prefect_shared.in_its_place(Path(sys.argv[2])):
    del sys.argv[:3]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def demo(out: Path, *options: str) -> str:
    """Run `make demo`'s program and return its output. With few letters it uses a reduced Prefect server, as other
    tests do.

    That server stores no events, and calls SQLite without threads.
    """
    command = [sys.executable, str(ROOT / "flows" / "demo.py"), "--out", str(out), *options]
    if "--quick" in options:
        command[1:1] = ["-c", SHARED, str(ROOT), str(out.with_name("recording"))]
    env = {**os.environ, **{f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "0" for service in IDLE}}
    done = warm.run_script(command, env=env, stderr=subprocess.STDOUT, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def rows(workbook: Path) -> list[dict[str, Any]]:
    sheet = openpyxl.load_workbook(workbook)["Audit"]
    header, *body = sheet.iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in body]


@pytest.mark.slow
@pytest.mark.desktop
@pytest.mark.parametrize("letters", few([["--quick"], []]))
def test_the_audit_is_right_on_another_screen_and_a_second_run_changes_nothing(
    tmp_path: Path, letters: list[str]
) -> None:
    out = tmp_path / "out"
    options = ["--size", "1100x720", "--font-size", "13", "--position", "140,70", "--seed", "3", *letters]
    printed = demo(out, *options)
    sent = write_maildir(tmp_path / "mailbox", one_of_each=bool(letters))
    expected = [item for item in sent if item.outcome != "not_a_receipt"]
    found = {row["Receipt"]: row for row in rows(out / "expense-audit.xlsx")}
    assert len(found) == len(expected) == (6 if letters else 15)
    words = {
        "match": "match",
        "no_transaction": "missing: no transaction",
        "unreadable": "match",  # with the person's answer
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
    # The model processed the first half, and its runs were compiled into a playbook, which processed the rest. A person
    # read one item. All reports must say so.
    half = len(expected) // 2
    by = {item.receipt_id: str(found[item.receipt_id]["By"]) for item in expected}
    assert {by[item.receipt_id] for item in expected[:half]} == {"model"}
    assert sum("playbook" in by[item.receipt_id] for item in expected[half:]) > half // 2
    (read,) = (item.receipt_id for item in expected if item.outcome == "unreadable")
    assert by[read].endswith("person")
    assert "{Reference}; {Amount:.2f} {Currency}; {Merchant}".format(**found[read]) == MANGLED_SAYS
    assert "look-up.playbook.yaml" in printed
    assert "by the playbook (mean of" in printed
    assert printed.count("VALID") == 2, "of both runs"
    closed = layers_told(str(found[read]["Evidence"]), out)
    assert (f"Ask a person what {short_id(read)} says", "person") in closed
    assert "playbook" in {layer for _, layer in closed}
    closed = [(title, layer) for title, layer in closed if layer]
    counts = Counter(layer for _, layer in closed)
    told = ", ".join(f"{count} by {layer}" for layer, count in counts.most_common())
    assert f"layers that answered the sub-goals: {told}" in printed
    shown = {short_id(receipt): layers for receipt, layers in by.items()}
    for line in (line for line in printed.splitlines() if "│" in line):
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        if cells[0]:  # otherwise the row continues on a second line
            assert shown.pop(cells[0], cells[-2]) == cells[-2]
    assert not shown, "each item has a row in the printed table"

    ledger = LedgerFile(out / "meridian.db")
    wanted = sorted((item.reference, item.flag_reason) for item in expected if item.flag_reason)
    assert sorted((flag.reference, flag.reason) for flag in ledger.flags()) == wanted
    assert {row["Flag"] for row in found.values() if row["Flag"]} == {str(flag.id) for flag in ledger.flags()}

    attempts, workbook = len(ledger.journal()), (out / "expense-audit.xlsx").read_bytes()
    report = (out / "expense-audit.html").read_text()
    for item in expected[:half]:
        told = r'</bdi></td><td><bdi>[^<]*</bdi></td><td>model</td><td class="num">\$\d'
        assert re.search(rf"<td><bdi>{item.receipt_id}{told}", report), "the second report includes the first half"
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


def layers_told(trace: str, out: Path) -> list[tuple[str, str]]:
    """Return the sub-goals of the demo's trace in the bucket, and the layers that answered them."""
    with S3Server(out / "s3") as s3:
        keys = {"access_key": SecretStr(s3.access_key), "secret_key": SecretStr(s3.secret_key)}
        found = open_trace(trace, endpoint_url=s3.endpoint, region="us-east-1", **keys)
        told = [record.event for record in found.records()]
    titles = {event.subgoal: event.title for event in told if isinstance(event, SubgoalOpened)}
    return [(titles[event.subgoal], event.layer) for event in told if isinstance(event, SubgoalClosed)]


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


async def test_a_changed_receipt_is_not_taken_as_done_and_the_others_are_found(prefect: str, tmp_path: Path) -> None:
    done, other = receipt(kind="unreadable"), receipt(receipt_id="R-2", kind="unreadable")
    looked_up: list[bool] = []

    @flow(name="around", persist_result=False)
    async def around() -> None:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path):
                await audit_receipt(done, None)
                changed = done.model_copy(update={"amount": Decimal(1)})
                looked_up.extend(was_audited(audit_receipt, one, None) for one in (changed, other, done))
                with pytest.raises(TokenConflict):
                    await audit_receipt(changed, None)

    await around()
    assert looked_up == [False, False, True]


UNREAD = receipt(kind="unreadable", reference=None, amount=None, currency=None, problems=("no total found",))


class Asked:
    """An audit of an unreadable receipt, with a person who gives prepared answers."""

    def __init__(self, folder: Path, *said: tuple[str, str]) -> None:
        self.folder, self.said = folder, list(said)
        self.handoffs = Handoffs(store_at(folder / "holo"))
        self.questions: list[str] = []
        self.done = False

    async def audit(self, *, named: dict[str, str] | None = None, script: list[Any] | None = None) -> Finding:
        @flow(name="around", persist_result=False)
        async def around() -> Finding:
            with ScriptedModel(script or []) as model:
                async with agent(model, PaintedDesktop(), self.folder, handoff=True):
                    try:
                        return await audit_receipt(UNREAD, None, named)
                    finally:
                        self.done = was_audited(audit_receipt, UNREAD, None)

        answering = asyncio.create_task(self._answer())
        try:
            return await around()
        finally:
            answering.cancel()

    async def _answer(self) -> None:
        while self.said:
            for one in await asyncio.to_thread(self.handoffs.waiting):
                self.questions.append(one.question)
                choice, note = self.said.pop(0)
                self.handoffs.answer(one.id, choice, note=note, by="ada")
            await asyncio.sleep(0.1)


async def test_a_receipt_that_a_person_leaves_out_is_missing_and_not_asked_again(prefect: str, tmp_path: Path) -> None:
    asked = Asked(tmp_path, (IN_THE_NOTE, "I asked them."), (LEAVE_OUT, ""))
    found = await asked.audit()
    assert (found.status, found.by) == ("missing: left out by ada", "person")
    first, second = asked.questions
    assert "cannot be read: no total found." in first
    assert "cannot be used. It must have three parts" in second
    assert row_of(await asked.audit()) == row_of(found)
    assert len(asked.questions) == 2


async def test_two_unusable_notes_leave_the_receipt_for_a_person(prefect: str, tmp_path: Path) -> None:
    asked = Asked(tmp_path, (IN_THE_NOTE, "[/] ; ; "), (IN_THE_NOTE, "TX-10563; 84.20; Café"))
    with pytest.raises(NeedsPerson, match=r"cannot be used\. ‘84\.20’ is not one amount"):
        await asked.audit()
    assert not asked.done
    (item,) = Items(store_at(tmp_path / "holo")).all()
    assert (item.token, item.status) == ("R-1", "needs_person")


async def test_a_note_that_repeats_another_receipt_is_flagged_as_its_duplicate(prefect: str, tmp_path: Path) -> None:
    named = by_transaction(UNREAD, [UNREAD, receipt(receipt_id="R-7"), receipt(receipt_id="R-8")])
    answers = [record(reference="TX-10563").model_dump(mode="json"), {"flag": 4, "already": False}]
    script = [step("answer", content=json.dumps(answer)) for answer in answers]
    found = await Asked(tmp_path, (IN_THE_NOTE, "TX-10563; 84.20 EUR; Café Grünwald")).audit(named=named, script=script)
    assert (found.status, found.flag, found.by) == ("flagged: duplicate receipt", "4", "model + person")
    row = row_of(found)
    assert (row["Reference"], row["Amount"], row["Currency"]) == ("TX-10563", Decimal("84.20"), "EUR")
    assert by_transaction(receipt(), [receipt(receipt_id="R-7")]) is None


def test_the_first_of_two_unreadable_receipts_read_by_a_person_is_no_duplicate() -> None:
    other = UNREAD.model_copy(update={"receipt_id": "R-2", "reference": "TX-10563"})
    assert by_transaction(UNREAD, [UNREAD, other]) == {}
    assert by_transaction(UNREAD, [other, receipt(receipt_id="R-2")]) == {"TX-10563": "R-2"}


@pytest.mark.parametrize(
    ("before", "latest", "too_many"),
    [
        *[("rr", "r", True), ("urr", "r", True), ("r", "r", False), ("rmr", "r", False)],
        *[("rr", "u", False), ("ru", "r", False), ("rur", "r", True), ("uuu", "u", False), ("uuu", "r", False)],
    ],
    ids=str,
)
def test_consecutive_failures_end_the_audit_but_unreadable_receipts_do_not(
    before: str, latest: str, too_many: bool
) -> None:
    def of(kind: str) -> Receipt:
        return receipt(amount=None) if kind == "u" else receipt()

    findings = [
        Finding(receipt=of(kind), status="match" if kind == "m" else "handed over: needs person", evidence="")
        for kind in before
    ]
    assert too_many_in_a_row(of(latest), findings) is too_many


def of_message(message_id: str, **fields: Any) -> Receipt:
    unread = {"kind": "unreadable", "reference": None, "amount": None}
    return receipt(
        receipt_id=receipt_id(message_id), message_id=message_id, subject="Your receipt", **{**unread, **fields}
    )


async def test_work_done_under_an_earlier_id_is_reused_only_by_its_own_message(
    prefect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, forged, begun, listed, written = (of_message(f"m{number}") for number in range(5))
    old = {one.message_id: earlier_receipt_id(one.message_id) for one in (honest, forged, begun, listed, written)}
    old["m1"] = old["m0"]  # such a message is easily forged
    monkeypatch.setattr("receipts.selection.earlier_receipt_id", old.__getitem__)
    sheet = Workbook(tmp_path / "audit.xlsx", columns=COLUMNS, key="Receipt")

    def known(*read: Receipt) -> tuple[list[str], dict[str, Finding]]:
        found, before = as_known_before(audit_receipt, sheet, [(letter(), one) for one in read])
        return [one.receipt_id for _, one in found], before

    @flow(name="around", persist_result=False)
    async def around() -> None:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                before = honest.model_copy(update={"receipt_id": old["m0"], "subject": "as it was read then"})
                finding = await audit_receipt(before, None)
                sheet.upsert(row_of(finding))
                assert known(honest, forged) == ([old["m0"], forged.receipt_id], {old["m0"]: finding})
                assert known(forged) == ([forged.receipt_id], {}), (
                    "a forged message must match neither the ledger nor the row"
                )

                assert run.ledger is not None
                with run.ledger.claim(old["m2"], "file flag") as claim:
                    run.ledger.intend(claim, "click", "")
                how: dict[str, Any] = {
                    "status": "needs_person",
                    "reason": "",
                    "trace": "",
                    "flow_run_id": "",
                    "how": {},
                }
                Items(store_at(tmp_path / "holo")).file(old["m3"], "audit receipt", **how)
                sheet.upsert(
                    row_of(Finding(receipt=written.model_copy(update={"receipt_id": old["m4"]}), status="match"))
                )
                ids, done = known(begun, listed, written, of_message("m1", date=date(2026, 10, 1)))
                assert ids == [old["m2"], old["m3"], old["m4"], forged.receipt_id]
                assert done == {}
                old["m1"] = old["m2"]
                assert known(begun, forged)[0] == [begun.receipt_id, forged.receipt_id], (
                    "the owner of the old record is unknown"
                )

    await around()


def letter() -> Letter:
    return Letter("m", "", "", None, "", (), (), "")


async def test_an_unfit_receipt_does_not_affect_the_others(prefect: str, tmp_path: Path) -> None:
    unfit = [receipt(receipt_id=f"R-{number}", reference="TX-" + "1" * 100_001) for number in range(3)]
    conflicting = receipt(receipt_id="R-9", kind="unreadable", amount=None)
    findings: list[Finding] = []

    @flow(name="around", persist_result=False)
    async def around() -> None:
        answer = step("answer", content=record().model_dump_json())
        with ScriptedModel([answer]) as model:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                await audit_receipt(conflicting, None)
                changed = conflicting.model_copy(update={"subject": "another"})
                every = [*unfit, changed, receipt(receipt_id="R-8")]
                work = Selection(every, [], dict.fromkeys(one.receipt_id for one in every), {}, frozenset())
                for one in every:
                    findings.append(await _audited(run, one, work, findings))

    await around()
    assert [one.status for one in findings] == [*["handed over: invalid"] * 4, "match"]
    listed = {item.token: item.status for item in Items(store_at(tmp_path / "holo")).all()}
    assert listed == {f"R-{number}": "invalid" for number in range(3)}


@pytest.mark.parametrize("amount", ["1E+999999999", "1e-999999", "-1000000000"])
def test_an_amount_that_would_fill_the_memory_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="no ledger has such an amount"):
        record(amount=Decimal(amount))


def test_only_the_later_of_two_equal_receipts_is_a_duplicate() -> None:
    first, second = receipt(receipt_id="R-1"), receipt(receipt_id="R-2")
    other = receipt(receipt_id="R-3", amount=Decimal(1))
    assert duplicates([first, second, other]) == {"R-1": None, "R-2": "R-1", "R-3": None}
