"""The result of the audit of one receipt, its row in the workbook, and summaries of many results."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from holo_tasks import (
    HoloError,
    InvalidUsage,
    NeedsPerson,
    Run,
    TokenConflict,
    UnfitItem,
    named_file,
    publish_table,
    usd,
)
from holo_tasks.audit import Effort
from holo_tasks.office import Column, Workbook
from receipts.ledger_record import FlagFiled, PortalRecord, Reason
from receipts.receipt import Receipt

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
"""Columns of the workbook."""
SHOWN = ("Receipt", "Status", "Flag", "By", "Merchant", "Reference", "Amount", "Currency", "Ledger amount")
"""Columns of the table in Prefect."""
HANDED_OVER = "handed over"
"""Beginning of the status of a receipt that is left for a person."""
UNFIT = f"{HANDED_OVER}: invalid"
MOST_IN_A_ROW = 3
"""The number of receipts in a row that cannot be finished before the audit ends."""


class Finding(BaseModel):
    """The result of the audit of one receipt.

    ``by`` names the layers that worked on it. ``cost_micro`` is the cost of the model in micro-USD, and ``None`` if
    it was not counted.
    """

    model_config = ConfigDict(frozen=True)

    receipt: Receipt
    status: str
    flag: str = ""
    ledger_amount: Decimal | None = None
    ledger_merchant: str | None = None
    evidence: str = ""
    by: str = ""
    cost_micro: int | None = None

    @classmethod
    def compared(cls, receipt: Receipt, record: PortalRecord, evidence: str) -> Finding:
        """Return the finding about a receipt that agrees with its record, or has none."""
        status = "match" if record.found else "missing: no transaction"
        known = {"ledger_amount": record.amount, "ledger_merchant": record.merchant, "evidence": evidence}
        return cls.model_validate({"receipt": receipt, "status": status, **known})

    def flagged(self, reason: Reason, filed: FlagFiled) -> Finding:
        """Return this finding with the flag that was filed."""
        number = "already on file" if filed.flag is None else str(filed.flag)
        return self.model_copy(update={"status": f"flagged: {reason.lower()}", "flag": number})

    @property
    def by_playbook(self) -> bool:
        """Whether a compiled playbook looked the transaction up."""
        return "playbook" in self.by


def efforts(findings: Sequence[Finding]) -> dict[str, Effort]:
    """Return the layers and the cost of each finding for the report, by the receipt's id."""
    return {one.receipt.receipt_id: Effort(one.by, one.cost_micro) for one in findings if one.by}


def mean_costs(findings: Sequence[Finding]) -> list[tuple[str, str, int, int]]:
    """Return the mean cost of a receipt for each kind and layer.

    Each entry is the kind, the layer, the number of receipts, and the cost in micro-USD.
    """
    found: list[tuple[str, str, int, int]] = []
    for kind, flagged in (("looked up only", False), ("also flagged", True)):
        for who, by_playbook in (("by the model", False), ("by the playbook", True)):
            of_kind = [
                one for one in findings if bool(one.flag) == flagged and one.by_playbook == by_playbook and one.by
            ]
            costs = [one.cost_micro for one in of_kind if one.cost_micro is not None]
            if costs:
                found.append((kind, who, len(costs), sum(costs) // len(costs)))
    return found


def row_of(finding: Finding) -> dict[str, Any]:
    """Return the row of the workbook for a finding."""
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


def open_sheet(name: str) -> Workbook:
    """Return the workbook with this name.

    Raises `InvalidUsage` if it is a different workbook, or cannot be written.
    """
    place = named_file(name, ".xlsx")
    sheet = Workbook(place, columns=COLUMNS, key="Receipt", sheet="Audit", title="Expense audit")
    if sheet.path.exists() and not sheet.has_sheet():
        raise InvalidUsage(
            f"{sheet.path} is a different workbook, because it has no sheet ‘{sheet.sheet}’: give another name."
        )
    sheet.rows()
    return sheet


def counts_of(findings: Sequence[Finding]) -> dict[str, int]:
    """Return the number of findings of each kind."""
    kinds = ("match", "flagged", "missing", HANDED_OVER)
    return {name: sum(finding.status.startswith(name) for finding in findings) for name in kinds}


async def publish(run: Run, findings: Sequence[Finding], playbook: str | None) -> None:
    """Publish the findings as a table in Prefect, and their numbers and mean costs as the answer of the run."""
    counts = ", ".join(f"{number} {name}" for name, number in counts_of(findings).items())
    costs = [f"a receipt {kind}: {usd(cost)} {who} (mean of {n})" for kind, who, n, cost in mean_costs(findings)]
    by = [f"looked up by the playbook {playbook}"] if playbook else []
    run.answer = "; ".join([counts, *by, *costs])
    table = [{name: str(row_of(finding)[name] or "") for name in SHOWN} for finding in findings]
    await publish_table("expense-audit-results", table, f"{len(findings)} receipts, {usd(run.guard.total_micro)}")


def unfinished(error: HoloError, run: Run, receipt: Receipt, before: Sequence[Finding]) -> Finding | None:
    """Return the finding about a receipt that an error has left for a person. ``None`` if the error ends the audit.

    Errors that concern all receipts end it. Several failures in a row end it too, because then the program or the
    model does not work. A receipt with invalid contents does not count, because a sender of mails must not be able to
    end an audit.
    """
    if isinstance(error, TokenConflict | UnfitItem):
        return Finding(receipt=receipt, status=UNFIT, evidence=run.trace)
    everybodys = error.transient or getattr(error, "scope", "") in {scope.name for scope in run.guard.lineage()}
    if everybodys or too_many_in_a_row(receipt, before):
        return None
    return Finding(receipt=receipt, status=f"{HANDED_OVER}: {error.status.replace('_', ' ')}", evidence=run.trace)


def too_many_in_a_row(receipt: Receipt, before: Sequence[Finding]) -> bool:
    """Return whether another unfinished receipt ends the audit.

    Unreadable and invalid receipts do not count, because they say nothing about the program.
    """
    latest = [one for one in before if not one.receipt.is_unreadable and one.status != UNFIT][1 - MOST_IN_A_ROW :]
    failed = [one for one in latest if one.status.startswith(HANDED_OVER)]
    return not receipt.is_unreadable and len(failed) == MOST_IN_A_ROW - 1


def leave_to_person(findings: Sequence[Finding]) -> None:
    """Raise `NeedsPerson` if receipts were handed over."""
    waiting = [finding.receipt.receipt_id for finding in findings if finding.status.startswith(HANDED_OVER)]
    if waiting:
        raise NeedsPerson(
            f"{len(waiting)} of {len(findings)} receipts wait for a person ({', '.join(waiting[:5])}"
            f"{', …' if len(waiting) > 5 else ''}); see `holo-tasks runs`, then `holo-tasks retry ITEM`."
        )
