"""A message that came after the last step and is gone counts as seen for the answer, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.conditions import has_come, is_visible
from holo_tasks.scripts.passing_messages import PassingMessages
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Line, Sight, matches

GOAL = parse_playbook("""
name: orders
goals:
  work:
    params: {number: text}
    steps:
      - click: New
      - click: OK
      - before: ['Order {number} stored', '{number}']
        answer: done
""")
RULES = GOAL.rules_of("work")
ANSWER, LAST = RULES[:2]
"""Later steps come first."""
MESSAGE = "Order {number} stored"


def sight(*texts: str) -> Sight:
    return Sight([Line(text, Box(10, 30 * n, 200, 20)) for n, text in enumerate(texts, 1)], Size(640, 480))


@pytest.mark.parametrize(
    ("before", "after", "now", "counts"),
    [
        (["OK"], ["Order B-7 stored", "B-7"], [], {MESSAGE}),
        (["OK", "B-7"], ["B-7"], [], set()),
        (["OK", "Order B-7 stored"], ["Order B-7 stored"], [], set()),
        (["OK"], ["Order B-71 stored"], [], set()),
        (["OK"], [], ["Order B-7 stored"], {MESSAGE}),
    ],
    ids=["it came and went", "a value alone", "it was there before", "of another item", "it is there"],
)
def test_only_a_message_that_came_with_the_last_step_counts(
    before: list[str], after: list[str], now: list[str], counts: set[str]
) -> None:
    messages = PassingMessages(RULES, {"number": "B-7"})
    messages.aim(LAST, sight(*before))
    messages.seen_on(sight(*after), {})
    assert messages.seen_on(sight(*now), {}).get(ANSWER.id, set()) == counts


@pytest.mark.parametrize(("shown", "tool"), [(["B-7"], "answer"), ([], "wait")])
def test_an_answer_is_given_after_its_message_is_gone(shown: list[str], tool: str) -> None:
    """The values of the item must still be there."""
    brain = PlaybookBrain(GOAL, "work", {"number": "B-7"}, ScreenReader())
    for text in ("New", "OK"):
        decision = brain._without_needless_clicks(sight(text))
        brain._messages.aim(brain._rule_of(decision), sight(text))
        call = dict(decision.step["tool_call"])
        brain._past.append(Turn(call["tool_name"], decision.step["thought"], call, ""))
    assert brain._without_needless_clicks(sight("Order B-7 stored")).action is None
    assert brain._without_needless_clicks(sight(*shown)).step["tool_call"]["tool_name"] == tool


@pytest.mark.parametrize(("is_met", "lacks"), [(True, "‘{number}’"), (False, "‘Order*’ after it")])
def test_the_reason_names_what_is_missing_and_not_an_effect_that_was_seen(is_met: bool, lacks: str) -> None:
    steps = "[{click: OK, after: 'Order*'}, {before: '{number}', answer: done}]"
    playbook = parse_playbook(f"{{name: x, goals: {{work: {{params: {{number: text}}, steps: {steps}}}}}}}")
    brain = PlaybookBrain(playbook, "work", {"number": "B-7"}, ScreenReader())
    decision = brain._without_needless_clicks(sight("OK"))
    call = dict(decision.step["tool_call"])
    brain._past.append(Turn(call["tool_name"], decision.step["thought"], call, ""))
    brain._met = 1 if is_met else -1
    misfit = brain._misfit(sight())
    assert misfit is not None
    assert misfit.why.endswith(lacks)


def test_a_message_of_an_earlier_step_is_forgotten() -> None:
    messages = PassingMessages(RULES, {"number": "B-7"})
    messages.aim(LAST, sight("OK"))
    messages.seen_on(sight("Order B-7 stored"), {})
    messages.aim(LAST, sight("OK"))
    assert messages.seen_on(sight("B-7"), {}) == {}


def test_a_question_begins_with_the_texts_that_came_after_the_last_action() -> None:
    brain = PlaybookBrain(GOAL, "work", {"number": "B-7"}, ScreenReader())
    brain._messages.aim(LAST, sight("Orders", "OK"))
    brain._past = [Turn("click", "Click New.", {}, ""), Turn("click", "Click OK.", {}, "")]
    brain._past += [Turn("wait", "Wait.", {}, "")] * 20
    shown = sight("Orders", "OK", "Draft", "The order was not stored")
    question = brain._without_needless_clicks(shown).step["tool_call"]["question"]
    assert "reads: The order was not stored; Draft; Orders; OK." in question


@pytest.mark.parametrize(
    ("wanted", "text", "comes"),
    [
        ("Job {number}*", "Job B-7 saved as entry 9", True),
        ("Job {number}*", "Job B-7 could not be saved", False),
        ("Job {number}*", "Job B-7: 0 of 1 records saved", False),
        ("Could not find {number}*", "Could not find B-7 in the list", True),
        ("*{number}*", "B-7, invalid address, open", True),
        ("Saved*", "Saved as entry 9", True),
        ("Saved*", "Saved nothing: the disk is full", False),
        ("Saved*", "Saved failed", False),
        ("Job * saved", "Job B-7 was not saved", False),
        ("Job * saved", "Job B-7 was saved", True),
        ("Failed*", "Failed to load 1 image", True),
        ("*not found*", "Error: B-7 was not found", True),
        ("Job * rejected", "Job B-7 was rejected", True),
    ],
    ids=[
        *("success", "failure", "nothing was saved", "the recording had the failure", "the contents of a row"),
        *("success without a value", "nothing, without a value", "failure without a value", "failure within"),
        *("success within", "an expected failure", "an expected error", "an expected refusal"),
    ],
)
@pytest.mark.parametrize("reported", [False, True], ids=["read", "reported"])
def test_the_rest_of_an_effect_is_no_failure(wanted: str, text: str, comes: bool, reported: bool) -> None:
    values = {"number": "B-7"}
    shown = sight(text)
    if reported:
        shown = replace(shown, lines=(), reported=lambda label: matches(label, text))
    assert has_come(wanted, values, shown) is comes
    assert is_visible(wanted, values, shown), "it is not gone, and it is no other message"
