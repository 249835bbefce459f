"""Holotron's flat format: one picture, the last actions as text, and no action below the least confidence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holo_tasks.core.errors import ModelFailed, UnsureReply, UnusableReply
from holo_tasks.core.input.gestures import Click, Gesture, Move, Scroll, Write
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Strip, Transcript
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.models.dialects.holotron import Holotron
from holo_tasks.models.profile import profile_for
from tests.support.painted_desktop import PaintedDesktop
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, pictures_in, shot, walk_of, work, wrote

PROFILE = profile_for("holotron-12b")
DIALECT = Holotron(PROFILE)
SCREEN = shot(0)


def flat(action: str = "click", **fields: Any) -> Reply:
    made = {"element_type": "button", "action": action, "x": 0.5, "y": 0.25, "text": None, "confidence": 0.9}
    return wrote({**made, "reasoning": "It says OK.", **fields})


def gesture(reply: Reply) -> Gesture | None:
    """Return the gesture on a screen of 64x48."""
    return to_gesture(DIALECT.parse(reply).tool_call, SCREEN)


def words(transcript: Transcript, **options: Any) -> str:
    return str(DIALECT.request(transcript, **options).body["messages"][1]["content"][1]["text"])


def after(*replies: Reply) -> Transcript:
    transcript = Transcript("Press OK.").extended(Observed(shot(0)))
    for number, reply in enumerate(replies, start=1):
        step = DIALECT.parse(reply)
        told = StepResult(step.tool_call.tool_name, f"Done.\nResult {number}.")
        transcript = transcript.extended(ModelStep(step), told, Observed(shot(number)))
    return transcript


def test_flat_actions_become_gestures() -> None:
    at = Point(32, 12)
    assert gesture(flat("click")) == Click(at)
    assert gesture(flat("right_click")) == Click(at, "right")
    assert gesture(flat("hover")) == Move(at)
    assert gesture(flat("type", text="Müller\n")) == Write("Müller\n", at=at)
    assert gesture(flat("scroll", text="up3")) == Scroll(at, "up", 3)
    assert gesture(flat("scroll", text="down")) == Scroll(at, "down", 3)
    assert gesture(flat("scroll", text=" Left 12 ")) == Scroll(at, "left", 12)
    for ending in ("answer", "done", "finish"):
        assert DIALECT.parse(flat(ending, text="7 €")).tool_call.model_dump() == {
            "tool_name": "answer",
            "content": "7 €",
        }
    assert DIALECT.parse(flat("done")).tool_call.content == "It says OK."  # type: ignore[union-attr]
    assert DIALECT.parse(flat("wait", x=None, y=None)).tool_call.tool_name == "wait"


@pytest.mark.parametrize(
    ("x", "pixel"), [(0, 0), (0.0156, 0), (0.015625, 1), (0.57, 36), (0.999, 63), (1, 63), (1.0, 63)]
)
def test_fractions_of_the_screen_are_exact_pixels(x: float, pixel: int) -> None:
    assert gesture(flat(x=x, y=0)) == Click(Point(pixel, 0))


def test_coordinates_are_fractions_for_every_profile() -> None:
    odd = Holotron(profile_for("mine", dialects=("holotron",)))
    assert odd.parse(flat(x=1, y=0.5)).tool_call.x == 1000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "scroll", "text": "sideways"},
        {"action": "scroll", "text": "down0"},
        {"action": "scroll", "text": "down99"},
        {"action": "scroll", "text": "down3 up3"},
        {"action": "type"},
        {"action": "double_click"},
        {"action": "\ud800"},
        {"action": None},
        {"action": ["click"]},
        {"confidence": None},
        {"confidence": "0.9"},
        {"confidence": 1.5},
        {"confidence": -0.1},
        {"confidence": True},
        {"x": 500},
        {"x": 1.01},
        {"text": 7},
        {"reasoning": "\ud800"},
        {"element_type": None},
    ],
    ids=str,
)
def test_meaningless_actions_get_a_correction(fields: dict[str, Any]) -> None:
    action = fields.pop("action", "click")
    with pytest.raises(UnusableReply) as caught:
        DIALECT.parse(flat(action, **fields))
    assert not isinstance(caught.value, UnsureReply)
    assert f"{caught.value} {caught.value.correction}".encode()


def test_a_missing_confidence_is_refused() -> None:
    value = json.loads(flat().content)
    del value["confidence"]
    with pytest.raises(UnusableReply, match="confidence"):
        DIALECT.parse(wrote(value))


@pytest.mark.parametrize("action", ["click", "right_click", "type", "scroll", "hover"])
def test_nothing_is_done_below_the_least_confidence(action: str) -> None:
    text = {"type": "x", "scroll": "up"}.get(action)
    with pytest.raises(UnsureReply):
        DIALECT.parse(flat(action, confidence=0.59, text=text))
    step = DIALECT.parse(flat(action, confidence=0.6, text=text))
    assert step.confidence == 0.6


def test_actions_without_input_need_no_confidence() -> None:
    assert DIALECT.parse(flat("answer", confidence=0.1, text="no")).tool_call.tool_name == "answer"
    assert DIALECT.parse(flat("wait", confidence=0)).tool_call.tool_name == "wait"
    strict = Holotron(PROFILE.model_copy(update={"least_confidence": 0.95}))
    with pytest.raises(UnsureReply):
        strict.parse(flat())


def test_at_the_step_limit_only_an_answer_is_accepted() -> None:
    with pytest.raises(UnusableReply):
        DIALECT.parse(flat(), answer_only=True)
    assert DIALECT.parse(flat("answer", text="7"), answer_only=True).tool_call.tool_name == "answer"
    assert "No more actions" in words(after(), answer_only=True)


def test_only_the_newest_screen_is_sent() -> None:
    transcript = after(*[flat()] * 4)
    *entries, _ = transcript.entries
    shown = Transcript("t", (*entries, Observed(shot(7), Strip(shot(8), 4))))
    for count, told in ((4, transcript), (7, shown)):
        request = DIALECT.request(told)
        assert request.shots == (shot(count),)
        assert len(pictures_in(request.body)) == 1
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert [part["type"] for part in request.body["messages"][1]["content"]] == ["image_url", "text"]
    assert request.body["response_format"] == {"type": "json_object"}
    assert not {"tools", "reasoning_effort", "chat_template_kwargs"} & request.body.keys()


def test_at_most_five_recent_actions_one_per_line() -> None:
    replies = [flat("type", text=f"a\nb{number}", reasoning=f"Field\n{number}") for number in range(8)]
    told = [line for line in words(after(*replies)).splitlines() if line.startswith("- ")]
    assert told == [
        f"- type at (0.50, 0.25) 'a\\nb{number}': Field {number} → Done. Result {number + 1}." for number in range(3, 8)
    ]
    assert "Recent actions:\nNone yet" in words(after())


def test_a_correction_is_sent_once() -> None:
    transcript = after(flat())
    wrong = words(transcript, correction=Correction("format", "there is no action 'fly'."))
    assert wrong.count("there is no action 'fly'.") == 1
    assert "Your last reply" not in words(transcript)


class Clock(PaintedDesktop):
    """A screen that differs in every screenshot."""

    looks = 0

    async def look(self, *, after_action: bool = False) -> Frame:
        self.looks += 1
        frame = await super().look(after_action=after_action)
        bar = bytes([40 * self.looks]) * (16 * 3 * frame.size.width)
        return Frame(rgb=bar + frame.rgb[len(bar) :], size=frame.size, display=frame.display)


async def test_an_unsure_model_sees_a_new_screenshot_before_the_next_question() -> None:
    client = MemoryModel([flat(confidence=0.3), flat(), flat("answer", text="done")])
    recorder, desktop = MemoryRecorder(), Clock()
    walk = walk_of(as_model(client, PROFILE), desktop=desktop, recorder=recorder)
    assert (await work(walk)).text == "done"
    shown = [pictures_in(body)[0] for body in client.bodies]
    assert len(set(shown)) == 3
    asked = [body["messages"][1]["content"][1]["text"] for body in client.bodies]
    assert ["confidence was 0.3" in text for text in asked] == [False, True, False]
    assert "Recent actions:\nNone yet" in asked[1]
    assert len(desktop.gestures) == 1
    frames, (verdict,), (action,) = (recorder.of(kind) for kind in ("frame", "verdict", "action"))
    assert action.before == frames[1].sha256, "the click was decided on the second screen"
    assert (verdict.before, verdict.after) == (frames[1].sha256, frames[2].sha256)
    assert [event.confidence for event in recorder.of("decision")] == ["0.9", "0.9"]


async def test_a_model_that_stays_unsure_is_stopped_without_an_action() -> None:
    client, desktop = MemoryModel([flat(confidence=0.3)]), Clock()
    with pytest.raises(ModelFailed, match="corrected 3 times"):
        await work(walk_of(as_model(client, PROFILE), desktop=desktop))
    assert (len(client.bodies), desktop.looks, desktop.gestures) == (4, 4, [])
