"""Scripts: checked before any action, run through the walk, and given up cleanly."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.errors import GaveUp, InvalidUsage, LimitReached, NeedsPerson, ScreenChanged
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey, Pause, Write
from holo_tasks.core.limits.budget import Limits
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.screen.frame import Frame, Mask, Shot
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.states import State, Text
from holo_tasks.loop.screens import Screens, Scripted
from holo_tasks.loop.script_port import Intent
from holo_tasks.loop.walk import Walk
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import MOST_UNSENT
from holo_tasks.scripts.rules import UNKNOWN_SCREEN_WAITS
from holo_tasks.scripts.script import Script, screens_of
from holo_tasks.scripts.script_view import exactly
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripts import done
from tests.support.shots import MemoryModel, as_model, walk_of

SIZE = Size(480, 240)
FONT = ImageFont.load_default(size=20)
WRITTEN = """
name: ledger
goals:
  look-up:
    params: {reference: text, amount: money, day: date, times: int, sure: bool}
    values: {reason: none}
    rules:
      - id: search
        screen: SEARCH
        do:
          - {click: {field: Reference}, thought: The field., safe: true}
          - {write: "{reference}", thought: The reference., expect: typed}
      - id: read
        if: not sure
        screen: FOUND
        read: {status: {right_of: Status}}
        do: [{answer: {status: "{status}", amount: "{amount}", day: "{day}"}, thought: Found it.}]
      - id: ask
        if: sure
        screen: FOUND
        do: [{ask_human: "Is {reference} the one?", thought: Not sure.}]
"""
PLAYBOOK = parse_playbook(WRITTEN)
VALUES: dict[str, Any] = {"reference": "TX-1", "amount": "12.5", "day": "2026-11-22", "times": 2, "sure": False}


class Program(PaintedDesktop):
    """A program with a field. After typing it shows the result of the search."""

    def __init__(self, on_gesture: Callable[[Gesture], None] | None = None, status: str = "Open") -> None:
        super().__init__(on_gesture)
        self._status = status

    async def look(self, *, after_action: bool = False) -> Frame:
        image = Image.new("RGB", (SIZE.width, SIZE.height), "#d8d8d8")
        draw = ImageDraw.Draw(image)
        wrote = any(isinstance(gesture, Write) for gesture in self.gestures)
        draw.text((20, 10), "FOUND" if wrote else "SEARCH", fill="black", font=FONT)
        if wrote:
            draw.text((20, 80), "Status", fill="black", font=FONT)
            draw.text((200, 80), self._status, fill="black", font=FONT)
        else:
            draw.text((20, 80), "Reference", fill="black", font=FONT)
            draw.rectangle((150, 76, 400, 106), fill="white", outline="black")
        return Frame(image.tobytes(), SIZE, self.display)


class Ticking:
    """A clock that advances only when it is read."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.5
        return self.now_s


def walk_on(desktop: PaintedDesktop, **options: Any) -> Walk:
    return walk_of(as_model(MemoryModel([])), desktop=desktop, **options)


async def test_a_goal_is_reached_with_typed_values_and_no_model() -> None:
    desktop, intents = Program(), list[Intent]()
    script = Script(PLAYBOOK, "look-up", **VALUES)
    assert isinstance(script, Scripted)
    answer = await done(walk_on(desktop), script.brain(), intents)
    assert answer == '{"status": "Open", "amount": "12.50", "day": "2026-11-22"}'
    click, write = desktop.gestures
    assert isinstance(click, Click)
    assert 150 <= click.at.x <= 400
    assert 76 <= click.at.y <= 106
    assert write == Write("TX-1")
    assert intents == [Intent(safe=True), Intent(expect="typed"), Intent()]


async def test_a_question_for_a_person_is_passed_to_the_next_layer() -> None:
    with pytest.raises(GaveUp, match="Is TX-1 the one") as error:
        await done(walk_on(Program()), Script(PLAYBOOK, "look-up", **VALUES | {"sure": True}).brain())
    assert (error.value.layer, error.value.status) == ("playbook", "needs_person")


async def test_an_unknown_screen_is_awaited_then_given_up_and_never_clicked() -> None:
    desktop = PaintedDesktop()
    walk = walk_on(desktop, now_s=Ticking())
    with pytest.raises(GaveUp, match="has no rule of goal 'look-up'"):
        await done(walk, Script(PLAYBOOK, "look-up", **VALUES).brain())
    assert {type(gesture) for gesture in desktop.gestures} == {Pause}
    waited_s = sum(gesture.seconds for gesture in desktop.gestures if isinstance(gesture, Pause))
    assert waited_s == UNKNOWN_SCREEN_WAITS, "a screen that stays the same is not awaited any longer"


PROBED = """
name: probed
goals:
  write-it:
    params: {reference: text}
    probe: is-open
    rules:
      - {id: found, screen: FOUND, do: [{answer: written, thought: It is written.}]}
      - id: write
        once: true
        do: [{click: {field: Reference}, thought: Go there.}, {write: "{reference}", thought: Write it.}]
  is-open:
    params: {reference: text}
    rules:
      - {id: there, done: look, screen: Open, do: [{answer: done, thought: It is there.}]}
      - {id: not-there, done: look, do: [{answer: "{reference} is not open.", thought: It is not there.}]}
      - {id: look, once: true, do: [{hotkey: [f5], thought: Have it drawn anew.}]}
"""


async def test_a_probe_verifies_the_effect_before_the_answer() -> None:
    desktop = Program()
    assert (
        await done(walk_on(desktop), Script(parse_playbook(PROBED), "write-it", reference="TX-1").brain()) == "written"
    )
    assert [type(gesture) for gesture in desktop.gestures] == [Click, Write, Hotkey]
    walk, brain = walk_on(Program(status="Lost")), Script(parse_playbook(PROBED), "write-it", reference="TX-1").brain()
    with pytest.raises(NeedsPerson, match="is-open did not find the effect: TX-1 is not open") as error:
        await done(walk, brain)
    assert not isinstance(error.value, GaveUp), "no other layer may repeat the action"


async def test_a_step_that_fails_twice_is_given_up() -> None:
    def refuse(gesture: Gesture) -> None:
        raise InvalidUsage("The hands cannot do that.")

    with pytest.raises(GaveUp, match="This failed twice: The hands cannot do that"):
        await done(walk_on(Program(refuse)), Script(PLAYBOOK, "look-up", **VALUES).brain())


@pytest.mark.parametrize("times", [3, 99])
async def test_a_step_waits_while_the_screen_changes_right_before_it(times: int) -> None:
    """Nothing was done, so the step did not fail. A screen that never rests ends the playbook nevertheless."""
    refused: list[Gesture] = []

    def change(gesture: Gesture) -> None:
        if len(refused) < times:
            refused.append(gesture)
            raise ScreenChanged("The screen changed at the last moment.")

    desktop = Program(change)
    work = done(walk_on(desktop), Script(PLAYBOOK, "look-up", **VALUES).brain())
    if times == 3:
        await work
        assert desktop.gestures[0] == refused[0]
    else:
        with pytest.raises(GaveUp, match=r"This failed twice: .*at the last moment"):
            await work
        assert len(refused) == MOST_UNSENT + 2


async def test_a_masked_value_is_not_read_but_a_masked_target_is_found() -> None:
    covered = Painter([FixedRegions([Mask("region", Box(140, 60, 300, 60))])])
    desktop = Program(status="4711")
    with pytest.raises(GaveUp) as error:
        await done(walk_on(desktop, redactor=covered, now_s=Ticking()), Script(PLAYBOOK, "look-up", **VALUES).brain())
    assert "4711" not in str(error.value)
    assert Write("TX-1") in desktop.gestures


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"amount": "12.505"}, "amount: "),
        ({"amount": "twelve"}, "amount: "),
        ({"day": "22.11.2026"}, "day: "),
        ({"times": "2.5"}, "times: "),
        ({"sure": "perhaps"}, "sure: "),
        ({"reference": ""}, "reference: "),
        ({"color": "red"}, "color: is not one of its parameters"),
        ({"reference": None}, "reference: "),
    ],
)
def test_values_are_checked_before_any_action(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidUsage, match=said) as error:
        Script(PLAYBOOK, "look-up", **VALUES | values)
    assert "it takes: reference, amount" in str(error.value)


def test_a_missing_value_is_named_and_so_are_the_existing_goals(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="sure: is not given"):
        Script(PLAYBOOK, "look-up", **{name: value for name, value in VALUES.items() if name != "sure"})
    with pytest.raises(InvalidUsage, match="no goal 'look'; it has: look-up"):
        Script(PLAYBOOK, "look")
    with pytest.raises(InvalidUsage, match=r"none\.yaml cannot be read"):
        Script(tmp_path / "none.yaml", "look-up")


AWAY = """
name: ledger
screens:
  states: {menu: MAIN MENU}
  ways: [{to: menu, do: [{hotkey: [escape], thought: Out of here.}]}]
goals: {back: {rules: [{id: back, do: [{click: Cancel, thought: Back., expect: menu}]}]}}
"""


async def test_a_playbooks_action_for_an_interruption_is_a_script_that_ends() -> None:
    way = screens_of(parse_playbook(AWAY)).ways[0].do
    assert isinstance(way, Script)
    desktop = Program()
    assert await done(walk_on(desktop), way.brain()) == "done"
    assert desktop.gestures == [Hotkey(("escape",))]


async def read_status(hands: Hands, reference: str, day: datetime.date = datetime.date(2026, 1, 1)) -> dict[str, Any]:
    """A script in Python."""
    await hands.click(field="Reference", safe=True)
    await hands.write(reference, expect="found")
    await hands.wait_for("found")
    return {"status": await hands.read(right_of="Status"), "day": day}


FOUND = Screens([State("found", Text("FOUND"))])


async def test_a_python_script_acts_through_the_walk_and_its_result_is_the_answer() -> None:
    desktop, intents = Program(), list[Intent]()
    walk = walk_on(desktop)
    brain = Script(read_status, reference="TX-2", day="2026-11-22").brain(screens=FOUND)
    assert await done(walk, brain, intents) == '{"status": "Open", "day": "2026-11-22"}'
    assert [type(gesture) for gesture in desktop.gestures] == [Click, Write]
    assert intents == [Intent(safe=True), Intent(expect="found"), Intent()]
    recorded = [event.kind for event in walk.services.recorder.events]  # type: ignore[attr-defined]
    assert [recorded.count(kind) for kind in ("decision", "permit", "action", "receipt")] == [3, 2, 2, 2]


async def test_a_step_that_was_not_done_is_searched_again_on_the_newer_screen() -> None:
    desktop = Program()
    walk = walk_on(desktop)
    brain = Script(read_status, reference="TX-2").brain(screens=FOUND)
    try:
        await walk.look()
        walk.begin()
        first = await brain.decide(walk)
        again = await brain.decide(walk)
        assert first.tool_call == again.tool_call
        walk.remember(again, "Done: click.")
        assert (await brain.decide(walk)).tool_call.tool_name == "write"
    finally:
        await brain.close()


async def test_a_missing_target_or_a_refused_action_ends_a_script_by_giving_up() -> None:
    async def lost(hands: Hands) -> None:
        await hands.click("Nowhere", timeout_seconds=0)

    with pytest.raises(GaveUp, match="Click Nowhere: it is not on the screen"):
        await done(walk_on(Program()), Script(lost).brain())

    def refuse(gesture: Gesture) -> None:
        raise InvalidUsage("The hands cannot do that.")

    with pytest.raises(GaveUp, match="not accepted: The hands cannot do that"):
        await done(walk_on(Program(refuse)), Script(read_status, reference="TX-2").brain())

    async def impatient(hands: Hands) -> None:
        await hands.wait_for("FOUND", timeout_seconds=0)

    with pytest.raises(GaveUp, match="'FOUND' did not appear"):
        await done(walk_on(Program()), Script(impatient).brain())


async def test_a_bug_in_a_script_is_raised() -> None:
    async def wrong(hands: Hands) -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await done(walk_on(Program()), Script(wrong).brain())


async def test_a_script_ends_with_its_sub_goal() -> None:
    ended: list[str] = []

    async def patient(hands: Hands) -> None:
        try:
            await hands.hotkey("escape")
            await hands.hotkey("escape")
        finally:
            ended.append("yes")

    desktop = Program()
    with pytest.raises(LimitReached):
        await done(walk_on(desktop, limits=Limits(max_actions=1)), Script(patient).brain())
    assert ended == ["yes"]
    assert desktop.gestures == [Hotkey(("escape",))]


def test_a_script_function_must_be_async_and_typed_and_take_hands() -> None:
    async def untyped(hands: Hands, reference) -> None:  # type: ignore[no-untyped-def]
        ...

    async def handless() -> None: ...

    async def many(hands: Hands, *references: str) -> None: ...

    for function, said in ((untyped, "has no type"), (handless, "has no parameter for its hands"),
                           (many, "named parameters only"), (lambda hands: None, "async")):  # fmt: skip
        with pytest.raises(InvalidUsage, match=said):
            Script(function)  # type: ignore[arg-type]
    with pytest.raises(InvalidUsage, match="reference: is not given"):
        Script(read_status)
    with pytest.raises(InvalidUsage, match="day: "):
        Script(read_status, reference="TX-1", day="soon")


@given(st.integers(1, 16384), st.integers(1, 16384), st.data())
@example(1280, 800, None)
def test_a_script_clicks_the_exact_pixel_at_any_screen_size(width: int, height: int, data: Any) -> None:
    size = Size(width, height)
    across = data.draw(st.integers(0, width - 1)) if data else 1279
    down = data.draw(st.integers(0, height - 1)) if data else 799
    x, y = exactly(Point(across, down), size)
    assert to_pixel(x, y, Shot(b"", "image/png", "", size, size, "")) == Point(across, down)


async def test_in_a_region_the_same_pixel_of_the_screen_is_clicked() -> None:
    async def into_the_field(hands: Hands) -> None:
        assert not (await hands.sight()).has("SEARCH")
        await hands.click(field="Reference")

    desktop = Program()
    walk = walk_on(desktop)
    walk.region = Box(10, 60, 460, 60)
    assert await done(walk, Script(into_the_field).brain()) == "done"
    (click,) = desktop.gestures
    assert isinstance(click, Click)
    assert (150 <= click.at.x <= 400, 76 <= click.at.y <= 106) == (True, True)
