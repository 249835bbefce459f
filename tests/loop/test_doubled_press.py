"""A second press on a button with an effect is withheld once, although the screen changed after the first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holo_tasks.core.input.gestures import Click, Gesture
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.verdicts import Verdict
from holo_tasks.loop.presses.doubled_press import DoubledPress
from holo_tasks.loop.presses.press_once import EffectButtons
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, a_step, as_model, walk_of, work, wrote

DONE, WAIT, TEXT = step("answer", content="done"), step("wait", seconds=0.1), step("write", content="x")

AT, CHANGED = Click(Point(100, 100)), Verdict("changed", None)


def click(words: str = "Store ticket", x: int = 500, **more: Any) -> Any:
    return step("click", element=words, x=x, y=500, **more)


async def did(*calls: Any) -> tuple[list[Gesture], str]:
    """Return the presses of a model's calls on a desktop that changes after each, and the last messages."""
    desktop, model = PaintedDesktop(), MemoryModel([wrote(each) for each in (TEXT, *calls, DONE)])
    await work(walk_of(as_model(model), desktop=desktop))
    return [each for each in desktop.gestures if isinstance(each, Click)], json.dumps(model.bodies[-1]["messages"])


@pytest.mark.parametrize(
    "calls", [(click(), click()), (click(), WAIT, click()), (click(), click("the Store button", 502))]
)
async def test_a_doubled_press_is_withheld(calls: tuple[Any, ...]) -> None:
    presses, said = await did(*calls)
    assert len(presses) == 1
    assert "Nothing was pressed: your last action was a press on" in said


@pytest.mark.parametrize(("label", "looks"), [("Store", 1), ("St*re", 1), ("Print", 0), ("Tor", 0), ("Stor", 0)])
async def test_a_declared_button_is_looked_up_and_its_press_not_withheld_before(label: str, looks: int) -> None:
    looked = 0

    async def not_done() -> bool:
        nonlocal looked
        looked += 1
        return True

    model = MemoryModel([wrote(each) for each in (TEXT, click("Store"), click("Store"), DONE)])
    await work(walk_of(as_model(model)), effect_buttons=EffectButtons((label,), not_done))
    said = json.dumps(model.bodies[-1]["messages"])
    assert looked == looks
    assert ("your last action was a press on" in said) == (looks == 0)


@pytest.mark.parametrize(
    "words",
    [
        "Save below the Amount field",
        "Add to wish list button",
        "Submit, at the end of the list",
        "the blue button in the form that says Save",
    ],
)
async def test_a_button_beside_a_field_or_a_list_is_a_button(words: str) -> None:
    presses, said = await did(click(words), click(words))
    assert len(presses) == 1
    assert "Nothing was pressed: your last action was a press on" in said


async def test_the_message_names_the_earlier_press() -> None:
    _, said = await did(click("the Store button"), click("Store ticket"))
    assert "your last action was a press on the Store button, and" in said


@pytest.mark.parametrize(
    "words",
    [
        "Order number field",
        "Post code text field",
        "Send-to field",
        "Store drop-down list",
        "Book title cell",
        "Check out date picker: next month arrow",
        "Add one more (+) button",
    ],
)
async def test_a_control_that_is_pressed_repeatedly_is_no_button_with_an_effect(words: str) -> None:
    presses, said = await did(click(words), click(words))
    assert len(presses) == 2
    assert "Nothing was pressed" not in said


def test_presses_after_the_work_of_a_person_are_made() -> None:
    guard, press, text = (
        DoubledPress(),
        a_step(**click()["tool_call"]).tool_call,
        a_step("write", content="x").tool_call,
    )
    for forgets in (False, True):
        guard.did(text, None, CHANGED, 1)
        if forgets:
            guard.forget()
        guard.did(press, AT, CHANGED, 2)
        assert bool(guard.withhold(press, AT, 3)) is not forgets


async def test_a_repeated_call_is_carried_out() -> None:
    presses, _ = await did(click(), click(), click())
    assert len(presses) == 2


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((click("Next"), click("Next")), id="a button without an effect"),
        pytest.param((click("Apply"), click("Next", 300), click(), click()), id="nothing was typed"),
        pytest.param((click(), TEXT, click()), id="a text between"),
        pytest.param((click(), click("Name field", 300), click()), id="a press between"),
        pytest.param((click(), click("Store copy", 700)), id="another button"),
        pytest.param(
            (click("Save button"), click("Confirm button in the dialog that appeared")),
            id="another button at the place",
        ),
        pytest.param((click("Delete in row 1"), click("Delete in row 2")), id="another row there"),
        pytest.param((click("Add"), click("Add", button="right")), id="another mouse button"),
    ],
)
async def test_other_presses_are_made(calls: tuple[Any, ...]) -> None:
    presses, said = await did(*calls)
    assert len(presses) == sum(each is not TEXT for each in calls)
    assert "Nothing was pressed" not in said
