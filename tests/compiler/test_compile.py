"""Finished runs compile into a playbook: its content, the data it must not contain, and that it repeats the runs'
steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.cli.compile import compile_traces
from holo_tasks.compiler.goals import common_words, name_of_goal
from holo_tasks.compiler.targets import is_of_item
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.playbook import Playbook, load_playbook
from holo_tasks.scripts.rules import Decision, find, follow
from holo_tasks.scripts.steps_and_targets import AtState, ShownWindow
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Sight
from tests.support.recorded_runs import Act, Page, page, page_reader, record, sight_of

GOAL = "Look up the order {} and say what is in it. If you are asked who you are, it is {{{{secret:pin}}}}."
FRAME = [(20, 10, "Harbor Stock"), (20, 390, "Press F1 for help")]


def menu() -> Page:
    return page(*FRAME, (20, 50, "MAIN MENU"), (60, 120, "Find an order"), (60, 170, "Suppliers"))


def suppliers() -> Page:
    return page(*FRAME, (20, 50, "LIST OF SUPPLIERS"), (60, 120, "Close this list"))


def search(order: str = "") -> Page:
    return page(
        *FRAME,
        (20, 50, "ORDER SEARCH"),
        (20, 120, "Order number"),
        (20, 180, "Branch"),
        (60, 300, "Start search"),
        fields=[(200, 118, order), (200, 178, "")],
    )


def order(number: str, customer: str, total: str, lines: int) -> Page:
    labels = [(20, 120, "Order"), (20, 160, "Customer"), (20, 200, "Total"), (20, 250, f"Lines in this order: {lines}")]
    values = [(200, 120, number), (200, 160, customer), (200, 200, total)]
    return page(*FRAME, (20, 50, "ORDER DETAILS"), *labels, *values, (60, 300, "Back to search"))


def nothing(number: str) -> Page:
    return page(
        *FRAME, (20, 50, "NOTHING FOUND"), (20, 120, f"There is no order {number} here."), (60, 300, "Try again")
    )


def way(number: str, *, detour: bool = False) -> list[Act]:
    """Return the steps of a run to an order; with ``detour`` it first looks at another list."""
    aside = [Act(menu(), click="Suppliers"), Act(suppliers(), click="Close this list")] if detour else []
    return [
        *aside,
        Act(menu(), click="Find an order"),
        Act(search(), click="Order number"),
        Act(search(), write=number),
        Act(search(number), click="Start search"),
    ]


ORDERS = {
    "AB-1207": ("Fischer and Sons", "1,284.50", 3),
    "CD-3391": ("Harvest Market", "77.00", 12),
    "EF-5050": ("Kite Supplies", "9,310.25", 7),
}


def run(home: Path, number: str, *, detour: bool = False, answer: Any = None, **how: Any) -> str:
    """Record a run that looked up an order; return its trace."""
    goal, name = GOAL.format(number), f"20261123-0000{len(list(home.glob('runs/*'))):02}-00000000"
    if number not in ORDERS:
        said = {"found": False, "customer": None, "total": None, "lines": None}
        return record(home, name, goal, way(number), nothing(number), said, **how)
    customer, total, lines = ORDERS[number]
    said = {"found": True, "customer": customer, "total": total.replace(",", ""), "lines": lines}
    last = order(number, customer, total, lines)
    return record(home, name, goal, way(number, detour=detour), last, said if answer is None else answer, **how)


def compiled(
    home: Path, *traces: str, params: tuple[str, ...] = (), strict: bool = False
) -> tuple[Playbook, dict[str, Any], str]:
    """Return the playbook of some traces, the command's result, and the playbook's text."""
    out, how = home / "made.yaml", {"as_json": True, "reader": page_reader(), "strict": strict}
    told = json.loads(compile_traces(traces, out, "look-up", params, None, home, **how))
    return load_playbook(out), told, out.read_text()


def decisions(playbook: Playbook, values: dict[str, Any], *pages: Page) -> list[Decision]:
    """Return a playbook's decisions on a sequence of pages."""
    history: list[Turn] = []
    found = []
    for one in pages:
        decision = follow(playbook, "look-up", values, history, sight_of(one), written=_pixels)
        call = dict(decision.step["tool_call"])
        history.append(Turn(call["tool_name"], decision.step["thought"], call))
        found.append(decision)
    return found


def _pixels(point: Point, size: Size) -> tuple[float, float]:
    return point.x, point.y


def calls(found: list[Decision]) -> list[str]:
    return [str(decision.step["tool_call"]["tool_name"]) for decision in found]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def three(home: Path) -> tuple[Playbook, dict[str, Any], str]:
    """The playbook of two runs that found their orders, one with a detour, and of one that found none."""
    return compiled(home, run(home, "AB-1207", detour=True), run(home, "CD-3391"), run(home, "GH-0001"))


def test_differing_values_become_parameters_and_common_steps_the_playbook(
    three: tuple[Playbook, dict[str, Any], str],
) -> None:
    playbook, told, _ = three
    assert told["params"] == {"order_number": "text"}
    assert (told["goal"], told["steps"], told["left_out"], told["ask_model"]) == ("look-up", 4, 2, [])
    done = [action.kind for rule in playbook.rules_of("look-up") for action in rule.do]
    assert sorted(done) == ["answer", "answer", "click", "click", "click", "write"]


def test_the_playbook_repeats_the_steps_for_another_item(three: tuple[Playbook, dict[str, Any], str]) -> None:
    playbook, _, _ = three
    number, details = "EF-5050", ORDERS["EF-5050"]
    pages = [menu(), search(), search(), search(number), order(number, *details)]
    found = decisions(playbook, {"order_number": number}, *pages)
    assert calls(found) == ["click", "click", "write", "click", "answer"]
    for decision, label in zip(found, ("Find an order", "Order number", None, "Start search"), strict=False):
        if label is not None:
            call, place = decision.step["tool_call"], pages[found.index(decision)].place(label)
            assert abs(call["x"] - place.x) < 120
            assert abs(call["y"] - place.y) < 14
    assert found[2].step["tool_call"]["content"] == number
    answer = json.loads(found[-1].step["tool_call"]["content"])
    assert answer == {"found": True, "customer": "Kite Supplies", "total": "9310.25", "lines": 7}
    (said,) = decisions(playbook, {"order_number": "ZZ-9999"}, nothing("ZZ-9999"))
    assert json.loads(said.step["tool_call"]["content"])["found"] is False


def test_no_answer_is_given_from_another_items_page(three: tuple[Playbook, dict[str, Any], str]) -> None:
    playbook, _, _ = three
    number = "EF-5050"
    pages = [menu(), search(), search(), search(number), order("AB-1207", *ORDERS["AB-1207"])]
    assert calls(decisions(playbook, {"order_number": number}, *pages))[-1] == "wait"


def test_no_button_is_pressed_before_the_typed_text_is_visible(three: tuple[Playbook, dict[str, Any], str]) -> None:
    playbook, _, _ = three
    pages = [menu(), search(), search(), search("EF-50")]
    assert calls(decisions(playbook, {"order_number": "EF-5050"}, *pages))[-1] == "wait"


def test_a_playbook_contains_no_coordinates_and_no_values_of_the_runs(
    three: tuple[Playbook, dict[str, Any], str],
) -> None:
    _, told, text = three
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for number, (customer, total, _) in ORDERS.items():
        assert not any(value in body for value in (number, customer, total, total.replace(",", "")))
    assert "x: " not in body.replace("max: ", "")
    assert [run["sha256"] in text for run in told["runs"]] == [True] * 3


@pytest.mark.parametrize(
    ("goals", "data", "name"),
    [
        (["Look up the order of Fischer and Sons"], {"customer": "Fischer and Sons"}, "look-up-the-order-of"),
        (["Look up the order of Kite Supplies"], {}, "look-up-the-order-of"),
        (["Save the note Ring twice on order AB-1207. Then stop."], {}, "save-the-note-on-order"),
        (["Greet Ada Lovelace by name", "Greet Alan Turing by name"], {}, "greet-by-name"),
        (["Look up the order."], {"word": "up"}, "look-the-order"),
    ],
)
def test_the_name_of_a_goal_contains_no_value_of_an_item(goals: list[str], data: dict[str, str], name: str) -> None:
    typed: Any = SimpleNamespace(tool="write", arguments={"content": "ring twice"})
    answers = {"Look up the order of Kite Supplies": json.dumps({"customer": "Kite Supplies"})}
    found: Any = [
        SimpleNamespace(goal=goal, data=data, steps=(typed,), answer=answers.get(goal, "done")) for goal in goals
    ]
    assert name_of_goal(common_words(found)) == name


@pytest.mark.parametrize(
    ("text", "of_it"),
    [("Total 77.00", True), ("77.00", True), ("Total 177.00", False), ("Kite", True), ("Page 1 of 9", False)],
)
def test_a_target_with_a_value_of_the_item_is_detected(text: str, of_it: bool) -> None:
    assert is_of_item(text, ["77.00", "Kite", "1"]) is of_it


def test_all_typed_texts_of_a_single_run_become_parameters(home: Path) -> None:
    _, told, text = compiled(home, run(home, "AB-1207"))
    assert told["params"] == {"order_number": "text"}
    assert told["ask_model"] == ["found"], "no screen shows ‘found’, as every run has the same value"
    assert "ask_model" in text


def test_data_that_no_step_uses_are_not_a_parameter(home: Path) -> None:
    from holo_tasks.core.texts.outside_text import quoted

    goal = f"Look up the order.\n\n{quoted({'number': 'AB-1207', 'note': 'for the books', 'lines': [1, 2]})}"
    last = order("AB-1207", *ORDERS["AB-1207"])
    trace = record(home, "20261123-000095-00000000", goal, way("AB-1207"), last, _of("AB-1207"))
    playbook, told, text = compiled(home, trace)
    assert told["params"] == dict(playbook.goals["look-up"].params) == {"number": "text"}
    assert "books" not in text


def test_a_parameter_gets_the_name_from_the_param_option(home: Path) -> None:
    playbook, told, _ = compiled(home, run(home, "AB-1207"), run(home, "CD-3391"), params=("order=AB-1207",))
    assert told["params"] == {"order": "text"}
    pages = [menu(), search(), search()]
    typed = decisions(playbook, {"order": "EF-5050"}, *pages)[-1].step["tool_call"]
    assert typed["content"] == "EF-5050"


def test_a_run_with_repeated_detours_is_left_out_if_others_went_straight(home: Path) -> None:
    number = "CD-3391"
    customer, total, lines = ORDERS[number]
    answer = {"customer": customer, "total": total.replace(",", ""), "lines": lines}
    field = Act(search(), click="Order number")  # repeatedly, before the number was typed
    again = [*way(number)[:1], field, Act(search(), click="Branch"), field, *way(number)[2:]]
    astray = record(
        home, "20261123-000092-00000000", GOAL.format(number), again, order(number, *ORDERS[number]), answer
    )
    straight = [run(home, each, answer=_of(each)) for each in ("AB-1207", "EF-5050")]
    playbook, told, _ = compiled(home, *straight, astray)
    assert (told["astray"], told["params"]) == (1, {"order_number": "text"})
    assert calls(decisions(playbook, {"order_number": number}, menu(), search())) == ["click", "click"]
    with pytest.raises(InvalidUsage, match=r"would not repeat step .*000092"):
        compiled(home, straight[0], astray, strict=True)
    assert compiled(home, straight[0], astray)[1]["astray"] == 1, "the shorter run is enough"


def test_a_param_value_that_no_run_contains_is_refused(home: Path) -> None:
    with pytest.raises(InvalidUsage, match=r"No run contains the value that --param gives 'order'"):
        compiled(home, run(home, "AB-1207"), params=("order=XX-0000",))


def test_secrets_remain_placeholders(home: Path) -> None:
    first = page(*FRAME, (20, 50, "WHO ARE YOU"), (20, 120, "Pin"), (60, 300, "Enter now"), fields=[(200, 118, "")])
    acts = [Act(first, click="Pin"), Act(first, write="{{secret:pin}}"), Act(first, click="Enter now"), *way("AB-1207")]
    customer, total, lines = ORDERS["AB-1207"]
    last = order("AB-1207", customer, total, lines)
    trace = record(home, "20261123-000099-00000000", GOAL.format("AB-1207"), acts, last, {"customer": customer})
    _, told, text = compiled(home, trace)
    assert told["params"] == {"order_number": "text"}
    assert "text: '{{secret:pin}}'" in text


def test_a_tampered_trace_is_refused_and_no_file_is_written(home: Path, tmp_path: Path) -> None:
    trace = Path(run(home, "AB-1207"))
    lines = (trace / "events.jsonl").read_bytes()
    (trace / "events.jsonl").write_bytes(lines.replace(b"AB-1207", b"AB-1208"))
    with pytest.raises(InvalidUsage, match="TAMPERED"):
        compile_traces([str(trace)], tmp_path / "made.yaml", "", (), None, home, as_json=False)
    assert not list(tmp_path.iterdir())


def test_a_run_without_an_answer_is_refused(home: Path, tmp_path: Path) -> None:
    trace = run(home, "AB-1207", status="needs_person")
    with pytest.raises(InvalidUsage, match=r"did not end as answered \(needs_person\)"):
        compile_traces([trace], tmp_path / "made.yaml", "", (), None, home, as_json=False)
    assert not list(tmp_path.iterdir())


def test_what_has_no_words_is_left_to_the_model_or_refused(home: Path, tmp_path: Path) -> None:
    acts = [Act(menu(), at=Point(600, 250)), *way("AB-1207")[1:]]
    last = order("AB-1207", *ORDERS["AB-1207"])
    trace = record(home, "20261123-000098-00000000", "Look it up.", acts, last, {"lines": 3})
    out = tmp_path / "made.yaml"
    with pytest.raises(InvalidUsage, match=r"Step 1 takes the model: nothing describes its target"):
        compile_traces([trace], out, "look-up", (), None, home, as_json=False, strict=True)
    assert not out.exists()
    said = json.loads(compile_traces([trace], out, "look-up", (), None, home, as_json=True))
    assert [(one["step"], one["why"]) for one in said["by_model"]] == [
        (1, "nothing describes its target: no name, no words and no picture of its own")
    ]
    steps = load_playbook(out).goals["look-up"].steps
    assert [step.kind for step in steps] == ["by_model", "click", "write", "click", "answer"]
    assert "step 1: nothing describes its target" in out.read_text()


def test_an_icon_without_text_is_found_by_its_picture(home: Path) -> None:
    def glass(page: Page, *more: tuple[int, int]) -> Page:
        left = {place: text for place, text in page.texts.items() if text != "Start search"}
        return replace(page, texts=left, icons=((460, 290), *more))

    def searched(number: str, name: str) -> str:
        acts = [*way(number)[:-1], Act(glass(search(number)), click="", at=Point(474, 305))]
        acts = [
            replace(act, page=glass(act.page)) if "ORDER SEARCH" in act.page.texts.values() else act for act in acts
        ]
        return record(home, name, GOAL.format(number), acts, order(number, *ORDERS[number]), _of(number))

    traces = [searched("AB-1207", "20261123-000085-00000000"), searched("CD-3391", "20261123-000086-00000000")]
    playbook, told, text = compiled(home, *traces)
    (target,) = (
        action.click
        for rule in playbook.rules_of("look-up")
        for action in rule.do
        if action.click is not None and action.click.picture is not None and action.click.text is None
    )
    assert told["steps"] == 4
    assert target.picture is not None
    assert target.picture.parent == home
    assert str(home) not in text
    live = sight_as_it_is(glass(search("EF-5050")))
    assert find(target, {}, live).contains(Point(474, 305)), "also in a picture that was not scaled down"
    with pytest.raises(NotFound):
        find(target, {}, sight_as_it_is(glass(search("EF-5050"), (460, 200))))
    with pytest.raises(NotFound):
        find(target, {}, sight_as_it_is(search("EF-5050")))


def sight_as_it_is(one: Page) -> Sight:
    """Return a script's view of a page, with the unscaled pixels of the screen."""
    return with_pictures(sight_of(one), one.picture)


def test_a_free_text_answer_is_left_to_the_model(home: Path) -> None:
    _, told, text = compiled(home, run(home, "AB-1207", answer="The customer is Fischer and Sons."))
    assert told["ask_model"] == ["answer"]
    assert "Fischer" not in text


def test_an_edited_playbook_is_kept_as_a_backup(home: Path) -> None:
    traces = [run(home, "AB-1207"), run(home, "CD-3391")]
    compiled(home, *traces)
    (home / "made.yaml").write_text("# mine\n")
    compiled(home, *traces)
    assert (home / "made.yaml.before").read_text() == "# mine\n"


def test_a_value_of_the_item_is_neither_a_target_nor_a_label(home: Path) -> None:
    customer = ORDERS["AB-1207"][0]
    rows = page(*FRAME, (20, 50, "OPEN ORDERS"), (60, 120, customer), (60, 170, "Another list"))
    last = page(*FRAME, (20, 50, "ORDER DETAILS"), (20, 120, customer), (300, 120, "Ready to go"))
    trace = record(home, "20261123-000094-00000000", "Look it up.", [Act(rows, click=customer)], last, _of("AB-1207"))
    with pytest.raises(InvalidUsage, match=r"its target is a value of the recorded item"):
        compiled(home, trace, strict=True)
    _, told, text = compiled(home, trace)
    assert [one["step"] for one in told["by_model"]] == [1]
    assert customer not in text
    answer = {"customer": customer, "status": "Ready to go", "menu": "Find"}  # which is also in a label
    trace = record(home, "20261123-000093-00000000", "Look it up.", way("AB-1207"), last, answer)
    _, told, text = compiled(home, trace)
    assert "status" in told["ask_model"]
    assert customer not in text


def test_one_of_several_equal_targets_is_identified_by_its_neighbor() -> None:
    from holo_tasks.compiler.targets import target_at

    rows = [(20, 120, "Paper"), (300, 120, "Delete"), (20, 180, "Pencils"), (300, 180, "Delete")]
    sight = sight_of(page((20, 50, "SHELVES"), *rows))
    target = target_at(Point(315, 190), sight, {"thing": "Pencils"})
    assert target is not None
    assert (target.text, target.right_of) == ("Delete", "{thing}")
    assert find(target, {"thing": "Paper"}, sight).center.y < 150


def test_an_interruption_of_one_run_is_cleared_when_it_appears_again(home: Path) -> None:
    tip = page(*FRAME, (20, 50, "TIP OF THE DAY"), (20, 120, "Suppliers are paid on Fridays"), (60, 300, "Close tip"))
    first, *rest = way("AB-1207")
    customer, total, lines = ORDERS["AB-1207"]
    answer = {"customer": customer, "total": total.replace(",", ""), "lines": lines}
    shown = record(
        home,
        "20261123-000097-00000000",
        GOAL.format("AB-1207"),
        [Act(tip, click="Close tip"), first, *rest],
        order("AB-1207", customer, total, lines),
        answer,
    )
    playbook, told, _ = compiled(home, run(home, "CD-3391", answer=_of("CD-3391")), shown)
    assert told["left_out"] == 0
    number = "EF-5050"
    pages = [menu(), tip, search(), search(), search(number), tip, order(number, *ORDERS[number])]
    found = decisions(playbook, {"order_number": number}, *pages)
    assert calls(found) == ["click", "click", "click", "write", "click", "click", "answer"]
    assert [decision.step["tool_call"].get("element") for decision in found][1] == "Close tip"


def test_a_screen_that_a_message_may_cover_is_recognized_by_absent_texts(home: Path) -> None:
    number = "AB-1207"
    last = order(number, *ORDERS[number])
    tip = {(480, 120): "CREDIT LIMIT", (480, 200): "Ask for a receipt", (480, 340): "Take it over"}
    covered = replace(last, texts={**last.texts, **tip})
    acts = [*way(number), Act(covered, click="Take it over")]
    shown = record(home, "20261123-000081-00000000", GOAL.format(number), acts, last, _of(number))
    playbook, _, _ = compiled(home, run(home, "CD-3391", answer=_of("CD-3391")), shown)
    answer, *_ = playbook.rules_of("look-up")
    assert "CREDIT LIMIT" in answer.not_
    number = "EF-5050"
    last = order(number, *ORDERS[number])
    covered = replace(last, texts={**last.texts, **tip})
    pages = [menu(), search(), search(), search(number), covered, last]
    found = decisions(playbook, {"order_number": number}, *pages)
    assert calls(found) == ["click", "click", "write", "click", "click", "answer"]
    assert found[4].step["tool_call"]["element"] == "Take it over"


def _of(number: str) -> dict[str, Any]:
    customer, total, lines = ORDERS[number]
    return {"customer": customer, "total": total.replace(",", ""), "lines": lines}


def test_a_button_with_different_names_in_two_runs_is_found_by_either(home: Path) -> None:
    number = "CD-3391"
    renamed = replace(search(number), texts={**search(number).texts, (60, 300): "Look for it"})
    acts = [*way(number)[:-1], Act(renamed, click="Look for it")]
    last = order(number, *ORDERS[number])
    other = record(home, "20261123-000082-00000000", GOAL.format(number), acts, last, _of(number))
    playbook, told, text = compiled(home, run(home, "AB-1207", answer=_of("AB-1207")), other)
    assert (told["steps"], told["left_out"]) == (4, 0)
    ways = r"text: Start search, picture: \S+, or: \[\{text: Look for it, picture: \S+\}\]"
    assert re.search(rf"click: \{{{ways}\}}", text)
    pages = [menu(), search(), search(), renamed, order("EF-5050", *ORDERS["EF-5050"])]
    renamed = replace(search("EF-5050"), texts={**search("EF-5050").texts, (60, 300): "Look for it"})
    found = decisions(playbook, {"order_number": "EF-5050"}, *[*pages[:3], renamed, pages[4]])
    assert calls(found) == ["click", "click", "write", "click", "answer"]
    assert found[3].action is not None


def test_two_different_buttons_on_one_screen_are_not_merged(home: Path) -> None:
    def chose(number: str, text: str, name: str) -> str:
        both = replace(search(number), texts={**search(number).texts, (300, 300): "Search archive"})
        acts = [*way(number)[:-1], Act(both, click=text)]
        return record(home, name, GOAL.format(number), acts, order(number, *ORDERS[number]), _of(number))

    with pytest.raises(InvalidUsage):
        compiled(
            home,
            chose("AB-1207", "Start search", "20261123-000083-00000000"),
            chose("CD-3391", "Search archive", "20261123-000084-00000000"),
            strict=True,
        )


def test_a_target_is_identified_by_role_and_name_before_its_text(home: Path) -> None:
    acts = way("AB-1207")
    acts[0] = replace(acts[0], element={"role": "button", "name": "Find an order", "application": "stock"})
    acts[3] = replace(acts[3], element={"role": "button", "name": "Delete all", "application": "stock"})
    last = order("AB-1207", *ORDERS["AB-1207"])
    trace = record(home, "20261123-000096-00000000", GOAL.format("AB-1207"), acts, last, _of("AB-1207"))
    _, _, text = compiled(home, trace)
    assert "click: {role: button, name: Find an order, text: Find an order}" in text
    assert "Delete all" not in text, "the program's name contradicts the text on the screen"


def form(name: str, city: str, said: str) -> Page:
    """Return a form that stays open and confirms in a status line."""
    labels = [(20, 20, "NEW SUPPLIER"), (20, 80, "Name"), (20, 120, "City"), (60, 200, "Keep"), (20, 300, said)]
    return page(*labels, fields=[(150, 78, name), (150, 118, city)])


@pytest.mark.parametrize("says", [True, False])
def test_a_form_that_stays_open_is_done_once_it_confirms(home: Path, says: bool) -> None:
    empty, named, filled = form("", "", "Ready"), form("Baker Ltd", "", "Ready"), form("Baker Ltd", "Leeds", "Ready")
    acts = [
        Act(empty, click="Name"),
        Act(empty, write="Baker Ltd"),
        Act(named, click="City"),
        Act(named, write="Leeds"),
        Act(filled, click="Keep"),
    ]
    last = form("Baker Ltd", "Leeds", "Stored") if says else filled
    trace = record(home, f"stays-{says}", "Add a supplier.", acts, last, "")
    if not says:
        with pytest.raises(InvalidUsage, match="nothing shows that it is done"):
            compiled(home, trace, strict=True)
        assert compiled(home, trace)[0].goals["look-up"].steps[-1].kind == "ask_model"
        return
    playbook, told, _ = compiled(home, trace)
    *_, answer = playbook.goals["look-up"].steps
    assert answer.before == ("Stored",)
    assert told["params"] == {"name": "text", "city": "text"}
    values = {"name": "Carter", "city": "York"}
    shown = (
        form("", "", "Ready"),
        form("Carter", "", "Ready"),
        form("Carter", "York", "Ready"),
        form("Carter", "York", "Stored"),
    )
    found = decisions(playbook, values, *(shown[at] for at in (0, 0, 1, 1, 2, 3)))
    assert calls(found) == [
        "click",
        "write",
        "click",
        "write",
        "click",
        "answer",
    ]


@pytest.mark.parametrize(
    ("goal", "dialogs", "last", "fixed"),
    [
        ("Add a supplier. Answer done.", {"dialogs": "0"}, "clock", True),
        ("Add a supplier. Answer done.", {"dialogs": "0"}, "same", False),  # the press may not have had any effect
        ("Add a supplier. Answer done.", {}, "clock", False),  # an error may be a dialog that no program reports
        ("Add a supplier. Answer done if it was free.", {"dialogs": "0"}, "clock", False),
        ("Add a supplier, and say how it went.", {"dialogs": "0"}, "clock", False),
    ],
)
def test_an_answer_that_the_task_asks_for_word_for_word_is_given_without_a_model(
    home: Path, goal: str, dialogs: dict[str, str], last: str, fixed: bool
) -> None:
    empty, named, filled = form("", "", "Ready"), form("Baker Ltd", "", "Ready"), form("Baker Ltd", "Leeds", "Ready")
    keep = {"role": "button", "name": "Keep", "application": "suppliers", "alike": "1", **dialogs}
    acts = [
        *(Act(empty, click="Name"), Act(empty, write="Baker Ltd"), Act(named, click="City"), Act(named, write="Leeds")),
        Act(filled, click="Keep", element=keep),
    ]
    end = filled if last == "same" else form("Baker Ltd", "Leeds", "")
    trace = record(home, f"asked-{abs(hash((goal, last, *dialogs)))}", goal, acts, end, "done")
    *_, answer = compiled(home, trace)[0].goals["look-up"].steps
    assert (answer.kind == "answer") is fixed
    assert not fixed or answer.answer == "done"


@pytest.mark.parametrize("city_is_invalid", [False, True])
def test_a_playbook_accepts_a_completed_or_invalid_text_in_a_field(home: Path, city_is_invalid: bool) -> None:
    empty, named, filled = form("", "", "Ready"), form("Baker Ltd", "", "Ready"), form("Baker Ltd", "Leeds", "Ready")
    acts = [
        Act(empty, click="Name"),
        Act(empty, write="Baker", holds="Baker Ltd"),
        Act(named, click="City"),
        Act(named, write="Leeds", is_invalid=city_is_invalid),
        Act(filled, click="Keep"),
    ]
    name = f"invalid-{city_is_invalid}"
    trace = record(home, name, "Add a supplier.", acts, form("Baker Ltd", "Leeds", "Stored"), "")
    playbook, _, _ = compiled(home, trace)
    writes = [step.write for step in playbook.goals["look-up"].steps if step.write is not None]
    # It is unknown how the program shows another item's text.
    assert [(each.text, each.shows) for each in writes] == [
        ("{name}", "*"),
        ("{city}", "*" if city_is_invalid else None),
    ]


def test_the_command_prints_the_result_and_refusals(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from holo_tasks.cli.commands import exit_code

    trace, out = run(home, "AB-1207"), home / "by-command.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLO_HOME", str(home))
        assert exit_code(["compile", trace, "--out", str(out), "--goal", "look-up", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["file"], said["goal"], said["steps"]) == (str(out), "look-up", 4)
        load_playbook(out)
        assert exit_code(["compile", trace, "--out", str(out), "--param", "order", "--json"]) == 2
        told = capsys.readouterr()
        assert json.loads(told.out)["file"] is None
        assert "--param takes NAME=VALUE" in told.err


def test_the_expected_texts_after_a_step_are_those_of_all_runs(
    home: Path, three: tuple[Playbook, dict[str, Any], str]
) -> None:
    def then(playbook: Playbook) -> dict[str, tuple[Any, ...]]:
        return {
            action.thought: action.then for rule in playbook.rules_of("look-up") for action in rule.do if action.then
        }

    menus, searches = "Click Find an order.", "Click Start search."
    assert then(three[0]) == {menus: ("ORDER SEARCH", "Order number")}, "the run without a result showed another screen"
    found, _, _ = compiled(
        home, run(home, "AB-1207", answer=_of("AB-1207")), run(home, "CD-3391", answer=_of("CD-3391"))
    )
    assert then(found) == {menus: ("ORDER SEARCH", "Order number"), searches: ("ORDER DETAILS", "Order")}
    number = "EF-5050"
    pages = [menu(), search(), search(), search(number), search(number), order(number, *ORDERS[number])]
    assert calls(decisions(found, {"order_number": number}, *pages)) == [
        *("click", "click", "write", "click", "wait", "answer")
    ]


def told(home: Path, number: str) -> str:
    """Record a run on a program with one window per order and known states; return its trace."""
    own = ("Harbor Stock",)
    *acts, last = way(number)
    acts = [replace(act, page=replace(act.page, windows=own, state="search")) for act in [*acts, last]]
    acts[0] = replace(acts[0], page=replace(acts[0].page, state="menu"))
    opened = replace(order(number, *ORDERS[number]), windows=(f"Order {number}", *own), state="order")
    name = f"20261123-0000{len(list(home.glob('runs/*'))):02}-00000000"
    return record(home, name, GOAL.format(number), acts, opened, _of(number))


def test_windows_and_states_after_a_step_are_expected_as_well(home: Path) -> None:
    found, _, text = compiled(home, told(home, "AB-1207"), told(home, "CD-3391"))
    then = {action.thought: action.then for rule in found.rules_of("look-up") for action in rule.do if action.then}
    assert AtState(state="search") in then["Click Find an order."]
    assert {ShownWindow(window="Order {order_number}"), AtState(state="order")} < {*then["Click Start search."]}
    assert "{window: Order {order_number}}" not in text  # YAML would read unquoted braces as a mapping
    number = "EF-5050"
    came = sight_of(order(number, *ORDERS[number]))
    history = [*_until_the_search(found, number)]
    for windows, state, tool in [
        (("Order EF-5050", "Harbor Stock"), "order", "answer"),
        (("Order EF-5050", "Harbor Stock"), None, "answer"),  # unknown state
        (("Order CD-3391", "Harbor Stock"), "order", "wait"),
        (("Harbor Stock",), "order", "wait"),
        (None, "order", "answer"),  # unknown windows
        (("Order EF-5050", "Harbor Stock"), "search", "wait"),
    ]:
        shown = replace(came, windows=windows, state=state)
        decision = follow(found, "look-up", {"order_number": number}, history, shown, written=_pixels)
        assert decision.step["tool_call"]["tool_name"] == tool, (windows, state)


def test_press_once_buttons_are_those_that_the_runs_declared(home: Path) -> None:
    found, _, text = compiled(home, run(home, "AB-1207", press_once=["Start search"]), run(home, "CD-3391"))
    assert found.goals["look-up"].press_once == ("Start search",)
    assert "    press_once: [Start search]\n" in text
    labels = "Search AB-1207", "Search CD-3391"
    own, _, _ = compiled(home, *(run(home, label[7:], press_once=[label]) for label in labels))
    assert own.goals["look-up"].press_once == ("Search {order_number}",)
    with pytest.raises(InvalidUsage, match=r"contains a value of the item .*Fischer and Sons"):
        compiled(home, run(home, "AB-1207", press_once=["Call Fischer and Sons"]), run(home, "CD-3391"))
    plain, _, text = compiled(home, run(home, "AB-1207"), run(home, "CD-3391"))
    assert plain.goals["look-up"].press_once == ()
    assert "press_once" not in text


def _until_the_search(playbook: Playbook, number: str) -> Iterator[Turn]:
    """Yield the turns of a playbook up to the start of the search."""
    history: list[Turn] = []
    for shown in [menu(), search(), search(), search(number)]:
        sight = replace(sight_of(shown), windows=("Harbor Stock",), state="search")
        decision = follow(playbook, "look-up", {"order_number": number}, history, sight, written=_pixels)
        call = dict(decision.step["tool_call"])
        history.append(Turn(call["tool_name"], decision.step["thought"], call))
        yield history[-1]


def test_a_button_that_may_move_does_not_identify_its_screen(three: tuple[Playbook, dict[str, Any], str]) -> None:
    asked = [wanted for rule in three[0].rules_of("look-up") for wanted in rule.screen]
    assert not {"Start search", "Find an order"} & set(asked)
