"""Before an answer that no condition proves, a list of steps gives the program a second."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.playbook import Playbook, Rule
from holo_tasks.scripts.unseen_end import UnseenEnd

SAVE = {"hotkey": ["ctrl", "s"]}
PAST = [Turn("hotkey", "Press ctrl+s.", {"keys": ["ctrl", "s"]}, "")]


def rules_of(*steps: dict[str, Any]) -> tuple[Rule, ...]:
    book = Playbook.model_validate(yaml.safe_load(yaml.safe_dump({"name": "a", "goals": {"a": {"steps": [*steps]}}})))
    return tuple(book.rules_of("a"))


@pytest.mark.parametrize(
    ("save", "answer", "waits"),
    [
        (SAVE, {"answer": "done"}, True),
        (SAVE, {"before": "Saved", "answer": "done"}, False),
        ({**SAVE, "after": "Saved"}, {"answer": "done"}, False),
    ],
    ids=["nothing", "before the answer", "after the step"],
)
def test_only_an_unproven_end_waits_once(save: dict[str, Any], answer: dict[str, Any], waits: bool) -> None:
    rule, last = rules_of(save, answer)  # the last step of a list is the first rule
    end = UnseenEnd()
    assert end.wait(last, None, []) is None
    found = end.wait(rule, last, PAST)
    assert (found is not None) == waits
    assert end.wait(rule, last, PAST) is None
