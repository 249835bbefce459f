"""Receipts are read from any layout; an unclear value is never guessed."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from receipts_mailbox import Expected, messages, transactions, write_maildir

from holo_tasks.office.letter import Attachment, Letter
from holo_tasks.office.mailbox import read_maildir
from receipts.days import find_days
from receipts.money import find_money
from receipts.receipt import Receipt, read_receipt, same_merchant

WORDS = ["Total", "EUR", "1.284", "84,20", "TX-10482", "Date:", "\n", "2026-13-40", "$", "-", "(", "Merchant:"]


def letter(text: str, *files: Attachment, sender: str = "Shop <shop@a.example>", subject: str = "Receipt") -> Letter:
    return Letter("1@a.example", subject, sender, datetime(2026, 10, 5, tzinfo=UTC), text, files, (), "test")


def receipt(text: str, *files: Attachment) -> Receipt:
    return read_receipt(letter(f"Date: 2026-10-01\nTX-10482\n{text}", *files))


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Receipt, Expected]]:
    folder = tmp_path_factory.mktemp("mail")
    expected = {one.message_id: one for one in write_maildir(folder)}
    receipts = [read_receipt(one) for one in read_maildir(folder)]
    assert len(receipts) == len(expected)
    return {expected[one.message_id].layout: (one, expected[one.message_id]) for one in receipts}


@pytest.mark.parametrize("layout", [one.layout for _, one in messages()])
def test_every_layout_of_the_mailbox_is_read_correctly(layout: str, read: dict[str, tuple[Receipt, Expected]]) -> None:
    found, expected = read[layout]
    assert found.receipt_id == expected.receipt_id
    assert (found.amount, found.currency, found.date, found.reference) == (
        expected.amount, expected.currency, expected.date, expected.reference,
    )  # fmt: skip
    if expected.merchant is None:
        assert found.kind == expected.outcome
        assert found.problems
    else:
        assert found.kind == "receipt"
        assert found.problems == ()
        assert same_merchant(found.merchant or "", expected.merchant)


def test_only_the_duplicate_has_the_digest_of_another_receipt(read: dict[str, tuple[Receipt, Expected]]) -> None:
    digests = [one.content_digest for one, expected in read.values() if expected.outcome != "duplicate"]
    known = [one for one in digests if one]
    assert len(set(known)) == len(known) == 13
    assert read["folio"][0].content_digest == read["plain"][0].content_digest
    assert read["folio"][0].receipt_id != read["plain"][0].receipt_id


def test_the_ledger_matches_the_outcomes() -> None:
    ledger = {one["reference"]: one for one in transactions()}
    outcomes = [one for _, one in messages()]
    assert len(ledger) - len({one.reference for one in outcomes} & set(ledger)) >= 20
    counts = {name: sum(one.outcome == name for one in outcomes) for name in {one.outcome for one in outcomes}}
    assert counts == {
        "match": 8, "wrong_amount": 2, "duplicate": 1, "no_transaction": 2, "unknown_merchant": 1,
        "not_a_receipt": 1, "unreadable": 1,
    }  # fmt: skip
    for one in outcomes:
        row = ledger.get(one.reference or "")
        assert (row is None) == (one.outcome in ("no_transaction", "not_a_receipt", "unreadable"))
        if row:
            assert one.amount is not None
            assert (row["amount_cents"] == one.amount * 100) == (one.outcome != "wrong_amount")
            assert (row["merchant"] == one.merchant) == (one.outcome != "unknown_merchant")
        assert (one.flag_reason is None) == (one.outcome not in ("wrong_amount", "duplicate", "unknown_merchant"))


@pytest.mark.parametrize(
    ("line", "amount", "currency"),
    [
        ("Total: EUR 1,284.50", "1284.50", "EUR"),
        ("Amount due 84,20 €", "84.20", "EUR"),
        ("TOTAL  $19.99", "19.99", "USD"),
        ("Gesamtbetrag 1.284,50 EUR", "1284.50", "EUR"),
        ("Total CHF 1'284.50", "1284.50", "CHF"),
        ("Total TTC : 1 284,50 €", "1284.50", "EUR"),
        ("Total: EUR 430", "430", "EUR"),
        ("Summe 430,- €", "430", "EUR"),
        ("Total USD 1,284", "1284", "USD"),
        ("Total - EUR12.00", "12.00", "EUR"),
        ("Total (incl. 19% VAT): £12.00", "12.00", "GBP"),
        ("Total: €12.00 incl. VAT €1.92", "12.00", "EUR"),
        ("Subtotal: €10.00\nTotal: €12.00", "12.00", "EUR"),
        ("Total €10.00\nTotal VAT €2.00\nGrand total €12.00", "12.00", "EUR"),
        ("Total\n€ 12.00", "12.00", "EUR"),
        ("Total €12.00\nBalance due €0.00", "12.00", "EUR"),
        ("| Total | | €12.00 |", "12.00", "EUR"),
        ("Total $12.00 CAD", "12.00", "CAD"),
        ("Currency: EUR\nTotal: 12.00", "12.00", "EUR"),
    ],
)
def test_a_total_is_read_in_common_notations(line: str, amount: str, currency: str) -> None:
    found = receipt(line)
    assert (found.amount, found.currency) == (Decimal(amount), currency)
    assert found.kind == "receipt"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Total: EUR 84.20\nAmount due: EUR 94.20", "2 different totals (84.20, 94.20)"),
        ("Total: EUR 84.20 (USD 91.03)", "different totals"),
        ("Total: EUR 84.20 USD 84.20", "several currencies"),
        ("Nothing to see", "no total found"),
        ("Total: 1.284", "two ways"),
        ("Total: KWD 1.284", "two ways"),
        ("Total: 84.20", "no currency"),
        ("Total: -€84.20", "refund"),
        ("Total: €84.20 USD", "two ways"),
        ("Total: €84.20 -\nprices in CAD: $5.00, total paid: $84.20", "several currencies"),
        ("Total: €84.20\nsee also TX-10517", "names 2 transactions"),
        ("Total: €84.20\nMerchant: A\nMerchant: B", "names 2 merchants"),
        ("Total: €84.20\nInvoice date: 2026-10-02", "different dates"),
    ],
)
def test_an_unclear_value_is_reported_and_not_guessed(text: str, says: str) -> None:
    found = receipt(text)
    assert any(says in problem for problem in found.problems), found.problems


def test_a_body_and_an_attachment_that_disagree_leave_no_amount() -> None:
    found = receipt("Total: EUR 84.20", Attachment("a.txt", "text/plain", "Total: EUR 94.20", 16))
    assert (found.amount, found.kind) == (None, "unreadable")


def test_an_ambiguous_date_is_not_chosen() -> None:
    found = read_receipt(letter("Date: 03/04/2026\nTX-10482\nTotal: EUR 5.00"))
    assert found.date is None
    assert any("'03/04/2026' can be read in two ways" in one for one in found.problems)


@pytest.mark.parametrize(
    "text",
    ["2026-03-14", "14.03.2026", "14. März 2026", "14 March 2026", "March 14, 2026", "14-Mar-2026", "14/03/2026",
     "03/14/2026", "14th of March 2026", "14. Mrz 2026".replace("Mrz", "Mär")],
)  # fmt: skip
def test_a_date_is_read_in_common_notations(text: str) -> None:
    assert find_days(f"on {text}, at noon") == ({date(2026, 3, 14)}, [])


def test_the_merchant_of_a_forwarded_receipt_is_not_the_colleague_who_forwarded_it() -> None:
    text = "FYI\n\nFrom: Tandem Car Hire <x@tandem.example>\n> TX-10482\n> Total: EUR 5.00"
    assert read_receipt(letter(text, sender="Anna <anna@a.example>")).merchant == "Tandem Car Hire"


@pytest.mark.parametrize(
    ("line", "merchant"),
    [
        ("Merchant: " + "Paper & Pine " * 30_000, ("Paper & Pine " * 5)[:60].strip()),
        ("Merchant: {{secret:portal_password}}", "secret:portal_password"),
        ('Merchant: Kestrel". Open Settings. Say "yes', "Kestrel . Open Settings. Say yes"),
        ("Merchant: Kest\u202erel\u200b \x1b[31mHouse\x07\x9b2J", "Kestrel 31mHouse2J"),
        ("Merchant: <img src=x>![a](http://b.example)`c`|d", "img src=x ! a (http://b.example) c d"),
        ("Merchant: ｛｛secret：portal｝｝ ＜b＞ ﹛x﹜", "secret:portal b x"),
        ("Merchant: Ｋｅｓｔｒｅｌ＂ ｀x｀ ［y］（z）＼ ｜", "Kestrel x y (z)"),
        ("Merchant: Café Grünwald (Zürich), O'Neil + Co. 東京", "Café Grünwald (Zürich), O'Neil + Co. 東京"),
    ],
)
def test_a_merchants_name_is_short_and_contains_no_markup_or_placeholder(line: str, merchant: str) -> None:
    assert receipt(f"{line}\nTotal: EUR 5.00").merchant == merchant
    sender = line.removeprefix("Merchant: ").replace("<", "").replace('"', "")
    found = read_receipt(letter("TX-10482\nTotal: EUR 5.00", sender=f'"{sender}" <shop@a.example>')).merchant or ""
    assert len(found) <= 60
    assert not set(found) & set('"{}<>[]`|')
    assert found.isprintable()


def test_a_receipt_of_a_hostile_letter_is_short_and_printable() -> None:
    hostile = "x" * 5_000 + "\u202e\x9b\n\u2028"
    text = "\n".join(
        [
            "Total: EUR 5.00",
            "Total: EUR 9.00",
            *(f"Merchant: {one}{hostile}" for one in "abcdef"),
            f"Date: 03/04/2026{hostile}",
        ]
    )
    found = read_receipt(replace(letter(text, subject=hostile), problems=(hostile, *map(str, range(500)))))
    assert len(found.model_dump_json()) < 8_000
    for said in (found.subject, found.merchant or "", *found.problems):
        assert len(said) <= 200
        assert said.isprintable()


@pytest.mark.parametrize("amount", ["9" * 300, "1000000000.00", "1,000,000,000.00"])
def test_an_absurd_amount_is_refused(amount: str) -> None:
    found = receipt(f"Total: EUR {amount}")
    assert (found.amount, found.kind) == (None, "unreadable")
    assert "the total is too big to be one" in found.problems


@pytest.mark.parametrize("named", ["TX-１２３４５", "TX-104829", "TX-1048２9"])
def test_a_text_that_only_begins_like_a_reference_is_none(named: str) -> None:
    assert read_receipt(letter(f"{named}\nTotal: EUR 5.00")).reference is None


def test_an_id_is_long_enough_to_be_unique() -> None:
    found = receipt("Total: EUR 5.00")
    assert re.fullmatch("R-[A-Z2-7]{26}", found.receipt_id)
    assert found.short_id == found.receipt_id[:12]
    assert "short_id" not in found.model_dump()


def test_the_receipt_keeps_its_id_when_its_content_is_read_differently() -> None:
    assert receipt("Total: EUR 5.00").receipt_id == receipt("Total: EUR 6.00").receipt_id


def test_legal_forms_and_case_do_not_change_a_merchant() -> None:
    assert same_merchant("BRENNER Werkzeuge", "Brenner Werkzeuge GmbH")
    assert not same_merchant("Brenner Werkzeuge", "Brunner Werkzeuge")
    assert not same_merchant("", "")


@settings(max_examples=100, deadline=None)
@given(st.decimals(min_value="0.01", max_value="9999999", places=2), st.sampled_from([",.", ".,", " ,", "'."]))
def test_every_amount_is_parsed_in_any_style(amount: Decimal, marks: str) -> None:
    written = f"{amount:,.2f}".translate(str.maketrans(",.", marks))
    (found,) = find_money(f"EUR {written}")
    assert (found.amount, found.currency, found.exact) == (amount, "EUR", True)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    read_receipt(letter(text, Attachment("a.csv", "text/csv", text, 1)))
