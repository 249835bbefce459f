"""Texts of fields, and parts of dates, that a program tells late, in part or not at all."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Question
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.values import LIMITS, MOST_VALUES, read_values

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


@pytest.mark.parametrize(
    ("text", "is_outside"),
    [("99.99", False), ("0.1", False), ("50", False), ("100", True), ("0.09", True), ("99.991", True)],
)
@pytest.mark.parametrize("form", ["f", "d"], ids=["single precision", "double precision"])
async def test_a_number_at_a_rounded_limit_is_not_outside(text: str, is_outside: bool, form: str) -> None:
    """Chromium keeps limits with single precision: 99.99 is reported as 99.98999786."""
    reported = dict(zip(LIMITS, [float(text), 0.1, 99.99], strict=True))
    rounded = {word: struct.unpack(form, struct.pack(form, number))[0] for word, number in reported.items()}
    node = Node("/f", "spin button", "Amount", SHOWN, texts=True, ranges=True)
    await read(lambda asked: text if asked.member == "GetText" else rounded.get(str(asked.body[-1])), [node])
    assert node.is_number
    assert node.is_outside is is_outside


def dates(count: int) -> list[Node]:
    """Return a window with date fields of three parts each."""
    nodes = [Node("/w", "window", "Dates", protocol.SHOWING)]
    for number in range(count):
        place = len(nodes)
        nodes.append(Node(f"/d{number}", "date editor", "", protocol.SHOWING, 0))
        nodes += [
            Node(f"/d{number}/{part}", "spin button", "", protocol.SHOWING, place, ranges=True) for part in range(3)
        ]
    return nodes


def shown(nodes: Sequence[Node]) -> list[str]:
    return [node.value for node in nodes if node.role == "date editor"]


def told(part: Callable[[str], dict[str, str] | None]) -> Callable[[Question], Any]:
    """Return the answers of a program that tells the attributes of a part by its path, and nothing else."""
    return lambda asked: part(asked.path) if asked.member == "GetAttributes" else None


def all_parts(text: str) -> Callable[[Question], Any]:
    return told(lambda _: {"valuetext": text})


async def test_a_date_whose_parts_were_not_all_asked_keeps_its_value() -> None:
    nodes = dates(36)
    await read(all_parts("07"), nodes)
    assert shown(nodes) == ["070707"] * 33 + [""] * 3, "33 dates have 99 parts"
    await read(all_parts("08"), nodes, only=["/w"])
    assert shown(nodes) == ["070707"] * 33 + ["070808"] + ["080808"] * 2, "parts that were never told are asked"
    await read(all_parts("09"), nodes)
    assert shown(nodes) == ["090909"] * 33 + ["070808"] + ["080808"] * 2


async def test_a_part_without_an_answer_keeps_its_text() -> None:
    nodes = dates(2)
    await read(all_parts("07"), nodes)
    parts = [node.path for node in nodes[2:5]]
    await read(lambda _: None, nodes, only=parts)
    assert shown(nodes) == ["070707"] * 2
    await read(told(lambda path: {"valuetext": "08"} if path == "/d0/1" else None), nodes)
    assert shown(nodes) == ["070807", "070707"]


async def test_a_part_that_is_told_to_be_empty_is_empty() -> None:
    nodes = dates(1)
    await read(all_parts("07"), nodes)
    await read(told(lambda path: {"valuetext": "0" if path == "/d0/1" else "07"}), nodes)
    assert shown(nodes) == ["07--07"]
    await read(told(lambda _: {}), nodes)
    assert shown(nodes) == [""]


def combo(text: str, *inside: Node) -> list[Node]:
    """Return a combo box of a page whose text is reported so, with elements inside."""
    page = Node("/d", "document", "Orders", protocol.SHOWING)
    return [page, Node("/c", "combo box", "Status", protocol.SHOWING, 0, texts=True, value=text), *inside]


@pytest.mark.parametrize(
    ("text", "inside", "value"),
    [
        pytest.param("\ufffc", [Node("/l", "label", "Paid", protocol.SHOWING, 1)], "Paid", id="a text inside"),
        pytest.param(
            "\ufffc",
            [
                Node("/o", "list item", "Paid", protocol.SHOWING, 1),
                Node("/l", "label", "Paid", protocol.SHOWING, 2),
            ],
            "",
            id="a text in the open list",
        ),
        pytest.param("Paid\ufffc", [], "Paid", id="the sign of an arrow after the text"),
        pytest.param("\ufffc", [], "", id="nothing inside"),
        pytest.param("\ufffc", [Node(f"/{n}", "label", n, protocol.SHOWING, 1) for n in "ab"], "", id="two texts"),
        pytest.param(
            "\ufffc",
            [
                Node("/l", "label", "New", protocol.SHOWING, 1),
                Node("/o", "list item", "Paid", protocol.SHOWING | protocol.SELECTED, 1),
            ],
            "Paid",
            id="a chosen option",
        ),
    ],
)
async def test_the_value_of_a_chooser_that_a_page_draws_is_its_shown_option(
    text: str, inside: list[Node], value: str
) -> None:
    nodes = [replace(each) for each in combo(text, *inside)]
    await read(lambda asked: text if asked.member == "GetText" else None, nodes)
    assert nodes[1].value == value


async def test_a_text_inside_a_chooser_of_another_program_is_not_its_value() -> None:
    nodes = [
        replace(each, parent=each.parent - 1) for each in combo("", Node("/l", "label", "Hint", protocol.SHOWING, 1))
    ]
    await read(lambda asked: "\ufffc" if asked.member == "GetText" else None, nodes[1:])
    assert nodes[1].value == ""
