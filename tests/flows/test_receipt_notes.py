"""A person's note about a receipt is used exactly, or refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from holo_tasks.core.errors import InvalidUsage
from receipts.note import EXAMPLE, completed
from receipts.receipt import Receipt

UNREAD = Receipt(
    receipt_id="R-1",
    message_id="m",
    subject="Receipt",
    kind="unreadable",
    merchant=None,
    amount=None,
    currency=None,
    date=None,
    reference=None,
    problems=("no total found",),
)


@pytest.mark.parametrize(
    ("note", "reference", "amount", "currency", "merchant"),
    [
        (EXAMPLE, "TX-12345", "84.20", "EUR", "Paper & Pine"),
        (" tx-10857 ;USD 1,284.50;\n Café  Grünwald ", "TX-10857", "1284.50", "USD", "Café Grünwald"),
        ("TX-10857; €9,50; 7-Eleven", "TX-10857", "9.50", "EUR", "7-Eleven"),
        ("TX-10857; $9.50 CAD; 7-Eleven", "TX-10857", "9.50", "CAD", "7-Eleven"),
    ],
)
def test_a_note_completes_the_receipt(note: str, reference: str, amount: str, currency: str, merchant: str) -> None:
    found = completed(UNREAD, note)
    said = {"reference": reference, "amount": Decimal(amount), "currency": currency, "merchant": merchant}
    assert found == UNREAD.model_copy(update={"kind": "receipt", **said})


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("", "three parts"),
        ("It is TX-10857 for 142.80 EUR", "three parts"),
        ("TX-10857; 142.80 EUR", "three parts"),
        ("TX-10857; 142.80 EUR; Garage; or not", "three parts"),
        ("TX-1085; 142.80 EUR; Garage", "‘TX-1085’ is not the reference"),
        ("TX-10857 or TX-10858; 142.80 EUR; Garage", "is not the reference"),
        ("TX-١٢٣٤٥; 142.80 EUR; Garage", "is not the reference"),
        ("TX-10857; 142.80; Garage", "is not one amount"),
        ("TX-10857; 142.80 EUR or 182.40 EUR; Garage", "is not one amount"),
        ("TX-10857; perhaps 142.80 EUR; Garage", "is not one amount"),
        ("TX-10857; -142.80 EUR; Garage", "is not one amount"),
        ("TX-10857; 0.00 EUR; Garage", "is not one amount"),
        ("TX-10857; 9999999999 EUR; Garage", "is not one amount"),
        ("TX-10857; 1428.055 EUR; Garage", "is not one amount"),
        ("TX-10857; $142.80 EUR; Garage", "is not one amount"),
        ("TX-10857; 142.800 EUR; Garage", "is not one amount"),
        ("TX-10857; 1,428 EUR; Garage", "is not one amount"),
        ("TX-10857; 142.80 EUR; --", "is not the name"),
        (f"TX-10857; 142.80 EUR; {'x' * 81}", "x…’ is not the name"),
    ],
)
def test_any_other_note_is_refused_with_the_reason(note: str, why: str) -> None:
    with pytest.raises(InvalidUsage, match=why):
        completed(UNREAD, note)
