"""The ledger program: the records and answers that are read from it, and their comparison with a receipt."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from receipts.money import TOO_MUCH
from receipts.receipt import Receipt, in_ascii, like_merchant, short_id

PROGRAM = "Meridian Ledger"
SIGN_ON_AGAIN = (
    "If the program asks you to sign on again, the user is auditor and the password is {{secret:portal_password}}."
)
"""The end of each goal. The password is typed by its name, so neither the model nor the trace contains it."""
Reason = Literal["Wrong amount", "Unknown merchant", "Duplicate receipt"]
"""Reasons for a flag, as the program names them."""


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


def compare(receipt: Receipt, record: PortalRecord, duplicate_of: str | None) -> tuple[Reason, str] | None:
    """Return the reason and the note for a flag. Returns ``None`` if receipt and record agree."""
    if duplicate_of is not None:
        return "Duplicate receipt", f"Same receipt as {short_id(duplicate_of)}"
    if not like_merchant(receipt.merchant or "", record.merchant or ""):
        return "Unknown merchant", f"Receipt names {in_ascii(receipt.merchant or '')}"
    if receipt.amount != record.amount or receipt.currency != record.currency:
        return "Wrong amount", f"Receipt says {receipt.currency} {receipt.amount:.2f}"
    return None
