"""The values that a task names, the values that are missing in texts, and texts that look like misread values."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.texts import task_values
from holo_tasks.core.texts.task_sentences import without_sentences_of
from holo_tasks.core.texts.task_values import MOST_VALUES, Slip, TaskValues

ENTRY = "Please file the entry CB-1042, 1,284.50, Taxi on 2026-03-01, at most 3 times."


@pytest.mark.parametrize(
    ("goal", "data", "values"),
    [
        (ENTRY, {}, ("CB-1042", "1,284.50", "2026-03-01")),
        ('Enter the username "karrie" and the password "6kZ".', {}, ("karrie", "6kZ")),
        ("Choose “Wrong amount” as reason.", {}, ("Wrong amount",)),
        ("Store the customer.", {"customer": "Ada Lovelace", "note": "not for this page"}, ("Ada Lovelace",)),
        ("Pay the amount.", {"amount": 84.5}, ("84.5",)),
        ("Store a ticket with the data.", {"caller": "Rolf", "machine": "M7", "urgent": "yes"}, ("Rolf", "M7")),
        ("Fill in the form from these values.", {"caller": "Rolf", "machine": "M7"}, ("Rolf", "M7")),
        ("Wait 30 seconds, then approve what is above 500, for 12 people.", {}, ()),
        ("The password is {{secret:pin1234}}.", {}, ()),
        ("Find the email by Wilone and forward that email to Corabel.", {}, ("Corabel",)),
        ("Send it to Ada Lovelace, Bob and Cy on Monday.", {}, ("Ada Lovelace", "Bob", "Cy")),
        ("Forward it to ada@example.com.", {}, ("ada@example.com",)),
        ("Put these amounts beside the names: 512 for Ada, 77 for Bob.", {}, ("512", "77")),
        ("Change the quantity from 10 to 25.", {}, ("25",)),
        # The opposite error: counts, limits, conditions, places, and departments without a name.
        ("Enter the 12 entries of the list.", {}, ()),
        ("Enter the amounts of all invoices above 500, at most 100 of them.", {}, ()),
        ("Set it to 300 if it is empty.", {}, ()),
        ("Type a summary of 200 words into row 120.", {}, ()),
        ("Do not send it to Ada.", {}, ()),
        ("Send the letter to the office, then go to Settings.", {}, ()),
        ("Read what Ada sent to us.", {}, ()),
        ("Compare the record with the data.", {"caller": "Rolf"}, ()),
        ("Open the record that the data names.", {"caller": "Rolf"}, ()),
        ("Summarize the mail.", {"mail": "Dear Ada,\nthe order 4711-2 has come."}, ()),
        (" ".join(f"4711-{number:04}" for number in range(MOST_VALUES + 1)), {}, ()),
    ],
)
def test_values_are_quoted_texts_specific_numbers_and_named_data(goal: str, data: Any, values: tuple[str, ...]) -> None:
    assert TaskValues.of(goal, data).values == values


MANY = {f"entry{number}": f"R-{number:04}" for number in range(MOST_VALUES)} | {"caller": "Rolf"}
NESTED = {"id": "77a", "place": {"city": "Bern", "Url": "/p/7", "tags": ["red", "yes"]}, "page": "https://x.example/p"}


@pytest.mark.parametrize(
    ("goal", "data", "values"),
    [
        ("Store the caller with this data.", MANY, ("Rolf",)),
        ("Store a ticket with this data.", MANY, ()),
        ("Store the caller with this data.", {"caller": "Rolf", "machine": "M7"}, ("Rolf", "M7")),
        ("Store a record with this data.", NESTED, ("Bern", "red")),
        ("Store the place.", NESTED, ("Bern", "red")),
        ("Did you provide it? Store the place.", NESTED, ("Bern", "red")),
        ("Store the ID.", NESTED, ("77a",)),
        ("Enter the page.", NESTED, ("https://x.example/p",)),
        ("Pay it with this data.", {"amount": 84.5, "id": 4711, "site": "www.x.example"}, ("84.5",)),
    ],
)
def test_of_the_data_only_what_may_be_entered_is_a_value(goal: str, data: Any, values: tuple[str, ...]) -> None:
    assert TaskValues.of(goal, data).values == values


@pytest.mark.parametrize(
    ("texts", "missing"),
    [
        (["CB-1042", "1284.50", "01.03.2026"], ()),
        (["cb 1042 was filed on 2026-03-01 for EUR 1.284,50"], ()),
        (["CB-1042", "2026-03-01"], ("1,284.50",)),
        (["CB-1043", "1284.5", "2026-03-10"], ("CB-1042", "2026-03-01")),
        ([], ("CB-1042", "1,284.50", "2026-03-01")),
    ],
)
def test_a_value_in_another_format_is_not_missing(texts: list[str], missing: tuple[str, ...]) -> None:
    assert TaskValues.of(ENTRY).missing_in(texts) == missing


@pytest.mark.parametrize(
    ("goal", "typed", "missing"),
    [
        ("金額は１２３．４５円です。", "123.45", ()),
        ("请输入订单号R-4711的日期2026年3月5日。", "R-4711 2026-03-05", ()),
        ("주문 번호 48213을 입력하세요.", "48213", ()),
        ("請輸入「王小明」。", "王小明", ()),
        ("Enter ١٢٣٤٥.", "12345", ()),
        ("Book the room at 14:30.", "2:30 PM", ()),
        ("Book the room at 2:30 pm.", "14:30", ()),
        ("Book the room at 2:30pm.", "14:30:00", ()),
        ("Book the room at 14:30.", "14h30", ()),
        ("Book the room at 2:30pm.", "2:30am", ("2:30pm",)),
        ("Skriv ”Anna Berg” i fältet.", "Anna Berg", ()),
        ("金額は１２３．４５円です。", "123.46", ("１２３．４５",)),
        ("주문 번호 48213을 입력하세요.", "48212", ("48213",)),
        ("Book the room at 14:30.", "3:30 PM", ("14:30",)),
        ("Pay 12.50 EUR.", "0.50", ("12.50",)),
    ],
)
def test_values_in_other_scripts_and_on_other_clocks(goal: str, typed: str, missing: tuple[str, ...]) -> None:
    assert TaskValues.of(goal).missing_in([typed]) == missing


@pytest.mark.parametrize(
    ("typed", "slip"),
    [
        ("CB-1043", Slip("CB-1043", "CB-1042")),
        ("1284.60", Slip("1284.60", "1,284.50")),
        ("1824.50", Slip("1824.50", "1,284.50")),
        ("Taxi, CB-1842", Slip("CB-1842", "CB-1042")),
        ("CB-1042", None),
        ("1284,5", None),
        ("01.03.2026", None),
        ("CB-2077", None),
        ("Taxi 7", None),
        ("CB-1042 to CB-1043", None),  # the right one is next to it: a range, or the next number
    ],
)
def test_a_slip_is_one_wrong_digit_in_a_value_of_the_task(typed: str, slip: Slip | None) -> None:
    assert TaskValues.of(ENTRY).slip_in(typed) == slip


@pytest.mark.parametrize("text", ["a" * 300_000, "1" * 300_000, "1 " * 100_000, '"' * 100_000, "{{" * 100_000])
def test_long_texts_take_no_more_than_a_moment(text: str) -> None:
    """Quadratic time would take minutes here, and the test run ends such a test."""
    assert TaskValues.of(ENTRY).slip_in(text) is None
    assert len(TaskValues.of(ENTRY).missing_in([text])) == 3
    TaskValues.of(text)
    without_sentences_of(ENTRY, text)
    without_sentences_of(text, ENTRY)


def test_each_word_of_a_long_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word was compared with each value: a long document on the screen took minutes."""
    read: list[str] = []
    monkeypatch.setattr(task_values, "numbers_of", lambda text: read.append(text) or frozenset())
    task = TaskValues.of(" ".join(f"R-{number:04}" for number in range(MOST_VALUES)))
    words = [f"x{number}" for number in range(500)]
    assert len(task.missing_in([" ".join(words)])) == MOST_VALUES
    assert len(read) == len(words) + MOST_VALUES


def test_one_digit_is_enough_in_a_whole_value() -> None:
    task = TaskValues.of('Enter the password "6kZ" into the field of user 12.')
    assert task.slip_in("7kZ") == Slip("7kZ", "6kZ")
    assert task.slip_in("13") is None
