"""Audit a mailbox of expense receipts against a desktop program that has no API.

The flow reads each receipt from its e-mail, or asks a person to read it. It looks the transaction up on the screen. If
the two differ, it files a flag in the program. Each receipt gets a row in a workbook. A second run repeats no finished
work.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal

from holo_tasks.run.items.earlier_tokens import earlier_work
from prefect import flow, get_run_logger
from pydantic import BaseModel, ConfigDict, Field, field_validator

from holo_blocks import AuditBucket, HoloMailbox, holo_agent, load_block
from holo_tasks import (
    NOT_DONE,
    Effect,
    InvalidUsage,
    LimitReached,
    ModelFailed,
    NeedsPerson,
    NotDone,
    Script,
    SubgoalOptions,
    agent_step,
    cost_guardrail,
    hand_over,
    progress,
    publish_table,
    pursue,
    subgoal,
    write_rows,
)
from holo_tasks.agent.subgoal import is_done
from holo_tasks.audit.pages.report import write_report
from holo_tasks.core.errors import GaveUp, TokenConflict, UnfitItem
from holo_tasks.core.limits.money import usd
from holo_tasks.core.person import HandOff
from holo_tasks.office.mailbox import Letter
from holo_tasks.office.plain import plain_text
from holo_tasks.office.workbook import Workbook
from holo_tasks.run.named_files import page_named, workbook_named
from holo_tasks.run.prefect_edge.log_filter import one_line_errors
from holo_tasks.run.prefect_edge.secret_filter import HushedName
from holo_tasks.run.run import Progress as Story
from holo_tasks.run.run import Run, current_run
from receipts.console import AuditConsole
from receipts.finding import COLUMNS, Finding, efforts, mean_costs, row_of
from receipts.learned import before_the_model, learned
from receipts.money import TOO_MUCH
from receipts.note import EXAMPLE, completed
from receipts.receipt import Receipt, earlier_receipt_id, in_ascii, like_merchant, read_receipt, short_id

PROGRAM = "Meridian Ledger"
SCRIPTS = Path(__file__).with_name("reading_records.playbook.yaml")
"""Playbook that reads a record if the model gives up."""

HANDED_OVER = "handed over"
UNFIT = f"{HANDED_OVER}: invalid"
IN_THE_NOTE, LEAVE_OUT = "it is in the note", "leave it out"
MOST_IN_A_ROW = 3
"""The number of receipts in a row that cannot be finished before the audit ends."""
Reason = Literal["Wrong amount", "Unknown merchant", "Duplicate receipt"]


class PortalRecord(BaseModel):
    """A transaction as the program shows it; all fields but ``found`` are null when there is none."""

    model_config = ConfigDict(frozen=True)

    found: bool
    reference: str | None = None
    merchant: str | None = None
    date: str | None = Field(default=None, description="YYYY-MM-DD")
    amount: Decimal | None = Field(default=None, description="with a decimal point and no thousands separator")
    currency: str | None = None
    status: str | None = None
    flags: int | None = Field(default=None, description="how many flags are on file")

    @field_validator("amount")
    @classmethod
    def _is_an_amount(cls, amount: Decimal | None) -> Decimal | None:
        if amount is not None and not (amount.copy_abs() < TOO_MUCH and amount == round(amount, 6)):
            raise ValueError("no ledger has such an amount")
        return amount


class SignedOn(BaseModel):
    """Whether the program has let the agent in."""

    signed_on: bool


class FlagFiled(BaseModel):
    """The number of the flag; null if one with this reason was on file already."""

    flag: int | None
    already: bool = False


class Reading(BaseModel):
    """The answer of a person about an unreadable receipt. ``receipt`` is ``None`` if it is to be left out."""

    model_config = ConfigDict(frozen=True)

    receipt: Receipt | None
    by: str


@subgoal(title=f"Sign on to {PROGRAM}")
@cost_guardrail(max_cost_usd=0.10, max_actions=15, timeout_seconds=120)
async def sign_on() -> SignedOn:
    """Sign on to the program. The password is typed by its name, so neither the model nor the trace contains it."""
    answer: SignedOn = await pursue(
        f"Sign on to {PROGRAM} as user auditor. The password is {{{{secret:portal_password}}}}. "
        "If you are signed on already, there is nothing to do.",
        returns=SignedOn,
    )
    return answer


def _reading(reference: str, token: str = "") -> Script:
    return Script(SCRIPTS, "read-record", reference=reference)


@subgoal(
    title="Look up {reference}",
    key="{token}",
    data=["reference"],
    effect=None,
    layers=["model", _reading],
)
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def look_up(reference: str, token: str) -> PortalRecord:
    """Return the record of a transaction, read from the screen."""
    return await _read(reference)


async def _read(reference: str) -> PortalRecord:
    """Return the record whose ``reference`` is in the data of the current sub-goal.

    The goal has no text from the mail, so a mail cannot give instructions.
    """
    goal = (
        f"Open the transaction in {PROGRAM} whose reference the data names, and read its record. If the program asks "
        "you to sign on again, the user is auditor and the password is {{secret:portal_password}}."
    )
    first = before_the_model(reference)
    try:
        record: PortalRecord = await pursue(goal, returns=PortalRecord, options=first)
    except GaveUp:
        if first is None:
            raise
        record = await pursue(goal, returns=PortalRecord, options=SubgoalOptions(layers=[_reading(reference)]))
    return record


async def flag_on_file(reference: str, reason: Reason, note: str, token: str) -> FlagFiled | NotDone:
    """Look whether an interrupted attempt filed the flag. The look-up before the attempt found no flag."""
    record = await read_record(reference)
    if not record.flags:
        return NOT_DONE
    return FlagFiled(flag=None, already=True)


@subgoal(title="Look again at {reference}", data=["reference"], effect=None, layers=["model", _reading])
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def read_record(reference: str) -> PortalRecord:
    """Return the current record of a transaction, without use of earlier results."""
    return await _read(reference)


@subgoal(
    title="Flag {reference}: {reason}",
    key="{token}",
    inputs=["reference"],
    data=["reference", "reason", "note"],
    effect=Effect(probe=flag_on_file),
)
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def file_flag(reference: str, reason: Reason, note: str, token: str) -> FlagFiled:
    """File a flag for review. It is the only change that this flow makes in the program."""
    filed: FlagFiled = await pursue(
        f"File a flag for review on the transaction in {PROGRAM} whose reference the data names, with the reason and "
        "the note that it names. Do not file it twice: if a flag with this reason is on file already, leave it so. "
        "If the program asks you to sign on again, the user is auditor and the password is {{secret:portal_password}}.",
        returns=FlagFiled,
    )
    return filed


@subgoal(title="Ask a person what {receipt.short_id} says", key="{receipt.receipt_id}", inputs=["receipt"], effect=None)
async def ask_what_it_says(receipt: Receipt) -> Reading:
    """Ask a person to read a receipt.

    A note that cannot be used is asked for once more. After that, raises `NeedsPerson`.
    """
    # The first problem is about the letter, and the last ones are about missing values. The others are left out.
    problems = dict.fromkeys((*receipt.problems[:1], *receipt.problems[-3:]))
    why = "; ".join(problems) or "it names no transaction, or no amount"
    why = f"The receipt {receipt.short_id}, ‘{receipt.subject}’, cannot be read: {why}."
    for _ in range(2):
        answer = await hand_over(
            f"{why} Look at the original, or ask its sender. Then write its contents in the note, as in ‘{EXAMPLE}’, "
            f"or choose ‘{LEAVE_OUT}’.",
            choices=(IN_THE_NOTE, LEAVE_OUT),
            picture=False,
        )
        if answer.choice == LEAVE_OUT:
            return Reading(receipt=None, by=answer.by)
        try:
            return Reading(receipt=completed(receipt, answer.note), by=answer.by)
        except InvalidUsage as error:
            why = f"The note for receipt {receipt.short_id}, ‘{receipt.subject}’, cannot be used. {error}"
    raise NeedsPerson(why)


@subgoal(title="{receipt.short_id} · {receipt.merchant}", key="{receipt.receipt_id}", inputs=["receipt"])
async def audit_receipt(receipt: Receipt, duplicate_of: str | None, named: Mapping[str, str] | None = None) -> Finding:
    """Audit one receipt: look it up, compare it, and flag a difference.

    ``named`` maps transactions to the other receipts that name them. It is given for a receipt that a person has to
    read.
    """
    said, spent = None, current_run().guard.spent_micro
    asks = unreadable(receipt) and current_run().options.waits is not None
    with progress(3 if asks else 2) as story:
        if asks:
            said = await ask_what_it_says(receipt)
        if said and said.receipt:
            receipt = said.receipt
            duplicate_of = (named or {}).get(str(receipt.reference))
        if unreadable(receipt):
            status = f"left out by {said.by}" if said else "receipt cannot be read"
            found = Finding(receipt=receipt, status=f"missing: {status}", evidence=current_run().trace)
        else:
            found = await _compared(receipt, duplicate_of, story)
    layers = current_run().layer_of(receipt.receipt_id)
    if said and "person" not in layers:  # the person answered an earlier, interrupted attempt
        layers = f"{layers} + person".removeprefix(" + ")
    return found.model_copy(update={"by": layers, "cost_micro": current_run().guard.spent_micro - spent})


def unreadable(receipt: Receipt) -> bool:
    """Return whether the transaction or the amount of a receipt is unknown."""
    return receipt.kind == "unreadable" or receipt.reference is None or receipt.amount is None


async def _compared(receipt: Receipt, duplicate_of: str | None, story: Story) -> Finding:
    assert receipt.reference is not None
    record = await look_up(receipt.reference, receipt.receipt_id)
    found = Finding(
        receipt=receipt,
        status="match",
        ledger_amount=record.amount,
        ledger_merchant=record.merchant,
        evidence=current_run().trace,
    )
    if not record.found:
        story.step("nothing to flag: the transaction does not exist")
        return found.model_copy(update={"status": "missing: no transaction"})
    verdict = compare(receipt, record, duplicate_of)
    if verdict is None:
        story.step("nothing to flag: they agree")
        return found
    reason, note = verdict
    filed = await file_flag(receipt.reference, reason, note, receipt.receipt_id)
    number = "already on file" if filed.flag is None else str(filed.flag)
    return found.model_copy(update={"status": f"flagged: {reason.lower()}", "flag": number})


def compare(receipt: Receipt, record: PortalRecord, duplicate_of: str | None) -> tuple[Reason, str] | None:
    """Return the reason and the note for a flag. Returns ``None`` if receipt and record agree."""
    if duplicate_of is not None:
        return "Duplicate receipt", f"Same receipt as {short_id(duplicate_of)}"
    if not like_merchant(receipt.merchant or "", record.merchant or ""):
        return "Unknown merchant", f"Receipt names {in_ascii(receipt.merchant or '')}"
    if receipt.amount != record.amount or receipt.currency != record.currency:
        return "Wrong amount", f"Receipt says {receipt.currency} {receipt.amount:.2f}"
    return None


@agent_step(acts=False, title="read the mailbox")
async def read_mailbox(mailbox: HoloMailbox) -> list[Letter]:
    """Return all letters of a mailbox."""
    return await mailbox.letters()


async def _write(sheet: Workbook, findings: Sequence[Finding], written: int) -> int:
    """Write the rows of all findings after the first ``written`` ones. Returns the new number of written rows."""
    if rows := [row_of(finding) for finding in findings[written:]]:
        await write_rows(sheet, rows)
    return len(findings)


@flow(name="Expense audit", flow_run_name=HushedName("expense audit · {mailbox}"), persist_result=False)
@cost_guardrail(max_cost_usd="{max_cost_usd}")
async def expense_audit(
    mailbox: str = "expense-audit",
    workbook: str = "expense-audit.xlsx",
    report: str | None = "expense-audit.html",
    model: str = "expense-audit",
    desktop: str = "expense-audit",
    audit: str = "expense-audit",
    max_cost_usd: float = 5.0,
    since: date | None = None,
    ask_person_seconds: float = 0,
    most: int = 0,
    playbook: str | None = None,
) -> dict[str, int]:
    """Audit every receipt of a mailbox.

    A receipt that cannot be finished is left for a person, on the list of `holo-tasks runs`, and the audit continues.
    Three such receipts in a row end it. If any receipt is left, the flow ends in the state `Needs person`. A second run
    does only the unfinished work.

    Args:
        mailbox: Name of the Holo Mailbox block.
        workbook: Name of the Excel file with a row per receipt. It is in the folder HOLO_REPORTS of the machine that
            runs the flow (default: `reports` under HOLO_HOME), and is created if it does not exist.
        report: Name of the HTML report in the same folder. Empty means no report.
        model: Name of the Holo Model block.
        desktop: Name of the Holo Desktop block that starts the program.
        audit: Name of the Holo Audit Bucket block for the evidence.
        max_cost_usd: Cost limit of the whole audit.
        since: Letters before this day are left out.
        ask_person_seconds: How long to wait for a person if a receipt cannot be read, or the agent asks for one. With
            0, the default, the audit asks no person, and an unreadable receipt gets a row `missing: receipt cannot be
            read`. Otherwise the flow run is paused in Prefect (Resume, or `holo-tasks handoff`). The receipt is then
            audited with the person's values, or left out. Without a usable answer in time, it is left for a person.
        most: The most unfinished receipts that this audit works on. The next audit works on the others. 0 means all.
        playbook: Name of a playbook in the same folder that looks transactions up. `holo-tasks compile` makes one from
            the evidence of an audit. The model continues if the playbook does not fit. Empty means that the model looks
            them up.
    """
    one_line_errors()
    given = await gather(mailbox, workbook, report)
    bucket = await load_block(AuditBucket, audit)
    console = AuditConsole()
    handoff = HandOff(ask_person_seconds) if ask_person_seconds else False
    agent = holo_agent("Expense audit", model=model, desktop=desktop, audit=bucket, allow="act", handoff=handoff)
    async with learned(playbook), agent as run:
        work = await asyncio.to_thread(sort_out, run, given, since, most)
        get_run_logger().info("%d letters, %d receipts", given.letters, len(work.receipts))
        findings = await audit_all(run, given.sheet, work, console)
        counts = await publish(run, findings, playbook)
        told = ", ".join(f"{count} by {layer}" for layer, count in run.layers.most_common())
    # A run without work keeps the report of the earlier run.
    if given.page and (run.steps or not given.page.exists()):
        await asyncio.to_thread(write_report, bucket.trace(run.trace), given.page, efforts(findings))
    console.summary(findings, run, told, given.sheet.path, given.page)
    leave_to_person(findings)
    return counts


@dataclass(frozen=True)
class Given:
    """The input of an audit: the receipts with their letters, and the files for the results."""

    read: list[tuple[Letter, Receipt]]
    letters: int
    sheet: Workbook
    page: Path | None


@dataclass(frozen=True)
class Worklist:
    """The receipts to audit, with known facts.

    ``all`` are the receipts in the mailbox, including older ones. ``firsts`` maps each receipt to an earlier one
    with the same contents. ``before`` holds findings of earlier versions of this flow. ``done`` are the ids of all
    finished receipts.
    """

    receipts: list[Receipt]
    all: list[Receipt]
    firsts: dict[str, str | None]
    before: dict[str, Finding]
    done: frozenset[str]


async def gather(mailbox: str, workbook: str, report: str | None) -> Given:
    """Read the mailbox. Raises an error before any work if a result file cannot be written."""
    page = await asyncio.to_thread(page_named, report) if report else None
    sheet = await asyncio.to_thread(_sheet, workbook)
    letters = await read_mailbox(await load_block(HoloMailbox, mailbox))
    return Given(await asyncio.to_thread(_receipts, letters), len(letters), sheet, page)


def sort_out(run: Run, given: Given, since: date | None, most: int = 0) -> Worklist:
    """Return the receipts to audit and the finished ones. At most ``most`` are new, if it is not 0."""
    read, before = as_known_before(run, given.sheet, given.read)
    firsts = duplicates([receipt for _, receipt in read])
    receipts = [
        receipt for letter, receipt in read if since is None or letter.date is None or letter.date.date() >= since
    ]
    done = {r.receipt_id for r in receipts if r.receipt_id in before or was_audited(r, firsts[r.receipt_id])}
    later = {r.receipt_id for r in [r for r in receipts if r.receipt_id not in done][most:]} if most else set()
    receipts = [receipt for receipt in receipts if receipt.receipt_id not in later]
    return Worklist(receipts, [receipt for _, receipt in read], firsts, before, frozenset(done))


async def audit_all(run: Run, sheet: Workbook, work: Worklist, console: AuditConsole) -> list[Finding]:
    """Audit the receipts one by one. The row of a receipt is written before the next one begins."""
    logger = get_run_logger()
    findings: list[Finding] = []
    written = 0
    if len(work.done) < len(work.receipts):
        await sign_on()
    with progress(len(work.receipts)), console.bar(len(work.receipts)) as bar:
        for receipt in work.receipts:
            done, first = receipt.receipt_id in work.done, work.firsts[receipt.receipt_id]
            if not done:
                written = await _write(sheet, findings, written)
            bar.begin(receipt)
            steps, spent = run.steps, run.guard.spent_micro
            others = work.all + [finding.receipt for finding in findings]
            finding = work.before.get(receipt.receipt_id) or await _audited(run, receipt, first, others, findings)
            findings.append(finding)
            effort = f"{run.steps - steps} steps, {usd(run.guard.spent_micro - spent)}"
            effort = "already done" if done else effort
            bar.end(finding, effort)
            logger.info("%s %s: %s (%s)", receipt.receipt_id, receipt.merchant, finding.status, effort)
    await _write(sheet, findings, written)
    return findings


async def publish(run: Run, findings: Sequence[Finding], playbook: str | None = None) -> dict[str, int]:
    """Publish the findings as a table in Prefect and as the answer of the run. Returns the number of each kind."""
    kinds = ("match", "flagged", "missing", HANDED_OVER)
    counts = {name: sum(f.status.startswith(name) for f in findings) for name in kinds}
    costs = [f"a receipt {kind}: {usd(cost)} {who} (mean of {n})" for kind, who, n, cost in mean_costs(findings)]
    by = [f"looked up by the playbook {playbook}"] if playbook else []
    run.answer = "; ".join([", ".join(f"{number} {name}" for name, number in counts.items()), *by, *costs])
    shown = ("Receipt", "Status", "Flag", "By", "Merchant", "Reference", "Amount", "Currency", "Ledger amount")
    table = [{name: str(row_of(finding)[name] or "") for name in shown} for finding in findings]
    await publish_table("expense-audit-results", table, f"{len(findings)} receipts, {usd(run.guard.total_micro)}")
    return counts


def leave_to_person(findings: Sequence[Finding]) -> None:
    """Raise `NeedsPerson` if receipts were handed over."""
    waiting = [finding.receipt.receipt_id for finding in findings if finding.status.startswith(HANDED_OVER)]
    if waiting:
        raise NeedsPerson(
            f"{len(waiting)} of {len(findings)} receipts wait for a person ({', '.join(waiting[:5])}"
            f"{', …' if len(waiting) > 5 else ''}); see `holo-tasks runs`, then `holo-tasks retry ITEM`."
        )


def as_known_before(
    run: Run, sheet: Workbook, read: list[tuple[Letter, Receipt]]
) -> tuple[list[tuple[Letter, Receipt]], dict[str, Finding]]:
    """Give receipts of earlier versions of this flow their old ids. Also returns the earlier findings.

    An old id is short, and a message with the same id can be forged. So a stored finding must name the same
    message, and a row of the workbook must have the same contents.
    """
    receipts = {receipt.receipt_id: receipt for _, receipt in read}
    earlier = {name: earlier_receipt_id(receipt.message_id) for name, receipt in receipts.items()}
    rows = {str(row["Receipt"]): row for row in sheet.rows()}

    def is_of(name: str, result: str) -> bool:
        return Finding.model_validate_json(result).receipt.message_id == receipts[name].message_id

    found = earlier_work(run, "audit receipt", earlier, is_of)
    sharing = Counter(earlier.values())
    for name, receipt in receipts.items():
        row = rows.get(earlier[name])
        if row and sharing[earlier[name]] == 1 and name not in found and _is_row_of(row, receipt):
            found[name] = None
    known = [
        (letter, receipt.model_copy(update={"receipt_id": earlier[receipt.receipt_id]}))
        if receipt.receipt_id in found
        else (letter, receipt)
        for letter, receipt in read
    ]
    return known, {earlier[name]: Finding.model_validate_json(result) for name, result in found.items() if result}


def _is_row_of(row: Mapping[str, object], receipt: Receipt) -> bool:
    says = {"Date": receipt.date, "Reference": receipt.reference, "Amount": receipt.amount}
    same = all(row[name] == value for name, value in says.items() if value is not None)
    return same and plain_text(str(row["Subject"] or "")) == receipt.subject


def _receipts(letters: Sequence[Letter]) -> list[tuple[Letter, Receipt]]:
    return [(letter, receipt) for letter in letters if (receipt := read_receipt(letter)).kind != "not_a_receipt"]


def was_audited(receipt: Receipt, duplicate_of: str | None) -> bool:
    """Return whether an earlier run finished a receipt.

    Returns ``False`` if the contents have changed since. The sub-goal reports that later.
    """
    try:
        return is_done(audit_receipt, receipt, duplicate_of)
    except TokenConflict:
        return False


async def _audited(
    run: Run, receipt: Receipt, duplicate_of: str | None, others: Sequence[Receipt], before: list[Finding]
) -> Finding:
    """Audit a receipt. A receipt that cannot be finished gets a finding that says so.

    Errors that concern all receipts are raised. Several failures in a row are raised too, because then the program
    or the model does not work. A receipt with invalid contents does not count, because a sender of mails must not
    be able to end an audit.
    """
    try:
        return await audit_receipt(receipt, duplicate_of, by_transaction(receipt, others))
    except (TokenConflict, UnfitItem):
        return Finding(receipt=receipt, status=UNFIT, evidence=run.trace)
    except (NeedsPerson, LimitReached, ModelFailed) as error:
        everybodys = error.transient or getattr(error, "scope", "") in {scope.name for scope in run.guard.lineage()}
        if everybodys or too_many_in_a_row(receipt, before):
            raise
        status = f"{HANDED_OVER}: {error.status.replace('_', ' ')}"
        return Finding(receipt=receipt, status=status, evidence=run.trace)


def too_many_in_a_row(receipt: Receipt, before: Sequence[Finding]) -> bool:
    """Return whether another unfinished receipt ends the audit.

    Unreadable and invalid receipts do not count, because they say nothing about the program.
    """
    latest = [one for one in before if not unreadable(one.receipt) and one.status != UNFIT][1 - MOST_IN_A_ROW :]
    failed = [one for one in latest if one.status.startswith(HANDED_OVER)]
    return not unreadable(receipt) and len(failed) == MOST_IN_A_ROW - 1


def _sheet(name: str) -> Workbook:
    """Return the workbook with this name.

    Raises `InvalidUsage` if it is a different workbook, or cannot be written.
    """
    sheet = Workbook(workbook_named(name), columns=COLUMNS, key="Receipt", sheet="Audit", title="Expense audit")
    if sheet.path.exists() and not sheet.has_sheet():
        raise InvalidUsage(
            f"{sheet.path} is a different workbook, because it has no sheet ‘{sheet.sheet}’: give another name."
        )
    sheet.rows()
    return sheet


def duplicates(receipts: list[Receipt]) -> dict[str, str | None]:
    """Return the earlier receipt with the same contents for each receipt, or ``None``."""
    first: dict[str, str] = {}
    found: dict[str, str | None] = {}
    for receipt in receipts:
        digest = receipt.content_digest
        found[receipt.receipt_id] = first.get(digest) if digest else None
        if digest:
            first.setdefault(digest, receipt.receipt_id)
    return found


def by_transaction(receipt: Receipt, others: Sequence[Receipt]) -> dict[str, str] | None:
    """Return the first of the other receipts for each transaction. Returns ``None`` for a readable receipt.

    An unreadable receipt counts after a person has read it. So the first of two such receipts is not a duplicate.
    """
    if not unreadable(receipt):
        return None
    found: dict[str, str] = {}
    for other in others:
        if other.reference and other.receipt_id != receipt.receipt_id and not unreadable(other):
            found.setdefault(other.reference, other.receipt_id)
    return found


if __name__ == "__main__":
    # One audit at a time: the first one holds the claims on the receipts.
    expense_audit.serve(name="expense-audit", limit=1)
