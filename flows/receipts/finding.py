"""The result of the audit of one receipt, and its costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from holo_tasks.audit.pages.report import Effort
from holo_tasks.office.workbook import Column
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
