"""A busy program takes a typed text letter by letter: a field with a part of the text is read again for a while."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.texts.typed_text import Kind, TypedText
from holo_tasks.loop import read_back
from holo_tasks.loop.read_back import ReadBack

TYPED = Write(text="B-2007", overwrite=True)


async def compared(monkeypatch: pytest.MonkeyPatch, reads: Iterator[tuple[Kind, str]], expected: str = "") -> TypedText:
    """Return the result for a field that reads one after the other give, in place of a program's tree."""

    async def compare_in_trees(*_: Any) -> TypedText:
        kind, held = next(reads)
        return TypedText(kind, held=held)

    typed: Any = ReadBack(_expected=expected)
    typed._tree, typed._compare_in_trees = ElementTree(), compare_in_trees
    monkeypatch.setattr(read_back, "AGAIN_S", 0.001)
    found = await typed._compare_by_tree(None, TYPED, None, None)
    assert isinstance(found, TypedText)
    return found


@pytest.mark.parametrize("part", [("cut_off", "B"), ("lost", "B20"), ("lost", " "), ("empty", "")])
async def test_a_text_that_arrives_late_is_no_difference(
    monkeypatch: pytest.MonkeyPatch, part: tuple[Kind, str]
) -> None:
    found = await compared(monkeypatch, iter([*[part] * 9, ("exact", "B-2007")]))
    assert found.kind == "exact"


async def test_a_text_that_stays_cut_off_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def same() -> Iterator[tuple[Kind, str]]:
        while True:
            yield "cut_off", "B-20"

    monkeypatch.setattr(read_back, "ARRIVES_S", 0.01)
    found = await compared(monkeypatch, same())
    assert (found.kind, found.held) == ("cut_off", "B-20")


async def test_another_text_is_a_difference_after_two_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await compared(monkeypatch, iter([("another", "Bern")] * 2))
    assert found.kind == "another"


@pytest.mark.parametrize("expected", ["B-20", "*"])
async def test_a_cut_off_text_that_is_expected_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, expected: str
) -> None:
    """A playbook says so in ``shows`` if the recorded field was too short for its text."""
    found = await compared(monkeypatch, iter([("cut_off", "B-20")] * 2), expected)
    assert (found.kind, found.held) == ("cut_off", "B-20")
