"""Elements are found by role and name if exactly one matches and the picture agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import SHOWING, Application, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.conditions import is_visible
from holo_tasks.scripts.element_search import (
    ContradictedTarget,
    NotFound,
    check_focus,
    keyboard_elsewhere,
    unknown_dialog,
)
from holo_tasks.scripts.playbook import BadPlaybook, Read, parse_playbook
from holo_tasks.scripts.rules import find, follow
from holo_tasks.scripts.script import screens_of
from holo_tasks.scripts.script_view import ScreenNeeds, needs_of
from holo_tasks.scripts.steps_and_targets import ElementTarget, ShownElement, Target
from holo_tasks.scripts.values import read_values
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.elements import silent, tree_of

ROW = Box(20, 20, 80, 20), Box(120, 20, 80, 20), Box(220, 20, 80, 20)
BELOW = Box(20, 60, 80, 20), Box(120, 60, 80, 20), Box(220, 60, 80, 20)
TABLE = tree_of(
    ("label", "TX-1", ROW[0]),
    ("label", "12.50", ROW[1]),
    ("button", "Delete", ROW[2]),
    ("label", "TX-2", BELOW[0]),
    ("text field", "Amount", BELOW[1]),
    ("button", "Delete", BELOW[2]),
)
WAITED = [Turn("wait", "Nothing fits yet.", {"tool_name": "wait", "seconds": 1.0}, "Done.")] * 20
TEXT = Line("Delete", Box(400, 300, 60, 20))


def seen(tree: ElementTree | None, *lines: Line, why_not: str = "", reads: str | None = None) -> Sight:
    return Sight(
        lines, Size(600, 400), elements=tree, disagrees=lambda element, also: why_not, written=lambda box: reads
    )


def of_form(*fields: str, claiming: Sequence[str], dialog: bool = False) -> ElementTree:
    """Return a form whose text fields may claim the keyboard, and perhaps a dialog with the field Number."""
    made = [*tree_of().elements]
    for place, name in enumerate(fields):
        states = frozenset({SHOWING, *(["focused"] if name in claiming else [])})
        made.append(Element(len(made), "text field", name, states, ROW[place], 0, "program", 1))
    if dialog:
        made.append(Element(len(made), "dialog", "Search", frozenset({SHOWING}), BELOW[0], 0, "program", 1))
        made.append(
            Element(len(made), "text field", "Number", frozenset({SHOWING}), BELOW[0], len(made) - 1, "program", 1)
        )
    return ElementTree(tuple(made), tree_of().applications)


def place(sight: Sight, **target: Any) -> Box:
    return find(Target(**target), {"item": "TX-2"}, sight)


def test_an_element_is_found_by_its_role_its_name_and_its_neighbors() -> None:
    assert place(seen(TABLE), role="text field") == BELOW[1]
    assert place(seen(TABLE), role="push button", name="delete", right_of="TX-1") == ROW[2]
    assert place(seen(TABLE), role="button", name="Delete", right_of="{item}") == BELOW[2]
    assert place(seen(TABLE), role="button", near="12.50") == ROW[2]
    assert place(seen(TABLE), role="label", above="TX-2", left_of="12.50") == ROW[0]
    assert place(seen(TABLE), field="Amount") == BELOW[1]


def grid(keyboard: str) -> Sight:
    """Return a table with the headings Number and Customer, and a row of R-1. One of its cells has the keyboard."""
    cells = {"Number": Box(20, 20, 80, 20), "Customer": Box(120, 20, 80, 20)}
    made = [*tree_of().elements, Element(1, "table", "", frozenset({SHOWING}), Box(20, 20, 180, 60), 0, "program", 1)]
    for name, box in cells.items():
        made.append(Element(len(made), "column header", name, frozenset({SHOWING}), box, 1, "program", 1))
    for name, text in (("Number", "R-1"), ("Customer", "")):
        states = frozenset({SHOWING, *(["focused"] if name == keyboard else [])})
        made.append(Element(len(made), "cell", text, states, cells[name].moved(0, 30), 1, "program", 1))
    return seen(ElementTree(tuple(made), tree_of().applications))


@pytest.mark.parametrize(
    ("keyboard", "row", "column", "is_elsewhere"),
    [
        ("Number", "R-1", "Customer", True),
        ("Customer", "R-1", "Customer", False),
        ("Number", "R-1", "Client", False),
        ("Number", "R-2", "Customer", False),
        ("", "R-1", "Customer", False),
    ],
)
def test_a_text_for_another_cell_than_the_one_with_the_keyboard_is_noticed(
    keyboard: str, row: str, column: str, is_elsewhere: bool
) -> None:
    """If the heading or the row has another name now, the model may know better, so the text is let through."""
    wanted = ElementTarget(role="cell", row=row, column=column)
    assert bool(keyboard_elsewhere(wanted, grid(keyboard))) == is_elsewhere


def test_a_text_for_another_field_than_the_one_with_the_keyboard_is_noticed() -> None:
    states = frozenset({SHOWING}), frozenset({SHOWING, "focused"})
    fields = [Element(n + 1, "text field", name, states[n], ROW[n], 0, "program", 1) for n, name in enumerate("AB")]
    sight = seen(ElementTree((*tree_of().elements, *fields), tree_of().applications))
    assert keyboard_elsewhere(ElementTarget(role="text field", name="A"), sight)
    assert not keyboard_elsewhere(ElementTarget(role="text field", name="B"), sight)
    assert not keyboard_elsewhere(ElementTarget(role="text field", name="C"), sight), "it has another name now"


def test_of_two_matching_elements_none_is_chosen() -> None:
    with pytest.raises(NotFound, match=r"2 elements are button ‘Delete’: at 80x20.220.20, at 80x20.220.60"):
        place(seen(TABLE, TEXT), role="button", name="Delete", text="Delete")
    hidden = replace(seen(TABLE), shown=seen(tree_of(*(("button", "", box) for box in (*ROW, *BELOW)))))
    with pytest.raises(NotFound) as error:
        place(hidden, role="button")
    assert "Delete" not in str(error.value), "the reason may reach the model, so it must not quote programs"


def test_a_heading_and_its_text_count_as_one_element() -> None:
    heading = tree_of(("heading", "RECORD", ROW[0]), ("label", "RECORD", Box(22, 22, 60, 16)))
    inside = replace(heading.elements[2], parent=1)
    tree = replace(heading, elements=(*heading.elements[:2], inside))
    assert place(seen(tree), name="RECORD") == inside.box


def test_a_text_is_searched_only_if_programs_report_no_elements() -> None:
    for tree in (None, silent()):
        assert place(seen(tree, TEXT), role="button", name="Remove", text="Delete") == TEXT.box
        with pytest.raises(NotFound, match="reports"):
            place(seen(tree, TEXT), role="button", name="Delete")
    with pytest.raises(NotFound, match="report no button ‘Remove’"):
        place(seen(TABLE, TEXT), role="button", name="Remove", text="Delete")
    partly = replace(TABLE, complete=False, why_not="A program tells nothing.")
    assert place(seen(partly, TEXT), role="button", name="Remove", text="Delete") == TEXT.box
    assert place(seen(partly, TEXT), role="text field", text="Delete") == BELOW[1]


def test_if_the_picture_disagrees_neither_the_element_nor_its_text_is_found() -> None:
    lie = seen(TABLE, TEXT, why_not="the picture shows another text there")
    with pytest.raises(
        ContradictedTarget, match=r"reports text field at 80x20.120.60, but the picture shows another text"
    ):
        place(lie, role="text field", text="Delete")
    with pytest.raises(ContradictedTarget):
        place(lie, role="button", name="Delete", right_of="TX-1")
    label = Line("Amount", Box(300, 200, 80, 20))
    assert place(replace(lie, lines=(label,), fields=(Box(400, 200, 90, 20),)), field="Amount").left == 400


@pytest.mark.parametrize(
    ("read", "reads", "found"),
    [
        ({"element": {"role": "label", "right_of": "TX-1"}, "as": "money"}, "12.50", "12.50"),
        ({"element": {"role": "label", "right_of": "TX-1"}, "as": "money"}, None, "12.50"),
        ({"element": {"role": "label", "name": "TX-*", "left_of": "12.50"}, "line": r"TX-(\d)"}, "TX-1", "1"),
        ({"element": {"name": "TX-7"}, "optional": True}, "", None),
        ({"element": {"role": "label", "right_of": "TX-1"}, "optional": True}, "72.50", None),
    ],
)
def test_a_value_must_be_reported_by_the_program_and_visible(read: Any, reads: str | None, found: Any) -> None:
    assert read_values({"it": Read.model_validate(read)}, seen(TABLE, reads=reads)) == {"it": found}


def test_a_value_that_the_picture_does_not_show_is_none() -> None:
    wanted = {"it": Read.model_validate({"element": {"role": "label", "right_of": "TX-1"}})}
    with pytest.raises(ContradictedTarget, match="another text for label"):
        read_values(wanted, seen(TABLE, reads="72.50"))
    password = tree_of(("password field", "Password", ROW[0]))
    kept = replace(password, elements=(password.elements[0], replace(password.elements[1], protected=True)))
    assert read_values({"it": Read.model_validate({"element": {"name": "Password"}})}, seen(kept)) is None
    texts = (Line("Amount", Box(20, 20, 60, 20)), Line("9.00", Box(120, 20, 60, 20)))
    either = {"it": Read.model_validate({"element": {"name": "Sum"}, "right_of": "Amount", "as": "money"})}
    assert read_values(either, seen(silent(), *texts)) == {"it": "9.00"}
    assert read_values(either, seen(TABLE, *texts)) is None


def playbook(*rules: str) -> str:
    return "name: n\ngoals:\n  g:\n    rules:\n" + "".join(f"      - {rule}\n" for rule in rules)


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        ("{id: a, do: [{click: Save, thought: t}]}", ScreenNeeds.TEXT),
        ("{id: a, do: [{wait: 1, thought: t}]}", ScreenNeeds(0)),
        ("{id: a, screen: {name: S}, do: [{click: {role: button, text: Save}, thought: t}]}", ScreenNeeds.ELEMENTS),
        ("{id: a, do: [{click: {field: Save}, thought: t}]}", ScreenNeeds.TEXT | ScreenNeeds.ELEMENTS),
        ("{id: a, screen: [S, {role: label}], do: [{wait: 1, thought: t}]}", ScreenNeeds.TEXT | ScreenNeeds.ELEMENTS),
        ("{id: a, read: {v: {element: {role: label}}}, do: [{wait: 1, thought: t}]}", ScreenNeeds.ELEMENTS),
    ],
)
def test_a_screen_is_read_by_ocr_only_if_a_rule_needs_its_text(rule: str, needs: ScreenNeeds) -> None:
    assert needs_of(parse_playbook(playbook(rule)).rules_of("g")) == needs


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("{id: a, do: [{click: {role: button, field: Save}, thought: t}]}", "not with field:"),
        ("{id: a, do: [{click: {role: ''}, thought: t}]}", "role"),
        ("{id: a, screen: {text: Save}, do: [{wait: 1, thought: t}]}", "an element has a role: or a name:"),
        ("{id: a, screen: {rolle: label}, do: [{wait: 1, thought: t}]}", "rolle"),
        ("{id: a, read: {v: {element: {}}}, do: [{wait: 1, thought: t}]}", "an element has a role: or a name:"),
        ("{id: a, read: {v: {element: {name: x}, line: '(a)', right_of: b}}, do: [{wait: 1, thought: t}]}", "value"),
    ],
)
def test_a_mistake_is_reported_with_its_line(rule: str, says: str) -> None:
    with pytest.raises(BadPlaybook, match="playbook:5") as error:
        parse_playbook(playbook(rule))
    assert says in str(error.value)


def test_marks_of_states_can_be_elements() -> None:
    def declared(marks: Sequence[str]) -> str:
        return "screens: {states: {s: [" + ", ".join(marks) + "]}}\n" + playbook("{id: a, do: [{wait: 1, thought: t}]}")

    (state,) = screens_of(parse_playbook(declared(["{role: label, name: S, text: S}", "{not: {role: button}}"]))).states
    assert repr(state.marks) == (
        "(Widget(role='label', name='S', text='S'), Absent(mark=Widget(role='button', name=None, text='')))"
    )
    for marks in (["{role: label, picture: x.png}"], ["{role: label, window: W}"], ["{name: '*'}"]):
        with pytest.raises(BadPlaybook):
            parse_playbook(declared(marks))


@pytest.mark.parametrize("shown", ["Anna's letters", "Letters"])
def test_the_reason_for_a_missing_target_quotes_no_text_of_a_program(shown: str) -> None:
    """The next layer receives the reason, possibly a model."""
    quiet = Application(shown, 7, "", "none", note=f"it does not answer (org.{shown}.Error)")
    tree = replace(tree_of(("button", "Secret plans", ROW[0])), complete=False, why_not=f"{shown}: it is silent.")
    tree = replace(tree, applications=(*tree.applications, quiet))
    for sight in (seen(tree), replace(seen(tree), shown=seen(tree))):
        with pytest.raises(NotFound) as error:
            place(sight, role="button", name="Save")
        assert str(error.value) == "No program reports button ‘Save’. A program on the screen: it does not answer."


def test_the_reason_for_giving_up_quotes_ocr_text_only() -> None:
    told = seen(tree_of(("button", "Secret plans", ROW[0])))
    playbook = parse_playbook("name: p\ngoals: {go: {rules: [{id: a, screen: GONE, do: [{click: Go, thought: t}]}]}}")
    for sight, read in ((told, ""), (replace(told, elements=None), " It reads: no text at all.")):
        stopped = follow(playbook, "go", {}, WAITED, sight)
        question = stopped.step["tool_call"]["question"]
        assert question == f"The playbook has no rule of goal 'go' for this screen.{read}"


@pytest.mark.parametrize(("name", "there"), [("Meyer", True), ("Meier", False), ("Meyerhof", False), ("MEYER", True)])
def test_a_value_inside_a_pattern_matches_only_that_word(name: str, there: bool) -> None:
    tree = tree_of(("list item", f"Customer {name} GmbH", ROW[0]))
    target = Target.model_validate({"role": "list item", "name": "*{customer}*"})
    if there:
        assert find(target, {"customer": "Meyer"}, seen(tree)) == ROW[0]
        return
    with pytest.raises(NotFound):
        find(target, {"customer": "Meyer"}, seen(tree))


@pytest.mark.parametrize(
    ("tree", "name", "within", "passes"),
    [
        (of_form("Clerk", "Result", claiming=["Clerk", "Result"]), "Number", "Search", False),
        (of_form("Clerk", "Result", claiming=["Clerk", "Result"], dialog=True), "Number", "Search", False),
        (of_form("Clerk", "Result", claiming=[]), "Number", "Search", False),  # the dialog did not open
        (of_form("Clerk", "Result", claiming=[], dialog=True), "Number", "Search", True),
        (of_form("Clerk", "Result", claiming=["Clerk", "Result"]), "Clerk", None, True),
        (of_form("Clerk", "Result", claiming=["Clerk"]), "Clerk", None, True),
        (ElementTree(), "Number", "Search", True),  # nothing tells where the keyboard is
    ],
)
def test_a_text_is_not_typed_if_its_field_is_not_there_or_others_claim_the_keyboard(
    tree: ElementTree, name: str, within: str | None, passes: bool
) -> None:
    wanted = ElementTarget(role="text field", name=name, within=within)
    if passes:
        check_focus(wanted, seen(tree))
    else:
        with pytest.raises(NotFound, match="keyboard"):
            check_focus(wanted, seen(tree))


@pytest.mark.parametrize(
    ("value", "why_not", "met"), [("Invited", "", True), ("In", "", False), ("Invited", "x", False)]
)
def test_a_field_as_a_condition_must_hold_its_value(value: str, why_not: str, met: bool) -> None:
    """A page may write the option in another case. The words on the picture are not enough."""
    parts = [*tree_of(("combo box", "Stage", ROW[0])).elements]
    parts[-1] = replace(parts[-1], value="invited")
    wanted = ShownElement(role="combo box", name="Stage", text="Stage", holds="{stage}")
    values = {"stage": value}
    assert is_visible(wanted, values, seen(ElementTree(tuple(parts)), TEXT, why_not=why_not)) is met
    assert not is_visible(wanted, values, seen(None, Line("Stage", ROW[0])))


def test_an_option_is_found_though_its_combo_box_shows_it_already() -> None:
    """jQuery UI repeats the chosen option in the open list."""
    tree = tree_of(
        ("combo box", "", ROW[0]), ("label", "TX-2", ROW[0]), ("list", "", BELOW[0]), ("label", "TX-2", BELOW[0])
    )
    made = [replace(each, parent=parent) for each, parent in zip(tree.elements, (-1, 0, 1, 1, 3), strict=True)]
    in_list = ElementTree(tuple(made), tree.applications)
    assert place(seen(in_list), role="label", name="{item}") == BELOW[0]
    made[4] = replace(made[4], parent=1)
    with pytest.raises(NotFound, match="2 elements"):  # both are shown by the closed part
        place(seen(ElementTree(tuple(made), tree.applications)), role="label", name="{item}")


@pytest.mark.parametrize("row", ["TX-1", "TX-2"])
def test_a_state_may_be_required_of_the_check_box_in_a_row(row: str) -> None:
    tree = tree_of(
        ("label", "TX-1", ROW[0]),
        ("check box", "", ROW[1]),
        ("label", "TX-2", BELOW[0]),
        ("check box", "", BELOW[1]),
    )
    checked = replace(tree.elements[4], states=frozenset({SHOWING, "checked"}))
    tree = replace(tree, elements=(*tree.elements[:4], checked))
    wanted = ShownElement(role="check box", right_of=row, checked=True)
    assert is_visible(wanted, {}, seen(tree)) is (row == "TX-2")
    assert not is_visible(ShownElement(role="check box", right_of="TX-3", checked=True), {}, seen(tree))


@pytest.mark.parametrize(
    ("title", "part", "is_unknown"),
    [("", "list item", False), ("", "button", True), ("Choose", "list item", True)],
    ids=["an open list", "a question", "a dialog with a title"],
)
def test_a_list_that_a_page_opens_as_a_dialog_is_no_unknown_dialog(title: str, part: str, is_unknown: bool) -> None:
    """UI5 Web Components do so."""
    tree = tree_of(("dialog", title, BELOW[0]), ("list item", "Paid", BELOW[0]), (part, "Shipped", BELOW[0]))
    made = (*tree.elements[:2], *(replace(each, parent=1) for each in tree.elements[2:]))
    found = unknown_dialog([], None, seen(ElementTree(made, tree.applications)), any_place=True)
    assert (found is not None) is is_unknown


@pytest.mark.parametrize(("dialog", "part"), [("dialog", "text field"), ("dialog", "button"), ("alert", "list item")])
def test_a_dialog_of_options_that_asks_for_more_is_no_open_list(dialog: str, part: str) -> None:
    tree = tree_of((dialog, "", BELOW[0]), ("list item", "Paid", BELOW[0]), (part, "", BELOW[0]))
    made = (*tree.elements[:2], *(replace(each, parent=1) for each in tree.elements[2:]))
    assert unknown_dialog([], None, seen(ElementTree(made, tree.applications)), any_place=True) is not None


@pytest.mark.parametrize(("role", "is_found"), [("text field", True), ("button", False)])
def test_of_two_labels_the_one_with_the_field_on_its_right_counts(role: str, is_found: bool) -> None:
    """The other one is a heading behind the dialog. Keys of a list are not labels, so of two none is chosen."""
    tree = tree_of(
        ("cell", "Carrier", Box(60, 10, 80, 20)),
        ("label", "Carrier", Box(60, 100, 80, 20)),
        (role, "", Box(150, 100, 100, 20)),
    )
    if is_found:
        assert place(seen(tree), role=role, right_of="Carrier") == Box(150, 100, 100, 20)
    else:
        with pytest.raises(NotFound):
            place(seen(tree), role=role, right_of="Carrier")
