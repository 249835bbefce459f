"""An agent that repeats itself is warned, first in words and then with pictures. An agent that waits is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import Destination
from holo_tasks.core.errors import GaveUp, PolicyRefused
from holo_tasks.core.input.gestures import Gesture, Hotkey, Pause
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.stuck import stuck
from holo_tasks.core.prompts.transcript import Turn
from holo_tasks.core.screen.frame import Frame
from holo_tasks.loop.walk import Walk
from holo_tasks.loop.words import TAKE_STOCK
from tests.support.painted_desktop import SIZE, PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import (
    MemoryModel,
    MemoryRecorder,
    a_step,
    as_model,
    frames_in,
    pictures_in,
    turn,
    walk_of,
    work,
    wrote,
)

SCROLLS = step("scroll", element="the list", x=500, y=500, direction="down", scroll_size=1)
CLICK, OTHER, WAIT = a_step(), a_step("click", element="Cancel", x=1, y=1), a_step("wait", seconds=1)
THIRD = a_step("hotkey", keys=["esc"])


def story(*steps: tuple[int, Step, int]) -> list[Turn]:
    return [turn(*each) for each in steps]


def still(steps: Sequence[Step], screen: int = 0) -> list[Turn]:
    """Turns in which the screen stays unchanged."""
    return [turn(screen, each, screen) for each in steps]


def test_the_same_action_four_times_without_effect_is_stuck() -> None:
    assert stuck(still([CLICK] * 4))
    assert stuck(still([OTHER, CLICK, CLICK, CLICK, CLICK]))
    assert not stuck(still([CLICK] * 3))
    assert not stuck(still([CLICK] * 4)[:3] + still([OTHER]))
    assert not stuck([])


def test_a_new_thought_or_note_is_not_a_new_action() -> None:
    said = [a_step(thought=f"Attempt {number}.", note=str(number)) for number in range(4)]
    assert stuck(still(said))


def test_a_new_target_is_a_new_action() -> None:
    assert not stuck(still([a_step("click", element="OK", x=x, y=5) for x in range(4)]))


def test_one_changed_digit_is_progress() -> None:
    assert not stuck([turn(number, CLICK, number + 1) for number in range(30)])
    assert not stuck([*still([CLICK] * 3), turn(0, CLICK, 1)])
    assert not stuck([turn(0, CLICK, 1), *still([CLICK] * 3, screen=1)])


@pytest.mark.parametrize("steps", [[CLICK, OTHER], [CLICK, OTHER, THIRD], [CLICK, CLICK, OTHER]])
def test_a_loop_of_screens_three_times_is_stuck(steps: list[Step]) -> None:
    lap = len(steps)
    turns = [turn(number % lap, steps[number % lap], (number + 1) % lap) for number in range(3 * lap)]
    assert stuck(turns)
    assert not stuck(turns[1:])
    changed = [*turns[:-lap], *(turn(90 + number, steps[number], 91 + number) for number in range(lap))]
    assert not stuck(changed)


def test_a_lap_over_new_screens_is_progress() -> None:
    turns = [turn(number, (CLICK, OTHER)[number % 2], number + 1) for number in range(12)]
    assert not stuck(turns)


@pytest.mark.parametrize("count", range(4, 13))
def test_waiting_never_counts_as_stuck(count: int) -> None:
    assert not stuck(still([WAIT] * count))
    assert not stuck(still([WAIT, a_step("wait", seconds=5)] * count))


def test_waiting_between_the_same_clicks_does_not_hide_them() -> None:
    assert stuck(still([CLICK, WAIT] * 3))


def frozen(clicks: int, recorder: Any, **changes: Any) -> tuple[Walk, MemoryModel]:
    """A model that scrolls on a frozen screen and finally answers."""
    say = [wrote(SCROLLS)] * clicks
    client = MemoryModel([*say, wrote(step("answer", content="gave up"))])
    return walk_of(as_model(client, **changes), desktop=PaintedDesktop(frozen=True), recorder=recorder), client


async def test_a_stuck_model_takes_stock_once_and_later_sees_what_it_did(tmp_path: Path) -> None:
    async with Destination.parse(str(tmp_path)).open("run", home=tmp_path) as recorder:
        walk, client = frozen(13, recorder)
        assert (await work(walk)).text == "gave up"
        assert recorder.folder is not None
    told = [str(body["messages"]).count(TAKE_STOCK) for body in client.bodies]
    assert told == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 2
    assert TAKE_STOCK in str(client.bodies[4]["messages"][-2])
    strips = [body for body in client.bodies if "Your last" in str(body["messages"][-1])]
    assert strips == [client.bodies[8], client.bodies[12]]
    for body in strips:
        last = body["messages"][-1]["content"]
        assert [part["type"] for part in last] == ["text", "text", "image_url", "text", "image_url", "text"]
    kept = frames_in(recorder.folder)
    assert {shot.sha256 for shot in walk.transcript.pictures} <= kept
    assert len({shot.sha256 for shot in walk.transcript.pictures}) == 3, "the screen and two strips are shown"
    for earlier, later in zip(client.bodies, client.bodies[1:], strict=False):
        assert 1 <= len(pictures_in(later)) <= 3
        assert_added_to(earlier["messages"], later["messages"])


def assert_added_to(earlier: list[Any], later: list[Any]) -> None:
    """Check that a request repeats the previous one, except for evicted pictures, which never return."""
    assert len(later) > len(earlier)
    for before, after in zip(earlier, later, strict=False):
        if before != after:
            parts = list(zip(before["content"], after["content"], strict=True))
            assert all(b == a or (b["type"], a["type"]) == ("image_url", "text") for b, a in parts)


async def test_the_event_for_the_report_names_the_strip() -> None:
    recorder = MemoryRecorder()
    walk, _ = frozen(13, recorder)
    await work(walk)
    first, second, third = recorder.of("take_stock")
    assert (first.strip, first.step) == ("", 4)
    kept = {shot.sha256 for shot in recorder.shots}
    assert second.strip != third.strip
    assert {second.strip, third.strip} <= kept
    shown = [request.shots for request in recorder.of("request")]
    assert second.strip in shown[8]
    assert third.strip in shown[12]


@pytest.mark.parametrize("budget", [1, 2])
async def test_a_strip_beyond_the_picture_budget_is_not_mentioned(budget: int) -> None:
    """The strip needs a free place next to the newest screen."""
    recorder = MemoryRecorder()
    walk, client = frozen(13, recorder, image_budget=budget)
    await work(walk)
    for body in client.bodies:
        last = body["messages"][-1]["content"]
        assert len(pictures_in(body)) <= budget
        assert pictures_in({"messages": body["messages"][-1:]})
        spoken = "Your last" in str(last)
        assert spoken == (sum(part["type"] == "image_url" for part in last) == 2)


async def test_a_model_that_makes_progress_is_not_warned() -> None:
    recorder = MemoryRecorder()
    say = [wrote(step("click", element="OK button", x=500, y=500))] * 12
    client = MemoryModel([*say, wrote(step("answer", content="done"))])
    await work(walk_of(as_model(client), recorder=recorder))
    assert recorder.of("take_stock") == []
    assert TAKE_STOCK not in str(client.bodies)


async def test_warnings_continue_after_a_compacted_conversation() -> None:
    """Removed steps are neither counted again nor forgotten."""
    recorder = MemoryRecorder()
    said = {**SCROLLS, "thought": "Once more. " * 150}
    client = MemoryModel([*[wrote(said)] * 21, wrote(step("answer", content="gave up"))])
    model = as_model(client, context_tokens=12_000)
    walk = walk_of(model, desktop=PaintedDesktop(frozen=True), recorder=recorder)
    with pytest.raises(GaveUp):
        await work(walk)
    assert walk.transcript.left_out > 4
    assert [event.step for event in recorder.of("take_stock")] == [4, 8, 13, 17]


async def test_a_model_that_stays_stuck_is_backtracked_once_and_then_stopped() -> None:
    recorder, desktop = MemoryRecorder(), PaintedDesktop(frozen=True)
    client = MemoryModel([wrote(SCROLLS)])
    with pytest.raises(GaveUp, match="the same action 4 times") as caught:
        await work(walk_of(as_model(client), desktop=desktop, recorder=recorder))
    assert (caught.value.layer, caught.value.status) == ("model", "needs_person")
    assert [gesture for gesture in desktop.gestures if isinstance(gesture, Hotkey)] == [Hotkey(("esc",))]
    assert [(event.by, event.step) for event in recorder.of("backtracked")] == [("Escape", 13)]
    assert "Escape was pressed" in str(client.bodies[12]["messages"][-2])
    assert len(client.bodies) == 16


async def test_a_forbidden_escape_does_not_stop_the_work() -> None:
    def refuse(gesture: Gesture) -> None:
        if isinstance(gesture, Hotkey):
            raise PolicyRefused("No keys here.")

    desktop = PaintedDesktop(refuse, frozen=True)
    client = MemoryModel([wrote(SCROLLS)])
    with pytest.raises(GaveUp):
        await work(walk_of(as_model(client), desktop=desktop))
    assert "could not be pressed to get back: No keys here." in str(client.bodies[12]["messages"][-2])


class Toggling(PaintedDesktop):
    """Shows one of several screens in an order that does not follow from the actions."""

    def __init__(self, screens: Sequence[int]) -> None:
        super().__init__()
        self._screens = screens

    async def look(self, *, after_action: bool = False) -> Frame:
        done = sum(not isinstance(gesture, Pause) for gesture in self.gestures)
        shown = self._screens[min(done, len(self._screens) - 1)]
        return Frame(bytes([20 * shown]) * (SIZE.width * SIZE.height * 3), SIZE, self.display)


async def told_at(screens: Sequence[int], calls: Sequence[dict[str, Any]]) -> list[tuple[int, str]]:
    """Return the steps at which an agent with these screens and steps was warned, and the reasons."""
    recorder = MemoryRecorder()
    client = MemoryModel([*map(wrote, calls), wrote(step("answer", content="done"))])
    await work(walk_of(as_model(client), desktop=Toggling(screens), recorder=recorder), max_steps=60)
    return [(event.step, event.reason) for event in recorder.of("take_stock")]


async def test_many_steps_without_a_new_screen_are_stuck() -> None:
    clicks = [step("click", element=f"Button {number}", x=60 * number, y=5) for number in range(16)]
    irregular = [0, 1, 2, 0, 2, 1, 1, 0, 2, 0, 1, 2, 2, 0, 1, 0, 2]
    (told,) = await told_at(irregular, clicks)
    assert told == (14, "no new screen in 12 steps")
    assert await told_at([*irregular[:9], 7, *irregular[9:]], clicks) == [], "one new screen counts as progress"


async def test_waiting_does_not_count_as_a_step_without_progress() -> None:
    waits = [step("wait", seconds=0.01)] * 20
    assert await told_at([0], waits) == []
