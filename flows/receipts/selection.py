"""Select the receipts to audit: those that no earlier audit finished. Find duplicates among all receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from holo_tasks import TokenConflict, earlier_work, is_done
from holo_tasks.office import Letter, Workbook, plain_text
from receipts.finding import Finding
from receipts.receipt import Receipt, earlier_receipt_id, read_receipt

Audit = Callable[..., Any]
"""The sub-goal that audits a receipt. Its results are looked up in the ledger."""
Read = list[tuple[Letter, Receipt]]
"""The receipts in a mailbox with their letters."""


@dataclass(frozen=True)
class Selection:
    """The receipts to audit, with known facts.

    ``all`` are the receipts in the mailbox, including older ones. ``firsts`` maps each receipt to an earlier one
    with the same contents. ``before`` holds findings of earlier versions of this flow. ``done`` are the ids of all
    finished receipts.
    """

    receipts: list[Receipt]
    all: list[Receipt]
    firsts: dict[str, str | None]
    before: dict[str, Finding]
    done: frozenset[str]


def receipts_in(letters: Sequence[Letter]) -> Read:
    """Return the receipts in letters. A letter without a sign of a receipt is left out."""
    return [(letter, receipt) for letter in letters if (receipt := read_receipt(letter)).kind != "not_a_receipt"]


def select(audit: Audit, read: Read, sheet: Workbook, since: date | None, most: int = 0) -> Selection:
    """Return the receipts to audit and the finished ones. At most ``most`` are new, if it is not 0."""
    read, before = as_known_before(audit, sheet, read)
    firsts = duplicates([receipt for _, receipt in read])
    receipts = [
        receipt for letter, receipt in read if since is None or letter.date is None or letter.date.date() >= since
    ]
    done = {r.receipt_id for r in receipts if r.receipt_id in before or was_audited(audit, r, firsts[r.receipt_id])}
    later = {r.receipt_id for r in [r for r in receipts if r.receipt_id not in done][most:]} if most else set()
    receipts = [receipt for receipt in receipts if receipt.receipt_id not in later]
    return Selection(receipts, [receipt for _, receipt in read], firsts, before, frozenset(done))


def as_known_before(audit: Audit, sheet: Workbook, read: Read) -> tuple[Read, dict[str, Finding]]:
    """Give receipts of earlier versions of this flow their old ids. Also returns the earlier findings.

    An old id is short, and a message with the same id can be forged. So a stored finding must name the same
    message, and a row of the workbook must have the same contents.
    """
    receipts = {receipt.receipt_id: receipt for _, receipt in read}
    earlier = {name: earlier_receipt_id(receipt.message_id) for name, receipt in receipts.items()}
    rows = {str(row["Receipt"]): row for row in sheet.rows()}

    def is_of(name: str, finding: Finding) -> bool:
        return finding.receipt.message_id == receipts[name].message_id

    found = earlier_work(audit, earlier, is_of)
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
    return known, {earlier[name]: finding for name, finding in found.items() if finding}


def _is_row_of(row: Mapping[str, object], receipt: Receipt) -> bool:
    says = {"Date": receipt.date, "Reference": receipt.reference, "Amount": receipt.amount}
    same = all(row[name] == value for name, value in says.items() if value is not None)
    return same and plain_text(str(row["Subject"] or "")) == receipt.subject


def was_audited(audit: Audit, receipt: Receipt, duplicate_of: str | None) -> bool:
    """Return whether an earlier run finished a receipt.

    Returns ``False`` if the contents have changed since. The sub-goal reports that later.
    """
    try:
        return is_done(audit, receipt, duplicate_of)
    except TokenConflict:
        return False


def duplicates(receipts: list[Receipt]) -> dict[str, str | None]:
    """Return the earlier receipt with the same contents for each receipt, or ``None``."""
    first: dict[str, str] = {}
    found: dict[str, str | None] = {}
    for receipt in receipts:
        digest = receipt.content_digest
        found[receipt.receipt_id] = first.get(digest) if digest else None
        if digest:
            first.setdefault(digest, receipt.receipt_id)
    return found


def by_transaction(receipt: Receipt, others: Sequence[Receipt]) -> dict[str, str] | None:
    """Return the first of the other receipts for each transaction. Returns ``None`` for a readable receipt.

    An unreadable receipt counts after a person has read it. So the first of two such receipts is not a duplicate.
    """
    if not receipt.is_unreadable:
        return None
    found: dict[str, str] = {}
    for other in others:
        if other.reference and other.receipt_id != receipt.receipt_id and not other.is_unreadable:
            found.setdefault(other.reference, other.receipt_id)
    return found
