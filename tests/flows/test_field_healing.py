"""The field suite finds the oracle's step for a step of a playbook, and counts the healed steps."""

from __future__ import annotations

from benchmarks.field.healing import aligned, done_calls
from benchmarks.field.results import Result, markdown
from holo_tasks.core.events import ActionDone, Decided

PLAN = [("click", "The oracle: Add"), ("click", "The oracle: Memo"), ("write", "The oracle: two keys")]


def test_steps_of_a_playbook_are_paired_with_the_plan_in_their_order() -> None:
    assert aligned([("click", "Click Add."), ("write", "Type {memo}.")], PLAN) == [(0, 0), (1, 2)]
    assert aligned([("click", "Click the field Memo."), ("write", "Type {memo}.")], PLAN) == [(0, 1), (1, 2)]
    assert aligned([("hotkey", "Press ctrl+s.")], PLAN) == []


def test_a_call_that_was_withheld_and_repeated_counts_once() -> None:
    def decided(tool: str, thought: str) -> Decided:
        return Decided.model_construct(tool_name=tool, thought=thought)

    done = ActionDone.model_construct()
    events = [decided("click", "Add"), decided("wait", ""), done, decided("click", "Add"), done, decided("answer", "")]
    assert done_calls(events) == [("click", "Add"), ("answer", "")]


def test_the_table_says_what_was_healed() -> None:
    told = {"program": "one", "drift": "tip", "item": 1}
    results = [
        Result(**told, kind="heal", verdict="right", changes=("+ tip",)),
        Result(**told, kind="replay healed", verdict="right"),
        Result(**told, kind="replay healed unchanged", verdict="handed over", why="it is gone"),
    ]
    lines = list(markdown(results, {"one": "One"}))
    assert "| 1 of 1 done with the model, then 1 without it, 0 unchanged |" in lines[2]
    assert "* One, healed after the drift tip: + tip" in lines
