"""The demo flow's sub-goals have the same effects in the GTK version of the ledger, by accessibility elements."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from legacy_ledger_db import Transaction
from prefect import flow
from receipts_mailbox import transactions, write_maildir

import expense_audit
from expense_audit import file_flag, flag_on_file, look_up
from holo_blocks import HoloMailbox
from holo_tasks import NOT_DONE, Effect, GaveUp, Script, subgoal
from tests.support.agents import agent, events
from tests.support.gtk_ledger import CAFE, PLAYBOOK, Told, gtk_ledger
from tests.support.scripted_model import ScriptedModel, step

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect")]
KINDS = ("match", "wrong_amount", "no_transaction")


def _reading(reference: str, token: str) -> Script:
    return Script(PLAYBOOK, "read-record", reference=reference)


def _filing(reference: str, reason: str, note: str, token: str) -> Script:
    return Script(PLAYBOOK, "file-flag", reference=reference, reason=reason, note=note)


def scripted(known: Any, by: Callable[..., Script], *data: str, effect: Effect | None = None) -> Any:
    """Return a sub-goal of the flow with a script as its only layer."""
    function = inspect.unwrap(known.fn, stop=lambda each: each.__name__ == known.fn.__name__ and each is not known.fn)
    return subgoal(key="{token}", data=data, effect=effect, layers=[by])(function)


LOOK_UP = scripted(look_up, _reading, "reference")
FILE_FLAG = scripted(file_flag, _filing, "reference", "reason", "note", effect=Effect(probe=flag_on_file))


async def worked(folder: Path, desktop: Any, *calls: Callable[[], Any]) -> tuple[list[Any], str]:
    """Return the results of calls in a flow with an agent, and its trace."""
    found: list[Any] = []

    @flow(name="twin", persist_result=False)
    async def around() -> str:
        with ScriptedModel([]) as model:  # a model without replies
            async with agent(model, desktop, folder) as run:
                for call in calls:
                    found.append(await call())
                assert not model.requests
        return run.trace

    return found, await around()


@pytest.mark.long
async def test_the_whole_audit_is_done_by_elements_without_a_model_call(tmp_path: Path, monkeypatch) -> None:
    """The unchanged flow, except for its blocks and the layers of its sub-goals."""
    sent = write_maildir(tmp_path / "mailbox", one_of_each=True)
    mails = sorted((tmp_path / "mailbox").glob("*/*.mail.example*"), key=lambda path: path.name)
    for mail, item in zip(mails, sent, strict=True):
        if item.outcome not in KINDS:
            mail.unlink()
    expected = [item for item in sent if item.outcome in KINDS]
    mailbox = HoloMailbox(maildir=str(tmp_path / "mailbox"))
    signed_on = inspect.unwrap(expense_audit.sign_on.fn)
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path))
    monkeypatch.setattr(expense_audit, "look_up", LOOK_UP)
    monkeypatch.setattr(expense_audit, "file_flag", FILE_FLAG)
    monkeypatch.setattr(expense_audit, "sign_on", subgoal(layers=[lambda: Script(PLAYBOOK, "sign-on")])(signed_on))

    async def block(kind: type, name: str) -> Any:
        return mailbox if kind is HoloMailbox else None

    monkeypatch.setattr(expense_audit, "load_block", block)
    ledger = [Transaction(**row) for row in transactions()]
    async with gtk_ledger(tmp_path, ledger) as (real, file):
        with ScriptedModel([]) as model:
            desktop = Told(real, lambda tree: tree)
            monkeypatch.setattr(expense_audit, "holo_agent", lambda *_, **__: agent(model, desktop, tmp_path))
            counts = await expense_audit.expense_audit(workbook="audit.xlsx", report=None)
            assert not model.requests
        flags = sorted((flag.reference, flag.reason) for flag in file.flags())
    assert flags == sorted((item.reference, item.flag_reason) for item in expected if item.flag_reason)
    assert len(flags) == 1
    assert counts == {"match": 1, "flagged": 1, "missing": 1, "handed over": 0}
    header, *body = openpyxl.load_workbook(tmp_path / "audit.xlsx")["Audit"].iter_rows(values_only=True)
    found = {row[header.index("Receipt")]: dict(zip(header, row, strict=True)) for row in body}
    assert found.keys() == {item.receipt_id for item in expected}
    for item in expected:
        assert found[item.receipt_id]["By"] == "playbook"
        if item.ledger_amount is not None:
            assert Decimal(str(found[item.receipt_id]["Ledger amount"])) == item.ledger_amount
    hit = [event.element for event in events(str(body[0][header.index("Evidence")])) if event.kind == "action"]
    # On a busy machine, names of elements are not awaited, so only some are recorded.
    assert {each["name"] for each in hit if each} & {"Log in", "Reference", "Search", "Save flag"}
    assert desktop.asked > 30


async def test_without_a_tree_a_script_gives_up_and_with_one_it_answers_when_the_model_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gtk_ledger(tmp_path) as (desktop, ledger):
        filing = partial(FILE_FLAG, CAFE.reference, "Wrong amount", "The receipt says 12.60 EUR.", "one")
        with pytest.raises(GaveUp, match="no rule of goal 'file-flag'"):
            await worked(tmp_path, Told(desktop), filing)
        assert not ledger.flags()
        assert not ledger.journal()
        assert (await desktop.elements()).find("label", "MERIDIAN LEDGER - SIGN ON"), "nothing was clicked"

        monkeypatch.setattr("receipts.look_ups.SCRIPTS", PLAYBOOK)

        @flow(name="interrupted", persist_result=False)
        async def looking() -> tuple[Any, int]:
            with ScriptedModel([step("ask_human", question="Which record is it?")]) as model:
                async with agent(model, desktop, tmp_path / "again"):
                    found = await flag_on_file(CAFE.reference, "Wrong amount", "The receipt says 12.60.", "one")
                return found, len(model.requests)

        assert await looking() == (NOT_DONE, 1)
