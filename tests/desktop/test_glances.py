"""A control opened by the first press of a gesture gets no further input; normal double clicks and drags work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.input.gestures import Click, Drag, Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Settle, VirtualDesktop
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote


class Presses:
    """The program with the controls, and its log of presses."""

    def __init__(self, desktop: VirtualDesktop, log: Path) -> None:
        self.desktop, self.log = desktop, log
        self._places = next(places for kind, places in self.all() if kind == "at")

    def all(self) -> list[Any]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def at(self, name: str) -> Point:
        return Point(*self._places[name])

    async def do(self, gesture: Gesture) -> tuple[Receipt, list[Any]]:
        """Perform a gesture as `decided` does; return its receipt and the program's log entries."""
        before = len(self.all())
        receipt = await decided(self.desktop, gesture)
        await self.desktop.look(after_action=True)
        return receipt, self.all()[before:]


async def decided(desktop: VirtualDesktop, gesture: Gesture) -> Receipt:
    """Perform a gesture that was decided on the newest frame."""
    frame = (await desktop.look()).number
    return await desktop.do(
        gesture, input_permit=InputPermit(gesture_digest(gesture), time.monotonic() + 60, frame=frame)
    )


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, probe: Callable[..., list[str]]) -> Iterator[Presses]:
    log = tmp_path_factory.mktemp("presses") / "log"
    desktop = asyncio.run(VirtualDesktop.start(app=probe("presses", log), settle=Settle(first_change_s=0.1)))
    end = time.monotonic() + 20
    while not (log.exists() and '"at"' in log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.01)
    yield Presses(desktop, log)
    asyncio.run(desktop.close())


@pytest.mark.parametrize(("control", "got"), [("next", "next"), ("slow", "proceed"), ("wide", "wide")])
async def test_a_control_that_replaces_a_pressed_button_does_not_get_the_second_press(
    stage: Presses, control: str, got: str
) -> None:
    receipt, said = await stage.do(Click(stage.at(control), count=2))
    assert said == [[got]]
    assert receipt.left_out.startswith("Only press 1 of 2 was made")


@pytest.mark.parametrize(
    ("control", "count", "got"),
    [
        ("button", 2, [["more"], ["more"]]),
        ("button", 3, [["more"]] * 3),
        ("themed", 2, [["themed"], ["themed"]]),
        ("toggle", 2, [["toggled"], ["toggled"]]),
        ("row", 2, [["row", "Invoice 3 of January"]]),
        ("blank of row", 2, [["row", "Invoice 3 of January"]]),
        ("tree", 2, [["tree", "TX-1"]]),
        ("word", 2, [["selected", ""], ["selected", "second"]]),
        ("word", 3, [["selected", ""], ["selected", "second"], ["selected", "first second third\n"]]),
        ("entry", 3, [["entered", ""], ["entered", "alpha"], ["entered", "alpha beta gamma"]]),
    ],
)
async def test_a_control_that_only_looks_pressed_gets_all_presses(
    stage: Presses, control: str, count: int, got: list[Any]
) -> None:
    receipt, said = await stage.do(Click(stage.at(control), count=count))
    assert (receipt.left_out, said) == ("", got)


async def test_the_model_and_the_trace_receive_the_omitted_part() -> None:
    class Stopping(PaintedDesktop):
        async def do(self, gesture: Gesture, **_: Any) -> Receipt:
            return replace(await super().do(gesture), left_out="Only press 1 of 2 was made.")

    says = [wrote(step("double_click", element="OK", x=500, y=500)), wrote(step("answer", content="done"))]
    recorder, model = MemoryRecorder(), MemoryModel(lambda number, body: says[number])
    await work(walk_of(as_model(model), desktop=Stopping(), recorder=recorder))
    assert "Done: double_click. Only press 1 of 2 was made." in str(model.bodies[-1])
    assert [event.reason for event in recorder.of("correction")] == ["Only press 1 of 2 was made."]
    assert len(recorder.of("receipt")) == 1


@pytest.mark.parametrize(("control", "end"), [("actions", "menu end"), ("drawer", "drawer end")])
async def test_a_drag_does_not_end_on_a_control_opened_by_its_press(stage: Presses, control: str, end: str) -> None:
    receipt, said = await stage.do(Drag(stage.at(control), stage.at(end)))
    assert said in ([], [["released", False]])
    assert receipt.left_out.startswith("The drag was stopped")
    await stage.desktop.do(Click(stage.at("tray")))


@pytest.mark.parametrize(
    ("start", "end", "got"),
    [
        ("word", "word end", "selected"),
        ("scale", "scale end", "scaled"),
        ("item", "tray", "dropped"),
        ("source", "target", "carried"),
    ],
)
async def test_a_dragged_object_arrives(stage: Presses, start: str, end: str, got: str) -> None:
    receipt, said = await stage.do(Drag(stage.at(start), stage.at(end)))
    kind, what = said[-1]  # on a busy machine the report of the previous gesture arrives late
    assert (receipt.left_out, kind, bool(what)) == ("", got, True)
