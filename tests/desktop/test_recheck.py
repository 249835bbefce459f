"""A change between capture and input on a real display: the click is refused, and the screen is captured again."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey, Write
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop import Settle, VirtualDesktop
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script_view import ScreenReader
from tests.support.inputs import Inputs, witness
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

FIRST_OPEN, SUBMIT, FIELD = (295, 60), (120, 358), (150, 290)
Order = Callable[[], None]


class Probe:
    """The program, its log, and the X server's log of sent input."""

    def __init__(self, desktop: VirtualDesktop, command: list[str], log: Path, inputs: Inputs) -> None:
        self.desktop, self.log, self.inputs = desktop, log, inputs
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        self.program = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True)
        self.corner = self.until("mapped")[1:]

    def said(self, *kinds: str) -> list[Any]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for line in lines if (event := json.loads(line))[0] in kinds]

    def until(self, kind: str, before: int = 0) -> Any:
        """Wait until the program has logged this kind of event more than ``before`` times."""
        end = time.monotonic() + 20
        while len(found := self.said(kind)) <= before:
            assert time.monotonic() < end, f"waited for {kind}"
            time.sleep(0.01)
        return found[-1]

    def tell(self, order: str, until: str = "told") -> None:
        assert self.program.stdin is not None
        before = len(self.said(until))
        self.program.stdin.write(order + "\n")
        self.program.stdin.flush()
        self.until(until, before)

    def at(self, place: tuple[int, int]) -> Point:
        return Point(self.corner[0] + place[0], self.corner[1] + place[1])

    def walk(self, says: list[tuple[dict[str, Any], Order]], *, recheck: bool = True, **options: Any) -> Walk:
        """Return a walk whose model makes these calls, with an action on the screen before each."""

        def script(number: int, body: Any) -> Any:
            said, happens = [*says, (step("answer", content="done"), lambda: None)][min(number, len(says))]
            happens()
            return wrote(said)

        walk = walk_of(as_model(MemoryModel(script)), desktop=self.desktop, recorder=MemoryRecorder())
        walk.services = type(walk.services)(**{**vars(walk.services), "recheck": recheck, **options})
        return walk

    def click(self, place: tuple[int, int]) -> dict[str, Any]:
        at = self.at(place)
        x, y = (round(1000 * (v + 0.5) / size) for v, size in ((at.x, 1280), (at.y, 800)))
        return step("click", element="it", x=x, y=y)


def nothing() -> None:
    pass


def of(walk: Walk, kind: str) -> list[Any]:
    recorder = walk.services.recorder
    assert isinstance(recorder, MemoryRecorder)
    return recorder.of(kind)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VirtualDesktop, Inputs]]:
    log = tmp_path_factory.mktemp("recheck") / "inputs"
    desktop = asyncio.run(VirtualDesktop.start(settle=Settle(first_change_s=0.1)))
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    with subprocess.Popen(witness(log), env=env) as watching:
        while not Inputs(log).ready:
            time.sleep(0.01)
        yield desktop, Inputs(log)
        watching.kill()
    asyncio.run(desktop.close())


@pytest.fixture
def probe(shown: tuple[VirtualDesktop, Inputs], probe: Callable[..., list[str]], tmp_path: Path) -> Iterator[Probe]:
    one = Probe(shown[0], probe("moving", tmp_path / "log"), tmp_path / "log", shown[1])
    yield one
    one.program.kill()
    one.program.wait()


@pytest.mark.parametrize("recheck", [True, False])
@pytest.mark.parametrize(("order", "wrong"), [("shift", ["open", "TX-1039"]), ("popup", ["discarded"])])
async def test_a_changed_target_is_not_clicked(probe: Probe, order: str, wrong: list[str], recheck: bool) -> None:
    before = len(probe.inputs.sent())
    walk = probe.walk([(probe.click(FIRST_OPEN), lambda: probe.tell(order))], recheck=recheck)
    await work(walk)
    await probe.desktop.look()
    assert probe.said("open", "discarded") == ([] if recheck else [wrong])
    assert (len(probe.inputs.sent()) == before) is recheck
    assert len(of(walk, "looked_again")) == recheck
    told = str(walk.services.model.client.bodies[-1])  # type: ignore[attr-defined]
    assert ("Nothing was done." in told) is recheck


RECORD = """
name: Records
goals:
  submit:
    params: {record: text}
    rules:
    - {id: submit, screen: ["Record {record}", Submit], do: [{click: Submit, thought: Submit it.}]}
"""


async def of_a_record(probe: Probe) -> tuple[Walk, Step, tuple[Box, ...]]:
    """Return a walk with a playbook's step on the visible record, and the areas that name the record."""
    probe.tell("title")
    walk = probe.walk([])
    brain = PlaybookBrain(parse_playbook(RECORD), "submit", {"record": "TX-1040"}, ScreenReader())
    await walk.look()
    walk.begin()
    decided = await brain.decide(walk)
    await walk.record_decision(decided)
    return walk, decided, brain.intent.held


@pytest.mark.parametrize("held", [True, False])
async def test_no_press_is_sent_once_the_screen_shows_another_item(probe: Probe, held: bool) -> None:
    walk, decided, boxes = await of_a_record(probe)
    walk.held = boxes if held else ()
    probe.tell("next")
    with pytest.raises(ScreenChanged, match="names the item") if held else nullcontext():
        await walk.act(decided)
    await probe.desktop.look()
    assert probe.said("ignored") == ([] if held else [["ignored"]])


async def test_an_item_still_on_the_screen_blocks_no_press(probe: Probe) -> None:
    walk, decided, walk.held = await of_a_record(probe)
    assert walk.held
    probe.tell("shift")  # which is elsewhere on the screen
    await walk.act(decided)
    await probe.desktop.look()
    assert probe.said("ignored") == [["ignored"]]


@pytest.mark.parametrize("recheck", [True, False])
@pytest.mark.parametrize("call", [step("write", content="x"), step("hotkey", keys=["x"])], ids=["write", "hotkey"])
async def test_keys_do_not_go_to_a_window_that_took_the_keyboard(probe: Probe, call: Any, recheck: bool) -> None:
    says = [(probe.click(FIELD), nothing), (call, lambda: probe.tell("focus", "focused"))]
    walk = probe.walk(says, recheck=recheck)
    await work(walk)
    await probe.desktop.look()
    assert probe.said("field") == []
    assert [key for _, key in probe.said("popup key")] == ([] if recheck else ["x"])
    assert len(of(walk, "looked_again")) == recheck


async def test_the_click_is_sent_after_another_capture(probe: Probe) -> None:
    click = probe.click(FIRST_OPEN)
    await work(probe.walk([(click, lambda: probe.tell("shift")), (click, nothing)]))
    await probe.desktop.look()
    assert probe.said("open") == [["open", "TX-1039"]]


async def test_a_blinking_caret_blocks_no_input(probe: Probe) -> None:
    says = [(probe.click(FIELD), nothing), (step("write", content="a"), nothing), (probe.click(FIELD), nothing)]
    says += [(step("write", content=letter), lambda: time.sleep(0.35)) for letter in "bcd"]
    walk = probe.walk(says)
    await work(walk)
    await probe.desktop.look()
    assert probe.said("field")[-1] == ["field", "abcd"]
    assert of(walk, "looked_again") == []


async def test_constant_motion_in_a_targets_row_does_not_block_its_click(probe: Probe) -> None:
    probe.tell("spin")
    # on a busy machine, motion that is drawn too seldom counts as a change, and the click is refused
    for _ in range(4):
        await work(probe.walk([(probe.click(FIRST_OPEN), nothing)]))
        if opened := probe.said("open"):
            break
    assert opened == [["open", "TX-1040"]]


async def test_constant_motion_where_the_item_is_named_blocks_no_press(probe: Probe) -> None:
    probe.tell("spin")
    middle = probe.at((492, 60))
    for _ in range(4):
        walk = probe.walk([(probe.click(SUBMIT), nothing)])
        walk.held = (Box.near(middle, 40, 20),)
        await work(walk)
        if pressed := probe.said("ignored"):
            break
    assert pressed == [["ignored"]]


@pytest.mark.parametrize("gesture", [Click(Point(300, 300)), Write("x"), Hotkey(("x",))])
async def test_a_gesture_for_a_forgotten_frame_is_refused(probe: Probe, gesture: Gesture) -> None:
    before = len(probe.inputs.sent())
    input_permit = InputPermit(gesture_digest(gesture), time.monotonic() + 60, frame=10**6)
    with pytest.raises(ScreenChanged, match="too old to"):
        await probe.desktop.do(gesture, input_permit=input_permit)
    await probe.desktop.look()
    assert len(probe.inputs.sent()) == before


async def test_an_unchanged_screen_keeps_its_frame_number(probe: Probe) -> None:
    probe.tell("popup")
    first, *later = [(await probe.desktop.look()).number for _ in range(30)]
    assert set(later) == {first}


@pytest.mark.parametrize(
    ("labels", "events"),
    [((), [["ignored"]]), (("Delete*",), [["ignored"]]), (("sub*",), [["ignored"], ["submitted"]])],
)
async def test_a_button_that_ignored_a_click_is_clicked_again_only_if_safe(
    probe: Probe, labels: tuple[str, ...], events: list[list[str]]
) -> None:
    nearby = pytest.importorskip("holo_tasks.vision.control_text")
    # Place the pointer first, so that its arrival changes nothing.
    await probe.desktop.do(Click(probe.at((400, 330))))
    walk = probe.walk([(probe.click(SUBMIT), nothing)], reader=nearby.ScreenText())
    walk.safe_to_repeat = labels
    await work(walk)
    await probe.desktop.look()
    assert probe.said("ignored", "submitted") == events
    outcomes = [event.outcome for event in of(walk, "verdict")]
    again = len(events) > 1
    assert outcomes == (["unchanged", "elsewhere"] if again else ["unchanged"])
    assert [(event.dx, event.dy) for event in of(walk, "repeated")] == [(3, 3)] * again
    assert len(of(walk, "action")) == len(of(walk, "permit")) == walk.guard.actions == 1 + again
