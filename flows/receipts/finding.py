"""What the audit of one receipt came to."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from holo_tasks.audit.pages.report import Effort
from receipts.receipt import Receipt


class Finding(BaseModel):
    """What the audit of one receipt came to, by which layers, and what the model cost, where that was counted."""

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
        """Whether a compiled playbook has looked it up."""
        return "playbook" in self.by


def efforts(findings: Sequence[Finding]) -> dict[str, Effort]:
    """Return who came to each finding and what it cost, by the receipt's id, as a report tells it."""
    return {one.receipt.receipt_id: Effort(one.by, one.cost_micro) for one in findings if one.by}


def mean_costs(findings: Sequence[Finding]) -> list[tuple[str, str, int, int]]:
    """Return what a receipt cost on average: of which kind, looked up by whom, how many, and micro-USD."""
    found: list[tuple[str, str, int, int]] = []
    for kind, flagged in (("looked up only", False), ("flagged, too", True)):
        for who, by_playbook in (("by the model", False), ("by the playbook", True)):
            of_kind = [
                one for one in findings if bool(one.flag) == flagged and one.by_playbook == by_playbook and one.by
            ]
            costs = [one.cost_micro for one in of_kind if one.cost_micro is not None]
            if costs:
                found.append((kind, who, len(costs), sum(costs) // len(costs)))
    return found
