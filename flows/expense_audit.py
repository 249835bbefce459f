"""Audit a mailbox of expense receipts against a desktop program that has no API.

For each receipt: read it from its e-mail, or ask a person what it says; look the transaction up on the screen, file a
flag in the program where the two disagree, and append a row to a workbook. What is done is done: a re-run repeats none
of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

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
from holo_tasks.core.money import usd
from holo_tasks.core.person import HandOff
from holo_tasks.office.mailbox import Letter
from holo_tasks.office.plain import plain_text
from holo_tasks.office.workbook import Column, Workbook
from holo_tasks.run.earlier_tokens import earlier_work
from holo_tasks.run.log_filter import one_line_errors
from holo_tasks.run.named_files import page_named, workbook_named
from holo_tasks.run.run import Progress as Story
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.secret_filter import HushedName
from receipts.console import AuditConsole
from receipts.finding import Finding, efforts, mean_costs
from receipts.learned import before_the_model, learned
from receipts.money import TOO_MUCH
from receipts.note import EXAMPLE, completed
from receipts.receipt import Receipt, earlier_receipt_id, in_ascii, like_merchant, read_receipt, short_id

PROGRAM = "Meridian Ledger"
SCRIPTS = Path(__file__).with_name("reading_records.playbook.yaml")
"""What is done without the model where it gives up."""
COLUMNS = [
    Column("Receipt", "text"),
    Column("Date", "date"),
    Column("Merchant", "text"),
    Column("Reference", "text"),
    Column("Amount", "money", currency_column="Currency"),
    Column("Currency", "text"),
    Column("Ledger amount", "money", currency_column="Currency"),
    Column("Ledger merchant", "text"),
    Column("Status", "status"),
    Column("Flag", "text"),
    Column("By", "text", width=18),
    Column("Subject", "text"),
    Column("Evidence", "text"),
]

HANDED_OVER = "handed over"
UNFIT = f"{HANDED_OVER}: invalid"
IN_THE_NOTE, LEAVE_OUT = "it is in the note", "leave it out"
MOST_IN_A_ROW = 3
"""So many receipts that cannot be finished, one after the other, end the audit."""
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
    """What a person makes of a receipt that nobody else can read: nothing, if it is to be left out."""

    model_config = ConfigDict(frozen=True)

    receipt: Receipt | None
    by: str


@subgoal(title=f"Sign on to {PROGRAM}")
@cost_guardrail(max_cost_usd=0.10, max_actions=15, timeout_seconds=120)
async def sign_on() -> SignedOn:
    """Let the agent in. The password is typed by name: neither the model nor the trace ever holds it."""
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
    """Read a transaction off the program's screen."""
    return await _read(reference)


async def _read(reference: str) -> PortalRecord:
    """Read what the sub-goal around this is told as ``reference``: nothing of a mail is part of an instruction."""
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
    """After an interruption: look whether the flag was filed. The look-up before it had found none."""
    record = await read_record(reference)
    if not record.flags:
        return NOT_DONE
    return FlagFiled(flag=None, already=True)


@subgoal(title="Look again at {reference}", data=["reference"], effect=None, layers=["model", _reading])
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def read_record(reference: str) -> PortalRecord:
    """Read a transaction as it is now, whatever was read of it before."""
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
    """File a flag for review: the one thing this flow changes in the program."""
    filed: FlagFiled = await pursue(
        f"File a flag for review on the transaction in {PROGRAM} whose reference the data names, with the reason and "
        "the note that it names. Do not file it twice: if a flag with this reason is on file already, leave it so. "
        "If the program asks you to sign on again, the user is auditor and the password is {{secret:portal_password}}.",
        returns=FlagFiled,
    )
    return filed


@subgoal(title="Ask a person what {receipt.short_id} says", key="{receipt.receipt_id}", inputs=["receipt"], effect=None)
async def ask_what_it_says(receipt: Receipt) -> Reading:
    """Have a person read a receipt. A note that is no use is asked for once more, then left for a person."""
    # What is wrong with the letter comes first, what it does not say last; a person needs no list of all between.
    problems = dict.fromkeys((*receipt.problems[:1], *receipt.problems[-3:]))
    why = "; ".join(problems) or "it names no transaction, or no amount"
    why = f"The receipt {receipt.short_id}, ‘{receipt.subject}’, cannot be read: {why}."
    for _ in range(2):
        answer = await hand_over(
            f"{why} Look at the original, or ask who sent it. Then say in the note what it says, as in ‘{EXAMPLE}’, "
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
    """Audit one receipt: look up, compare, flag where the two disagree.

    ``named`` are the other receipts by the transactions they name, for one that a person has to read.
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
    if said and "person" not in layers:  # they said it to an attempt that was interrupted
        layers = f"{layers} + person".removeprefix(" + ")
    return found.model_copy(update={"by": layers, "cost_micro": current_run().guard.spent_micro - spent})


def unreadable(receipt: Receipt) -> bool:
    """Say whether it is not known what a receipt says."""
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
        story.step("nothing to flag: there is no such transaction")
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
    """Say why a transaction needs a flag, and in what words; None when receipt and record agree."""
    if duplicate_of is not None:
        return "Duplicate receipt", f"Same receipt as {short_id(duplicate_of)}"
    if not like_merchant(receipt.merchant or "", record.merchant or ""):
        return "Unknown merchant", f"Receipt names {in_ascii(receipt.merchant or '')}"
    if receipt.amount != record.amount or receipt.currency != record.currency:
        return "Wrong amount", f"Receipt says {receipt.currency} {receipt.amount:.2f}"
    return None


@agent_step(acts=False, title="read the mailbox")
async def read_mailbox(mailbox: HoloMailbox) -> list[Letter]:
    """Read all letters of a mailbox."""
    return await mailbox.letters()


async def _write(sheet: Workbook, findings: Sequence[Finding], written: int) -> int:
    """Write the rows of findings but for so many; return how many are written then."""
    if rows := [row_of(finding) for finding in findings[written:]]:
        await write_rows(sheet, rows)
    return len(findings)


def row_of(finding: Finding) -> dict[str, Any]:
    """Return the workbook's row for a finding."""
    receipt = finding.receipt
    return {
        "Receipt": receipt.receipt_id,
        "Date": receipt.date,
        "Merchant": receipt.merchant,
        "Reference": receipt.reference,
        "Amount": receipt.amount,
        "Currency": receipt.currency,
        "Ledger amount": finding.ledger_amount,
        "Ledger merchant": finding.ledger_merchant,
        "Status": finding.status,
        "Flag": finding.flag,
        "By": finding.by,
        "Subject": receipt.subject,
        "Evidence": finding.evidence,
    }


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

    A receipt that cannot be finished is left for a person, on the list of `holo-tasks runs`, and the next one begins;
    three in a row end the audit. If any is left, the flow ends as `Needs person`. Started again, it does only what is
    not done.

    Args:
        mailbox: Name of the Holo Mailbox block.
        workbook: Name of the Excel file that gets a row per receipt, in the folder that HOLO_REPORTS names where the
            flow runs (`reports` under HOLO_HOME unless it is set); made if it is not there.
        report: Name of the HTML report, in the same folder; empty for none.
        model: Name of the Holo Model block.
        desktop: Name of the Holo Desktop block that starts the program.
        audit: Name of the Holo Audit Bucket block for the evidence.
        max_cost_usd: The whole audit stops before it costs more.
        since: Leave out letters older than this day.
        ask_person_seconds: How long a person is waited for where a receipt cannot be read, or the agent asks for one.
            With 0, as it is, nobody is: such a receipt gets a row `missing: receipt cannot be read`, and the audit
            ends without anybody at hand. With more the flow run is paused in Prefect (Resume, or
            `holo-tasks handoff`), and what the person says decides: the receipt is audited by it, or left out. If
            nobody answers in time, or not to the point, the receipt is left for a person.
        most: Audit no more than so many receipts that are not done yet, and leave the others to the next audit; 0 for
            all of them.
        playbook: Name of a playbook in the same folder that looks transactions up (`holo-tasks compile` makes one of an
            audit's evidence). The model goes on where it does not fit. Empty: the model looks them up.
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
    # A run that found everything done keeps the report of the run that did it.
    if given.page and (run.steps or not given.page.exists()):
        await asyncio.to_thread(write_report, bucket.trace(run.trace), given.page, efforts(findings))
    console.summary(findings, run, told, given.sheet.path, given.page)
    leave_to_person(findings)
    return counts


@dataclass(frozen=True)
class Given:
    """What an audit begins with: the receipts and their letters, and the files that it writes to."""

    read: list[tuple[Letter, Receipt]]
    letters: int
    sheet: Workbook
    page: Path | None


@dataclass(frozen=True)
class Worklist:
    """The receipts to audit, and what is known of them.

    ``all`` are those in the mailbox, also older ones; ``firsts`` names for each of them the earlier one that says the
    same. ``before`` is what earlier versions found, and ``done`` are the ids of all that is finished.
    """

    receipts: list[Receipt]
    all: list[Receipt]
    firsts: dict[str, str | None]
    before: dict[str, Finding]
    done: frozenset[str]


async def gather(mailbox: str, workbook: str, report: str | None) -> Given:
    """Read the mailbox. What cannot be written to is refused before any work is done."""
    page = await asyncio.to_thread(page_named, report) if report else None
    sheet = await asyncio.to_thread(_sheet, workbook)
    letters = await read_mailbox(await load_block(HoloMailbox, mailbox))
    return Given(await asyncio.to_thread(_receipts, letters), len(letters), sheet, page)


def sort_out(run: Run, given: Given, since: date | None, most: int = 0) -> Worklist:
    """Tell which receipts there are to audit, ``most`` of them new, and which of them are done."""
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
    """Audit one receipt after the other; each gets its row in the workbook before the next one begins."""
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
    """Publish the findings as a table in Prefect, and for the report; return how many there are of each kind."""
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
    """Give receipts that an earlier version worked on, or has a row for, the id they had; and what it came to.

    That id is too short to tell a message from one that somebody made to share it: what is stored must name the very
    message, and a row must say the same.
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
    """Say whether an earlier run finished a receipt; of one that says something else now the sub-goal will tell."""
    try:
        return is_done(audit_receipt, receipt, duplicate_of)
    except TokenConflict:
        return False


async def _audited(
    run: Run, receipt: Receipt, duplicate_of: str | None, others: Sequence[Receipt], before: list[Finding]
) -> Finding:
    """Audit a receipt, or say that it was handed over; what stops them all is raised.

    Several in a row are no accident: then the program or the model is not what it should be. What does not fit in a
    receipt itself says nothing of them: whoever writes mails must not be able to end an audit.
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
    """Say whether one more handed-over receipt ends the audit; that nobody could read one says nothing of a program."""
    latest = [one for one in before if not unreadable(one.receipt) and one.status != UNFIT][1 - MOST_IN_A_ROW :]
    failed = [one for one in latest if one.status.startswith(HANDED_OVER)]
    return not unreadable(receipt) and len(failed) == MOST_IN_A_ROW - 1


def _sheet(name: str) -> Workbook:
    """Return the workbook of this name; raise `InvalidUsage` if it is somebody else's or cannot be written to."""
    sheet = Workbook(workbook_named(name), columns=COLUMNS, key="Receipt", sheet="Audit", title="Expense audit")
    if sheet.path.exists() and not sheet.has_sheet():
        raise InvalidUsage(f"{sheet.path} is another workbook, it has no sheet ‘{sheet.sheet}’: give another name.")
    sheet.rows()
    return sheet


def duplicates(receipts: list[Receipt]) -> dict[str, str | None]:
    """Name, for each receipt, the earlier one that says the same, if there is one."""
    first: dict[str, str] = {}
    found: dict[str, str | None] = {}
    for receipt in receipts:
        digest = receipt.content_digest
        found[receipt.receipt_id] = first.get(digest) if digest else None
        if digest:
            first.setdefault(digest, receipt.receipt_id)
    return found


def by_transaction(receipt: Receipt, others: Sequence[Receipt]) -> dict[str, str] | None:
    """Return the first of the other receipts for each transaction; none for a receipt that says for itself.

    What cannot be read counts once a person has said what it says: of two such, the first is no duplicate.
    """
    if not unreadable(receipt):
        return None
    found: dict[str, str] = {}
    for other in others:
        if other.reference and other.receipt_id != receipt.receipt_id and not unreadable(other):
            found.setdefault(other.reference, other.receipt_id)
    return found


if __name__ == "__main__":
    # One audit at a time: a second one would find the receipts claimed by the first.
    expense_audit.serve(name="expense-audit", limit=1)
