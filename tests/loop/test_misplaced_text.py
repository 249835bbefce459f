"""A text is withheld after a click that changed nothing, if the text would go to another field."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Click, Gesture, Pause, Write
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, AnyCall, AskHumanCall, MacroCall
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import Outcome, Verdict
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.presses.misplaced_text import MisplacedText
from holo_tasks.loop.walk import Walk
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


@pytest.mark.parametrize("role", ["panel", "tree table"])
async def test_a_text_that_would_select_a_row_of_a_list_is_withheld_once(role: str) -> None:
    # The click was on a field of a disabled window, and the keyboard is in the list of the dialog over it.
    sites = focused(element(role, "", Box(20, 60, 280, 120)))
    gestures, said = await did(tree_of(window(WHOLE), FIELD, sites), click(COUNT), TEXT)
    assert [type(each) for each in gestures] == [Click]
    assert TOLD.replace("field", "control") in said
    gestures, _ = await did(tree_of(window(WHOLE), FIELD, sites), click(Box(60, 80, 20, 20)), TEXT)
    assert [type(each) for each in gestures] == [Click, Write]


STREET, CITY = Box(150, 60, 100, 20), Box(150, 85, 100, 20)
COLUMN = tree_of(window(WHOLE), element("text field", "Street", STREET), focused(element("text field", "City", CITY)))
FIRST, LAST = Box(20, 60, 100, 20), Box(150, 60, 100, 20)
ROW = tree_of(window(WHOLE), element("text field", "First name", FIRST), focused(element("text field", "Last", LAST)))
EDITOR, FIND = Box(10, 10, 300, 180), Box(150, 60, 100, 20)
OVER_EDITOR = [window(WHOLE), element("text field", "", EDITOR), focused(element("text field", "Find", FIND))]
OVER_EDITOR.append(element("label", "Find:", Box(100, 60, 40, 20)))
INNER = tree_of(
    window(WHOLE),
    element("spin button", "Count", Box(20, 60, 230, 20)),
    focused(element("text field", "", Box(150, 60, 80, 20), parent=1)),
)


@pytest.mark.parametrize(
    ("tree", "clicked"),
    [
        pytest.param(COLUMN, STREET, id="right above"),
        pytest.param(COLUMN, Box(150, 78, 100, 2), id="at the edge"),
        pytest.param(ROW, FIRST, id="in the same row"),
    ],
)
async def test_a_click_into_another_field_is_not_one_on_a_label(tree: ElementTree, clicked: Box) -> None:
    gestures, said = await did(tree, click(clicked), TEXT)
    assert [type(each) for each in gestures] == [Click]
    assert TOLD in said


@pytest.mark.parametrize(
    ("tree", "clicked"),
    [
        pytest.param(tree_of(*OVER_EDITOR), Box(100, 60, 40, 20), id="the label of a field"),
        pytest.param(INNER, Box(20, 60, 100, 20), id="the field around it"),
    ],
)
async def test_a_click_on_a_label_or_a_part_of_the_field_is_for_the_field(tree: ElementTree, clicked: Box) -> None:
    gestures, said = await did(tree, click(clicked), TEXT)
    assert [type(each) for each in gestures] == [Click, Write]
    assert "Nothing was typed" not in said


async def test_a_wait_after_the_click_changes_nothing() -> None:
    gestures, said = await did(FORM, click(GROUND), step("wait", seconds=0.1), TEXT)
    assert [type(each) for each in gestures] == [Click]
    assert TOLD in said


def test_a_wait_in_which_something_changed_may_show_the_effect_of_the_click() -> None:
    text = a_step("write", content="B7").tool_call
    for outcome in OUTCOMES:
        guard = MisplacedText()
        guard.did(Click(Point(300, 190)), Verdict("unchanged", None))
        guard.did(Pause(1.0), Verdict(outcome, None))
        said = guard.afterwards(text, Verdict("changed", COUNT), shot(size=SIZE), "thousandths")
        assert bool(said) is (outcome == "unchanged")


@pytest.mark.parametrize(
    "between", [AskHumanCall(tool_name="ask_human", question="?"), MacroCall(tool_name="macro", name="go")]
)
async def test_what_a_person_or_a_sequence_did_is_not_compared(between: AnyCall) -> None:
    class Helper:
        async def help(self, walk: Any, question: str) -> str:
            return "A person helped."

    async def macro(*_: Any) -> tuple[str, bool]:
        return "Done.", False

    calls = [a_step(**click(GROUND)["tool_call"]).tool_call, between, a_step("write", content="B7").tool_call]
    steps = [Step(thought="", tool_call=call) for call in (*calls, AnswerCall(tool_name="answer", content="done"))]
    desktop = PaintedDesktop(frozen=True)
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop)
    walk.services = replace(walk.services, elements=Elements(TellsTree(FORM)), person=Helper())

    async def decide(walk: Walk, final: bool) -> Step:
        return steps.pop(0)

    await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=9, macro=macro)
    assert [type(each) for each in desktop.gestures] == [Click, Write]


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
