"""Read a receipt from a letter. An unclear value is never guessed."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import unicodedata
from datetime import date
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Literal

from pydantic import BaseModel, ConfigDict

from holo_tasks.office import Letter, plain_name, plain_text, sender_name
from receipts.days import find_days
from receipts.money import TOO_MUCH, Money, currencies, find_money

TRANSACTION = r"(?<![A-Za-z0-9])TX-[0-9]{5}(?!\d)"
_MOST_PROBLEMS = 12
_ID_LETTERS = 26
"""Letters of five bits each."""
_SHOWN = 12

_GRAND = r"grand total|total incl[a-z.]*(?: vat| tax| mwst)?|gesamtbetrag|rechnungsbetrag|endbetrag|total ttc"
_PAID = (
    r"(?:total )?amount (?:due|paid|charged)|total (?:amount|due|paid|charged|price)|amount charged|you paid|"
    r"zu zahlen(?:der betrag)?|bezahlt|gezahlt|montant (?:total|pay[ée])"
)
_BARE = r"total|summe|gesamt|gesamtsumme|totale|totaal|importe total"
_NOT_THE_TOTAL = re.compile(
    r"^\W*(?:sub[ -]?total|zwischensumme|(?:net|netto)\w* |(?:balance|outstanding) )|\bin total\b"
    r"|total (?:net|excl|ht\b|vat|tax|savings?|saved|items?|points|qty|discount)",
    re.I,
)
_LABEL = re.compile(rf"(?<![\w-])(?:(?P<grand>{_GRAND})|(?P<paid>{_PAID})|(?P<bare>{_BARE}))(?![\w-])", re.IGNORECASE)
_TAX = re.compile(r"\b(?:incl|including|inkl|thereof|davon|darin|vat|mwst|ust|tax|tva)\b", re.I)
_MERCHANT = re.compile(
    r"^\W*(?:merchant|h[äa]ndler|verk[äa]ufer|sold by|seller|vendor|store|paid to|marchand|commer[çc]ant)(?: name)?"
    r"\s*[:\t]\s*(?P<value>[^\t]+)",
    re.I,
)
_DATE_LABEL = re.compile(
    r"^\W*(?:(?:receipt|invoice|purchase|transaction|payment|sale|billing) )?(?:date|datum|day)(?: of [a-z]+)?"
    r"|^\W*(?:belegdatum|rechnungsdatum|kaufdatum|paid on|purchased on)",
    re.I,
)
_RECEIPT_WORD = re.compile(r"\b(?:receipt|invoice|rechnung|quittung|kassenbon|beleg|facture|re[çc]u)\b", re.I)
_FORWARDED_FROM = re.compile(r"^[^\w\n]*(?:from|von):[ \t]*\"?(?P<name>[^<\n\"]*[^<\n\"\s])\"?[ \t]*<", re.I | re.M)
_ADDRESS_LINE = re.compile(r"\d.*[^\W\d]{3}|[^\W\d]{3}.*\d|www\.|@")
_GREETING = re.compile(
    r"\b(?:dear|hello|hi|hallo|liebe[rs]?|guten|bonjour|thank|thanks|danke|merci|your|ihre?|order|payment|please|we)\b",
    re.I,
)
_LEGAL_FORM = re.compile(r"\b(?:gmbh|ag|kg|ltd|limited|inc|llc|plc|bv|sarl|sas|srl|oy|ab|co)\b")


class Receipt(BaseModel):
    """The values of a receipt. A missing or contradictory value is ``None``, and ``problems`` names it.

    All texts are shortened and made plain (`plain`). They appear in names of runs, pages, logs and cells, and the
    merchant is typed into a note.

    ``kind`` is "receipt" if amount, currency and reference are known. It is "not_a_receipt" if the letter has no
    sign of a receipt, and "unreadable" otherwise.
    """

    model_config = ConfigDict(frozen=True)

    receipt_id: str
    message_id: str
    subject: str
    kind: Literal["receipt", "not_a_receipt", "unreadable"]
    merchant: str | None
    amount: Decimal | None
    currency: str | None
    date: date | None
    reference: str | None
    problems: tuple[str, ...] = ()

    @property
    def short_id(self) -> str:
        """The part of ``receipt_id`` that is shown to people."""
        return short_id(self.receipt_id)

    @property
    def is_unreadable(self) -> bool:
        """Whether the transaction or the amount is unknown."""
        return self.kind == "unreadable" or self.reference is None or self.amount is None

    @property
    def content_digest(self) -> str | None:
        """A digest that is equal for two letters about one purchase. ``None`` if too few values are known."""
        if self.amount is None or not (self.reference or (self.merchant and self.date)):
            return None
        facts = (
            _bare_name(self.merchant or ""),
            f"{self.amount:.2f} {self.currency}",
            str(self.date),
            str(self.reference),
        )
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def receipt_id(message_id: str) -> str:
    """Return the stable id of the receipt in a message. A second message with the same id cannot be made."""
    return "R-" + base64.b32encode(_digest(message_id)).decode()[:_ID_LETTERS]


def earlier_receipt_id(message_id: str) -> str:
    """Return the id of earlier versions, with 40 bits.

    A second message with the same id can be made within a minute, so it is not trusted alone.
    """
    return "R-" + _digest(message_id).hex()[:10].upper()


def short_id(identity: str) -> str:
    """Return the start of a receipt's id for tables. It is only for display."""
    return identity[:_SHOWN]


def _digest(message_id: str) -> bytes:
    return hashlib.sha256(message_id.encode("utf-8", "replace")).digest()


def same_merchant(one: str, other: str) -> bool:
    """Return whether two names differ only in case, punctuation and legal form."""
    return _bare_name(one) == _bare_name(other) != ""


def in_ascii(text: str) -> str:
    """Return a text without accents and other characters outside of ASCII, for programs that accept nothing else."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def like_merchant(one: str, other: str) -> bool:
    """Return whether two names are the same merchant, except for accents and a few misread letters."""
    first, second = in_ascii(one), in_ascii(other)
    return same_merchant(first, second) or SequenceMatcher(None, first.casefold(), second.casefold()).ratio() >= 0.9


def _bare_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", _LEGAL_FORM.sub(" ", name.casefold()))


def read_receipt(letter: Letter, *, reference: str = TRANSACTION) -> Receipt:
    """Return the receipt in a letter's body and attachments. ``reference`` is the pattern of transaction names."""
    texts = [_tidy(text) for text in (letter.text, letter.other_text) if text]
    for file in letter.attachments:
        if file.text:
            texts.append(_tidy(_table(file.text) if file.media_type == "text/csv" else file.text))
    problems = list(letter.problems)
    amount, currency = _total(texts, problems)
    found = {one.upper() for text in (letter.subject, *texts) for one in re.findall(reference, text, re.I)}
    if len(found) > 1:
        problems.append(f"names {len(found)} transactions ({', '.join(sorted(found)[:4])})")
    elif not found:
        problems.append("names no transaction")
    day = _day(texts, problems)
    merchant = _merchant(letter, texts, problems)
    known = amount is not None and amount > 0 and currency and len(found) == 1
    signs = amount is not None or found or any("total" in one for one in problems if "no total" not in one)
    damaged = bool(letter.unread) or (
        bool(letter.problems) and any(map(_RECEIPT_WORD.search, (letter.subject, *texts)))
    )
    kind: Literal["receipt", "not_a_receipt", "unreadable"]
    kind = "receipt" if known else "unreadable" if signs or damaged else "not_a_receipt"
    return Receipt(
        receipt_id=receipt_id(letter.message_id),
        message_id=letter.message_id,
        subject=plain_text(letter.subject),
        kind=kind,
        merchant=merchant,
        amount=amount,
        currency=currency,
        date=day,
        reference=found.pop() if len(found) == 1 else None,
        problems=tuple(dict.fromkeys(map(plain_text, problems)))[:_MOST_PROBLEMS],
    )


def _tidy(text: str) -> str:
    """Return a text without the quote marks of forwarded messages and without blanks at line ends."""
    return "\n".join(re.sub(r"^(?:>\s?)+", "", line).strip() for line in text.splitlines())


def _table(text: str) -> str:
    """Return a CSV text as lines: "heading: value" for a single record, else cells separated by tabs."""
    first = text.splitlines()[0] if text else ""
    mark = max(",;\t|", key=first.count)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), delimiter=mark)]
    except csv.Error:
        return text
    rows = [row for row in rows if any(row)]
    if len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1:
        return "\n".join(f"{heading}: {value}" for heading, value in zip(*rows, strict=True))
    return "\n".join("\t".join(cell for cell in row if cell) for row in rows)


def _total(texts: list[str], problems: list[str]) -> tuple[Decimal | None, str | None]:
    found: dict[str, list[Money]] = {"grand": [], "paid": [], "bare": []}
    for text in texts:
        for strength, line in _labelled(text):
            amounts = find_money(line)
            priced = [one for one in amounts if one.priced] or amounts[:1]
            found[strength] += [one for one in priced if one.amount]
    # If there is a grand total, a plain total is a subtotal.
    totals = found["paid"] + (found["grand"] or found["bare"])
    everywhere = {code for text in texts for code in currencies(text)}
    if not totals:
        problems.append("no total found")
        return None, None
    if not all(one.exact for one in totals):
        problems.append("the total can be read in two ways")
        return None, None
    if any(abs(one.amount) >= TOO_MUCH for one in totals):
        problems.append("the total is too big to be one")
        return None, None
    amounts_found = {one.amount for one in totals}
    if len(amounts_found) > 1:
        listed = ", ".join(f"{one:,.2f}" for one in sorted(amounts_found)[:4])
        problems.append(f"shows {len(amounts_found)} different totals ({listed})")
        return None, None
    amount = amounts_found.pop()
    if amount < 0:
        problems.append("the total is negative: a refund, not an expense")
    written = {one.currency for one in totals if one.currency} or everywhere
    if "USD" in written and any("$" in text for text in texts) and everywhere & {"CAD", "AUD", "NZD"}:
        problems.append("the total's dollar sign may mean several currencies")
        return amount, None
    if len(written) != 1:
        problems.append("the total has no currency" if not written else "the total is in several currencies")
        return amount, None
    return amount, written.pop()


def _labelled(text: str) -> list[tuple[str, str]]:
    """Return the label strength and the text after each label of a total. The text may be on the next line."""
    out = []
    lines = [line for line in text.split("\n") if line]
    for number, line in enumerate(lines):
        label = _LABEL.search(line)
        if label is None or len(line) > 400 or _NOT_THE_TOTAL.search(line):
            continue
        rest = re.sub(r"\([^()]*\)", _kept_bracket, line[label.end() :])
        tax = _TAX.search(rest)
        if tax and find_money(rest[: tax.start()]):
            rest = rest[: tax.start()]
        if not re.search(r"\d", rest) and not rest.strip(" :.\t-") and number + 1 < len(lines):
            following = lines[number + 1]
            alone = find_money(following)
            if len(alone) == 1 and len(following) <= 20:
                rest = following
        # In running text ("the total for 300 shops"), the label is an ordinary word.
        if line[: label.start()].strip(" *|\t") and not any(one.priced for one in find_money(rest)):
            continue
        out.append((label.lastgroup or "bare", rest))
    return out


def _kept_bracket(bracket: re.Match[str]) -> str:
    """Return a bracket with an amount, such as "(USD 91.03)". A remark such as "(incl. 19% VAT)" becomes a space."""
    remark = _TAX.search(bracket[0]) or not any(one.priced for one in find_money(bracket[0]))
    return " " if remark else bracket[0]


def _day(texts: list[str], problems: list[str]) -> date | None:
    labelled: set[date] = set()
    anywhere: set[date] = set()
    unclear: list[str] = []
    for text in texts:
        for line in text.split("\n"):
            days, odd = find_days(line)
            unclear += odd
            anywhere |= days
            if _DATE_LABEL.search(line):
                labelled |= days
    days = labelled or anywhere
    if len(days) == 1:
        return days.pop()
    if days:
        problems.append(f"shows {len(days)} different dates")
    else:
        problems.append(f"the date {unclear[0]!r} can be read in two ways" if unclear else "no date found")
    return None


def _merchant(letter: Letter, texts: list[str], problems: list[str]) -> str | None:
    labelled = {
        plain_name(match["value"]) for text in texts for line in text.split("\n") if (match := _MERCHANT.search(line))
    }
    names = {re.sub(r"[\W_]+", "", one.casefold()): one for one in sorted(labelled) if one}
    if len(names) > 1:
        problems.append(f"names {len(names)} merchants ({', '.join(sorted(names.values())[:4])})")
        return None
    if names:
        return next(iter(names.values()))
    forwarded = next((match["name"] for text in texts if (match := _FORWARDED_FROM.search(text))), "")
    # An attached document is more likely to have a letterhead than a body.
    letterhead = next((head for text in reversed(texts) if (head := _letterhead(text))), "")
    name = plain_name(letterhead or forwarded or sender_name(letter.sender))
    if not name:
        problems.append("names no merchant")
    return name or None


def _letterhead(text: str) -> str:
    """Return the first line if it is a name, followed by an address or the title of a receipt. Otherwise returns ""."""
    forwarded = _FORWARDED_FROM.search(text)
    lines = [line for line in text[forwarded.end() if forwarded else 0 :].split("\n") if line][:4]
    lines = [line[:200] for line in lines]  # the patterns below search back from every digit
    if len(lines) < 3:
        return ""
    name = lines[0].strip("*=-# ")
    plain = re.fullmatch(r"[^\W\d][\w &.,'’+\-]{2,48}", name) and len(name.split()) <= 6
    if not plain or _RECEIPT_WORD.search(name) or _GREETING.search(name) or name.endswith((",", ".")):
        return ""
    follows = any(_ADDRESS_LINE.search(line) or _RECEIPT_WORD.search(line) for line in lines[1:3])
    return name if follows and ":" not in lines[0] else ""
