"""A playbook's run as a diagram: the rules that it followed and how often, where it stopped, and its progress."""

from __future__ import annotations

from holo_tasks.scripts.plan import Plan, percent_of, picture_of
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script

PLAN = Plan("look-up", {"search": ["Search."], "wait-for-it": ["Wait."], "read": ["Read."]})


def test_a_diagram_shows_followed_and_unused_rules() -> None:
    drawn = picture_of(PLAN, ["search", "read"], ended=True)
    assert drawn.startswith("flowchart LR")
    assert 'r0["search"]:::done' in drawn
    assert 'r1["wait-for-it"]:::open' in drawn
    assert "r0 --> r2" in drawn


def test_a_diagram_shows_the_stop_and_repetitions() -> None:
    drawn = picture_of(PLAN, ["search", "wait-for-it", "search", "wait-for-it"], ended=False)
    assert 'r1["wait-for-it"]:::stopped' in drawn
    assert "r0 --> |2 times| r1" in drawn


def test_a_rule_name_cannot_inject_diagram_syntax() -> None:
    assert 'r0["x    click r1  y "]' in picture_of(Plan("p", {'x"]; click r1 "y"': []}), [], ended=False)


def test_progress_is_complete_only_at_the_end() -> None:
    assert percent_of(PLAN, []) == 0
    assert percent_of(PLAN, ["search", "search"]) == 100 / 3
    assert percent_of(PLAN, ["search", "wait-for-it", "read"]) == 95


def test_steps_are_identified_by_their_thoughts_with_the_items_values() -> None:
    playbook = parse_playbook(
        "{name: p, goals: {g: {params: {who: text}, rules: [{id: ask, do: [{answer: hm, thought: 'Ask {who}.'}]}]}}}"
    )
    plan = Script(playbook, who="Zoë").plan
    assert plan is not None
    assert plan.rule_of("Ask Zoë.") == "ask"
    assert plan.rule_of("The program is still busy; waiting for it.") == ""
    assert Script(_function).plan is None


async def _function(hands: object) -> str:
    return ""
