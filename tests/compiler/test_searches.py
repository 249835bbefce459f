"""A value that was searched for by keys must be on the screen; a value that was entered need not."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.compiler.marks import identity_of, is_new
from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.searches import prompt_of, searched_once, searched_value
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.conditions import is_visible
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.scripts.searched_rows import SearchedRows
from holo_tasks.scripts.steps_and_targets import FewPlaces
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.deciding import decided
from tests.support.recorded_runs import Act, page, record

SIZE = Size(400, 300)
KINDS: dict[str, Kind] = {"article": "text", "stock": "int"}
VALUES = {"article": "Tables", "stock": 81}


def stock(*rows: str) -> Sight:
    return Sight(tuple(Line(text, Box(20, 20 + 20 * n, 80, 16)) for n, text in enumerate(rows)), SIZE)


def searched(content: str, before: Sight, after: Sight, role: str = "") -> list[str]:
    told = Picture("one", Box.whole(SIZE), SIZE)
    arguments = {"content": content, "press_enter": True}
    element = {"role": role} if role else {}
    step = RecordedStep(1, "write", arguments, "", told, told, element=element)
    return searched_value(step, [(before, after, VALUES)], KINDS)


LIST = stock("Chairs", "Tables", "Lamps")


@pytest.mark.parametrize(("content", "role"), [("Tables", ""), ("/Tables", ""), ("Tables", "terminal")])
def test_a_row_that_was_searched_by_keys_is_required(content: str, role: str) -> None:
    assert searched(content, LIST, LIST, role) == ["{article}"]


def test_a_value_that_was_entered_is_not_required() -> None:
    assert searched("Tables", stock("Chairs"), LIST) == [], "the value is new on the screen"
    assert searched("Tables", LIST, stock("Tables")) == [], "the row is gone"
    assert searched("Tables", LIST, LIST, "text field") == [], "the field is known"
    assert searched("order of Tables", LIST, LIST) == []
    assert searched("81", stock("81"), stock("81")) == [], "a number may be on the screen by chance"


@pytest.mark.parametrize(("typed", "is_required"), [("AB-1207", False), ("Two boxes", True)])
def test_a_value_need_not_be_shown_where_it_is_typed(tmp_path: Path, typed: str, is_required: bool) -> None:
    listed = page((20, 10, "ORDERS OF THE YEAR"), (20, 60, "AB-1207"), (20, 380, "Find"))
    shown = page((300, 10, "SEARCH FOR AN ORDER"), (20, 60, "AB-1207"), fields=[(300, 200, "")])
    acts = [Act(listed, click="Find"), Act(shown, write=typed)]
    goal = "Find it.\n\n" + quoted({"number": "AB-1207", "remark": "Two boxes"})
    trace = record(tmp_path, "one", goal, acts, page((20, 10, "FOUND IT HERE")), "")
    playbook, _, text = compiled(tmp_path, trace)
    step = playbook.goals["look-up"].steps[1]
    assert step.write is not None
    assert ("{number}" in str(step.before)) is is_required, text


@pytest.mark.parametrize(("left", "came"), [(70, True), (200, False)])
def test_a_value_that_ocr_reads_in_two_pieces_may_be_new(left: int, came: bool) -> None:
    dialog = Line("Beans 355", Box(200, 200, 80, 16))
    after = Sight((Line("Beans", Box(20, 20, 45, 16)), Line("355", Box(left, 20, 30, 16)), dialog), SIZE)
    assert is_new("Beans 355", after, Sight((dialog,), SIZE)) is came


@pytest.mark.parametrize(
    ("text", "names_item"),
    [("11:40", False), ("40.11", False), ("Week 11", True), ("11", True), ("11 of 40", True), ("2 boxes, 11", True)],
)
def test_two_digits_inside_a_longer_number_name_no_item(text: str, names_item: bool) -> None:
    assert bool(identity_of([(stock("Call them", text), {"hour": 11})], ["hour"])) is names_item


def test_a_number_of_four_digits_names_its_item_beside_another_number() -> None:
    assert identity_of([(stock("1001:2026"), {"number": 1001})], ["number"])


@pytest.mark.parametrize(("rows", "at_most"), [(("Chairs", "Tables"), 1), (("Tables 1", "Tables", "Big tables"), 3)])
def test_a_search_requires_the_recorded_number_of_places(rows: tuple[str, ...], at_most: int) -> None:
    told = Picture("one", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "write", {"content": "Tables", "press_enter": True}, "", told, told)
    shown = [(stock(*rows), stock(*rows, "/Tables"), VALUES)]
    assert searched_once(step, shown, KINDS) == ["{article}", {"shown": "{article}", "at_most": at_most}]


@pytest.mark.parametrize(
    ("after", "is_filter"),
    [
        pytest.param(("Stock", "Tables", "/Tables"), True, id="the rows below are gone"),
        pytest.param(("Stock", "Tables", "Big tables"), True, id="another row moved up"),
        pytest.param(("Stock", "Tables", "Lamps", "Desks", "/Tables"), False, id="the list stays"),
        pytest.param(("Stock", "Tables", "Lamps", "/Tables"), False, id="a prompt covers the last row"),
    ],
)
def test_a_list_that_hides_the_other_rows_may_show_the_row_elsewhere(after: tuple[str, ...], is_filter: bool) -> None:
    told = Picture("one", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "write", {"content": "Tables", "press_enter": True}, "", told, told)
    before = stock("Stock", "Tables", "Lamps", "Desks")
    assert (searched_once(step, [(before, stock(*after), VALUES)], KINDS) == []) is is_filter


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        (("Chairs", "Lamps"), True),
        (("Chairs", "LAMPS:"), True),
        (("Chairs", "Lamps 2"), False),
        (("Chairs", "Old Lamps"), False),
        (("Chairs", "Lamps (copy)"), False),
        (("Lamps", "Lampshades"), False),
    ],
)
def test_a_search_for_a_value_does_not_begin_with_only_a_longer_one_in_view(rows: tuple[str, ...], fits: bool) -> None:
    told = Picture("one", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "write", {"content": "Tables", "press_enter": True}, "", told, told)
    wanted = [
        one if isinstance(one, str) else FewPlaces.model_validate(one)
        for one in searched_once(step, [(LIST, LIST, VALUES)], KINDS)
    ]
    assert all(is_visible(one, {"article": "Lamps"}, stock(*rows)) for one in wanted) is fits


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        (("Chairs", "Tables", "Lamps"), True),
        (("Chairs", "A-103 Lamps 30", "Tables"), True),
        (("Lampshades", "Tables", "Lamps"), False),
        (("Lamps", "Tables", "Lamps"), False),
        (("Lampshades", "Tables"), False),
        (("Chairs", "Tables"), False),
    ],
)
def test_a_search_finds_the_item_in_its_own_row_only(rows: tuple[str, ...], fits: bool) -> None:
    condition = FewPlaces(shown="{article}", at_most=1)
    assert is_visible(condition, {"article": "Lamps"}, stock(*rows)) is fits


def test_the_condition_of_a_search_comes_from_a_run(tmp_path: Path) -> None:
    rows = [(20, 60, "Chairs"), (20, 90, "Tables"), (20, 120, "Lamps")]
    listed = page((20, 10, "STOCK OF THE SHOP"), *rows)
    found = page((20, 10, "STOCK OF THE SHOP"), *rows, (20, 380, "Tables"))
    acts = [Act(listed, write="Tables", enter=True), Act(found, write="81", enter=True)]
    goal = "Find it.\n\n" + quoted({"article": "Tables", "stock": "81"})
    trace = record(tmp_path, "one", goal, acts, page((20, 10, "SAVED IN THE FILE")), "")
    playbook, _, text = compiled(tmp_path, trace)
    assert playbook.goals["look-up"].steps[0].before == ("{article}", FewPlaces(shown="{article}", at_most=1)), text


def prompted(before: Sight, role: str = "terminal", earlier: Sight = LIST) -> list[str]:
    told = Picture("one", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "write", {"content": "Tables"}, "", told, told, element={"role": role})
    return prompt_of(step, [earlier], [(before, VALUES)], [])


ASKS = stock("Chairs", "Tables", "Lamps", "search regex:")


@pytest.mark.parametrize("role", ["", "terminal"])
def test_the_prompt_that_came_with_the_keys_before_a_text_is_required(role: str) -> None:
    told = Picture("one", Box.whole(SIZE), SIZE)
    element = {"role": role} if role else {}
    step = RecordedStep(1, "write", {"content": "Tables"}, "", told, told, element=element)
    assert prompt_of(step, [LIST], [(ASKS, VALUES)], []) == ["search regex:"]


def test_a_text_needs_no_prompt_of_before_the_keys_and_none_beside_a_field_that_is_known() -> None:
    assert prompted(ASKS, earlier=ASKS) == [], "it was there before"
    assert prompted(stock("Chairs", "Ready now")) == [], "it asks for nothing"
    assert prompted(stock("Chairs", "Rename Tables to:")) == [], "it has a value"
    assert prompted(ASKS, role="text field") == [], "the field is known"


def test_the_prompt_is_the_last_line_that_asks_and_no_prompt_of_a_shell() -> None:
    assert prompted(stock("Last login yesterday?", "Enter number:")) == ["Enter number:"]
    assert prompted(stock("Enter number:", "^G Get Help")) == ["Enter number:"]
    for shell in ("user@host:~/data>", "C:\\Data>", "/srv/data>"):
        assert prompted(stock("Ready now", shell)) == [], "another machine has another one"


def test_the_prompt_comes_from_a_run(tmp_path: Path) -> None:
    rows = [(20, 60, "Chairs"), (20, 90, "Tables")]
    listed = page((20, 10, "STOCK OF THE SHOP"), *rows)
    asks = page((20, 10, "STOCK OF THE SHOP"), *rows, (20, 380, "column name:"))
    acts = [Act(listed, write="c"), Act(asks, write="article", enter=True)]
    goal = "Find it.\n\n" + quoted({"article": "Tables"})
    playbook, _, text = compiled(tmp_path, record(tmp_path, "one", goal, acts, page((20, 10, "SAVED IN THE FILE")), ""))
    assert playbook.goals["look-up"].steps[1].before == ("column name:",), text


SEARCH = """
name: stock
goals:
  set:
    params: {article: text}
    steps:
      - write: {text: "{article}", press_enter: true}
        before: ["{article}", {shown: "{article}", at_most: 1}]
      - write: {text: "{article} 81", press_enter: true}
      - answer: done
"""


@pytest.mark.parametrize(
    ("after", "stops"),
    [
        pytest.param(("Chairs", "Tables", "Lamps", "/Tables"), False, id="the row in view"),
        pytest.param(("Tables", "Lamps", "Desks", "Tables 2"), True, id="a longer value below the view"),
        pytest.param(("Tables", "Seats", "Chairs", "Tables"), True, id="a second row above the view"),
        pytest.param(("Tablets", "Lamps"), True, id="the row is out of view now"),
    ],
)
async def test_a_search_that_scrolls_the_list_has_found_another_row(after: tuple[str, ...], stops: bool) -> None:
    brain = PlaybookBrain(parse_playbook(SEARCH), "set", {"article": "Tables"}, ScreenReader(None))
    of_rule = {rule.id: rule.do[0] for rule in brain.rules}
    call = {"tool_name": "write", "content": "Tables", "press_enter": True, "overwrite": False}
    for number, sight in ((1, LIST), (2, stock(*after))):
        rule = f"step-{number}"
        step = {"note": None, "thought": of_rule[rule].thought, "tool_call": call}
        deciding = decided(brain, Decision(step, "", of_rule[rule], rule=rule), sight)
        if number == 2 and stops:
            with pytest.raises(GaveUp, match="the list has moved"):
                await deciding
        else:
            await deciding


def test_a_text_that_is_typed_without_a_search_may_move(tmp_path: Path) -> None:
    typed = parse_playbook(SEARCH).rules_of("set")[1]
    assert typed.do[0].write is not None
    rows = SearchedRows({"article": "Tables"})
    rows.aim(typed, LIST)
    assert rows.moved(stock("Tables")) is None
