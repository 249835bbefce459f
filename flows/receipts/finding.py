"""What the audit of one receipt came to."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from receipts.receipt import Receipt


class Finding(BaseModel):
    """What the audit of one receipt came to, and ``by`` which layers."""

    model_config = ConfigDict(frozen=True)

    receipt: Receipt
    status: str
    flag: str = ""
    ledger_amount: Decimal | None = None
    ledger_merchant: str | None = None
    evidence: str = ""
    by: str = ""
