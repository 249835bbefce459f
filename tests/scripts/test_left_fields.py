"""A field that takes another value when the keyboard leaves it stops a playbook before the form is sent."""

from __future__ import annotations

import pytest

from holo_tasks.core.elements.elements import FOCUSED, SHOWING, Element, ElementTree
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.typed_text import changed_later
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.scripts.left_fields import LeftFields
from holo_tasks.scripts.playbook import Rule, parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Sight
from tests.support.deciding import decided

TEXT = """
name: payments
goals:
  store:
    params: {payee: text}
    steps:
      - click: {role: text field, name: Payee}
      - write: {text: "{payee}"}
      - hotkey: [tab]
      - click: {role: text field, name: Memo}
      - hotkey: [ctrl, s]
      - click: {role: button, name: Add}
      - write: {text: "{payee}", press_enter: true}
      - write: {text: "{payee}", shows: "*"}
"""
STEP = {
    "note": None,
    "thought": "Save.",
    "tool_call": {"tool_name": "hotkey", "keys": ["ctrl", "s"], "repeat_count": 1},
}
CLICK, WRITE, TAB, MEMO, SAVE, ADD, ENTER, SHOWS = reversed(parse_playbook(TEXT).rules_of("store"))


def field(value: str, *states: str, name: str = "Payee") -> Element:
    shown = frozenset({SHOWING, "editable", *states})
    return Element(1, "text field", name, shown, Box(10, 10, 200, 20), 0, "bank", 1, value=value)


def seen(*fields: Element) -> Sight:
    window = Element(0, "window", "Bank", frozenset({SHOWING, "active"}), Box(0, 0, 400, 300), -1, "bank", 1)
    return Sight((), Size(400, 300), elements=ElementTree((window, *fields), (), complete=True))


def after(*rules: Rule, typed: str = "Cedar") -> LeftFields:
    found = LeftFields()
    for rule in rules:
        found.note(rule, rule.do[0], typed, ReadBack(target=field(typed) if rule.do[0].write else None))
    return found


@pytest.mark.parametrize("rules", [(WRITE,), (WRITE, TAB), (WRITE, MEMO), (CLICK, WRITE, TAB, MEMO)])
def test_a_name_that_was_completed_later_is_noticed(rules: tuple[Rule, ...]) -> None:
    assert after(*rules).changed(seen(field("Cedar Foods"))) is WRITE


@pytest.mark.parametrize("rules", [(WRITE, SAVE), (WRITE, ADD), (ENTER,), (SHOWS,), (WRITE, TAB, ADD)])
def test_a_form_that_was_sent_may_show_another_record(rules: tuple[Rule, ...]) -> None:
    assert after(*rules).changed(seen(field("Cedar Foods"))) is None


def test_a_field_whose_program_did_not_answer_after_the_typing_is_known_from_before_it() -> None:
    found = LeftFields()
    found.aim(seen(field("", FOCUSED)))
    found.note(WRITE, WRITE.do[0], "Cedar", ReadBack())
    assert found.changed(seen(field("Cedar Foods"))) is WRITE
    found = LeftFields()
    found.aim(seen(field("12", FOCUSED)))  # reported late: the text went into another field
    found.note(WRITE, WRITE.do[0], "48", ReadBack())
    assert found.changed(seen(field("12"))) is None
    found = LeftFields()
    found.aim(seen(field("")))  # nothing has the keyboard
    found.note(WRITE, WRITE.do[0], "Cedar", ReadBack())
    assert found.changed(seen(field("Cedar Foods"))) is None


def test_a_field_with_the_keyboard_or_without_a_text_or_out_of_sight_is_left_alone() -> None:
    found = after(WRITE, TAB)
    assert found.changed(seen(field("Cedar Foods", FOCUSED))) is None
    assert found.changed(seen(field(""))) is None
    assert found.changed(seen(field("Cedar Foods", name="Another"))) is WRITE  # the same place
    assert found.changed(seen()) is None


@pytest.mark.parametrize(
    ("typed", "held", "differs"),
    [
        ("Cedar", "Cedar Foods", True),
        ("99999999999999.00", "8,589,934,588.00", True),
        ("1310", "131", True),
        ("Muller", "Müller", True),
        ("a long remark", "a long", True),
        ("Cedar", "Cedar", False),
        ("cedar", "CEDAR", False),
        ("48.20", "48,20 €", False),
        ("1310", "1,310.00", False),
        ("5.3.2026", "2026-03-05", False),
        ("48.20", "-48.20", False),  # an expense
        ("48.20", "-4.82", True),
        ("9", "09:00", False),
        ("P-4", "P-4 Adler Ltd", False),  # what a code stands for
        ("P-4", "Adler Ltd", False),
        ("1.5.2024", "01.01.2000", True),
        ("13/5/24", "1/5/25", True),  # a program that counts thirteen months
        ("1.5.24", "01.05.0024", True),
        ("31.5.98", "31.05.0098", True),
        ("31.5.24", "31.05.1924", False),  # the program chooses the century
        ("12-34-56", "12 34 56", False),  # no dates
        ("20-00-00", "20 00 00", False),
        ("1.2.3", "1 2 3", False),
        ("40-47-84", "40-47-84", False),
        ("555-12-3456", "555-12-3456", False),
        ("31.05.2024", "00.00.0000", True),
        ("31.02.2024", "02.03.2024", True),
        ("5.3.2026", "March 5, 2026", False),
        ("12-34 A", "12-34 A Adler Ltd", False),
        ("today", "2026-03-05", False),
        ("01/05/2024", "2024-01-05", False),  # the order of the parts is the program's
    ],
)
def test_another_form_of_a_value_is_no_other_value(typed: str, held: str, differs: bool) -> None:
    assert changed_later(typed, held) is differs


def test_a_cell_may_round_a_number_later_and_a_field_may_not() -> None:
    assert changed_later("12.3456", "12.35")
    assert not changed_later("12.3456", "12.35", in_cell=True)


@pytest.mark.parametrize(
    ("typed", "before", "held", "differs"),
    [
        ("abc", "12", "12", True),
        ("ruth", "Ada", "Ada", True),
        ("42", "42.00", "42.00", False),
        ("31.05.2024", "5/31/24", "5/31/24", False),
        ("P-4", "P-4 Adler Ltd", "P-4 Adler Ltd", False),
        ("50 EUR", "50 $", "50 $", True),
        ("50", "(50)", "(50)", True),
        ("EUR 50", "EUR 50 CR", "EUR 50 CR", True),
        ("cedar", "CEDAR", "CEDAR", False),
        ("abc", "", "Adler Ltd", False),
        ("P-4", "Old Ltd", "Adler Ltd", False),
    ],
)
def test_a_program_that_puts_the_old_text_back_has_not_taken_the_new_one(
    typed: str, before: str, held: str, differs: bool
) -> None:
    assert changed_later(typed, held, before=before) is differs
    left = LeftFields()
    left.note(WRITE, WRITE.do[0], typed, ReadBack(target=field(typed), before=before))
    assert (left.changed(seen(field(held))) is WRITE) is differs


async def test_a_playbook_gives_up_before_it_sends_a_changed_field() -> None:
    brain = PlaybookBrain(parse_playbook(TEXT), "store", {"payee": "Cedar"}, ScreenReader(None))
    brain._left = after(WRITE, TAB)
    waits, sends = Decision({}, ""), Decision(STEP, "", SAVE.do[0], rule=SAVE.id)
    brain._check_left_fields(sends, seen(field("Cedar")))
    brain._check_left_fields(waits, seen(field("Cedar Foods")))
    with pytest.raises(GaveUp, match=r"Type {payee}.*the program has put another value into its field since"):
        await decided(brain, sends, seen(field("Cedar Foods")))
