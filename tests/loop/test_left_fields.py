"""A field that takes another value when the keyboard leaves it, or as its form is sent, is noticed after that step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import FOCUSED, SHOWING, TOO_LATE, Application, Element, ElementTree
from holo_tasks.core.elements.known_elements import TextFilter, as_it_is
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Pause, Write
from holo_tasks.core.prompts.transcript import StepResult
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.typed_text import TypedText, changed_later
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.left_fields import LeftFields
from holo_tasks.loop.read_back import SHOWS, ReadBack
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Sight
from tests.support.deciding import decided
from tests.support.element_trees import TellsTree
from tests.support.painted_desktop import PaintedDesktop
from tests.support.shots import MemoryModel, a_step, as_model, walk_of

TEXT = """
name: payments
goals:
  store:
    params: {payee: text}
    steps:
      - click: {role: text field, name: Payee}
      - write: {text: "{payee}"}
      - hotkey: [ctrl, s]
"""
STEP = {
    "note": None,
    "thought": "Save.",
    "tool_call": {"tool_name": "hotkey", "keys": ["ctrl", "s"], "repeat_count": 1},
}
TAB, SAVE, WAIT = Hotkey(("tab",)), Hotkey(("ctrl", "s")), Pause(1)
PLACE, BELOW, BUTTON = Box(10, 10, 200, 20), Box(10, 40, 200, 20), Box(10, 70, 80, 20)
SHOWN = frozenset({SHOWING})


def field(value: str, *states: str, name: str = "Payee", box: Box = PLACE, role: str = "text field") -> Element:
    return Element(1, role, name, frozenset({SHOWING, "editable", *states}), box, 0, "bank", 1, value=value)


def memo(value: str = "rent", name: str = "Memo") -> Element:
    """Return another field of the form, below the one that is filled in."""
    return Element(2, "text field", name, frozenset({SHOWING, "editable"}), BELOW, 0, "bank", 1, value=value)


def form(*fields: Element) -> ElementTree:
    window = Element(0, "window", "Bank", frozenset({SHOWING, "active"}), Box(0, 0, 400, 300), -1, "bank", 1)
    numbered = (replace(each, id=number) for number, each in enumerate(fields, 1))
    return ElementTree((window, *numbered), (), complete=True)


def filled(typed: str = "Cedar", before: str = "", **how: bool) -> LeftFields:
    """Return the fields after a text was typed into the first one of a form."""
    left, target = LeftFields(), field(typed, FOCUSED)
    write = Write(typed, overwrite=True, **how)
    left.note(write, TypedText("exact", typed, typed, by="accessibility"), target, before)
    left.look(form(target, memo()), write, None)
    return left


def said(left: LeftFields, *fields: Element, done: Gesture | None = TAB, was: ElementTree | None = None) -> list[str]:
    left.look(form(*fields), done, was)
    return [each.sentence(now.value) for each, now in left.found]


TOLD = "The field ‘Payee’ now holds ‘Cedar Foods’, not ‘Cedar’."


@pytest.mark.parametrize(
    "done",
    [TAB, Hotkey(("shift", "tab")), WAIT, Write("x"), Click(BELOW.center)],
)
def test_a_change_is_told_as_the_keyboard_leaves_the_field(done: Gesture) -> None:
    left = filled()
    assert said(left, field("Cedar Foods"), memo(), done=done) == [TOLD]
    assert said(left, field("Cedar Foods"), memo()) == [], "it is told once"


def test_a_field_that_empties_itself_is_told_unless_the_program_took_its_text() -> None:
    assert said(filled(), field(""), memo()) == ["The field ‘Payee’ is empty now and did not keep ‘Cedar’."]
    assert said(filled(), field("", role="text field", name=""), memo()) == []
    assert said(filled(), field(""), memo("rent Cedar")) == [], "as a list of keywords does"
    assert said(filled(), field(""), memo(), done=SAVE) == [], "as a form does that was sent"


@pytest.mark.parametrize(
    "now", [field("Cedar"), field("Cedar Foods", FOCUSED), field("CEDAR"), field("x", name="Other")]
)
def test_the_same_value_an_unfinished_one_and_another_field_are_not_told(now: Element) -> None:
    assert said(filled(), now, memo()) == []


def test_a_field_is_compared_until_its_form_is_sent() -> None:
    left = filled()
    assert said(left, field("Cedar"), memo()) == []
    assert said(left, field("Cedar Foods"), memo(), done=WAIT) == [TOLD]
    left = filled()
    assert said(left, field("Cedar"), memo(), done=SAVE) == []
    assert said(left, field("Cedar Foods"), memo(), done=WAIT) == [], "it may be another record"


@pytest.mark.parametrize(
    "done",
    [
        SAVE,
        Hotkey(("enter",)),
        Click(BUTTON.center),
        Click(Point(390, 290)),
        Write("x", press_enter=True),
        Write("x\n"),
        Drag(Point(1, 1), Point(2, 2)),
        HoldAndTap(("ctrl",), ("s",)),
    ],
)
def test_after_a_form_was_sent_only_a_changed_value_in_the_same_record_is_told(done: Gesture) -> None:
    def now(value: str, *others: Element, box: Box = PLACE) -> list[str]:
        left, button = filled("250", before="7"), Element(3, "button", "Save", SHOWN, BUTTON, 0, "bank", 1)
        was = form(field("250"), memo(), button)
        return said(left, field(value, FOCUSED, box=box), *others, done=done, was=was)

    assert now("100", memo()) == ["The field ‘Payee’ now holds ‘100’, not ‘250’."]
    assert now("7", memo()) == [], "the form may be empty again"
    assert now("", memo()) == []
    assert now("100", memo("food")) == [], "another record"
    assert now("100", memo("")) == now("100") == [], "nothing tells that it is the same record"
    assert now("100", memo(), box=Box(10, 90, 200, 20)) == [], "a field of the same name in another window"


@pytest.mark.parametrize(
    ("amount", "note", "told"),
    [
        ("7", "rent", ["The field ‘Payee’ now holds ‘7’, not ‘250’."]),  # the program rejected one text
        ("7", "", []),  # the form is empty again
        ("7", "food", []),  # another record
        ("250.00", "rent", []),
        ("", "rent", []),  # a search or a list of keywords takes its text
    ],
)
def test_a_field_that_a_program_put_back_alone_is_told_after_the_form_was_sent(
    amount: str, note: str, told: list[str]
) -> None:
    left, kept = filled("250", before="7"), memo()
    write = Write("rent", overwrite=True)
    left.note(write, TypedText("exact", "rent", "rent", by="accessibility"), kept, "")
    other = field("12", name="Number", box=Box(10, 100, 200, 20))
    left.look(form(field("250"), kept, other), write, None)
    assert said(left, field(amount), memo(note), other, done=SAVE) == told


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_field_that_a_program_put_back_is_told_if_nothing_else_shows_that_the_form_was_sent(is_changed: bool) -> None:
    left, button = filled("250", before="7"), Element(3, "button", "Save", SHOWN, BUTTON, 0, "bank", 1)
    known: list[Box] = []
    shown = form(field("7"), memo(), button)

    def changed_outside(boxes: Sequence[Box]) -> bool:
        known.extend(boxes)
        return is_changed

    left.look(shown, Click(BUTTON.center), shown, changed_outside)
    assert [now.value for _, now in left.found] == ([] if is_changed else ["7"])
    assert all(any(box.encloses(each) for box in known) for each in (PLACE, BUTTON))


def test_a_click_on_a_field_sends_nothing_though_the_tree_came_late() -> None:
    emptied = ["The field ‘Payee’ is empty now and did not keep ‘Cedar’."]
    assert said(filled(), field(""), memo(), done=Click(BELOW.center)) == emptied
    without = form(Element(3, "button", "Save", SHOWN, BELOW, 0, "bank", 1))
    assert said(filled(), field(""), memo(), done=Click(BELOW.center), was=without) == []


def test_a_field_that_keeps_the_keyboard_is_compared_when_it_is_left() -> None:
    left = filled()
    assert said(left, field("Cedar", FOCUSED), memo()) == []
    assert said(left, memo()) == [], "the field is out of sight"
    assert said(left, field("Cedar Foods"), memo()) == [TOLD]


@pytest.mark.parametrize(("later", "told"), [("48", False), ("48.00", False), ("12", True), ("", False), ("4", True)])
def test_a_field_whose_program_did_not_tell_its_text_is_known_from_before(later: str, told: bool) -> None:
    left = LeftFields()
    left.note(Write("48", overwrite=True), TypedText("exact", "48", "48", by="text"), field("", FOCUSED), "")
    assert bool(said(left, field(later), memo())) is told


def test_a_part_of_a_text_that_stays_is_not_told() -> None:
    """The other digits of the text are in other fields."""
    left = LeftFields()
    left.note(Write("42"), TypedText("unread", "42"), field("4"), "")
    assert said(left, field("4"), memo()) == []
    left.note(Write("x"), TypedText("unread", "x"), None, "")
    assert len(left.filled) == 1


def test_an_edited_field_and_one_that_is_filled_again_are_not_told() -> None:
    left = filled("5")
    assert said(left, field("6", FOCUSED), memo(), done=Hotkey(("up",))) == []
    assert said(left, field("6"), memo()) == []
    left = filled("5")
    more = field("50", FOCUSED)
    left.note(Write("0"), TypedText("exact", "0", "50", by="accessibility"), more, "5")
    assert said(left, more, memo(), done=Write("0")) == []
    assert said(left, field("50.00"), memo()) == []
    assert len(left.filled) == 1
    assert said(left, field("20"), memo()) == ["The field ‘Payee’ now holds ‘20’, not ‘50’."]


EDITS = [
    Hotkey(("backspace",)),
    Hotkey(("Delete",)),
    Hotkey(("ctrl", "v")),
    Hotkey(("ctrl", "backspace")),
    Hotkey(("shift", "insert")),
    Hotkey(("1",)),
    HoldAndTap(("ctrl",), ("a", "v")),
    HoldAndTap(("shift",), ("left", "delete")),
]


@pytest.mark.parametrize("done", EDITS)
def test_a_key_that_edits_the_field_is_no_change_by_the_program(done: Gesture) -> None:
    left = filled("250")
    assert said(left, field("25", FOCUSED), memo(), done=done) == []
    assert said(left, field("25"), memo()) == [], "the text is the one that the keys made"


@pytest.mark.parametrize("done", [*EDITS, Hotkey(("Tab",)), Hotkey(("SHIFT", "Tab"))])
def test_a_key_in_another_field_ends_no_comparison(done: Gesture) -> None:
    inside = replace(memo(), states=frozenset({SHOWING, "editable", FOCUSED}))
    left = filled()
    assert said(left, field("Cedar"), inside) == []
    assert said(left, field("Cedar"), replace(inside, value="rent 1"), done=done) == []
    assert said(left, field("Cedar Foods"), inside, done=done) == [TOLD]


def test_tab_leaves_the_text_of_a_field_whatever_its_name_is_written_like() -> None:
    left = filled()
    assert said(left, field("Cedar", FOCUSED), memo(), done=Hotkey(("Tab",))) == [], "the program moves on late"
    assert said(left, field("Cedar Foods"), memo(), done=WAIT) == [TOLD]


def control(name: str, box: Box, role: str = "button") -> Element:
    return Element(3, role, name, SHOWN, box, 0, "bank", 1)


BESIDE = Box(220, 8, 24, 24)


@pytest.mark.parametrize(
    ("typed", "now", "pressed", "is_told"),
    [
        ("5", "6", control("+", BESIDE), False),
        ("5", "5.5", control("+", BESIDE), False),
        ("5", "4", control("Decrease", BESIDE), False),
        ("5", "6", control("", BESIDE), False),
        ("250", "100", control("", BESIDE), True),
        ("250", "100", control("Update", BESIDE), True),
        ("250", "100", control("✓", BESIDE), True),
        ("5", "6", control("+", BUTTON), True),  # another field's
        ("250", "100", control("100 %", BUTTON), True),
        ("Cedar", "Cedar Foods", control("Cedar Foods", BUTTON, "list item"), False),
        ("Cedar", "Cedar Foods", control("Food", BUTTON), True),
        ("5.3.2026", "07.03.2026", control("Saturday, March 7, 2026", BUTTON), False),
        ("5.3.2026", "3/7/26", control("Saturday, March 7, 2026", BUTTON), False),
        ("5.3.2026", "26.03.2026", control("Thursday, March 26, 2026", BUTTON), False),
        ("5.3.2026", "08.03.2026", control("Saturday, March 7, 2026", BUTTON), True),
        ("31.02.2026", "03.03.2026", control("3", BUTTON), True),  # the third page of a form
    ],
)
def test_a_control_of_the_field_may_change_it_and_a_button_that_sends_may_not(
    typed: str, now: str, pressed: Element, is_told: bool
) -> None:
    left, was = filled(typed), form(field(typed), memo(), pressed)
    assert bool(said(left, field(now), memo(), pressed, done=Click(pressed.box.center), was=was)) is is_told
    assert said(left, field(now), memo(), pressed) == [], "it is told once, or not at all"


@pytest.mark.parametrize("role", ["button", "label", "cell"])
@pytest.mark.parametrize(("now", "is_told"), [("07.03.2026", False), ("08.03.2026", True)])
def test_a_day_of_a_calendar_may_change_its_field(role: str, now: str, is_told: bool) -> None:
    days = [control(str(day), Box(10 * day, 100, 10, 10), role) for day in range(1, 32)]
    left, was = filled("5.3.2026"), form(field("5.3.2026"), memo(), *days)
    assert bool(said(left, field(now), memo(), done=Click(days[6].box.center), was=was)) is is_told
    assert said(left, field(now), memo()) == []


@pytest.mark.parametrize(
    ("pressed", "is_told"),
    [
        (control("Cedar Foods", BUTTON, "cell"), False),
        (control("Oslo", Box(90, 70, 80, 20), "cell"), False),  # another cell of its row
        (control("Birch", Box(10, 100, 80, 20), "cell"), True),
        (memo("for Cedar"), True),
    ],
)
def test_a_filter_that_its_result_empties_is_not_told(pressed: Element, is_told: bool) -> None:
    rows = (control("Cedar Foods", BUTTON, "cell"), control("Oslo", Box(90, 70, 80, 20), "cell"))
    others = (memo("for Cedar"), *rows, control("Birch", Box(10, 100, 80, 20), "cell"))
    left = filled()
    assert said(left, field("Cedar"), *others) == []
    was, done = form(field("Cedar"), *others), Click(pressed.box.center)
    assert bool(said(left, field(""), *others, done=done, was=was)) is is_told


def test_delete_in_a_list_may_show_another_record() -> None:
    row = Element(3, "list item", "Adler", SHOWN | {FOCUSED}, BUTTON, 0, "bank", 1)
    left = filled("250")
    assert said(left, field("250"), memo(), row) == []
    assert said(left, field("99"), memo("food"), row, done=Hotkey(("delete",))) == []
    left = filled("250")
    assert said(left, field("250"), memo(), row) == []
    assert said(left, field("100"), memo(), row, done=Hotkey(("delete",))) != []


def test_a_text_that_was_sent_with_its_field_is_not_kept() -> None:
    assert len(filled().filled) == 1
    assert filled("Cedar\n").filled == filled(press_enter=True).filled == []


def test_a_person_at_the_screen_ends_the_comparison() -> None:
    left = filled()
    left.forget()
    assert said(left, field("Cedar Foods"), memo()) == []


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
        ("P-4", "P-4 Adler Ltd", False),  # the meaning of a code
        ("P-4", "Adler Ltd", False),
        ("4711", "Adler Ltd", False),
        ("Room 12", "Room", True),
        ("ab1cd", "abcd", True),
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
        ("https://shop.example.org/login", "shop.example.org/login", False),
        ("www.x.de", "x.de", False),
        ("Example.org", "https://example.org/", False),
        ("https://shop.example.org/login", "shop.example.org", True),
        ("example.org", "https://example.org/start", True),
        ("https://example.org", "https://example.com", True),
        ("ftp://example.org", "example.org", True),
        ("Adler/", "Adler", True),
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
    assert bool(said(filled(typed, before), field(held), memo())) is differs


@pytest.mark.parametrize(
    ("mask", "text_filter", "told"),
    [
        (BUTTON, as_it_is, True),
        (PLACE, as_it_is, False),
        (BUTTON, lambda text: text.replace("Foods", "…"), False),
    ],
)
async def test_a_change_is_told_unless_it_is_masked(mask: Box, text_filter: TextFilter, told: bool) -> None:
    tells = TellsTree(form(field("", FOCUSED), memo()))
    desktop = PaintedDesktop()
    walk = walk_of(
        as_model(MemoryModel([])), desktop=desktop, redactor=Painter([FixedRegions([Mask("customer", mask)])])
    )
    walk.services = replace(walk.services, elements=Elements(tells, text_filter))
    said = []
    await walk.look()
    for step, value in ((a_step("write", content="Cedar"), "Cedar"), (a_step("hotkey", keys=["tab"]), "Cedar Foods")):
        before = walk.seen
        assert before is not None
        await walk.act(step)
        tells.told = form(field(value, *[FOCUSED] * (value == "Cedar")), memo())
        said.append(await walk.verify(before, step.tool_call, started_s=0.0))
    assert "The field" not in said[0]
    assert (TOLD in said[1]) is told
    assert walk.typed.problem == (f"{TOLD} {SHOWS}" if told else "")


@pytest.mark.parametrize(
    ("frozen", "now", "told"),
    [
        (True, "locked", "The field holds ‘locked’ as before and did not take ‘Cedar’."),
        (False, "locked", ""),  # typing may choose an entry of a list
        (True, "Cedar", ""),
    ],
)
async def test_a_text_that_changes_nothing_in_a_field_that_takes_none_is_told(
    frozen: bool, now: str, told: str
) -> None:
    fixed = replace(field("locked"), states=SHOWN | {FOCUSED})
    tells = TellsTree(form(fixed, memo()))
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop(frozen=frozen))
    walk.services = replace(walk.services, elements=Elements(tells))
    await walk.look()
    before, step = walk.seen, a_step("write", content="Cedar")
    assert before is not None
    await walk.act(step)
    tells.told = form(replace(fixed, value=now), memo())
    said = await walk.verify(before, step.tool_call, started_s=0.0)
    assert said.partition("The field")[2] == told.removeprefix("The field")
    assert bool(walk.typed.problem) is bool(told)


@pytest.mark.parametrize(("states", "told"), [(("multi line",), True), ((), False)])
async def test_a_text_that_begins_with_a_line_break_is_compared_in_a_field_of_lines(
    states: tuple[str, ...], told: bool
) -> None:
    tells = TellsTree(form(field("one", FOCUSED, *states), memo()))
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(tells))
    await walk.look()
    before, step = walk.seen, a_step("write", content="\nteh")
    assert before is not None
    await walk.act(step)
    tells.told = form(field("one the", FOCUSED, *states), memo())
    said = await walk.verify(before, step.tool_call, started_s=0.0)
    assert ("The field holds ‘one the’ after ‘teh’ was typed." in said) is told


@pytest.mark.parametrize(("late_pid", "is_read"), [(99, True), (1, False)])
async def test_only_the_program_of_the_field_has_to_answer(
    late_pid: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holo_tasks.loop.read_back.PATIENCE_S", 0.0)
    late = Application("other", late_pid, "", "none", note=TOO_LATE)

    def told(payee: str, *states: str) -> ElementTree:
        shown = form(field(payee, *states), memo())
        return replace(shown, applications=(late,), complete=False, why_not=f"other: {TOO_LATE}.")

    tells = TellsTree(told("", FOCUSED))
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(tells))
    said = ""
    await walk.look()
    for step, payee in ((a_step("write", content="Cedar"), "Cedar"), (a_step("hotkey", keys=["tab"]), "Cedar Foods")):
        before = walk.seen
        assert before is not None
        await walk.act(step)
        tells.told = told(payee, *[FOCUSED] * (payee == "Cedar"))
        said = await walk.verify(before, step.tool_call, started_s=0.0)
        if payee == "Cedar":
            result = walk.typed.result
            assert result is not None
            assert (result.kind == "exact") is is_read
    assert (TOLD in said) is is_read


async def test_a_playbook_gives_up_before_it_sends_a_changed_field() -> None:
    _, write, save = reversed(parse_playbook(TEXT).rules_of("store"))
    brain = PlaybookBrain(parse_playbook(TEXT), "store", {"payee": "Cedar"}, ScreenReader(None))
    typed, sends = ReadBack(left=filled()), Decision(STEP, "", save.do[0], rule=save.id)
    brain._filled = [(typed.left.filled[0], write)]
    sight = Sight((), Size(400, 300), elements=form(field("Cedar Foods"), memo()))
    with pytest.raises(GaveUp, match=r"Type {payee}.*the program has changed the value of its field since"):
        await decided(brain, sends, sight, typed)
    brain._check_left_fields([])
    brain._filled = []  # a model typed the text, and got the message
    brain._check_left_fields(typed.left.filled)


@pytest.mark.parametrize(("place", "linked"), [(0, []), (1, ["step-2"])])
async def test_a_field_belongs_to_the_step_that_typed_it_and_never_to_one_after_the_model(
    place: int, linked: list[str]
) -> None:
    playbook = parse_playbook(TEXT)
    rule = [*reversed(playbook.rules_of("store"))][place]
    brain, typed = PlaybookBrain(playbook, "store", {"payee": "Cedar"}, ScreenReader(None)), ReadBack(left=filled())
    step = await decided(brain, Decision(STEP, "", rule.do[0], rule=rule.id), Sight((), Size(400, 300)), typed)
    if linked:
        typed.left.note(Write("Cedar"), TypedText("exact", "Cedar", "Cedar"), memo("Cedar"), "")
    del brain._hear  # `decided` put a stand-in there
    brain._outcomes.last_outcome = lambda walk: (step, StepResult("hotkey", "done"))  # type: ignore[method-assign]
    walk: Any = SimpleNamespace(seen=None, typed=typed, services=SimpleNamespace(now_s=lambda: 0.0))
    brain._hear(walk)
    assert [of.id for _, of in brain._filled] == linked
