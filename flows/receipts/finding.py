"""The result of the audit of one receipt, and its costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from holo_tasks.audit.pages.report import Effort
from receipts.receipt import Receipt


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
