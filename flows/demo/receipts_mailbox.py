"""A mailbox of expense receipts as real e-mail messages, and the ledger with their transactions.

All data is invented (all addresses end in ``.example``) and the same on every call. The demo and the tests use this
module. They put its folder on ``sys.path``.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import cast

from receipts_layouts import LAYOUTS, Outcome, Sale, new, text

from receipts.receipt import receipt_id

UNKNOWN_MERCHANT = "UNKNOWN MERCHANT 0042"
ARCHIVED = "TX-10785"
FLAG_REASONS: dict[str, str] = {
    "wrong_amount": "Wrong amount",
    "duplicate": "Duplicate receipt",
    "unknown_merchant": "Unknown merchant",
}
_START = datetime(2026, 10, 5, 8, 15, tzinfo=UTC)


@dataclass(frozen=True)
class Expected:
    """The correct result of an audit for one message.

    ``amount`` is that of the receipt, and ``ledger_amount`` that of the transaction. ``flag_reason`` is the reason
    of the flag in the legacy program, and ``None`` if no flag is filed.
    """

    message_id: str
    receipt_id: str
    subject: str
    layout: str
    outcome: Outcome
    merchant: str | None
    amount: Decimal | None
    currency: str | None
    date: date | None
    reference: str | None
    ledger_amount: Decimal | None
    flag_reason: str | None


# The last column is the amount in the ledger, if it differs.
_SALES_TABLE = """
match            | TX-10482 | Kestrel House Hotel     | 1284.50 EUR | 2026-09-14 | A. Lindqvist | plain |
match            | TX-10517 | Paper & Pine            |   19.99 USD | 2026-09-15 | M. Okafor    | html |
wrong_amount     | TX-10716 | Tandem Car Hire         |  318.60 EUR | 2026-09-24 | A. Lindqvist | forwarded | 381.60
match            | TX-10563 | Café Grünwald           |   84.20 EUR | 2026-09-17 | J. Weber     | quoted |
no_transaction   | TX-19357 | Northgate Parking       |   24.00 GBP | 2026-09-28 | M. Okafor    | rfc822 |
match            | TX-10539 | Bluefin Software        |  430.00 USD | 2026-09-16 | A. Lindqvist | alternative |
match            | TX-10594 | Metro Taxi Zürich       |   57.35 CHF | 2026-09-18 | J. Weber     | base64 |
match            | TX-10628 | Harbour Print Works     |  236.75 GBP | 2026-09-21 | S. Moreau    | txt |
wrong_amount     | TX-10742 | Brenner Werkzeuge GmbH  | 1746.90 EUR | 2026-09-25 | J. Weber     | html_german | 1476.90
match            | TX-10655 | Orchard Office Supply   |  612.40 EUR | 2026-09-22 | M. Okafor    | csv |
no_transaction   | TX-19624 | Librairie du Port       |   46.15 EUR | 2026-09-29 | S. Moreau    | latin9 |
unknown_merchant | TX-10785 | Saffron Garden Catering |  528.30 USD | 2026-09-30 | A. Lindqvist | html_file |
match            | TX-10673 | Lumen Conference Centre | 2950.00 EUR | 2026-09-23 | S. Moreau    | pdf |
duplicate        | TX-10482 | Kestrel House Hotel     | 1284.50 EUR | 2026-09-14 | A. Lindqvist | folio |
"""


def _sales() -> tuple[Sale, ...]:
    out = []
    for line in _SALES_TABLE.strip().splitlines():
        outcome, reference, merchant, price, day, holder, layout, ledger = (one.strip() for one in line.split("|"))
        amount, currency = price.split()
        host = re.sub(
            r"[^a-z]+", "-", unicodedata.normalize("NFKD", merchant).encode("ascii", "ignore").decode().lower()
        )
        address, when = f"receipts@{host}.example", date.fromisoformat(day)
        kind = cast("Outcome", outcome)
        out.append(Sale(kind, reference, merchant, address, amount, currency, when, holder, layout, ledger or None))
    return tuple(out)


SALES = _sales()

# Card payments without a receipt: reference, merchant, day, cents, currency, card holder.
_OTHERS = (
    ("TX-10311", "Corner Bakery", "2026-09-01", 1260, "EUR", "J. Weber"),
    ("TX-10326", "Skyline Airways", "2026-09-01", 48720, "EUR", "A. Lindqvist"),
    ("TX-10347", "Paper & Pine", "2026-09-02", 3499, "USD", "M. Okafor"),
    ("TX-10358", "Metro Taxi Zürich", "2026-09-02", 4180, "CHF", "J. Weber"),
    ("TX-10374", "Bluefin Software", "2026-09-03", 43000, "USD", "A. Lindqvist"),
    ("TX-10395", "Kestrel House Hotel", "2026-09-04", 64225, "EUR", "S. Moreau"),
    ("TX-10416", "Riverside Fuel", "2026-09-07", 7135, "GBP", "M. Okafor"),
    ("TX-10437", "Tandem Car Hire", "2026-09-08", 38160, "EUR", "A. Lindqvist"),
    ("TX-10453", "Harbour Print Works", "2026-09-09", 9850, "GBP", "S. Moreau"),
    ("TX-10469", "Café Grünwald", "2026-09-10", 2640, "EUR", "J. Weber"),
    ("TX-10495", "Orchard Office Supply", "2026-09-14", 15695, "EUR", "M. Okafor"),
    ("TX-10526", "Alpine Rail", "2026-09-15", 12900, "CHF", "J. Weber"),
    ("TX-10547", "Lumen Conference Centre", "2026-09-16", 125000, "EUR", "S. Moreau"),
    ("TX-10572", "Riverside Fuel", "2026-09-17", 6820, "GBP", "M. Okafor"),
    ("TX-10615", "Corner Bakery", "2026-09-18", 945, "EUR", "J. Weber"),
    ("TX-10637", "Skyline Airways", "2026-09-21", 52340, "EUR", "A. Lindqvist"),
    ("TX-10694", "Brenner Werkzeuge GmbH", "2026-09-23", 31275, "EUR", "J. Weber"),
    ("TX-10729", "Northgate Parking", "2026-09-24", 1800, "GBP", "M. Okafor"),
    ("TX-10758", "Bluefin Software", "2026-09-25", 8600, "USD", "A. Lindqvist"),
    ("TX-10763", "Paper & Pine", "2026-09-28", 5745, "USD", "M. Okafor"),
    ("TX-10794", "Alpine Rail", "2026-09-29", 7450, "CHF", "J. Weber"),
    ("TX-10836", "Saffron Garden Catering", "2026-09-30", 21915, "USD", "S. Moreau"),
    ("TX-10857", "Garage Grubenthal", "2026-10-01", 14280, "EUR", "J. Weber"),
)
MANGLED_SAYS = "TX-10857; 142.80 EUR; Garage Grubenthal"
"""The contents of the mangled receipt, as its sender repeats them to a person."""


def transactions() -> list[dict[str, object]]:
    """Return the rows of the legacy program's ledger, by reference."""
    rows = [
        (
            sale.reference,
            UNKNOWN_MERCHANT if sale.outcome == "unknown_merchant" else sale.merchant,
            sale.day.isoformat(),
            int(Decimal(sale.ledger or sale.amount) * 100),
            sale.currency,
            sale.card_holder,
        )
        for sale in SALES
        if sale.outcome not in ("no_transaction", "duplicate")
    ]
    names = ("reference", "merchant", "date", "amount_cents", "currency", "card_holder")
    return [{**dict(zip(names, row, strict=True)), "status": _status(row[0])} for row in sorted([*rows, *_OTHERS])]


def _status(reference: str) -> str:
    if reference == ARCHIVED:
        return "Archived"
    return "Open" if reference >= "TX-10400" else "Posted"


def write_maildir(path: str | Path, *, one_of_each: bool = False) -> list[Expected]:
    """Write the messages into a Maildir, which is created if needed. Existing messages are left alone.

    ``one_of_each`` takes only the first message of each outcome. Returns the correct results for these messages.
    """
    folder = Path(path)
    for sub in ("cur", "new", "tmp"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    out: list[Expected] = []
    for number, raw, expected in _taken(one_of_each):
        sent = int((_START + timedelta(hours=5 * number)).timestamp())
        name = f"{sent}.M{number:06d}P1.mail.example"
        if not [*folder.glob(f"cur/{name}*"), *folder.glob(f"new/{name}*")]:
            # Every second message is marked as read.
            target = folder / "cur" / f"{name}:2,S" if number % 2 else folder / "new" / name
            target.write_bytes(raw)
        out.append(expected)
    return out


def expected(*, one_of_each: bool = False) -> list[Expected]:
    """Return the correct results for the messages that `write_maildir` writes."""
    return [reported for _, _, reported in _taken(one_of_each)]


def _taken(one_of_each: bool) -> Iterator[tuple[int, bytes, Expected]]:
    outcomes = set[str]()
    for number, (raw, reported) in enumerate(messages()):
        if not (one_of_each and reported.outcome in outcomes):
            outcomes.add(reported.outcome)
            yield number, raw, reported


def messages() -> list[tuple[bytes, Expected]]:
    """Return the bytes of each message and its correct result, in the order of sending."""
    out = []
    for number, sale in enumerate(SALES):
        message = LAYOUTS[sale.layout](sale)
        message_id = f"{number + 1:02d}.{sale.layout}.{sale.reference.lower()}@{sale.address.partition('@')[2]}"
        _stamp(message, sale, number, message_id)
        out.append((message.as_bytes(), _expected(sale, _id_of(message), message["Subject"])))
    out.append(_newsletter(len(SALES)))
    out.append(_mangled(len(SALES) + 1))
    return out


def _stamp(message: EmailMessage, sale: Sale, number: int, message_id: str) -> None:
    if "From" not in message:
        message["From"] = f'"{sale.merchant}" <{sale.address}>'
    if "Subject" not in message:
        message["Subject"] = f"Your receipt from {sale.merchant}"
    message["To"] = "expenses@holo-audit.example"
    message["Date"] = format_datetime(_START + timedelta(hours=5 * number))
    message["Message-ID"] = f"<{message_id}>"
    for depth, part in enumerate(message.walk()):
        if part.get_content_maintype() == "multipart":
            part.set_boundary(f"=_holo_{number:02d}_{depth}_=")


def _expected(sale: Sale, message_id: str, subject: str) -> Expected:
    ledger = None if sale.outcome == "no_transaction" else Decimal(sale.ledger or sale.amount)
    return Expected(
        message_id, receipt_id(message_id), str(subject), sale.layout, sale.outcome, sale.merchant,
        Decimal(sale.amount), sale.currency, sale.day, sale.reference, ledger, FLAG_REASONS.get(sale.outcome),
    )  # fmt: skip


def _newsletter(number: int) -> tuple[bytes, Expected]:
    message = new("Autumn offers: 20% off everything")
    message["From"] = "Paper & Pine News <news@paperpine.example>"
    message["To"] = "expenses@holo-audit.example"
    message["Date"] = format_datetime(_START + timedelta(hours=5 * number))
    message["Message-ID"] = "<news.2026-10@paperpine.example>"
    message.set_content(text("""
        Our autumn sale is here.

        Notebooks now from $9.99, pens from $2.49.
        In total we have more than 300 offers for you, until 31 October.

        Unsubscribe: https://paperpine.example/leave"""), cte="7bit")  # fmt: skip
    return message.as_bytes(), _nothing(_id_of(message), str(message["Subject"]), "newsletter", "not_a_receipt")


def _mangled(number: int) -> tuple[bytes, Expected]:
    """Return a receipt whose total was lost: with a wrong charset, NUL bytes, and truncated base64 and MIME."""
    sent = format_datetime(_START + timedelta(hours=5 * number))
    raw = f"""From: =?utf-8?q?Gr=C3?= Garage <office@garage.example>
To: expenses@holo-audit.example
Subject: Receipt =?x-unknown?b?w7w?=
Date: {sent}
Message-ID: <broken.77@garage.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="cut"

--cut
Content-Type: text/plain; charset=us-ascii

Your receipt for the repair is attached.{chr(0)}{chr(0)} Gr\xfc\xdfe
--cut
Content-Type: text/plain; name="receipt.txt"
Content-Transfer-Encoding: base64

UmVjZWlwdApHYXJhZ2UgR3J1Ym""".replace("\n", "\r\n").encode("latin-1")
    text = b"Your receipt for the repair is attached.\0\0 Gr\xfc\xdfe"
    parts = [
        _part("multipart/mixed", b"", sender="GrÃ Garage <office@garage.example>", subject="Receipt ü"),
        _part("text/plain", text, charset="us-ascii"),
        _part("text/plain", b"Receipt\nGarage Grub", name="receipt.txt"),
    ]
    return raw, _nothing(_id("broken.77@garage.example", sent, parts), "Receipt ü", "mangled", "unreadable")


def _id_of(message: EmailMessage) -> str:
    """Return the Message-ID and the contents of a letter. They identify it, however it was delivered."""
    parts = []
    for part in message.walk():
        data = b"" if part.is_multipart() else part.get_payload(decode=True)
        assert isinstance(data, bytes)
        name, charset = part.get_filename(""), part.get_content_charset("")
        sender, subject = str(part.get("From", "")), str(part.get("Subject", ""))
        parts.append(_part(part.get_content_type(), data, name, charset, sender, subject))
    return _id(str(message["Message-ID"]).strip("<>"), str(message["Date"]), parts)


def _part(kind: str, data: bytes, name: str = "", charset: str = "", sender: str = "", subject: str = "") -> list[str]:
    return [kind, name, charset, sender, subject, hashlib.sha256(data.replace(b"\r\n", b"\n").strip()).hexdigest()]


def _id(message_id: str, sent: str, parts: list[list[str]]) -> str:
    return f"{message_id}+{hashlib.sha256(json.dumps([message_id, sent, parts]).encode()).hexdigest()[:16]}"


def _nothing(message_id: str, subject: str, layout: str, outcome: Outcome) -> Expected:
    nothing = (None,) * 7
    return Expected(message_id, receipt_id(message_id), subject, layout, outcome, *nothing)
