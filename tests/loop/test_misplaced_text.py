"""A text is withheld after a click that changed nothing, if the text would go to another field."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Click, Gesture, Pause, Write
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import Outcome, Verdict
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.presses.misplaced_text import MisplacedText
from tests.support.element_trees import TellsTree, element, focused, tree_of, window
from tests.support.painted_desktop import SIZE, WHOLE, PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, a_step, as_model, shot, walk_of, work, wrote

COUNT, PLACE = Box(150, 20, 100, 20), Box(150, 100, 100, 20)
PLACE_LABEL, COUNT_LABEL, GROUND = Box(20, 100, 60, 20), Box(20, 20, 60, 20), Box(20, 160, 60, 20)
FIELD = element("text field", "Count", COUNT)
FORM = tree_of(window(WHOLE), focused(FIELD), element("text field", "Place", PLACE))
OUTCOMES: tuple[Outcome, ...] = ("unchanged", "changed")
DONE, TEXT = step("answer", content="done"), step("write", content="B7", overwrite=True)
TOLD = "Nothing was typed: your last click changed nothing, and the keyboard is in another field, at"


def click(box: Box) -> Any:
    x, y = (box.center.x + 0.5) * 1000 / WHOLE.width, (box.center.y + 0.5) * 1000 / WHOLE.height
    return step("click", element="the field", x=round(x), y=round(y))


async def did(tree: ElementTree, *calls: Any, frozen: bool = True) -> tuple[list[Gesture], str]:
    """Return the gestures of a model's calls in a program, and the last messages that the model gets."""
    desktop, model = PaintedDesktop(frozen=frozen), MemoryModel([wrote(each) for each in (*calls, DONE)])
    walk = walk_of(as_model(model), desktop=desktop)
    walk.services = replace(walk.services, elements=Elements(TellsTree(tree)))
    await work(walk)
    gestures = [gesture for gesture in desktop.gestures if not isinstance(gesture, Pause)]
    return gestures, json.dumps(model.bodies[-1]["messages"], ensure_ascii=False)


@pytest.mark.parametrize("clicked", [PLACE_LABEL, GROUND])
async def test_a_text_for_another_field_is_withheld_once(clicked: Box) -> None:
    gestures, said = await did(FORM, click(clicked), TEXT, click(PLACE))
    assert [type(each) for each in gestures] == [Click, Click]
    assert TOLD in said


async def test_a_repeated_call_is_carried_out() -> None:
    gestures, _ = await did(FORM, click(GROUND), TEXT, TEXT)
    assert [type(each) for each in gestures] == [Click, Write]


@pytest.mark.parametrize(
    ("tree", "clicked", "frozen"),
    [
        pytest.param(FORM, COUNT, True, id="the field itself"),
        pytest.param(FORM, COUNT_LABEL, True, id="its label at the left"),
        pytest.param(FORM, Box(150, 0, 40, 10), True, id="its label above"),
        pytest.param(FORM, PLACE, False, id="the click changed something"),
        pytest.param(tree_of(window(WHOLE), FIELD), GROUND, True, id="no focus is reported"),
        pytest.param(tree_of(window(WHOLE), focused(element("terminal", "", COUNT))), GROUND, True, id="no field"),
    ],
)
async def test_other_texts_are_typed(tree: ElementTree, clicked: Box, frozen: bool) -> None:
    gestures, said = await did(tree, click(clicked), TEXT, frozen=frozen)
    assert [type(each) for each in gestures] == [Click, Write]
    assert "Nothing was typed" not in said


@pytest.mark.parametrize(
    ("shown", "at", "is_told"),
    [
        pytest.param(COUNT, Point(300, 190), True, id="far from the click"),
        pytest.param(COUNT, Point(60, 30), False, id="right of the click"),
        pytest.param(COUNT, Point(160, 60), False, id="near the click"),
        pytest.param(WHOLE, Point(300, 190), False, id="everywhere"),
        pytest.param(None, Point(300, 190), False, id="nowhere"),
    ],
)
def test_without_elements_the_model_is_told_where_the_text_is(shown: Box | None, at: Point, is_told: bool) -> None:
    text = a_step("write", content="B7").tool_call
    for outcome in OUTCOMES:
        guard = MisplacedText()
        guard.did(Click(at), Verdict(outcome, None))
        said = guard.afterwards(text, Verdict("changed", shown), shot(size=SIZE), "thousandths")
        assert ("the text is at another place, around (627, 152)" in said) is (is_told and outcome == "unchanged")
    assert guard.afterwards(a_step().tool_call, Verdict("changed", shown), shot(size=SIZE), "thousandths") == ""
