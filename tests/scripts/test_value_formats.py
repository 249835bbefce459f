"""Dates, times and amounts are written in the program's own format, which a recording shows."""

from __future__ import annotations

import pytest

from holo_tasks.scripts.value_formats import format_of, formatted, is_part_of, with_words_of
from holo_tasks.scripts.values import fill


@pytest.mark.parametrize(
    ("value", "text", "form", "other", "written"),
    [
        ("2026-03-05", "05.03.2026", "DD.MM.YYYY", "2026-12-24", "24.12.2026"),
        ("2026-03-05", "5.3.26", "D.M.YY", "2026-12-24", "24.12.26"),
        ("2026-03-05", "03/05/2026", "MM/DD/YYYY", "2026-12-24", "12/24/2026"),
        ("2026-03-03", "03.03.2026", "DD.MM.YYYY", "2026-12-24", "24.12.2026"),
        ("2026-12-24", "12242026", "MMDDYYYY", "2027-01-03", "01032027"),  # typed into the parts of a date field
        ("2026-12-24", "122426", "MMDDYY", "2027-01-03", "010327"),
        ("14:05", "2:05 PM", "h:mm AM", "09:30", "9:30 AM"),
        ("00:05", "12:05 am", "h:mm am", "12:00", "12:00 pm"),
        ("1284.50", "1.284,50", "#.##0,00", "9.00", "9,00"),
        ("1284.50", "1284,5", "0,0", "1000000.25", "1000000,25"),
        ("-1284.50", "-1'284.50", "#'##0.00", "12345678.90", "12'345'678.90"),
        ("1284.00", "1284", "0", "12.50", "12.50"),
    ],
)
def test_the_format_of_a_recorded_text_writes_other_values(
    value: str, text: str, form: str, other: str, written: str
) -> None:
    assert format_of(text, value) == form
    assert formatted(other, form) == written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-03-03", "03/03/2026"),  # the day or the month may come first
        ("2026-03-03", "03032026"),
        ("2026-03-05", "06.03.2026"),
        ("2026-03-05", "2026-03-05"),
        ("1284.50", "1284.05"),
        ("AB-1207", "AB.1207"),
        ("12", "12.00"),  # a small number may be there by chance
    ],
)
def test_a_text_in_no_certain_format_is_no_value(value: str, text: str) -> None:
    assert format_of(text, value) == ""


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Choose Thursday, December 24th, 2026", "Choose Sunday, January 3rd, 2027"),
        ("24 Dec 2026", "3 Jan 2027"),
        ("Thu, Dec 24 2026, booked up", "Sun, Jan 3 2027, booked up"),
        ("the 24th of December 2026 (Thursday)", "the 3rd of January 2027 (Sunday)"),
        ("{number}, December 24, 2026, 3 free", "{number}, January 3, 2027, 3 free"),
        ("24 seats on 24 December 2026, 2026 pounds", "24 seats on 3 January 2027, 2026 pounds"),
    ],
)
def test_the_words_of_a_whole_date_are_written_for_another_date(text: str, other: str) -> None:
    said = with_words_of(text, "due", "2026-12-24")
    assert fill(said, {"due": "2027-01-03"}) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        pytest.param("May I pay 5 on May 5, 2026", "May I pay 5 on June 9, 2026", id="no part of the date"),
        pytest.param("Tue May 5, 2026", "Tue Jun 9, 2026", id="short"),
        pytest.param("Tuesday, May 5, 2026", "Tuesday, June 9, 2026", id="long"),
    ],
)
def test_may_is_a_short_and_a_long_word(text: str, other: str) -> None:
    assert fill(with_words_of(text, "due", "2026-05-05"), {"due": "2026-06-09"}) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        pytest.param("24. Dezember 2026", "3. März 2027", id="German"),
        pytest.param("Donnerstag, 24. Dez. 2026", "Mittwoch, 3. März 2027", id="German, short"),
        pytest.param("Donnerstag 24 Dez. 2026", "Mittwoch 3 März 2027", id="German, without a dot after the day"),
        pytest.param("jeudi 24 décembre 2026", "mercredi 3 mars 2027", id="French"),
        pytest.param("jueves, 24 de diciembre de 2026", "miércoles, 3 de marzo de 2027", id="Spanish"),
        pytest.param("giovedì 24 dicembre 2026", "mercoledì 3 marzo 2027", id="Italian"),
        pytest.param("24 grudnia 2026", "3 marca 2027", id="Polish"),
        pytest.param("quinta-feira, 24 de dezembro de 2026", "quarta-feira, 3 de março de 2027", id="Portuguese"),
        pytest.param("donderdag 24 december 2026", "woensdag 3 maart 2027", id="Dutch, by its day of the week"),
        pytest.param("Choose Thursday, December 24th, 2026", "Choose Wednesday, March 3rd, 2027", id="English"),
    ],
)
def test_the_words_of_a_date_may_be_of_another_language(text: str, other: str) -> None:
    assert fill(with_words_of(text, "due", "2026-12-24"), {"due": "2027-03-03"}) == other


@pytest.mark.parametrize(
    ("text", "value"),
    [("24 december 2026", "2026-12-24"), ("24 de abril de 2026", "2026-04-24"), ("24. listopada 2026", "2026-10-24")],
    ids=["Dutch, Danish or Swedish", "Spanish or Portuguese", "Croatian, and another month in Polish"],
)
def test_a_date_that_several_languages_or_none_may_have_written_has_no_words(text: str, value: str) -> None:
    assert with_words_of(text, "due", value) == ""


def test_a_date_whose_month_may_be_english_is_in_the_language_of_its_weekday() -> None:
    words = with_words_of("Montag 24 August 2026", "due", "2026-08-24")
    assert fill(words, {"due": "2027-03-03"}) == "Mittwoch 3 März 2027"


@pytest.mark.parametrize(("text", "is_part"), [("Dez.", True), ("grudzień", True), ("Nov.", False), ("Set", False)])
def test_the_name_of_a_month_in_any_language_is_a_part_of_its_date(text: str, is_part: bool) -> None:
    assert is_part_of(text, "2026-12-24") is is_part


@pytest.mark.parametrize(
    "text", ["24", "December 24", "December 2026", "25 December 2026", "124 December 2026", "24 Dezembro 2026"]
)
def test_a_text_with_less_than_a_date_has_no_words_of_it(text: str) -> None:
    """The next item may have another month."""
    assert with_words_of(text, "due", "2026-12-24") == ""
