"""Which sentences of a task ask for a press, a choice, a number or a recipient, and which ask for none."""

from __future__ import annotations

import pytest

from holo_tasks.core.texts.task_sentences import (
    LONGEST_LABEL,
    asks_for_a_choice,
    asks_to_choose,
    asks_to_press,
    asks_to_save,
    entered_numbers,
    recipients,
    without_sentences_of,
)


def test_a_label_of_one_letter_or_a_very_long_one_is_not_looked_for() -> None:
    for label in ("A", "x" * (LONGEST_LABEL + 1)):
        assert not asks_to_press(f"Press {label}.", label)
        assert not asks_to_choose(f"Choose {label}.", label)
    assert asks_to_press("Press OK.", "OK")
    assert asks_to_choose("Choose OK.", "OK")


def test_only_a_task_with_a_verb_of_choosing_asks_for_a_choice() -> None:
    assert asks_for_a_choice("Tick the box Urgent.")
    assert not asks_for_a_choice("Enter the name and save the file.")


@pytest.mark.parametrize(
    ("task", "numbers"),
    [
        ("Enter 45 as the amount.", ["45"]),
        ("Set the quantity to 45.", ["45"]),
        ("Enter 45 invoices.", []),  # a count
        ("Enter the amount of page 45.", []),
        ("Never enter 45.", []),
    ],
)
def test_a_number_to_enter_is_no_count(task: str, numbers: list[str]) -> None:
    assert list(entered_numbers(task)) == numbers


def test_only_a_long_sentence_of_the_task_is_removed_from_a_screen() -> None:
    long = "Enter the amount of 1284.50 euros"
    assert "1284" not in without_sentences_of(f"{long}.", f"Task: {long} Amount")
    assert without_sentences_of("Save it.", "Save it") == "Save it"
    assert without_sentences_of("x" * 1001, "x" * 1001) == "x" * 1001


@pytest.mark.parametrize("verb", ["Click", "Press", "Push", "Hit", "Tap", "Click on", "Press the button"])
def test_each_verb_of_pressing_asks_for_a_press(verb: str) -> None:
    assert asks_to_press(f"{verb} “Save”.", "Save")


@pytest.mark.parametrize("verb", ["Select", "Check", "Tick", "Choose", "Mark", "Enable", "Activate"])
def test_each_verb_of_choosing_asks_for_a_choice(verb: str) -> None:
    assert asks_to_choose(f"{verb} the option Urgent.", "Urgent")


@pytest.mark.parametrize(
    "words",
    [
        *("do not", "never", "with no error,", "you cannot wait,", "without the mouse,", "instead of it", "unless on,"),
        *(
            "if it is off,",
            "when asked,",
            "whether you",
            "look or",
            "avoid to",
            "except today",
            "before you go,",
            "don't",
        ),
    ],
)
def test_a_sentence_that_forbids_or_depends_asks_for_nothing(words: str) -> None:
    assert asks_to_press("Look: then press Save.", "Save")
    assert not asks_to_press(f"Look: {words} press Save.", "Save")
    assert not asks_to_choose(f"Look: {words} tick Urgent.", "Urgent")
    assert not asks_to_save(f"Look, {words}, then save the file.")
    assert list(entered_numbers(f"Look: {words} enter 45.")) == []


@pytest.mark.parametrize("lead", ["", "Sort it, ", "Sort it; ", "The end: ", "Sort it and ", "Sort it, then "])
@pytest.mark.parametrize("what", ["file", "the document", "this sheet", "your workbook", "all changes", "the text"])
def test_a_sentence_asks_to_save(lead: str, what: str) -> None:
    assert asks_to_save(f"{lead}save {what}.")
    assert not asks_to_save(f"Open the dialog to save {what}.")


def test_a_spreadsheet_is_saved_too() -> None:
    assert asks_to_save("Save the spreadsheet.")


@pytest.mark.parametrize(
    "task",
    [
        *(f"{verb} 45." for verb in ("Enter", "Type", "Put", "Set", "Write", "Insert", "Record")),
        *(f"{verb} the price {by} 45." for verb in ("Fill", "Change") for by in ("to", "as", "with", "and")),
        *(f"Set the price{by}45." for by in (" is ", ", ", ": ", " = ", " (")),
        *(
            f"Enter 45 {after}"
            for after in ("for it.", "in B2.", "into B2.", "as price.", "to it.", "and go.", "at it.")
        ),
        *(f"Enter 45 {after}" for after in ("on top.", "beside it.", "under it.", "below it.", "EUR.", "USD.", "GBP.")),
        *(f"Enter 45{after}" for after in (" CHF.", ", then go.", "; go.", ") now.", "€.", " $.", " £.")),
    ],
)
def test_a_short_number_is_entered(task: str) -> None:
    assert list(entered_numbers(task)) == ["45"]


@pytest.mark.parametrize("number", ["1/45", "45%", "-45", "45-B", "12:45", "5.45"])
def test_a_part_of_another_token_is_no_number_to_enter(number: str) -> None:
    assert list(entered_numbers(f"Enter {number}.")) == []


@pytest.mark.parametrize("verb", ["Forward it", "Send it", "E-mail it", "Email it", "Share it", "Assign it"])
def test_each_verb_of_sending_has_recipients(verb: str) -> None:
    assert list(recipients(f"{verb} to Ada Lovelace and Zoë, and Bob.")) == ["Ada Lovelace", "Zoë", "Bob"]
    assert list(recipients(f"{verb} to the office.")) == []
