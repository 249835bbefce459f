"""A value of one character that was typed is a parameter, alone or with its unit. Elsewhere it is only a character."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holo_tasks.compiler.parameters import Ambiguous, is_amount_of, with_short
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.playbook import Playbook
from tests.compiler.test_compile import compiled, decisions
from tests.support.recorded_runs import Act, Page, page, record

GOAL = "Order this."


def form(article: str = "", amount: str = "", said: str = "") -> Page:
    texts = [(20, 10, "ORDER FORM"), (20, 60, "Article"), (20, 100, "Amount"), (20, 150, "Send")]
    return page(*texts, *([(20, 300, said)] if said else []), fields=[(140, 55, article), (140, 95, amount)])


def made(home: Path, amount: str, data: dict[str, Any] | None) -> tuple[Playbook, dict[str, Any], str]:
    acts = [
        Act(form(), click="Article"),
        Act(form(), write="paper"),
        Act(form("paper"), click="Amount"),
        Act(form("paper"), write=amount),
        Act(form("paper", amount), click="Send"),
    ]
    goal = GOAL if data is None else f"{GOAL}\n\n{quoted(data)}"
    return compiled(home, record(home, "one", goal, acts, form(said="Sent as S-4137"), "Sent as S-4137"))


@pytest.mark.parametrize(("amount", "other"), [("3", "5"), ("3h", "5h"), ("3 km", "5 km")])
def test_a_typed_value_of_one_character_is_a_parameter(tmp_path: Path, amount: str, other: str) -> None:
    playbook, _, text = made(tmp_path, amount, {"article": "paper", "amount": "3"})
    assert set(playbook.goals["look-up"].params) == {"article", "amount"}, text
    pages = form(), form(), form("glue"), form("glue")
    calls = [one.step["tool_call"] for one in decisions(playbook, {"article": "glue", "amount": "5"}, *pages)]
    assert calls[-1]["content"] == other


def test_a_character_in_another_text_is_no_value_of_the_item(tmp_path: Path) -> None:
    playbook, _, text = made(tmp_path, "B3", {"article": "paper", "floor": "3"})
    assert set(playbook.goals["look-up"].params) == {"article", "amount"}, text


def test_an_empty_value_of_the_item_makes_no_constant_of_a_typed_text(tmp_path: Path) -> None:
    playbook, _, text = made(tmp_path, "two boxes", {"article": "paper", "comment": ""})
    assert set(playbook.goals["look-up"].params) == {"article", "amount"}, text


@pytest.mark.parametrize(("typed", "name"), [("a dozen", "amount_2"), ("12 boxes", "amount"), ("12", "amount")])
def test_a_text_in_the_field_of_another_value_is_no_constant(tmp_path: Path, typed: str, name: str) -> None:
    """The recorded text would be typed for every item."""
    playbook, _, text = made(tmp_path, typed, {"article": "paper", "amount": "12"})
    assert set(playbook.goals["look-up"].params) == {"article", name}, text
    assert f"{{{name}}}" in text


def test_one_typed_character_in_a_recording_by_hand_is_a_parameter(tmp_path: Path) -> None:
    playbook, _, text = made(tmp_path, "3", None)
    assert set(playbook.goals["look-up"].params) == {"article", "amount"}, text


def test_a_typed_character_that_two_values_have_is_left_to_the_model(tmp_path: Path) -> None:
    playbook, _, text = made(tmp_path, "3", {"article": "paper", "amount": "3", "floor": "3"})
    assert "the typed text equals two values of the item: amount, floor" in text
    assert set(playbook.goals["look-up"].params) == {"article"}


@pytest.mark.parametrize("text", ["B3", "3rd", "13", "3.50", "Chapter 3", "3A", ""])
def test_only_a_digit_with_its_unit_is_an_amount(text: str) -> None:
    assert not is_amount_of(text, "3")
    assert with_short(text, {"amount": "3"}) == text


def test_a_letter_is_a_value_only_alone() -> None:
    assert with_short("A", {"class": "A"}) == "{class}"
    assert with_short("A4", {"class": "A"}) == "A4"
    with pytest.raises(Ambiguous):
        with_short("3h", {"hours": "3", "floor": 3})
