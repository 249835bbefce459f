"""Rows are found by the item's key, and unknown dialogs, other keyboards and other typed texts stop a playbook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.compiler.answers import is_message
from holo_tasks.compiler.targets import without_other_values
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.pressed_elements import pressed_at
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound, find_element, is_title
from holo_tasks.scripts.misfit import misfit_of
from holo_tasks.scripts.playbook import Playbook, parse_playbook
from holo_tasks.scripts.rules import Decision, find, follow
from holo_tasks.scripts.steps_and_targets import ShownElement, Target
from tests.compiler.test_compile import calls, compiled, decisions
from tests.support.read_runs import screen
from tests.support.recorded_runs import Act, Page, page, record, sight_of

ROWS = [("AB-1207", "Fischer and Sons"), ("AB-1208", "Fisher Ltd"), ("CD-3391", "Harvest Market")]
STATES = frozenset({SHOWING})


def listed(rows: Sequence[tuple[str, str]] = ROWS, said: str = "") -> Page:
    """Return a page with a table of orders, each with a button."""
    texts = [(20, 10, "ORDERS"), (20, 60, "Number"), (160, 60, "Customer"), (20, 380, said)]
    for place, (number, name) in enumerate(rows):
        top = 100 + 40 * place
        texts += [(20, top, number), (160, top, name), (420, top, "Open")]
    return page(*(text for text in texts if text[2]))


class Tree:
    """Builds an accessibility tree, element by element."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.window = self.add("window", "Orders", Box(0, 0, 720, 420), -1)

    def add(self, role: str, name: str, box: Box, parent: int, *states: str) -> int:
        number = len(self.elements)
        self.elements.append(Element(number, role, name, STATES | {*states}, box, parent, "orders", 1))
        return number

    def table(self, rows: Sequence[tuple[str, str]] = ROWS, *, of_rows: bool = True) -> Tree:
        """Add a table. Without ``of_rows`` its cells are its children, as in GTK."""
        table = self.add("table", "", Box(0, 60, 720, 320), self.window)
        for left, name in ((20, "Number"), (160, "Customer")):
            self.add("column header", name, Box(left, 60, 130, 20), table)
        for place, (number, name) in enumerate(rows):
            top = 100 + 40 * place
            row = self.add("row", "", Box(0, top, 720, 24), table) if of_rows else table
            for left, text in ((20, number), (160, name)):
                self.add("cell", text, Box(left, top, 130, 20), row)
            cell = self.add("cell", "", Box(420, top, 60, 20), row)
            self.add("button", "Open", Box(420, top, 60, 20), cell)
        return self

    def dialog(self, name: str, *texts: str, modal: bool = False, role: str = "dialog") -> Tree:
        """Add a dialog with some texts and the button Open, which has the keyboard."""
        over = self.add(role, name, Box(200, 120, 300, 200), self.window, *(["modal"] if modal else []))
        for place, text in enumerate(texts):
            self.add("label", text, Box(220, 130 + 30 * place, 200, 20), over)
        self.add("button", "Open", Box(300, 280, 60, 20), over, "focused")
        return self

    @property
    def tree(self) -> ElementTree:
        return ElementTree(tuple(self.elements))

    def facts(self, role: str, name: str, number: int = 0) -> dict[str, str]:
        """Return the facts that a trace has of an element."""
        return anchors_of(self.tree, self.tree.find(role, name)[number], lambda element: element)


def decided(playbook: Playbook, number: str, shown: Page, tree: Tree, name: str = "number") -> Decision:
    sight = replace(sight_of(shown), elements=tree.tree)
    return follow(playbook, "look-up", {name: number}, [], sight)


def opened(home: Path, name: str, facts: dict[str, str], click: str = "Open") -> tuple[Playbook, str]:
    """Return a playbook made of one press in the list, and its text."""
    act = Act(listed(), click=click, element=facts)
    trace = record(home, name, "Open the order AB-1207.", [act], listed(said="Opened AB-1207"), "Opened AB-1207")
    playbook, _, text = compiled(home, trace, params=("number=AB-1207",))
    return playbook, text


@pytest.mark.parametrize("of_rows", [True, False])
def test_a_button_in_a_row_is_pressed_in_the_row_of_the_item(tmp_path: Path, of_rows: bool) -> None:
    playbook, text = opened(tmp_path, f"rows-{of_rows}", Tree().table(of_rows=of_rows).facts("button", "Open"))
    assert "row: '{number}'" in text
    assert "Fischer" not in text
    again = [ROWS[2], ("CD-3397", "Other"), ROWS[0]]  # sorted otherwise, with a number that differs in one digit

    def pressed(number: str, rows: Sequence[tuple[str, str]]) -> Any:
        return decided(playbook, number, listed(rows), Tree().table(rows, of_rows=of_rows)).step["tool_call"]

    for number, top in (("CD-3391", 100), ("CD-3397", 140), ("AB-1207", 180)):
        call = pressed(number, again)
        assert (call["tool_name"], call["y"] * 420 // 1000) == ("click", top + 10)
    assert pressed("CD-339", again)["tool_name"] == "wait", "no row has this number"
    assert pressed("CD-3391", [*again, ("CD-3391", "Second")])["tool_name"] == "wait", "two rows have it"


def test_without_elements_the_neighbor_with_the_key_comes_first(tmp_path: Path) -> None:
    playbook, text = opened(tmp_path, "words", {})
    assert "right_of: '{number}'" in text
    assert calls(decisions(playbook, {"number": "CD-3391"}, listed())) == ["click"]
    assert calls(decisions(playbook, {"number": "CD-3381"}, listed())) == ["wait"]


def test_a_cell_is_found_by_its_row_and_column_and_never_by_its_text(tmp_path: Path) -> None:
    playbook, text = opened(tmp_path, "cells", Tree().table().facts("cell", "Fischer and Sons"), "Fischer and Sons")
    assert "Fischer" not in text
    assert playbook.goals["look-up"].steps[0].click == Target(role="cell", row="{number}", column="Customer")
    rows = [ROWS[2], ROWS[0]]
    call = decided(playbook, "CD-3391", listed(rows), Tree().table(rows)).step["tool_call"]
    assert (call["tool_name"], call["y"] * 420 // 1000, call["x"] * 720 // 1000) == ("click", 110, 225)


@pytest.mark.parametrize(("key", "kind"), [("AB-1207", "click"), ("AB-1999", "by_model")])
def test_an_empty_cell_is_found_by_its_row_and_column(tmp_path: Path, key: str, kind: str) -> None:
    """Without the item's key in its row, nothing describes it."""
    facts = {"role": "cell", "in_row": "1", "cell 1": key, "cell 2": "Fischer and Sons", "column": "Remark"}
    act = Act(listed(), at=Point(600, 110), element=facts)
    trace = record(tmp_path, key, "Open the order AB-1207.", [act], listed(said="Opened AB-1207"), "Opened AB-1207")
    playbook, _, _ = compiled(tmp_path, trace, params=("number=AB-1207",))
    step = playbook.goals["look-up"].steps[0]
    assert step.kind == kind
    assert kind == "by_model" or step.click == Target(role="cell", row="{number}", column="Remark")


def test_a_row_without_a_value_of_the_item_is_left_to_the_model(tmp_path: Path) -> None:
    facts = Tree().table().facts("button", "Open", 1)
    act = Act(listed(), click="Open", element=facts)
    trace = record(tmp_path, "unnamed", "Open an order.", [act], listed(said="Opened"), "Opened")
    playbook, told, _ = compiled(tmp_path, trace)
    assert playbook.goals["look-up"].steps[0].kind == "by_model"
    assert "no value of the item is in its row" in str(told)


def form(values: Sequence[str], *labels: str) -> Tree:
    """Return a form that is a table: each field has the same name, and its label is a cell before it."""
    tree = Tree()
    table = tree.add("table", "", Box(0, 60, 720, 320), tree.window)
    for place, (label, value) in enumerate(zip(labels, values, strict=True)):
        row = tree.add("row", "", Box(0, 100 + 40 * place, 720, 24), table)
        tree.add("cell", label, Box(20, 100 + 40 * place, 130, 20), row)
        # A browser names a cell by its content.
        cell = tree.add("cell", value or "value", Box(160, 100 + 40 * place, 200, 22), row)
        tree.add("text field", "value", Box(164, 102 + 40 * place, 190, 18), cell)
    return tree


def pressed_facts(tree: Tree, at: Point) -> dict[str, str]:
    pressed = pressed_at(tree.tree, at)
    assert pressed is not None
    return anchors_of(tree.tree, pressed, lambda element: element)


def test_a_field_in_a_form_that_is_a_table_is_found_by_the_label_in_its_row(tmp_path: Path) -> None:
    facts = pressed_facts(form(["", "new"], "Remark:", "Status:"), Point(200, 150))
    playbook, _ = opened(tmp_path, "form", facts, "Customer")
    step = playbook.goals["look-up"].steps[0].click
    assert step == Target(role="text field", name="value", row="Status:")
    sight = replace(sight_of(listed()), elements=form(["paid", "", ""], "Status:", "Extra:", "Remark:").tree)
    assert find_element(step, step.relations, sight) == sight.elements.find("text field")[0]


def test_a_row_of_data_is_not_found_by_another_text_than_the_key(tmp_path: Path) -> None:
    """The opposite error: without a colon, the text next to a field may belong to the recorded item."""
    facts = pressed_facts(form(["1", "2"], "Fischer and Sons", "Fisher Ltd"), Point(200, 150))
    playbook, _ = opened(tmp_path, "data", facts, "Customer")
    assert playbook.goals["look-up"].steps[0].kind == "by_model"


def cards(*numbers: str) -> Tree:
    """Return a page of cards with a heading and a button each. The first card lists all numbers."""
    tree = Tree()
    for place, number in enumerate(["Welcome", *numbers]):
        card = tree.add("article", "", Box(0, 100 * place, 720, 90), tree.window)
        tree.add("heading", number, Box(20, 100 * place, 130, 20), card)
        tree.add("button", "Edit", Box(420, 100 * place, 60, 20), card)
        for line, each in enumerate(numbers if place == 0 else ()):
            tree.add("link", each, Box(20, 30 + 20 * line, 80, 18), card)
    return tree


def test_a_button_on_a_card_is_pressed_on_the_card_whose_heading_is_the_key(tmp_path: Path) -> None:
    facts = cards("AB-1207").facts("button", "Edit", 1)
    playbook, _ = opened(tmp_path, "cards", facts)
    step = playbook.goals["look-up"].steps[0].click
    assert step == Target(role="button", name="Edit", row="{number}")
    wanted = step.model_copy(update={"row": "CD-3391"})
    sight = replace(sight_of(listed()), elements=cards("AB-1208", "CD-3391").tree)
    assert find_element(wanted, wanted.relations, sight) == sight.elements.find("button", "Edit")[2]
    with pytest.raises(NotFound):  # the list on the first card is not a heading
        find_element(wanted, wanted.relations, replace(sight, elements=cards("CD-3397").tree))


def test_row_and_column_find_a_cell_on_a_picture_without_elements() -> None:
    sight = sight_of(listed([*ROWS, ("AB-1207", "Twice")]))
    assert find(Target(text="Open", row="CD-3391"), {}, sight).top > find(Target(text="AB-1208"), {}, sight).bottom
    with pytest.raises(AmbiguousTarget):
        find(Target(text="Open", row="AB-1207"), {}, sight)
    with pytest.raises(NotFound):
        find(Target(text="Open", row="CD-3392"), {}, sight)
    assert find(Target(text="Fisher Ltd", column="Customer"), {}, sight)


DIALOGS = """
name: orders
goals:
  look-up:
    params: {number: text}
    dialogs: [Choose a branch, "Delete {number}?"]
    steps:
      - click: {role: button, name: Open, row: "{number}"}
      - hotkey: [enter]
      - answer: done
"""


@pytest.mark.parametrize(
    ("name", "texts", "modal", "goes_on"),
    [
        ("Restore pages", (), False, False),  # the keyboard is in it
        ("Question", ("Delete AB-1208?",), True, False),
        ("Question", ("Delete AB-1207?",), True, True),
        ("Choose a branch", (), True, True),
    ],
)
def test_a_dialog_that_was_not_there_before_stops_presses_and_keys(
    name: str, texts: tuple[str, ...], modal: bool, goes_on: bool
) -> None:
    playbook = parse_playbook(DIALOGS)
    role = "alert" if name == "Question" else "dialog"
    tree = Tree().table().dialog(name, *texts, modal=modal, role=role)
    sight, values = replace(screen(), elements=tree.tree), {"number": "AB-1207"}
    decision = follow(playbook, "look-up", values, [], sight)
    assert (decision.action is not None) is goes_on
    if not goes_on:
        misfit = misfit_of(playbook.rules_of("look-up"), values, [], sight)
        assert misfit is not None
        assert "A dialog that these steps do not know" in misfit.why
        free = parse_playbook(DIALOGS.replace('    dialogs: [Choose a branch, "Delete {number}?"]\n', ""))
        assert follow(free, "look-up", values, [], sight).action is not None


BAR = Box(0, 0, 720, 30)


@pytest.mark.parametrize(
    ("kind", "is_dialog"),
    [
        *(("bar", False), ("message in the page", False)),
        *(("over the table", True), ("modal", True), ("with the keyboard", True), ("alone on its page", True)),
    ],
)
def test_a_bar_beside_the_contents_is_no_dialog(kind: str, is_dialog: bool) -> None:
    """An alert that covers something, that is modal, or whose page hides the rest, is a dialog, also for an answer."""
    tree = Tree().table()
    over, states = Box(0, 90, 720, 30) if kind == "over the table" else BAR, ["modal"] if kind == "modal" else []
    page = tree.add("document", "", Box(0, 0, 720, 60), tree.window) if "page" in kind else tree.window
    if kind == "message in the page":
        tree.add("label", "ORDERS", Box(20, 40, 100, 20), page)
    alert = tree.add("alert", "Infobar", over, page, *states)
    tree.add("label", "An update is there", Box(20, over.top, 200, 30), alert)
    tree.add("button", "Open", Box(600, over.top, 60, 30), alert, *(["focused"] if "keyboard" in kind else []))
    dialogs = [tree.tree.title_of(each) for each in tree.tree.dialogs()]
    assert dialogs == (["An update is there"] if is_dialog else [])
    answers = parse_playbook("name: o\ngoals:\n  look-up:\n    dialogs: []\n    steps: [{answer: done}]\n")
    sight = replace(screen(), elements=tree.tree)
    assert (follow(answers, "look-up", {}, [], sight).action is None) is is_dialog
    in_front = tree.tree.in_front(tree.tree.find("button", "Open"))
    assert len(in_front) == (1 if is_dialog else 4)


def test_compiled_goals_know_the_dialogs_of_the_recording(tmp_path: Path) -> None:
    plain, over = Tree().table(), Tree().table().dialog("Record AB-1207")
    playbook, text = opened(tmp_path, "plain", plain.facts("button", "Open"))
    assert playbook.goals["look-up"].dialogs == ()
    playbook, text = opened(tmp_path, "over", over.facts("button", "Open", 0))
    assert playbook.goals["look-up"].dialogs == ("Record {number}",), text
    playbook, text = opened(tmp_path, "inside", over.facts("button", "Open", 3))
    assert playbook.goals["look-up"].steps[0].click == Target(
        role="button", name="Open", within="Record {number}", text="Open"
    )
    bar = {**plain.facts("button", "Open"), "dialogs": "1", "dialog 1": f"{'An update is there. ' * 5}"[:79] + "…"}
    (title,) = opened(tmp_path, "bar", bar)[0].goals["look-up"].dialogs or ()
    assert is_title(title, "An update is there. " * 5 + "Install it?")
    facts = {name: text for name, text in plain.facts("button", "Open").items() if not name.startswith("dialog")}
    assert opened(tmp_path, "old", facts)[0].goals["look-up"].dialogs is None


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("Record AB-1207 [2 of 7]", "Record {number} [*]"),
        ("Record AB-1207 (2/7)", "Record {number} (*)"),
        ("Delete 2 of 7 lines of AB-1207?", "Delete 2 of 7 lines of {number}?"),
        ("Delete lines [2 of 7]", "Delete lines [2 of 7]"),
    ],
)
def test_the_position_of_an_item_in_a_title_may_differ(tmp_path: Path, title: str, known: str) -> None:
    over = Tree().table().dialog(title)
    playbook, text = opened(tmp_path, "over", over.facts("button", "Open", 3))
    (step, *_), goal = playbook.goals["look-up"].steps, playbook.goals["look-up"]
    assert goal.dialogs == (known,), text
    assert step.click == Target(role="button", name="Open", within=known, text="Open")
    other = Tree().table().dialog(title.replace("AB-1207", "CD-3391").replace("2", "3"))
    call = decided(playbook, "CD-3391", listed(), other).step["tool_call"]
    assert (call["tool_name"] == "click") is ("*" in known)


FOCUS = """
name: orders
goals:
  look-up:
    params: {note: text}
    steps: [{write: "{note}", focus: {role: text field, name: Note}}, {answer: done}]
"""


@pytest.mark.parametrize(("focused", "goes_on"), [("Note", True), ("Amount", False), ("", True)])
def test_nothing_is_typed_into_another_element(focused: str, goes_on: bool) -> None:
    tree = Tree()
    for place, name in enumerate(("Note", "Amount")):
        states = ["focused"] if name == focused else []
        tree.add("text field", name, Box(100, 40 * place, 200, 24), tree.window, *states)
    sight = replace(screen(), elements=tree.tree)
    decision = follow(parse_playbook(FOCUS), "look-up", {"note": "by mail"}, [], sight)
    assert (decision.action is not None) is goes_on


def test_two_texts_for_one_field_are_two_values(tmp_path: Path) -> None:
    """A person may type a wrong number first. No number of the recording is typed for another item."""

    def form(number: str, said: str = "") -> Page:
        texts = [(20, 10, "ORDERS"), (20, 100, "Number"), (60, 200, "Find"), (20, 300, said)]
        return page(*(text for text in texts if text[2]), fields=[(150, 98, number)])

    acts = [
        *(Act(form(""), click="Number"), Act(form(""), write="AB-1270")),
        *(Act(form("AB-1270"), click="Find"), Act(form("AB-1270", "Not found"), click="Number")),
        *(Act(form("AB-1270", "Not found"), write="AB-1207"), Act(form("AB-1207", "Not found"), click="Find")),
    ]
    trace = record(tmp_path, "wrong", "Find the order.", acts, form("AB-1207", "Found"), "Found")
    _, told, text = compiled(tmp_path, trace)
    assert told["params"] == {"number": "text", "number_2": "text"}
    assert "AB-12" not in text


def note(text: str = "", said: str = "", *, stays: bool = True) -> Page:
    """Return a page with a form for a note, or the page after it."""
    form_ = [(20, 60, "Remark"), (60, 140, "Store")] if stays else [(60, 140, "New remark")]
    texts = [(20, 10, "REMARKS"), *form_, (20, 300, said)]
    return page(*(one for one in texts if one[2]), fields=[(150, 58, text)] if stays else [])


@pytest.mark.parametrize(
    ("name", "end", "done", "failed"),
    [
        ("message", note("pays late", "Note 703 added"), note("by mail", "Note 9 added"), note("by mail", "No")),
        ("closed", note(stays=False), note(stays=False), note("by mail", "Locked")),
        ("cleared", note(), note(), note("by mail")),
    ],
)
def test_an_end_without_an_answer_needs_evidence(
    tmp_path: Path, name: str, end: Page, done: Page, failed: Page
) -> None:
    acts = [Act(note(), click="Remark"), Act(note(), write="pays late"), Act(note("pays late"), click="Store")]
    playbook, _, text = compiled(tmp_path, record(tmp_path, name, "Store the remark.", acts, end, ""))

    def ended(last: Page) -> str:
        return calls(decisions(playbook, {"remark": "by mail"}, note(), note(), note("by mail"), last))[-1]

    assert (ended(done), ended(failed)) == ("answer", "wait"), text
    assert "703" not in text.partition("goals:")[2]


def test_dates_and_amounts_are_typed_in_the_format_of_the_recording(tmp_path: Path) -> None:
    def form(due: str = "", total: str = "", said: str = "") -> Page:
        texts = [(20, 10, "INVOICE"), (20, 100, "Due date"), (20, 140, "Total"), (60, 220, "Store"), (20, 300, said)]
        return page(*(text for text in texts if text[2]), fields=[(150, 98, due), (150, 138, total)])

    typed = ("05.03.2026", "1.284,50")
    acts = [
        *(Act(form(), click="Due date"), Act(form(), write=typed[0])),
        *(Act(form(typed[0]), click="Total"), Act(form(typed[0]), write=typed[1]), Act(form(*typed), click="Store")),
    ]
    trace = record(tmp_path, "dates", "Store the invoice.", acts, form(*typed, "Stored"), "Stored")
    playbook, told, _ = compiled(tmp_path, trace, params=("due=2026-03-05", "total=1284.50"))
    assert told["params"] == {"due": "date", "total": "money"}
    writes = [step.write.text for step in playbook.goals["look-up"].steps if step.write is not None]
    assert writes == ["{due:DD.MM.YYYY}", "{total:#.##0,00}"]
    values = {"due": "2026-12-24", "total": "9.00"}
    pages = [form(), form(), form("24.12.2026"), form("24.12.2026"), form("24.12.2026", "9,00")]
    found = decisions(playbook, values, *pages, form("24.12.2026", "9,00", "Stored"))
    assert [call.get("content") for call in (each.step["tool_call"] for each in found)] == [
        *(None, "24.12.2026", None, "9,00", None, "Stored"),
    ]


@pytest.mark.parametrize(("role", "left"), [("table", True), ("panel", False)])
def test_an_empty_cell_of_a_sheet_is_not_described_by_its_neighbors(tmp_path: Path, role: str, left: bool) -> None:
    """The cell below the last invoice is another one after each invoice."""
    first = listed()
    below = Point(40, 209)  # right below the number of the last row
    facts = {"role": role, "name": "Sheet", "application": "sheets", "alike": "1"}
    act = Act(first, click="CD-3391", at=below, element=facts)
    trace = record(tmp_path, f"sheet-{role}", "Choose CD-3391.", [act], listed(said="Ready"), "")
    playbook, told, _ = compiled(tmp_path, trace, params=("number=CD-3391",))
    assert (playbook.goals["look-up"].steps[0].kind == "by_model") is left
    assert ("does not report its cells" in str(told)) is left


@pytest.mark.parametrize(
    ("title", "required", "other"),
    [("{}", "{number}", "{}"), ("Order {} of Haas", "Order {number} of *", "Order {} of Baker")],
)
def test_a_dialog_has_to_name_the_item_itself(tmp_path: Path, title: str, required: str, other: str) -> None:
    """The list below the dialog names every item. Another value of the item in the dialog is another one next time."""

    def shown(number: str) -> tuple[Page, Tree]:
        over = listed()
        texts = {**over.texts, (220, 330): number, (300, 360): "Store"}
        tree = Tree().table()
        box = tree.add("dialog", "Add note", Box(200, 320, 300, 90), tree.window)
        tree.add("label", number, Box(220, 330, 100, 20), box)
        tree.add("button", "Store", Box(300, 360, 60, 20), box)
        return replace(over, texts=texts), tree

    first, (over, tree) = Tree().table(), shown(title.format("AB-1207"))
    acts = [
        Act(listed(), click="Open", element=first.facts("button", "Open")),
        Act(over, click="Store", element=tree.facts("button", "Store")),
    ]
    trace = record(tmp_path, "names", "Store a note to AB-1207.", acts, listed(said="Note stored"), "")
    playbook, _, _ = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert playbook.goals["look-up"].steps[1].before == (ShownElement(name=required, within="Add note", text=required),)

    def pressed(number: str, named: str) -> list[str]:
        history: list[Turn] = []
        for now, tree in ((listed(), Tree().table()), shown(other.format(named))):
            sight = replace(sight_of(now), elements=tree.tree)
            call = dict(follow(playbook, "look-up", {"number": number}, history, sight).step["tool_call"])
            history.append(Turn(call["tool_name"], "Click Open.", call))
        return [turn.tool for turn in history]

    assert pressed("CD-3391", "CD-3391") == ["click", "click"]
    assert pressed("CD-3391", "AB-1208") == ["click", "wait"]
    assert pressed("CD-3391", "CD-33910") == ["click", "wait"]


def test_a_label_with_an_icon_before_it_is_required_once(tmp_path: Path) -> None:
    """OCR takes an icon for a letter. In another theme it may take it for another one."""
    before = listed()
    texts = [(20, 10, "ORDERS"), (20, 200, "Draft of AB-1207"), (360, 200, "x Draft of AB-1207"), (20, 300, "Store")]
    acts = [Act(before, click="Open", element=Tree().table().facts("button", "Open")), Act(page(*texts), click="Store")]
    trace = record(tmp_path, "icon", "Open the order AB-1207.", acts, listed(said="Stored"), "Stored")
    _, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert "Draft of {number}" in text
    assert "x Draft" not in text, text


def test_an_item_that_a_list_named_before_is_no_evidence_of_the_end(tmp_path: Path) -> None:
    """The form closes after the press, and its heading names the item in a new place."""
    form_ = [(20, 10, "ORDERS"), (20, 60, "AB-1207"), (20, 200, "Remark"), (60, 300, "Store")]
    acts = [
        Act(page(*form_, fields=[(150, 198, "")]), click="Remark"),
        Act(page(*form_, fields=[(150, 198, "")]), write="by mail"),
        Act(page(*form_, fields=[(150, 198, "by mail")]), click="Store"),
    ]
    end = page((20, 10, "ORDERS"), (20, 60, "AB-1207"), (300, 200, "AB-1207"))
    trace = record(tmp_path, "named", "Add a remark to AB-1207. Answer done.", acts, end, "done")
    playbook, _, text = compiled(tmp_path, trace, params=("number=AB-1207", "remark=by mail"))
    ending = repr(playbook.goals["look-up"].steps[-1])
    assert "gone" in ending, text


@pytest.mark.parametrize(("said", "is_read"), [("Birth date", False), ("Person stored", True)])
def test_a_text_that_a_dialog_hid_is_no_message_at_the_end(tmp_path: Path, said: str, is_read: bool) -> None:
    """The dialog covers the label *Birth date* of the page, which is there again once the dialog has closed."""
    begin = page((20, 10, "PEOPLE"), (20, 60, "Ferry"), (400, 60, "Birth date"), (20, 380, "Add"))
    form_ = [(20, 10, "PEOPLE"), (20, 200, "Given"), (60, 300, "Store")]
    acts = [
        Act(begin, click="Add"),
        Act(page(*form_, fields=[(150, 198, "")]), click="Given"),
        Act(page(*form_, fields=[(150, 198, "")]), write="Greta"),
        Act(page(*form_, fields=[(150, 198, "Greta")]), click="Store"),
    ]
    end = page((20, 10, "PEOPLE"), (20, 60, "Ferry"), (400, 60, said), (20, 380, "Add"))
    trace = record(tmp_path, "hidden", "Add a person with this name. Answer done.", acts, end, "done")
    playbook, _, text = compiled(tmp_path, trace, params=("given=Greta",))
    assert ("message" in playbook.goals["look-up"].steps[-1].read) is is_read, text


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        *(("Note 703 added", True), ("Record saved.", True), ("Stored", True)),
        *(("28th November 2026 at 10:05pm", False), ("Changed at 10:05", False), ("Berg And Sons", False)),
        *(("Saving document...", False), ("Document saved", True), ("Saving…", False)),
        *(("(0) Done", False), ("« Done »", True), ("3 notes added", False)),
    ],
)
def test_a_day_a_time_or_a_message_that_passes_is_no_message(text: str, yes: bool) -> None:
    assert is_message(text) is yes


def unlabelled(*held: str) -> ElementTree:
    """Return the tree of a form with fields that have neither names nor labels, and hold these texts."""
    states = frozenset({SHOWING})
    found = [Element(0, "window", "Book", states, Box(0, 0, 720, 420), -1, "book", 1)]
    for number, text in enumerate(held, 1):
        found.append(Element(number, "text field", "", states, Box(20, 30 * number, 200, 24), 0, "book", 1, text))
    return ElementTree(tuple(found))


def test_a_field_without_name_and_label_is_found_by_the_hint_in_it(tmp_path: Path) -> None:
    field = unlabelled("Payee", "Debit").elements[2]
    facts = anchors_of(unlabelled("Payee", "Debit"), field, lambda element: element)
    shown = page((20, 10, "Payee"))
    acts = [Act(shown, click="Payee", at=field.box.center, element=facts), Act(shown, write="12.50")]
    trace = record(tmp_path, "hint", "Enter 12.50.", acts, page((20, 10, "SAVED IT")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("debit=12.50",))
    assert "holds: Debit" in text
    target = playbook.goals["look-up"].steps[0].click
    assert target is not None

    def place(tree: ElementTree) -> Box:
        return find(target, {}, replace(sight_of(shown), elements=tree))

    assert place(unlabelled("Debit", "Payee")) == Box(20, 30, 200, 24), "the fields have changed places"
    for tree in (unlabelled("Payee", "Credit"), unlabelled("Debit", "Debit")):
        with pytest.raises(NotFound):
            place(tree)


@pytest.mark.parametrize("held", [("12.50", "Payee"), ("Adler", "Adler"), ("", "Payee")])
def test_a_value_of_an_item_or_of_two_fields_is_no_hint(held: tuple[str, str]) -> None:
    tree = unlabelled(*held)
    assert "holds" not in anchors_of(tree, tree.elements[1], lambda element: element)


def test_a_value_that_was_only_pressed_becomes_a_parameter(tmp_path: Path) -> None:
    """A person who records by hand gives no goal with values, and picks the item from a list."""
    before = page((20, 10, "ORDERS"), (20, 60, "AB-1207"), (20, 100, "CD-3391"))
    acts = [Act(before, click="AB-1207"), Act(page((20, 10, "ORDER"), (60, 300, "Store")), click="Store")]
    trace = record(
        tmp_path, "pressed", "Store an order.", acts, page((20, 10, "ORDERS"), (20, 200, "Stored")), "Stored"
    )
    playbook, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert "number" in playbook.goals["look-up"].params
    assert "AB-1207" not in text
    with pytest.raises(InvalidUsage, match="No run contains"):
        compiled(tmp_path, trace, params=("number=AB-9999",))


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Order {number} of Haas", "Order {number} of *"),
        ("Order {number} of Haas Ltd 12", "Order {number} of *"),
        ("Order {number} of {customer}", "Order {number} of {customer}"),
        ("Invoice {number} is locked", "Invoice {number} is locked"),
        ("Edit {number}/2026", "Edit {number}/2026"),
        ("No Parameter Here", "No Parameter Here"),
        ("Take 4 of {part}?", "Take * of {part}?"),
        ("Pay 12.50 for {part}?", "Pay * for {part}?"),
        ("Room B4 of {part}", "Room B4 of {part}"),
    ],
)
def test_a_later_word_with_a_capital_or_a_digit_may_be_another_value(title: str, kept: str) -> None:
    assert without_other_values(title) == kept


@pytest.mark.parametrize(("role", "is_required"), [("button", True), ("menu item", True), ("text field", False)])
def test_a_text_that_follows_a_press_needs_the_field_that_the_press_gave_the_keyboard(
    tmp_path: Path, role: str, is_required: bool
) -> None:
    """A button may open a dialog later than the text is typed. A click into a field chooses that field."""
    field = {"role": "text field", "name": "Search for", "within": "Search", "alike": "1"}
    name = "Find" if is_required else "Search for"
    acts = [
        Act(page((20, 10, "ORDERS"), (20, 60, name)), click=name, element={"role": role, "name": name, "alike": "1"}),
        Act(page((20, 10, "SEARCH"), (20, 60, "Search for")), write="AB-1207", element=field),
    ]
    trace = record(tmp_path, role.replace(" ", "-"), "Find it.", acts, page((20, 10, "FOUND")), "done")
    _, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert ("focus: {role: text field, name: Search for, within: Search}" in text) is is_required, text


@pytest.mark.parametrize(
    ("element", "changes", "is_asked"),
    [({"dialogs": "0"}, True, False), ({"dialogs": "0"}, False, True), ({}, True, True)],
)
def test_the_end_of_a_recording_by_hand_takes_the_model_if_nothing_changed_or_dialogs_are_unknown(
    tmp_path: Path, element: dict[str, str], changes: bool, is_asked: bool
) -> None:
    """An error of the last press would be a dialog, and unknown dialogs stop a playbook."""
    form = page((20, 10, "RECORD"), (20, 60, "Remark"), (20, 300, "Store"), fields=[(120, 60, "pays late")])
    acts = [
        Act(form, click="Remark", element=element),
        Act(form, write="pays late"),
        Act(form, click="Store", element=element),
    ]
    last = replace(form, frames=(Box(500, 300, 40, 20),)) if changes else form
    _, _, text = compiled(tmp_path, record(tmp_path, "hand", "Enter the remark.", acts, last, ""))
    assert ("ask_model" in text) is is_asked, text
