"""A value that does not fit its parameter is refused in words that say what to give."""

from __future__ import annotations

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import UnfitItem
from holo_tasks.scripts.misfit import misfit_of
from holo_tasks.scripts.params import Kind, typed
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.rules import follow
from tests.support.read_runs import screen

TEXT = """
name: notes
goals:
  store:
    steps:
      - answer: done
        before: Stored
"""


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("money", "1.310,00", "total: is not an amount such as 1284.50"),
        ("money", "1.234", "total: may have a point for thousands or for decimals; give an amount such as 1284.50"),
        ("money", "1.310", "total: may have a point for thousands or for decimals; give an amount such as 1284.50"),
        ("money", "1284.505", "total: is not an amount such as 1284.50, with at most two decimals"),
        ("int", "many", "total: is not a whole number"),
        ("date", "30.2.2027", "total: is not a day such as 2026-11-22"),
        ("text", "", "total: is empty"),
    ],
)
def test_the_problem_of_a_value_says_what_to_give(kind: Kind, value: str, said: str) -> None:
    with pytest.raises(UnfitItem, match=rf"\({said}\)"):
        typed("pay", {"total": kind}, {"total": value})


@pytest.mark.parametrize(
    ("kind", "value"),
    [("money", "1310"), ("money", "1310.5000"), ("money", "0.5"), ("int", "12"), ("date", "2027-02-28"), ("text", " ")],
)
def test_a_fitting_value_is_taken(kind: Kind, value: str) -> None:
    assert "total" in typed("pay", {"total": kind}, {"total": value})


def test_a_list_of_steps_says_that_its_next_step_does_not_fit() -> None:
    playbook, sight = parse_playbook(TEXT), screen((20, 20, "Draft"))
    waits = [Turn("wait", "w", {"tool_name": "wait"})] * 9
    asked = follow(playbook, "store", {}, waits, sight).step["tool_call"]["question"]
    assert asked == "The next step of goal 'store' does not fit this screen. It reads: Draft."
    misfit = misfit_of(playbook.rules_of("store"), {}, waits, sight)
    assert misfit is not None
    assert misfit.sentence.startswith("The step is ‘Give the answer.’ (rule step-1): the screen does not show ‘Stored’")


@pytest.mark.parametrize(("given", "written"), [("0042", "0042"), (" 007 ", "007"), ("42", 42), (42, 42), ("0", 0)])
def test_a_number_with_leading_zeros_is_typed_as_it_is(given: object, written: object) -> None:
    assert typed("clock", {"number": "int"}, {"number": given}) == {"number": written}
    if isinstance(given, str):
        assert typed("clock", {"number": "int"}, {}, {"number": given}) == {"number": written}


def test_a_given_number_replaces_a_default_with_leading_zeros() -> None:
    assert typed("clock", {"number": "int"}, {"number": "42"}, {"number": "0042"}) == {"number": 42}
    assert typed("clock", {"number": "int"}, {"number": "0042"}, {"number": "42"}) == {"number": "0042"}


@pytest.mark.parametrize("given", ["1_000", "+42", "42.0", "4 2", "x", ""])
def test_a_text_in_another_form_is_no_whole_number(given: str) -> None:
    with pytest.raises(UnfitItem, match="number: is not a whole number"):
        typed("clock", {"number": "int"}, {"number": given})
