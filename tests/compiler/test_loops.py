"""Several items in one run become a loop, which does lists of other lengths; two different steps stay two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit.reader import open_trace
from holo_tasks.compiler.compile import compiled_of
from holo_tasks.compiler.loops import looped
from holo_tasks.compiler.recording import recordings
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import InvalidUsage, UnfitItem
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.loops import unrolled
from holo_tasks.scripts.playbook import BadPlaybook, Playbook, parse_playbook
from holo_tasks.scripts.rules import follow
from holo_tasks.scripts.script import Script
from tests.compiler.test_compile import _pixels, compiled
from tests.support.recorded_runs import Act, Page, page, page_reader, record, sight_of

GOAL = "Enter the lines of the order."
LINES = [("paper", "40"), ("ink", "12"), ("glue", "7 boxes")]


def form(article: str = "", amount: str = "", added: Sequence[str] = (), said: str = "") -> Page:
    """Return the page of a form that stays, with the lines that were added below it."""
    texts = [
        (20, 10, "ORDER LINES"),
        (20, 60, "Article"),
        (20, 100, "Amount"),
        (20, 150, "Add line"),
        (200, 150, "Send"),
    ]
    texts += [(20, 200 + 30 * place, f"Line with {name}") for place, name in enumerate(added)]
    return page(*texts, *([(20, 390, said)] if said else []), fields=[(140, 55, article), (140, 95, amount)])


def acts(lines: Sequence[tuple[str, str]]) -> list[Act]:
    found: list[Act] = []
    for number, (article, amount) in enumerate(lines):
        before = [name for name, _ in lines[:number]]
        found += [Act(form(added=before), click="Article"), Act(form(added=before), write=article)]
        found += [Act(form(article, added=before), click="Amount"), Act(form(article, added=before), write=amount)]
        found.append(Act(form(article, amount, before), click="Add line"))
    return [*found, Act(form(added=[name for name, _ in lines]), click="Send")]


def made(home: Path, lines: Sequence[tuple[str, str]], goal: str = GOAL, **how: Any) -> tuple[Playbook, str]:
    last = form(said="Sent as S-4137")
    playbook, _, text = compiled(home, record(home, "one", goal, acts(lines), last, "Sent as S-4137", **how))
    return playbook, text


def done(playbook: Playbook, lines: Sequence[tuple[str, str]]) -> list[str]:
    """Return the texts that a playbook types and the calls that it makes on the pages of some lines."""
    items = [{"article": article, "amount": amount} for article, amount in lines]
    whole, values = unrolled(playbook, "look-up", {"items": items})
    history, found = list[Turn](), list[str]()
    for one in [*(act.page for act in acts(lines)), form(said="Sent as S-5001")]:
        decision = follow(whole, "look-up", values, history, sight_of(one), written=_pixels)
        call = dict(decision.step["tool_call"])
        history.append(Turn(call["tool_name"], decision.step["thought"], call))
        found.append(str(call.get("content") or call.get("element")))
    return found


def test_the_items_of_a_run_become_a_loop_over_a_list(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, LINES)
    goal = playbook.goals["look-up"]
    assert goal.lists == {"items": {"article": "text", "amount": "text"}}, text
    assert not goal.params
    assert len(goal.steps) == 3, "the loop, the last press and the answer"
    assert not any(article in text for article, _ in LINES)
    for lines in ([("tape", "3")], [("a4", "3"), ("a4", "3")], [*LINES, ("tape", "3"), ("string", "90")]):
        each = [["Article field", article, "Amount field", amount, "Add line"] for article, amount in lines]
        assert done(playbook, lines) == [*[word for line in each for word in line], "Send", "Sent as S-5001"]


def test_two_repetitions_are_a_loop_only_if_the_data_have_a_list_of_two(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, LINES[:2])
    assert not playbook.goals["look-up"].lists, text
    assert len(playbook.goals["look-up"].steps) == 12
    data = {"lines": [{"what": article, "how_many": amount} for article, amount in LINES[:2]]}
    playbook, text = made(tmp_path / "two", LINES[:2], f"{GOAL}\n\n{quoted(data)}")
    assert [*playbook.goals["look-up"].lists] == ["lines"], text


@pytest.mark.parametrize(
    ("names", "key", "data", "is_loop"),
    [
        (("number", "customer", "account"), "tab", {}, False),
        (("number", "customer", "account"), "down", {}, False),
        (("number", "customer", "account"), "tab", {"lines": ["a", "b", "c"]}, True),
        (("text_1", "text_2", "text_3"), "tab", {}, False),
        (("text_1", "text_2", "text_3"), "down", {}, True),
        (("name", "name_2", "name_3"), "enter", {}, True),
    ],
)
def test_fields_of_one_item_that_are_filled_one_after_the_other_are_no_loop(
    names: Sequence[str], key: str, data: dict[str, Any], is_loop: bool
) -> None:
    values = dict(zip(names, ("1001", "Adler", "Paper"), strict=True))
    steps: list[dict[str, Any]] = []
    for name in names:
        steps += [{"write": {"text": f"{{{name}}}"}}, {"hotkey": [key]}]
    assert (looped(steps, values, data) is not None) is is_loop


def test_rows_that_end_with_enter_are_a_loop() -> None:
    steps: list[dict[str, Any]] = []
    for number in ("", "_2", "_3"):
        steps += [{"write": {"text": f"{{day{number}}}"}}, {"hotkey": ["tab"]}]
        steps.append({"write": {"text": f"{{sum{number}}}", "press_enter": True}})
    found = looped(steps, {f"{name}{number}": "x" for name in ("day", "sum") for number in ("", "_2", "_3")}, {})
    assert found is not None
    assert len(found.items) == 3


def test_a_control_that_is_pressed_once_is_in_no_loop(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, LINES, press_once=["Add line"])
    assert not playbook.goals["look-up"].lists, text


def test_a_goal_that_learns_by_itself_gets_no_loop(tmp_path: Path) -> None:
    """Its sub-goal has the values of one item, and no list."""
    trace = open_trace(record(tmp_path, "one", GOAL, acts(LINES), form(said="Sent as S-4137"), "Sent as S-4137"))
    made = compiled_of([trace], recordings(trace, "digest"), page_reader(), "look-up", folder=tmp_path)
    assert len(made.parameters) == 6
    assert not made.lists


TEXT = """
name: x
goals:
  send:
    lists: {lines: {article: text, amount: int}}
    steps:
      - each: lines
        steps:
          - click: Article
          - write: {text: "{lines.article}", overwrite: true}
          - click: Amount
          - write: "{lines.amount:#,##0.00}"
      - answer: sent
"""


def test_a_script_takes_a_list_or_its_json_and_refuses_others() -> None:
    playbook, items = parse_playbook(TEXT), [{"article": "ink", "amount": 2}, {"article": "ink", "amount": 3}]
    script = Script(playbook, "send", lines=items)
    assert script.plan is not None
    thoughts = [thought for rule in reversed(script.plan.rules.values()) for thought in rule]
    assert thoughts[:4] == [
        "Click Article. (lines 1)",
        "Type ink. (lines 1)",
        "Click Amount. (lines 1)",
        "Type 2.00. (lines 1)",
    ]
    assert len({*thoughts}) == 9, "steps are identified by their thoughts"
    assert Script(playbook, "send", lines='[{"article": "ink", "amount": 2}]').plan is not None
    schema = Script(playbook, "send").macro().parameters["lines"]
    assert schema["items"]["properties"]["amount"]["type"] == "integer"
    for wrong in ([], "ink", [{"article": "ink"}], [{"article": "ink", "amount": 2, "more": 1}], None):
        with pytest.raises(InvalidUsage, match="needs the list 'lines' with article, amount"):
            Script(playbook, "send", lines=wrong)
    with pytest.raises(UnfitItem, match="lines_1_amount"):
        Script(playbook, "send", lines=[{"article": "ink", "amount": "many"}])
    with pytest.raises(BadPlaybook, match="each: and lists: must name the same lists"):
        parse_playbook(TEXT.replace("lists: {lines:", "lists: {rows:"))
    with pytest.raises(InvalidUsage, match="needs the list 'lines'"):
        Script(playbook, "send", lines="[" * 100_000)


@pytest.mark.parametrize(
    ("other", "refused"), [("lines_1_article", True), ("lines", True), ("lines_article", False), ("lines_1", False)]
)
def test_a_value_that_would_share_its_name_with_an_item_is_refused(other: str, refused: bool) -> None:
    """The value of the item was typed in its place."""
    text = TEXT.replace("    lists:", f"    params: {{{other}: text}}\n    lists:")
    if refused:
        with pytest.raises(BadPlaybook, match=f"the list 'lines' and the value '{other}'"):
            parse_playbook(text)
    else:
        assert parse_playbook(text)
