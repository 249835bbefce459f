"""Numbers, dates and times in several formats: which values a text may have."""

from __future__ import annotations

import datetime

import pytest

from holo_tasks.core.texts.same_value import (
    days_of,
    is_code,
    is_rounded,
    may_be_same_date,
    numbers_of,
    same_number,
    same_time,
)
from holo_tasks.core.texts.typed_text import changed_later


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-5", {-5.0}),
        ("+5", {5.0}),
        ("5.", {5.0}),
        ("1e3", {1000.0}),
        ("15 EUR", {15.0}),
        ("12,345", {12.345, 12345.0}),
        ("1.234,50 €", {1234.5}),
        ("1,234.50", {1234.5}),
        ("1 234 567", {1234567.0}),
        ("1.234.567", {1234567.0}),
        ("1,234,567.5", {1234567.5}),
        ("1,23,456", set()),
        ("1.2.3", set()),
        ("1,234,50", set()),
        ("1.2,3.4", set()),
        ("12:30", set()),
        ("-", set()),
        ("", set()),
    ],
)
def test_a_text_has_the_values_of_each_way_to_read_its_separators(text: str, values: set[float]) -> None:
    assert numbers_of(text) == values


@pytest.mark.parametrize(
    ("typed", "shown", "rounded"),
    [
        ("12.345", "12.35", True),
        ("12.345", "12.34", True),
        ("12.344", "12.35", False),
        ("12.5", "13", True),
        ("12.6", "12", False),
        ("12.5", "12.5", True),
    ],
)
def test_a_number_is_rounded_by_half_of_the_last_decimal_at_most(typed: str, shown: str, rounded: bool) -> None:
    assert is_rounded(typed, shown) is rounded


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("14:30", "02:30 PM", True),
        ("14:30:00", "14:30", True),
        ("14:30:01", "14:30", False),
        ("14:31", "14:30", False),
        ("00:30", "12:30 am", True),
        ("12:30 pm", "12:30", True),
        ("23:59", "11:59 p.m.", True),
        ("24:30", "24:30", False),
        ("13:30 pm", "13:30", False),
        ("14.30", "14.30", False),  # a decimal number
        ("2.30 pm", "14:30", True),
    ],
)
def test_times_are_compared_to_the_second(one: str, other: str, same: bool) -> None:
    assert same_time(one, other) is same


def test_a_date_has_a_day_for_each_order_of_its_parts() -> None:
    may, january = datetime.date(2024, 5, 1), datetime.date(2024, 1, 5)
    assert days_of("1.5.2024") == {may, january}
    assert days_of("2024-05-31") == days_of("31.5.24") == {datetime.date(2024, 5, 31)}
    assert days_of("30.2.2024") == days_of("1 May") == set()
    assert may_be_same_date("31.5.24", "31.05.1924")
    assert not may_be_same_date("31.5.24", "31.05.0924")
    assert not may_be_same_date("31.5.2024", "31.05.1924")


def test_many_decimals_make_no_code() -> None:
    typed = "3.14159265358979323846"
    assert not is_code(typed)
    assert same_number(typed, "3.141592653589793")
    assert is_code("1234567890123456")
    assert is_code("1234 5678 9012 3456")
    assert not same_number("1234567890123456", "1234567890123450")
    assert not same_number("12345678901234567", "12345678901234568")  # equal as binary numbers


@pytest.mark.parametrize("shown", ["1200000", "1.20E+06"])
def test_a_code_with_an_e_is_no_number(shown: str) -> None:
    assert changed_later("12E5", shown)
    assert not changed_later("12E5", "12E5")
    assert not changed_later("12e5", shown)
    assert not changed_later("1.2E+06", shown)
