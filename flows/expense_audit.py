"""Audit a mailbox of expense receipts against a desktop program that has no API.

The flow reads each receipt from its e-mail, or asks a person to read it. It looks the transaction up on the screen. If
the two differ, it files a flag in the program. Each receipt gets a row in a workbook. A second run repeats no finished
work. The package `receipts` has the parts that are only about receipts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date

from prefect import get_run_logger

from holo_blocks import AuditBucket, HoloMailbox, holo_agent, load_block
from holo_tasks import (
    NOT_DONE,
    Effect,
    HandOff,
    LimitReached,
    ModelFailed,
    NeedsPerson,
    NotDone,
    Progress,
    Run,
    TokenConflict,
    UnfitItem,
    agent_step,
    cost_guardrail,
    current_run,
    flow,
    named_file,
    progress,
    pursue,
    subgoal,
    write_rows,
)
from holo_tasks.audit import write_report
from holo_tasks.office import Letter, Workbook
from receipts.ask_person import Reading, read_by_person
from receipts.console import AuditConsole
from receipts.finding import Finding, counts_of, efforts, leave_to_person, open_sheet, publish, row_of, unfinished
from receipts.ledger_record import PROGRAM, SIGN_ON_AGAIN, FlagFiled, PortalRecord, Reason, SignedOn, compare
from receipts.look_ups import learned, read_on_screen, read_record, reading
from receipts.receipt import Receipt
from receipts.selection import Selection, by_transaction, receipts_in, select


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


@subgoal(title="Look up {reference}", key="{token}", data=["reference"], effect=None, layers=["model", reading])
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def look_up(reference: str, token: str) -> PortalRecord:
    """Return the record of a transaction, read from the screen."""
    return await read_on_screen(reference)


async def flag_on_file(reference: str, reason: Reason, note: str, token: str) -> FlagFiled | NotDone:
    """Look whether an interrupted attempt filed the flag. The look-up before the attempt found no flag."""
    record = await read_record(reference)
    return FlagFiled(flag=None, already=True) if record.flags else NOT_DONE


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
        f"{SIGN_ON_AGAIN}",
        returns=FlagFiled,
    )
    return filed


@subgoal(title="Ask a person what {receipt.short_id} says", key="{receipt.receipt_id}", inputs=["receipt"], effect=None)
async def ask_what_it_says(receipt: Receipt) -> Reading:
    """Ask a person to read a receipt."""
    return await read_by_person(receipt)


@subgoal(title="{receipt.short_id} · {receipt.merchant}", key="{receipt.receipt_id}", inputs=["receipt"])
async def audit_receipt(receipt: Receipt, duplicate_of: str | None, named: Mapping[str, str] | None = None) -> Finding:
    """Audit one receipt: look it up, compare it, and flag a difference.

    ``named`` maps transactions to the other receipts that name them. It is given for a receipt that a person has to
    read.
    """
    run, said = current_run(), None
    spent, asks = run.guard.spent_micro, receipt.is_unreadable and run.options.waits is not None
    with progress(3 if asks else 2) as story:
        if asks:
            said = await ask_what_it_says(receipt)
        if said and said.receipt:
            receipt = said.receipt
            duplicate_of = (named or {}).get(str(receipt.reference))
        if receipt.is_unreadable:
            status = f"left out by {said.by}" if said else "receipt cannot be read"
            found = Finding(receipt=receipt, status=f"missing: {status}", evidence=run.trace)
        else:
            found = await _compared(receipt, duplicate_of, story)
    layers = run.layer_of(receipt.receipt_id)
    if said and "person" not in layers:  # the person answered an earlier, interrupted attempt
        layers = f"{layers} + person".removeprefix(" + ")
    return found.model_copy(update={"by": layers, "cost_micro": run.guard.spent_micro - spent})


async def _compared(receipt: Receipt, duplicate_of: str | None, story: Progress) -> Finding:
    """Look the transaction of a readable receipt up, and flag a difference."""
    record = await look_up(str(receipt.reference), receipt.receipt_id)
    found = Finding.compared(receipt, record, current_run().trace)
    difference = compare(receipt, record, duplicate_of) if record.found else None
    if difference is None:
        story.step(f"nothing to flag: {'they agree' if record.found else 'the transaction does not exist'}")
        return found
    reason, note = difference
    return found.flagged(reason, await file_flag(str(receipt.reference), reason, note, receipt.receipt_id))


@agent_step(acts=False, title="read the mailbox")
async def read_mailbox(mailbox: HoloMailbox) -> list[Letter]:
    """Return all letters of a mailbox."""
    return await mailbox.letters()


@flow(name="Expense audit", flow_run_name="expense audit · {mailbox}", persist_result=False)
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
    # A result file that cannot be written ends the flow before any work.
    page = await asyncio.to_thread(named_file, report, ".html") if report else None
    sheet = await asyncio.to_thread(open_sheet, workbook)
    letters = await read_mailbox(await load_block(HoloMailbox, mailbox))
    read = await asyncio.to_thread(receipts_in, letters)
    bucket, console = await load_block(AuditBucket, audit), AuditConsole()
    handoff = HandOff(ask_person_seconds) if ask_person_seconds else False
    agent = holo_agent("Expense audit", model=model, desktop=desktop, audit=bucket, allow="act", handoff=handoff)
    async with learned(playbook), agent as run:
        work = await asyncio.to_thread(select, audit_receipt, read, sheet, since, most)
        get_run_logger().info("%d letters, %d receipts", len(letters), len(work.receipts))
        findings = await audit_all(run, sheet, work, console)
        await publish(run, findings, playbook)
        layers = ", ".join(f"{count} by {layer}" for layer, count in run.layers.most_common())
    # A run without work keeps the report of the earlier run.
    if page and (run.steps or not page.exists()):
        await asyncio.to_thread(write_report, bucket.trace(run.trace), page, efforts(findings))
    console.summary(findings, run, layers, sheet.path, page)
    leave_to_person(findings)
    return counts_of(findings)


async def audit_all(run: Run, sheet: Workbook, work: Selection, console: AuditConsole) -> list[Finding]:
    """Audit the receipts one by one. The row of a receipt is written before the next one begins."""
    findings: list[Finding] = []
    rows: list[dict[str, object]] = []
    if len(work.done) < len(work.receipts):
        await sign_on()
    with progress(len(work.receipts)), console.bar(run, len(work.receipts)) as bar:
        for receipt in work.receipts:
            name = receipt.receipt_id
            if rows and name not in work.done:
                await write_rows(sheet, rows)
                rows = []
            bar.begin(receipt)
            finding = work.before.get(name) or await _audited(run, receipt, work, findings)
            findings.append(finding)
            rows.append(row_of(finding))
            effort = bar.end(finding, done=name in work.done)
            get_run_logger().info("%s %s: %s (%s)", name, receipt.merchant, finding.status, effort)
    if rows:
        await write_rows(sheet, rows)
    return findings


async def _audited(run: Run, receipt: Receipt, work: Selection, before: Sequence[Finding]) -> Finding:
    """Audit a receipt. A receipt that cannot be finished gets a finding that says so."""
    others = work.all + [finding.receipt for finding in before]
    try:
        return await audit_receipt(receipt, work.firsts[receipt.receipt_id], by_transaction(receipt, others))
    except (TokenConflict, UnfitItem, NeedsPerson, LimitReached, ModelFailed) as error:
        finding = unfinished(error, run, receipt, before)
        if finding is None:
            raise
        return finding


if __name__ == "__main__":
    # One audit at a time: the first one holds the claims on the receipts.
    expense_audit.serve(name="expense-audit", limit=1)
