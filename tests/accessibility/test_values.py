"""Texts of fields, and parts of dates, that a program tells late, in part or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Question
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.values import MOST_VALUES, read_values

SHOWN = protocol.SHOWING | protocol.EDITABLE


class Program:
    """A connection to a program that answers each question by a function."""

    def __init__(self, answer: Callable[[Question], Any]) -> None:
        self.answer = answer

    async def all(self, _: str, questions: Sequence[Question]) -> list[Any]:
        return [self.answer(each) for each in questions]


async def read(answer: Callable[[Question], Any], nodes: Sequence[Node], only: Sequence[str] | None = None) -> bool:
    return await read_values(Program(answer), "x", nodes, only)  # type: ignore[arg-type]


def field(path: str = "/f") -> Node:
    return Node(path, "text field", "Settled", SHOWN, texts=True)


def tells(text: str | None, count: int | None) -> Callable[[Question], Any]:
    return lambda asked: text if asked.member == "GetText" else count if "CharacterCount" in asked.body else None


@pytest.mark.parametrize(
    ("text", "count", "is_empty"),
    [("", 0, True), (None, 0, True), ("   ", 3, False), ("", 3, False), (None, None, False), ("", None, False)],
    ids=["empty", "empty in Firefox", "blanks", "not told", "no answer", "no count"],
)
async def test_a_field_is_empty_only_if_its_program_tells_that_it_has_no_characters(
    text: str | None, count: int | None, is_empty: bool
) -> None:
    node = field()
    await read(tells(text, count), [node])
    assert (node.value, node.is_empty) == ("", is_empty)


async def test_a_field_that_is_filled_with_blanks_is_empty_no_more() -> None:
    node = field()
    await read(tells("", 0), [node])
    assert await read(tells(" ", 1), [node]), "a change"
    assert not node.is_empty


async def test_a_field_that_was_not_asked_is_not_known_to_be_empty() -> None:
    nodes = [field(f"/{number}") for number in range(MOST_VALUES + 1)]
    await read(tells("", 0), nodes)
    assert [node.is_empty for node in nodes[-2:]] == [True, False]
