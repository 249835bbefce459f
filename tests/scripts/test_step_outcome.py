"""Whether a playbook that stopped may have stored its item, which `again:` then remembers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.step_outcome import Outcome, StepOutcome, may_have_stored

LISTED = """
name: orders
goals:
  enter:
    params: {name: text, amount: text}
    interruptions:
      tip: {screen: [Tip of the day], do: [{click: Close}]}
    steps:
      - click: New
      - write: '{name}'
      - write: %s
      - click: Save
      - answer: done
"""
RULES = """
name: orders
goals:
  enter:
    params: {name: text}
    rules:
      - {id: answer, screen: [Saved], do: [{answer: done, thought: Answer.}]}
      - {id: save, done: type, once: true, do: [{click: Save, thought: Save.}]}
      - {id: again, after: type, do: [{click: Refresh, thought: Refresh.}]}
      - {id: type, screen: [Name], once: true, do: [{write: '{name}', thought: Type the name.}]}
"""
PLAIN = LISTED % "'{amount}'"
ENTERED = LISTED % "{text: '{amount}', press_enter: true}"


@pytest.mark.parametrize(
    ("text", "done", "stored"),
    [
        pytest.param(PLAIN, ["step-1", "step-2", "step-3", "step-4"], True, id="it saved"),
        pytest.param(PLAIN, ["step-1", "step-2", "step-3"], False, id="it stopped before it saved"),
        pytest.param(PLAIN, ["step-1", "step-2"], False, id="a value is missing"),
        pytest.param(PLAIN, ["step-1", "step-2", "step-4"], False, id="a value is missing, which was skipped"),
        pytest.param(PLAIN, ["step-1", "step-2", "step-3", "tip"], False, id="it only closed a tip then"),
        pytest.param(PLAIN, [], False, id="it did nothing"),
        pytest.param(ENTERED, ["step-1", "step-2", "step-3"], True, id="it pressed Enter after the last value"),
        pytest.param(RULES, ["type", "save"], True, id="a rule saved"),
        pytest.param(RULES, ["type", "again"], False, id="a rule pressed what may be pressed often"),
    ],
)
def test_a_playbook_that_saved_may_have_stored_its_item(text: str, done: Sequence[str], stored: bool) -> None:
    rules = parse_playbook(text).rules_of("enter")
    assert {rule.id for rule in rules} >= set(done)
    assert may_have_stored(rules, [of_step(one) for one in done]) is stored


def of_step(rule: str, outcome: Outcome = "fitted") -> StepOutcome:
    return StepOutcome(rule, 0, "", outcome)


def test_a_step_counts_if_the_model_did_it_and_not_if_it_failed() -> None:
    rules, typed = parse_playbook(PLAIN).rules_of("enter"), [of_step(f"step-{n}") for n in (1, 2, 3)]
    assert may_have_stored(rules, [*typed, of_step("step-4", "healed")])
    failed = [*typed, of_step("step-4", "failed")]
    assert not may_have_stored(rules, failed)
    assert may_have_stored(rules, failed, ("step-4", 0)), "the model pressed something for it"
    assert not may_have_stored(rules, typed[:2], ("step-3", 0))
