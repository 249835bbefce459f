"""The comparison of a typed text with the text of its field: texts that differ, and above all texts that count as the
same."""

from __future__ import annotations

import pytest

from holo_tasks.core.input.gestures import Write
from holo_tasks.core.texts.typed_text import SAME_VALUE, TypedText, changed_later, compare, compare_seen, matches_shown

SAME = [
    ("Zoë", "", "Zoë"),
    ("Zoe\u0308", "", "Zoë"),  # combining characters arrive composed
    ("x", "old", "oldx"),
    ("x", "old", "xold"),
    ("x", "old", "oxld"),
    (" Lovelace", "Ada", "Ada Lovelace"),
    ("Bern", "Basel", "Bern"),  # typed over a selection
    ("e", "Basel", "Bel"),  # over a part
    ("one\ntwo", "", "one two"),
    ("one\ntwo", "", "one"),  # the second line went to the next field
    ("a\tb", "", "a"),
    ("one\ntwo\tx", "", "one two"),  # two lines of a text area, then the next field
    ("שלום", "", "שלום"),
    ("🙂 ok", "", "🙂 ok"),
    ("same", "same", "same"),
]
OTHER = [
    ("App", "", "Apple", "completed"),
    ("App", "Old", "OldApple", "completed"),
    ("Smith", "", "SMITHSON, John", "completed"),
    ("abcdef", "", "abcd", "cut_off"),
    ("IBan", "", "Iban", "case"),
    ("teh dog", "", "the dog", "corrected"),
    ("a1b2c3", "", "123", "lost"),
    ("Ada Lovelace", "", "AdaLovelace", "lost"),
    ("-5", "", "5", "lost"),
    ("abc", "1234", "1234", "lost"),
    ("1.5", "1,50", "1,50", "lost"),
    ("abc", "", "", "empty"),
    ("Rome", "", "Paris", "another"),
    ("1,5", "", "1.50 €", "reformatted"),
    ("1,5", "", "15", "lost"),
    ("1500", "", "15.00", "corrected"),
    ("EUR15", "", "EUR1,5", "corrected"),
    ("1500 EUR", "", "15.00 EUR", "corrected"),
    ("15", "", "-15", "completed"),
    ("01/05/2024", "", "2024-01-05", "another"),  # which day that is depends on the reader
]
FORMATTED = [
    ("1234.5", "1,234.50"),
    ("1234567", "1.23457e+06"),  # a spin button tells its number so
    ("5", "5.00"),
    ("1.5.2024", "01.05.2024"),
    ("2024-05-31", "05/31/2024"),
    ("12312024", "12/31/2024"),
    ("5551234567", "(555) 123-4567"),
    ("555 123 4567", "(555) 123-4567"),  # the mask puts its own separators in the place of others
    ("555.123.4567", "(555) 123-4567"),
    ("555-1234", "555 1234"),
    ("(555)-123-4567", "(555) 123-4567"),
    ("+41791234567", "+41 79 123 45 67"),
    ("AB-123456", "AB-123-456"),
    ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
    ("ABC12", "ABC-12"),
    ("1500 EUR", "1,500.00 EUR"),
    ("2e3", "2000"),
    ("14:30", "02:30 PM"),
    ("2:30 pm", "14:30"),
    ("12:05 AM", "00:05:00"),
    ("1:05 PM", "13:05"),
    ("8:30", "08:30"),
    ("1.05 pm", "13:05"),
    ("14h30", "14:30:00"),
]
UNREADABLE = ("•••••", "{{secret:pin}}", "\ufffc", "x" * 1000, "###")


@pytest.mark.parametrize(("typed", "before", "held"), SAME)
def test_a_text_that_arrived_is_no_difference(typed: str, before: str, held: str) -> None:
    assert compare(Write(typed), before, held) == "exact"


@pytest.mark.parametrize(("typed", "before", "held", "kind"), OTHER)
def test_a_difference_has_its_kind(typed: str, before: str, held: str, kind: str) -> None:
    assert compare(Write(typed), before, held) == kind


@pytest.mark.parametrize(("typed", "held"), FORMATTED)
def test_the_same_value_in_another_format_is_accepted_by_scripts(typed: str, held: str) -> None:
    kind = compare(Write(typed), "", held)
    assert kind == "formatted"
    found = TypedText(kind, typed, held)
    assert (found.problem, bool(found.sentence)) == ("", True)


@pytest.mark.parametrize("held", UNREADABLE)
def test_a_text_that_does_not_stand_for_what_the_field_holds_is_not_compared(held: str) -> None:
    assert compare(Write("abc"), "", held) == "unread"


def test_what_a_program_does_with_enter_is_no_difference() -> None:
    enter = {"press_enter": True}
    assert compare(Write("hello", **enter), "", "") == "cleared"
    assert compare(Write("hello\n"), "", "") == "cleared"
    assert compare(Write("12+30", **enter), "", "42") == "unread"
    assert compare(Write("example.org", **enter), "", "https://www.example.org/") == "unread"
    assert compare(Write("cats", **enter), "", "https://search.example/?q=cats") == "unread"
    assert compare(Write("=A1+B1", **enter), "", "3") == "unread"
    assert compare(Write("4711", **enter), "", "Next record", others_changed=True) == "unread"


def test_another_entry_after_enter_is_a_difference() -> None:
    enter = {"press_enter": True}
    assert compare(Write("Ber", **enter), "", "Bern") == "completed"
    assert compare(Write("Rome", **enter), "", "Paris") == "another"
    assert compare(Write("App", **enter), "", "Apple", others_changed=True) == "completed"


def test_a_cell_of_a_sheet_may_round_and_a_field_may_not() -> None:
    assert compare(Write("12.3456"), "", "12.35", in_cell=True) == "formatted"
    assert compare(Write("12.3456"), "", "12.35") != "formatted"


def test_slips_of_ocr_are_no_difference() -> None:
    for typed, read in (
        ("Ada Lovelace", "Ada Loveiace|"),
        ("O0l1", "00II"),
        ("1,5", "1.5"),
        ("B8", "88"),
        ("Olin", "[Olin]"),
        ("15", "I5"),
        ("SOS", "sos"),  # they look the same in both cases
        ("1234.5", "1,234.5"),
    ):
        assert compare_seen(typed, read) == "exact", (typed, read)
    for typed, read in (
        ("Olin", "Olm"),
        ("lodE", "[…]"),
        ("5e", "三"),
        ("modern", "modem"),
        ("Rome", "Paris"),
        ("App", "Appl"),
        ("Munich", "Rome"),
        ("1,5", "15"),  # the program or OCR lost the comma
        ("-5", "5"),
    ):
        assert compare_seen(typed, read) == "unread", (typed, read)


def test_ocr_tells_added_and_missing_characters() -> None:
    assert compare_seen("12ab34", "1234") == "lost"
    assert compare_seen("99887766", "9988") == "cut_off"
    assert compare_seen("App", "Apple") == "completed"
    assert compare_seen("IBan", "Iban") == compare_seen("ada king", "Ada King") == "case"


def test_the_sentence_names_both_texts_and_the_error_the_field() -> None:
    found = TypedText("completed", "App", "Apple", field="Article")
    assert found.sentence == "The field holds ‘Apple’, not ‘App’."
    assert TypedText("empty", "App").sentence == "The field is empty and did not take ‘App’."
    assert TypedText("case", "a", "A").problem.startswith(
        "The field holds ‘A’, not ‘a’. If that is right, give `shows`"
    )
    assert found.problem.startswith("The field ‘Article’ holds ‘Apple’, not ‘App’. If that is right, give `shows`")
    assert "{{secret" not in TypedText("another", "x", "{{secret:pin}} y").sentence
    long = TypedText("corrected", "x" * 200 + "teh end", "x" * 200 + "the end")
    assert "the end" in long.sentence
    assert len(long.sentence) < 200
    for kind in ("exact", "cleared", "unread"):
        assert TypedText(kind, "a", "b").sentence == TypedText(kind, "a", "b").problem == ""  # type: ignore[arg-type]


def test_the_sentence_tells_what_the_field_held_before() -> None:
    assert TypedText("lost", "x", "ab", "ab").sentence == "The field holds ‘ab’ as before and did not take ‘x’."
    assert TypedText("another", "200", "100", "15").sentence == "The field holds ‘100’ after ‘200’ was typed."
    assert TypedText("another", "200", "100").sentence == "The field holds ‘100’, not ‘200’."


def test_signs_for_hidden_or_narrow_cells_are_unread_and_the_same_letters_are_not() -> None:
    assert compare(Write("x"), "●●●", "●●●x") == "unread"
    assert compare(Write("5", overwrite=True), "", "###") == "unread"
    assert compare(Write("##", overwrite=True), "", "##") == "exact"
    assert compare(Write("aaa", overwrite=True), "", "aaa") == "exact"


def test_another_text_without_enter_is_a_difference_whatever_changes_beside_it() -> None:
    assert compare(Write("Rome"), "", "Paris", others_changed=True) == "another"
    assert compare(Write("5"), "", "7", in_cell=True) == "another"


@pytest.mark.parametrize(
    ("typed", "before", "held"),
    [
        ("x", "old!!", "newx!!"),  # the rest of the text is another one
        ("x", "!!old", "!!xnew"),
        ("x", "aa", "aaxaa"),  # the old text is there twice
        ("5551234", "", "555-12394"),
        ("12-34A", "", "1-234A-"),
        ("1234567", "", "1234568"),
        ("12-34567", "", "123-4567"),  # the separator is at another place
        ("12-3456", "", "12 3456"),
        ("12345.67", "", "12345-67"),
        ("12345.67", "", "123-45-67"),
        ("12345,67", "", "(123) 45,67"),
        ("-1234567", "", "(123) 4567"),
        ("\u22121234567", "", "(123) 4567"),
        ("31.05.2024", "", "30.05.2024"),
        ("2:30", "", "02:30 PM"),
        ("02:30 PM", "", "02:30 --"),
        ("14:30", "", "02:30 AM"),
        ("14:30 PM", "", "14:30"),
        ("1.75", "", "2.15"),  # decimal numbers are no times
        ("4.75", "", "5.15"),
        ("1.70", "", "2.10"),
        ("12.75", "", "13:15"),
        ("1.30", "", "1:30"),
        ("8.30", "", "08:30"),
        ("9.45", "", "9:45:00"),
        ("1.75", "", "2:15"),
        ("1:75", "", "2:15"),
        ("25:10", "", "25:10:00"),
        ("14:30:05", "", "02:30 PM"),
        ("1,234,567", "", "1234.567"),
    ],
)
def test_another_value_is_neither_exact_nor_another_format(typed: str, before: str, held: str) -> None:
    assert compare(Write(typed), before, held) not in SAME_VALUE


def test_a_number_in_another_format_beside_the_old_text_is_the_same_value() -> None:
    assert compare(Write("1.5"), "Sum ", "Sum 1.50") == "formatted"
    assert compare(Write("1.5"), " kg", "1.50 kg") == "formatted"


def test_the_unit_of_a_field_is_no_difference_and_a_new_one_is() -> None:
    for before, held, kind in (
        ("0 kg", "42 kg", "formatted"),
        ("", "42 kg", "reformatted"),
        ("0 t", "42 kg", "reformatted"),
    ):
        assert compare(Write("42", overwrite=True), before, held) == kind
    assert compare(Write("42", overwrite=True), "0 kg", "24 kg") not in SAME_VALUE


@pytest.mark.parametrize(
    ("typed", "before", "held"),
    [
        ("50 EUR", "10 $", "50 $"),
        ("100 EUR", "50 $", "100 $"),
        ("50 kg", "3 lb", "50 lb"),
        ("5 %", "0.05", "5"),
        ("100 USD", "", "100"),
        ("50", "(10)", "(50)"),
        ("50", "10 CR", "50 CR"),
        ("50", "10 EUR dr", "50 EUR dr"),
        ("50", "\u221210", "\u221250"),
    ],
)
def test_a_field_gives_no_number_another_unit_or_sign(typed: str, before: str, held: str) -> None:
    assert compare(Write(typed, overwrite=True), before, held) == "reformatted"


@pytest.mark.parametrize(
    ("typed", "before", "held"),
    [("42", " kg", "42 kg"), ("5", "$ 3", "$ 5"), ("5", "3 crates", "5 crates"), ("100 USD", "5 USD", "100.00 USD")],
)
def test_a_number_without_a_unit_takes_the_one_of_its_field(typed: str, before: str, held: str) -> None:
    assert compare(Write(typed, overwrite=True), before, held) == "formatted"


def test_only_a_sum_or_an_address_shows_its_result_after_enter() -> None:
    assert compare(Write("1+1", press_enter=True), "", "2") == "unread"
    assert compare(Write("1+1", press_enter=True), "", "Paris") == "another"
    assert compare(Write("Rome", press_enter=True), "", "5") == "another"


def test_a_field_that_is_marked_as_invalid_is_a_problem() -> None:
    found = TypedText("exact", "250", "250", field="Amount", is_invalid=True)
    assert found.sentence == "The field is marked as invalid."
    assert found.problem.startswith(
        "The field ‘Amount’ is marked as invalid after ‘250’ was typed. If that is right, give `shows`"
    )
    both = TypedText("lost", "a15", "15", is_invalid=True)
    assert both.sentence == "The field holds ‘15’, not ‘a15’. The field is marked as invalid."
    assert "invalid" not in both.problem


def test_an_expected_text_may_leave_parts_open() -> None:
    assert matches_shown("1.50 €", "1.50 €")
    assert matches_shown("* €", "1.50 €")
    assert matches_shown("*", "anything")
    assert not matches_shown("1.50", "1.50 €")


@pytest.mark.parametrize(
    ("typed", "held", "kind"),
    [
        ("01067", "1067", "lost"),
        ("00123", "123.00", "another"),
        ("12345678901234567890", "12345678901234567000", "corrected"),
        ("12345678901234567890", "1.23456789012346E+19", "corrected"),
        ("05", "5", "formatted"),
        ("12", "0012", "formatted"),
        ("0.50", "0,5", "formatted"),
        ("1200000.4", "1.2e+06", "formatted"),
    ],
)
def test_a_code_without_its_zeros_and_a_long_number_without_its_last_digits_are_other_values(
    typed: str, held: str, kind: str
) -> None:
    assert {compare(Write(typed), "", held, in_cell=in_cell) for in_cell in (False, True)} == {kind}
    assert changed_later(typed, held) is (kind != "formatted")
