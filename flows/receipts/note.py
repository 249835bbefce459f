"""Read a person's note about an unreadable receipt."""

from __future__ import annotations

import re

from holo_tasks import InvalidUsage
from holo_tasks.office import plain_name
from receipts.money import TOO_MUCH, Money, find_money
from receipts.receipt import TRANSACTION, Receipt

EXAMPLE = "TX-12345; 84.20 EUR; Paper & Pine"
LONGEST_NAME = 80


def completed(receipt: Receipt, note: str, *, reference: str = TRANSACTION) -> Receipt:
    """Return the receipt with the reference, amount and merchant of a note such as `EXAMPLE`.

    Raises `InvalidUsage` for any other note, with a message for its author. No value is guessed.
    """
    parts = [" ".join(part.split()) for part in note.split(";")]
    if len(parts) != 3:
        raise InvalidUsage(f"It must have three parts with semicolons between them, as in ‘{EXAMPLE}’.")
    named, paid, merchant = parts
    if not re.fullmatch(reference, named, re.IGNORECASE | re.ASCII):
        raise InvalidUsage(f"‘{_short(named)}’ is not the reference of a transaction.")
    money = _one_amount(paid)
    if money is None:
        raise InvalidUsage(f"‘{_short(paid)}’ is not one amount with its currency, as in ‘84.20 EUR’.")
    name = plain_name(merchant)
    if not re.search(r"[^\W_]", name) or len(merchant) > LONGEST_NAME:
        raise InvalidUsage(f"‘{_short(merchant)}’ is not the name of a merchant.")
    found = {"reference": named.upper(), "amount": money.amount, "currency": money.currency, "merchant": name}
    return receipt.model_copy(update={"kind": "receipt", **found})


def _one_amount(text: str) -> Money | None:
    if re.fullmatch(r"\D*\d{1,3}[.,]\d{3}\D*", text):  # more than a thousand, or one digit too many
        return None
    found = find_money(text)
    if len(found) != 1 or not (found[0].exact and found[0].currency and 0 < found[0].amount < TOO_MUCH):
        return None
    # Other words next to the amount may express a doubt about it.
    words = re.sub(r"[\d\s.,'’$€£¥₹]", "", text).upper()
    return found[0] if words in ("", found[0].currency) else None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"
