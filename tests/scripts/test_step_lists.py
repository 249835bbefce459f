"""Steps of a list are done in their order, once each, wherever the program's texts leave the place open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.prompts.tool_calls import ClickCall
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.typed_text import Kind, TypedText
from holo_tasks.scripts.element_search import AmbiguousTarget
from holo_tasks.scripts.misfit import LEFT_TO_MODEL, Misfit, asks_model, keys_may_be_lost, misfit_of
from holo_tasks.scripts.playbook import BadPlaybook, Playbook, parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.resuming import Resuming, Taken
from holo_tasks.scripts.rules import Decision, find, follow
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight
from tests.support.read_runs import screen

TEXT = """
name: records
goals:
  store:
    params: {number: text}
    steps:
      - click: {field: Number}
      - write: {text: "{number}", overwrite: true}
      - click: Find
      - click: Store
        before: "Record {number}"
      - read: {stored: {line: 'Stored as (S-\\d+)', new: true}}
        answer: "{stored}"
"""
VALUES: Mapping[str, Value] = {"number": "AB-1"}


def form(record: str = "", said: str = "") -> Sight:
    texts = [(20, 20, "Number"), (20, 60, "Find"), (20, 100, record), (20, 140, "Store"), (20, 180, said)]
    return screen(*(text for text in texts if text[2]), fields=[(200, 18, "")])


def played(text: str | Playbook, *sights: Sight, old: Mapping[str, Value] | None = None) -> list[Decision]:
    """Return the decisions on some screens, one after the other."""
    playbook = parse_playbook(text) if isinstance(text, str) else text
    history, found = list[Turn](), list[Decision]()
    for sight in sights:
        decision = follow(playbook, "store", VALUES, history, sight, old=old or {})
        call = dict(decision.step["tool_call"])
        history.append(Turn(call["tool_name"], decision.step["thought"], call))
        found.append(decision)
    return found


def tools(found: Sequence[Decision]) -> list[str]:
    return [decision.step["tool_call"]["tool_name"] for decision in found]


def test_the_place_in_the_list_follows_from_the_steps_that_were_done() -> None:
    there = form("Record AB-1", "Stored as S-12")
    found = played(TEXT, form(), form(), form(), form("Record AB-1"), there)
    assert tools(found) == ["click", "write", "click", "click", "answer"]
    assert found[-1].step["tool_call"]["content"] == "S-12"
    assert [decision.rule for decision in found] == [f"step-{number}" for number in range(1, 6)]


def test_an_end_that_is_not_recognized_is_waited_for_and_nothing_is_done_again() -> None:
    found = played(TEXT, form(), form(), form(), form("Record AB-1"), *[form("Record AB-1", "Saved")] * 12)
    assert tools(found)[:4] == ["click", "write", "click", "click"]
    assert set(tools(found)[4:]) == {"wait", "ask_human"}


def test_another_item_is_not_worked_on() -> None:
    assert set(tools(played(TEXT, form(), form(), form(), *[form("Record AB-12")] * 4))[3:]) == {"wait"}


def test_a_message_of_before_the_last_step_is_no_answer() -> None:
    there = form("Record AB-1", "Stored as S-12")
    pages = [form(), form(), form(), there, there]
    assert tools(played(TEXT, *pages, old={"stored": "S-12"}))[-1] == "wait"
    assert tools(played(TEXT, *pages, old={"stored": "S-11"}))[-1] == "answer"


def test_a_list_begins_later_only_where_it_says_so() -> None:
    later = TEXT.replace('before: "Record {number}"', 'before: "Record {number}"\n        opens: true')
    there = screen((20, 100, "Record AB-1"), (20, 140, "Store"))
    assert played(later, there)[0].rule == "step-4"
    assert tools(played(TEXT, there)) == ["wait"]
    with pytest.raises(BadPlaybook, match="opens: needs conditions before: the step"):
        parse_playbook(TEXT.replace("- click: Find", "- click: Find\n        opens: true"))


def test_equal_steps_are_told_apart_and_a_goal_does_something() -> None:
    text = "name: x\ngoals:\n  store:\n    steps:\n      - click: Next\n      - click: Next\n      - answer: done\n"
    page = screen((20, 20, "Next"))
    found = played(text, page, page, page)
    assert tools(found) == ["click", "click", "answer"]
    assert [decision.step["thought"] for decision in found[:2]] == ["Click Next.", "Click Next. (2)"]
    with pytest.raises(BadPlaybook, match="a goal needs steps: or rules:"):
        parse_playbook("name: x\ngoals:\n  store: {params: {number: text}}\n")


def test_a_step_of_the_model_is_done_when_it_says_so_or_the_next_target_has_come() -> None:
    text = TEXT.replace("- click: Find", "- {by_model: Press the glass., why: it has no words}")
    playbook, empty = parse_playbook(text), screen((20, 20, "Number"), fields=[(200, 18, "")])
    *before, left = played(playbook, form(), form(), form())
    assert tools([left]) == ["ask_human"]
    history = [Turn("x", each.step["thought"], dict(each.step["tool_call"])) for each in before]
    rules = playbook.rules_of("store")
    misfit = asks_model(rules, VALUES, history, left)
    assert (misfit.cause, misfit.why) == ("model", "it has no words")
    asked = "Press the glass. The playbook leaves this step to the model: it has no words."
    assert misfit.asked("Press the glass.") == asked
    assert replace(misfit, why=LEFT_TO_MODEL).asked("Press the glass.") == "Press the glass."
    assert replace(misfit, cause="values").asked("Read it.") == "Read it."

    def resumed(now: Sight, taken: Taken | None, *, said: bool = False) -> bool:
        asked = Resuming(rules, VALUES, misfit, lambda turns: follow(playbook, "store", VALUES, turns, now), now, taken)
        return replace(asked, said_done=said).resumed(history) is not None

    pressed = Taken(ClickCall(tool_name="click", element="glass", x=1, y=1, button="left"), (Point(5, 5),), empty)
    assert resumed(form("Record AB-1"), pressed)
    assert not resumed(empty, pressed), "nothing has come of it"
    assert not resumed(form("Record AB-1"), None), "nothing was done"
    assert resumed(empty, None, said=True)


INTERRUPTED = TEXT.replace(
    "    steps:",
    "    interruptions:\n"
    "      tip: {screen: DAILY TIP, do: {click: {text: Close, below: DAILY TIP}}, most: 2}\n"
    "    steps:",
)


def tip(over: Sight) -> Sight:
    """Return a screen with a tip over it."""
    return replace(over, lines=(*over.lines, *screen((400, 20, "DAILY TIP"), (400, 80, "Close")).lines))


def test_an_interruption_may_come_at_any_step_or_never_and_is_no_step() -> None:
    record, there = form("Record AB-1"), form("Record AB-1", "Stored as S-12")
    assert tools(played(INTERRUPTED, form(), form(), form(), record, there))[-1] == "answer"
    found = played(INTERRUPTED, tip(form()), form(), form(), form(), tip(record), record, there)
    assert [each.rule for each in found] == ["tip", "step-1", "step-2", "step-3", "tip", "step-4", "step-5"]
    stays = played(INTERRUPTED, *[tip(form())] * 13)
    assert [each.rule for each in stays[:7]] == ["tip"] * 7, "it waits for the effect of its press"
    assert tools(stays[:6]) == ["click", *["wait"] * 4, "click"]
    assert [each.rule for each in stays[-3:]] == ["step-1", "step-2", "step-3"], "it is removed twice at most"


def test_the_effect_of_a_step_is_required_after_an_interruption_too() -> None:
    text = INTERRUPTED.replace("- click: Find", '- click: Find\n        after: "Record {number}"')
    found = played(text, form(), form(), form(), tip(form()), form(), form("Record AB-1"))
    assert [each.rule for each in found[3:]] == ["tip", "", "step-4"]
    assert found[4].unmet, "the record has not come"


def test_a_list_may_begin_later_after_an_interruption_too() -> None:
    text = INTERRUPTED.replace('before: "Record {number}"', 'before: "Record {number}"\n        opens: true')
    there = screen((20, 100, "Record AB-1"), (20, 140, "Store"))
    assert [each.rule for each in played(text, tip(there), there)] == ["tip", "step-4"]


def test_an_interruption_that_is_not_there_is_not_the_step_that_does_not_fit() -> None:
    rules, empty = parse_playbook(INTERRUPTED).rules_of("store"), screen((20, 20, "Other"))
    misfit = misfit_of(rules, VALUES, [], empty)
    assert misfit is not None
    assert misfit.rule.id == "step-1"
    shown = misfit_of(rules, VALUES, [], screen((400, 20, "DAILY TIP")))
    assert shown is not None
    assert shown.rule.id == "tip"


def test_a_field_is_clicked_again_if_something_was_removed_before_the_typing() -> None:
    brain = PlaybookBrain(parse_playbook(INTERRUPTED), "store", VALUES, ScreenReader())

    def decided(sight: Sight) -> str:
        decision = brain._without_needless_clicks(sight)
        call = dict(decision.step["tool_call"])
        brain._past.append(Turn(call["tool_name"], decision.step["thought"], call))
        return decision.rule

    assert all(one is other for one, other in zip(brain.rules, brain.playbook.rules_of("store"), strict=True))
    pages = [form(), tip(form()), form(), form(), form(), tip(form("Record AB-1")), form("Record AB-1")]
    assert [decided(each) for each in pages] == ["step-1", "tip", "step-1", "step-2", "step-3", "tip", "step-4"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{screen: [], do: {click: Close}}", "screen"),
        ("{do: {click: Close}}", "screen"),
        ("{screen: TIP, do: []}", "do"),
    ],
)
def test_an_interruption_has_a_screen_and_an_action(text: str, said: str) -> None:
    with pytest.raises(BadPlaybook, match=said):
        parse_playbook(TEXT.replace("    steps:", f"    interruptions: {{tip: {text}}}\n    steps:"))


def tree(*, dialog: bool = True, modal: str = "Add payment") -> ElementTree:
    """Return a window with a button, and a dialog of its program with a button of the same name."""
    states = frozenset({SHOWING})
    found = [
        Element(0, "window", "Book", states, Box(0, 0, 700, 400), -1, "book", 1),
        Element(1, "button", "Add", states, Box(10, 10, 60, 24), 0, "book", 1),
        Element(2, "button", "Add", states, Box(110, 10, 60, 24), 0, "book", 1),
    ]
    if dialog:
        found[2:] = [
            Element(2, "dialog", modal, states, Box(200, 100, 300, 200), -1, "book", 1),
            Element(3, "button", "Add", states, Box(300, 250, 60, 24), 2, "book", 1),
        ]
    return ElementTree(tuple(found))


def test_the_element_in_the_dialog_in_front_is_meant() -> None:
    sight, target = replace(form(), elements=tree()), Target(role="button", name="Add")
    assert find(target, {}, sight) == Box(300, 250, 60, 24)
    assert find(target.model_copy(update={"within": "Book"}), {}, sight) == Box(10, 10, 60, 24)
    with pytest.raises(AmbiguousTarget):
        find(target, {}, replace(form(), elements=tree(dialog=False)))


async def test_nothing_is_typed_while_the_keyboard_is_in_another_field() -> None:
    """A list of suggestions may take a click, so the click is repeated once, and then the playbook gives up."""
    text = """
name: x
goals:
  store:
    params: {number: text}
    steps: [{click: {role: text field, name: Memo}}, {write: "{number}"}, {answer: done}]
"""

    def fields(focused: str) -> Sight:
        states = {name: frozenset({SHOWING, *(["focused"] if name == focused else [])}) for name in ("Payee", "Memo")}
        boxes = {"Payee": Box(100, 20, 200, 24), "Memo": Box(100, 60, 200, 24)}
        window = Element(0, "window", "Book", frozenset({SHOWING}), Box(0, 0, 700, 400), -1, "book", 1)
        found = [Element(at, "text field", name, states[name], boxes[name], 0, "book", 1) for at, name in
                 enumerate(boxes, start=1)]  # fmt: skip
        return replace(screen(), elements=ElementTree((window, *found)))

    brain = PlaybookBrain(parse_playbook(text), "store", {"number": "AB-1"}, ScreenReader())

    def decided(focused: str) -> str:
        decision = brain._without_needless_clicks(fields(focused))
        call = dict(decision.step["tool_call"])
        brain._past.append(Turn(call["tool_name"], decision.step["thought"], call))
        return str(call["tool_name"])

    assert [decided(focused) for focused in ("Payee", "Payee")] == ["click", "click"]
    with pytest.raises(GaveUp, match="The keyboard is in another field"):
        decided("Payee")
    again = PlaybookBrain(parse_playbook(text), "store", {"number": "AB-1"}, ScreenReader())
    brain = again
    assert [decided(focused) for focused in ("Payee", "Payee", "Memo", "Memo")] == ["click", "click", "write", "answer"]


async def test_nothing_is_typed_elsewhere_after_the_hint_of_a_field_has_gone() -> None:
    text = """
name: x
goals:
  store:
    params: {number: text}
    steps: [{click: {role: text field, holds: Memo}}, {write: "{number}"}, {answer: done}]
"""
    boxes = Box(100, 20, 200, 24), Box(100, 60, 200, 24)

    def fields(focused: int, *held: str) -> Sight:
        states = [frozenset({SHOWING, *(["focused"] if number == focused else [])}) for number in range(2)]
        window = Element(0, "window", "Book", frozenset({SHOWING}), Box(0, 0, 700, 400), -1, "book", 1)
        found = [Element(at + 1, "text field", "", states[at], boxes[at], 0, "book", 1, held[at]) for at in range(2)]
        return replace(screen(), elements=ElementTree((window, *found)))

    def tool(brain: PlaybookBrain, sight: Sight) -> str:
        decision = brain._without_needless_clicks(sight)
        call = dict(decision.step["tool_call"])
        brain._past.append(Turn(call["tool_name"], decision.step["thought"], call))
        return str(call["tool_name"])

    playbook = parse_playbook(text)
    brain = PlaybookBrain(playbook, "store", {"number": "AB-1"}, ScreenReader())
    assert tool(brain, fields(0, "Adler", "Memo")) == "click"
    assert tool(brain, fields(1, "Adler", "")) == "write", "the clicked field has the keyboard"
    brain = PlaybookBrain(playbook, "store", {"number": "AB-1"}, ScreenReader())
    assert tool(brain, fields(0, "Adler", "Memo")) == "click"
    assert tool(brain, fields(0, "Adler", "")) == "wait", "the field Payee has the keyboard"


@pytest.mark.parametrize(
    ("typed", "kind", "is_missing"),
    [
        ("AB-1", None, True),
        ("AB-1", "unread", True),
        ("AB-1", "empty", True),
        ("w", "empty", True),
        ("w", "unread", False),
        ("w", None, False),
        ("AB-1", "exact", False),
    ],
)
def test_a_character_that_may_be_a_command_is_not_typed_again(typed: str, kind: Kind | None, is_missing: bool) -> None:
    """A terminal program saves on ``w``, and shows nothing. A text that changed nothing did not arrive."""
    text = "{name: x, goals: {store: {steps: [{write: %s}, {answer: done}]}}}" % typed  # noqa: UP031
    brain = PlaybookBrain(parse_playbook(text), "store", {}, ScreenReader())
    decision = brain._without_needless_clicks(screen())
    result = None if kind is None else TypedText(kind, typed)
    walk = SimpleNamespace(typed=SimpleNamespace(result=result), seen=None)
    assert brain._is_missing(decision, walk, typed) == is_missing  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "step", "is_lost"),
    [
        ("{hotkey: [ctrl, down]}", "{write: AB-1}", True),
        ("{hotkey: [tab]}", "{write: AB-1}", True),
        ("{hotkey: [ctrl, a]}", "{write: AB-1}", False),
        ("{click: Memo}", "{write: AB-1}", False),
        ("{hotkey: [tab]}", "{write: AB-1, focus: {role: text field, name: Memo}}", False),
        ("{hotkey: [tab]}", "{click: Save}", False),
    ],
)
def test_a_text_after_keys_that_may_be_lost_is_no_step_for_the_model(before: str, step: str, is_lost: bool) -> None:
    """A window over the program may also have taken the keys, so the text would arrive in another cell."""
    text = f"{{name: x, goals: {{store: {{steps: [{{click: New}}, {before}, {step}, {{answer: done}}]}}}}}}"
    rules = parse_playbook(text).rules_of("store")
    (rule,) = (one for one in rules if one.id == "step-3")
    assert keys_may_be_lost(rules, Misfit(rule, 0, "failed", "it failed twice")) == is_lost
    assert not keys_may_be_lost(rules, Misfit(rule, 0, "screen", "another screen"))
