"""Fields without a name, combo boxes named by their value, and equal elements are found by a neighbor and a place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.steps import target_of
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.playbook import BadPlaybook, parse_playbook
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record, sight_of

LEFT = {"Status": 60, "Clerk": 100, "Rating": 140}


class Form:
    """Builds the tree of a form: labels at the left, and controls without a name at their right."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.window = self.add("window", "Orders", Box(0, 0, 720, 420), -1)
        self.panel = self.add("panel", "", Box(0, 0, 720, 420), self.window)
        for name, top in LEFT.items():
            self.add("label", name, Box(20, top, 80, 20), self.panel)

    def add(self, role: str, name: str, box: Box, parent: int, value: str = "") -> int:
        number = len(self.elements)
        states = frozenset({SHOWING})
        self.elements.append(Element(number, role, name, states, box, parent, "orders", 1, value))
        return number

    def boxes(self, status: str = "Open", clerk: str = "Ada") -> Form:
        """Add two combo boxes that are named by their chosen option."""
        for name, top in ((status, 60), (clerk, 100)):
            self.add("combo box", name, Box(140, top, 200, 22), self.panel, name)
        return self

    def stars(self, count: int = 5, group: str = "", left: int = 140) -> Form:
        """Add equal radio buttons in a row, in a group with a name if one is given."""
        over = self.add("group", group, Box(left, 138, 400, 26), self.panel) if group else self.panel
        for number in range(count):
            self.add("radio button", "", Box(left + 40 * number, 140, 20, 20), over)
        return self

    @property
    def tree(self) -> ElementTree:
        return ElementTree(tuple(self.elements))

    def facts(self, role: str, number: int) -> dict[str, str]:
        return anchors_of(self.tree, self.tree.find(role)[number], lambda element: element)

    def finds(self, target: Target) -> Box:
        sight = replace(sight_of(page((20, 10, "ORDERS"))), elements=self.tree)
        return find(target, {}, sight)


def test_a_combo_box_that_is_named_by_its_value_is_found_by_the_label_beside_it() -> None:
    facts = Form().boxes().facts("combo box", 1)
    assert (facts["named_by_value"], facts["right_of"]) == ("yes", "Clerk")
    target = Target(role="combo box", right_of="Clerk")
    assert Form().boxes(status="Paid", clerk="Bob").finds(target).top == 100
    named = Form()
    named.add("combo box", "Clerk of the order", Box(140, 100, 200, 22), named.panel, "Ada")
    assert not {"named_by_value", "right_of"} & {*named.facts("combo box", 0)}, "its name tells it already"


def test_a_label_above_serves_where_none_is_at_the_left_and_one_that_is_there_twice_never() -> None:
    form = Form()
    form.add("label", "Memo", Box(400, 200, 80, 20), form.panel)
    form.add("text field", "", Box(400, 224, 200, 22), form.panel)
    form.add("text field", "", Box(400, 300, 200, 22), form.panel)
    assert form.facts("text field", 0)["below"] == "Memo"
    assert "below" not in form.facts("text field", 1), "the label finds the other field"
    form.add("label", "Memo", Box(20, 260, 80, 20), form.panel)
    assert not {"below", "right_of"} & {*form.facts("text field", 0)}


@pytest.mark.parametrize("role", ["dialog", "panel"])
def test_a_label_of_a_dialog_may_be_in_the_table_behind_it_too(role: str) -> None:
    form = Form()
    form.add("column header", "State", Box(400, 10, 80, 20), form.panel)
    over = form.add(role, "Order", Box(200, 180, 400, 200), form.window)
    form.add("label", "State", Box(220, 240, 60, 20), over)
    form.add("combo box", "New", Box(300, 240, 100, 22), over, "New")
    form.add("label", "Notice", Box(280, 20, 100, 20), form.panel)
    facts = form.facts("combo box", 0)
    assert (facts.get("right_of"), facts.get("below")) == ("State", None)
    assert form.finds(Target(role="combo box", right_of="State")).top == 240


@pytest.mark.parametrize("group", ["", "Rating of the clerk"])
def test_the_place_among_equal_elements_counts_together_with_another_anchor(group: str) -> None:
    form = Form().stars(group=group)
    facts = form.facts("radio button", 2)
    assert facts["place"] == "3 of 5"
    anchor = {"within": group} if group else {"right_of": "Rating"}
    assert facts["group" if group else "right_of"] == next(iter(anchor.values()))
    target = Target(role="radio button", place="3 of 5", **anchor)
    assert form.finds(target).left == 220
    for count in (4, 6):
        with pytest.raises(NotFound, match=f"There are {count} of radio button"):
            Form().stars(count, group).finds(target)
    with pytest.raises(AmbiguousTarget):
        form.finds(Target(role="radio button", **({"within": group} if group else {})))


def test_a_dialog_whose_bar_repeats_its_title_is_an_anchor_for_a_place() -> None:
    form = Form()
    dialog = form.add("dialog", "New Alarm", Box(200, 200, 300, 200), -1)
    form.add("label", "New Alarm", Box(300, 205, 80, 20), dialog)
    for left in (240, 320):
        form.add("spin button", "GtkSpinButton", Box(left, 250, 60, 60), dialog, "14")
    facts = form.facts("spin button", 1)
    assert (facts["place"], facts["group"]) == ("2 of 2", "New Alarm")
    target = Target(role="spin button", name="GtkSpinButton", within="New Alarm", place="2 of 2")
    assert form.finds(target).left == 320
    other = form.add("dialog", "New Alarm", Box(0, 0, 100, 100), -1)
    form.add("button", "Close", Box(10, 10, 40, 20), other)
    assert "place" not in form.facts("spin button", 1), "two dialogs have this title"


def test_a_place_without_another_anchor_describes_nothing() -> None:
    form = Form()
    for number in range(3):
        form.add("button", "", Box(400, 200 + 40 * number, 60, 20), form.panel)
    assert "place" not in form.facts("button", 1), "the window alone is no anchor"
    table = form.add("table", "Orders", Box(0, 300, 720, 100), form.panel)
    for number in range(2):
        row = form.add("row", "", Box(0, 300 + 30 * number, 720, 24), table)
        form.add("cell", f"AB-{number}", Box(10, 300 + 30 * number, 60, 20), row)
        form.add("button", "Open", Box(400, 300 + 30 * number, 60, 20), row)
    assert "place" not in form.facts("button", 3), "rows may be sorted anew"
    for wrong in (
        "{role: button, place: 2 of 3}",
        "{text: x, right_of: y, place: 2 of 3}",
        "{role: button, below: x, place: 4 of 3}",
    ):
        with pytest.raises(BadPlaybook, match="place"):
            parse_playbook(f"name: x\ngoals: {{y: {{steps: [{{click: {wrong}}}, {{answer: z}}]}}}}")


def test_a_run_with_such_elements_is_compiled_without_the_model(tmp_path: Path) -> None:
    form = Form().boxes().stars(group="Rating of the clerk")
    shown = page((20, 10, "ORDERS"), *((20, top, name) for name, top in LEFT.items()))
    after = page((20, 10, "ORDERS"), (20, 380, "Stored as S-4137"))
    acts = [
        Act(shown, at=form.elements[6].box.center, element=form.facts("combo box", 1)),
        Act(shown, at=form.elements[10].box.center, element=form.facts("radio button", 2)),
    ]
    trace = record(tmp_path, "one", "Rate the clerk.", acts, after, "Stored as S-4137")
    playbook, told, text = compiled(tmp_path, trace)
    assert not told["by_model"], text
    clerk, star, _ = playbook.goals["look-up"].steps
    assert clerk.click == Target(role="combo box", right_of="Clerk")
    assert star.click == Target(role="radio button", within="Rating of the clerk", place="3 of 5")
    assert star.words == "Click the radio button of Rating of the clerk (3 of 5)."


@pytest.mark.parametrize(
    ("near", "chosen"),
    [("Text:", "Text:"), ("Line 2:", "Line 2:"), ("5 new, 6 total (1.37 KiB)", "Letter"), ("Page 2", "Letter")],
)
def test_a_label_is_chosen_before_a_count_and_beside_a_field_of_its_name(near: str, chosen: str) -> None:
    form = Form()
    form.add("label", "Letter", Box(400, 176, 80, 20), form.panel)
    form.add("label", near, Box(400, 200, 80, 20), form.panel)
    form.add("text field", near, Box(490, 200, 200, 20), form.panel)
    form.add("spin button", "", Box(400, 224, 200, 22), form.panel)
    form.add("spin button", "", Box(400, 324, 200, 22), form.panel)
    assert form.facts("spin button", 0)["below"] == chosen
    assert form.finds(Target(role="spin button", below=chosen)).top == 224


def test_a_count_serves_where_there_is_no_label() -> None:
    form = Form()
    form.add("label", "Page 2", Box(400, 200, 80, 20), form.panel)
    form.add("spin button", "", Box(400, 224, 200, 22), form.panel)
    form.add("spin button", "", Box(400, 324, 200, 22), form.panel)
    assert form.facts("spin button", 0)["below"] == "Page 2"


READ = [("XCose", True), ("X Close", True), ("回区", True), ("打开文件夹", False), ("Send", False), ("Clear", False)]


@pytest.mark.parametrize(("shown", "is_named"), READ)
def test_a_button_whose_words_are_read_badly_is_found_by_role_and_name(shown: str, is_named: bool) -> None:
    facts = {"role": "button", "name": "Close", "alike": "1"}
    at = Point(50, 20)
    told = Picture("before", Box(0, 0, 720, 420), Size(720, 420))
    step = RecordedStep(1, "click", {}, "", told, told, (at,), element=facts)
    lines = (Line(shown, Box(20, 10, 60, 20)), Line("Orders", Box(20, 210, 60, 20)))
    found = target_of(step, 0, Sight(lines, Size(720, 420)), {})
    assert found is not None
    assert (found.name == "Close") == is_named


@pytest.mark.parametrize(
    ("others", "is_text"),
    [
        (("Phrases and guesses",), False),
        (("A中回x Files",), False),
        (("Files", "12"), False),
        (("打开文件夹",), True),
        (("打开文件夹", "Files"), True),
        (("文件", "编辑", "保存"), True),
        (("取消", "Adler GmbH"), True),
        ((), True),
    ],
)
def test_icons_that_ocr_took_for_letters_are_no_target(others: tuple[str, ...], is_text: bool) -> None:
    """In a program in Chinese the same characters are words, and its captions are short."""
    size = Size(720, 420)
    lines = [Line(text, Box(200, 12 + 40 * place, 140, 16)) for place, text in enumerate(others)]
    found = target_at(Point(47, 20), Sight((Line("回区", Box(32, 12, 30, 16)), *lines), size), {})
    assert (found is not None and found.text == "回区") is is_text


@pytest.mark.parametrize(
    ("between", "is_label"), [(("City", 630), False), (("City", 600), False), (("*", 610), True), (("Bonn", 660), True)]
)
def test_a_text_beyond_the_label_of_a_field_is_not_its_label(between: tuple[str, int], is_label: bool) -> None:
    """The outline of a field may include its label. The text to the left may be a row of a list, which may move."""
    lines = (Line("Erika Ferry", Box(388, 305, 75, 22)), Line(between[0], Box(between[1], 316, 28, 20)))
    sight = Sight(lines, Size(960, 720), (Box(632, 313, 312, 29),))
    found = target_at(Point(800, 327), sight, {})
    assert (found is not None and found.field == "Erika Ferry") is is_label


@pytest.mark.parametrize(
    ("words", "typed", "found"),
    [
        pytest.param("Book", False, Target(text="Book"), id="named by its text"),
        pytest.param("Book今", False, Target(field="Layout:"), id="not by its icon"),
        pytest.param("the button Book.", False, Target(text="Book"), id="in a sentence"),
        pytest.param("Layout list", False, Target(field="Layout:"), id="named by its label"),
        pytest.param("Book in the list Layout", False, Target(field="Layout:"), id="named by both"),
        pytest.param("Booking", False, Target(field="Layout:"), id="another word"),
        pytest.param("Book", True, Target(field="Layout:"), id="something is typed"),
    ],
)
def test_an_apparent_field_that_is_named_by_its_text_is_a_button(words: str, typed: bool, found: Target) -> None:
    """The arrow on a button moves its text out of its middle, and the text to the left may be another button."""
    lines = (Line("Layout:", Box(40, 20, 60, 20)), Line("Book", Box(130, 20, 48, 20)))
    sight = Sight(lines, Size(480, 320), (), (Box(110, 18, 107, 24),))
    with_icon = replace(sight, lines=(lines[0], replace(lines[1], text="Book今")))
    assert target_at(Point(160, 30), with_icon, {}, typed=typed, words=words) == found
    assert target_at(Point(160, 30), sight, {}, typed=typed, words=words) == found


@pytest.mark.parametrize(
    ("left", "field", "label"),
    [
        (132, None, "Commit message:"),
        (400, None, "Push"),  # the text is above another part of the area
        (132, Box(128, 70, 400, 28), "Push"),  # the text is the value of another field
    ],
)
def test_the_label_of_a_text_area_is_over_its_corner(left: int, field: Box | None, label: str) -> None:
    area = Box(140, 100, 500, 200)
    captions = Line("Rescan", Box(40, 110, 70, 24)), Line("Push", Box(40, 150, 60, 24))
    above = Line("Commit message:", Box(left, 74, 120, 24))
    sight = Sight((above, *captions), Size(720, 420), fields=(area, *([field] if field else [])))
    assert target_at(Point(380, 200), sight, {}) == Target(field=label)


@pytest.mark.parametrize(
    ("text", "other", "alike", "written"),
    [
        ("New contact", "Import", "1", "{role: button, name: New contact, text: New contact}"),
        ("+ New contact", "New contact", "2", "click: + New contact\n"),
        (
            "New contact",
            "New contact",
            "2",
            "{left_of: No contacts, role: button, name: New contact,",
        ),
    ],
    ids=["one", "the picture tells them apart", "a label tells them apart"],
)
def test_equal_elements_are_not_described_by_their_name(
    tmp_path: Path, text: str, other: str, alike: str, written: str
) -> None:
    shown = page((20, 10, "CONTACTS"), (20, 60, text), (400, 60, "No contacts"), (400, 200, other))
    facts = {"role": "button", "name": "New contact", "alike": alike, "dialogs": "0"}
    act = Act(shown, at=Point(60, 68), element=facts)
    trace = record(tmp_path, "alike", "Open the form. Answer done.", [act], page((20, 10, "NEW CONTACT")), "done")
    _, _, made = compiled(tmp_path, trace)
    assert written in made, made
