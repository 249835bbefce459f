"""Pictures, turns, and a walk with a model in memory: for tests of the core without a socket or a display."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from holo_tasks.core.attachment import Attachment
from holo_tasks.core.events import AnyEvent, Event
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.limits.money import Usage
from holo_tasks.core.ports import Desktop, ModelClient, Recorder, Redactor, Reply, ToolRequest
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.toolbox import Toolbox
from holo_tasks.core.prompts.transcript import ModelStep, Observed, StepResult, Transcript, Turn
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import Answered, pursue
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.models.build_model import model_at
from holo_tasks.models.encoding import JpegEncoder
from holo_tasks.models.profile import Profile, profile_for
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.redaction import NothingToRedact
from tests.support.painted_desktop import PaintedDesktop

BILL = Usage(1000, 50)
Said = Reply | Exception
EVERY = Toolbox(offered=("click", "double_click", "move_to", "write", "write_at", "scroll", "hotkey", "wait"))


@functools.cache
def shot(number: int = 0, size: Size | None = None) -> Shot:
    """Return a small picture that is unique to its number. A large picture takes longer to make than most tests that
    use it.
    """
    size = size or Size(64, 48)
    buffer = io.BytesIO()
    Image.new("RGB", (size.width, size.height), (number % 256, number // 256, 0)).save(buffer, "PNG")
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    return Shot(buffer.getvalue(), "image/png", digest, size, size, f"digest {number}")


def a_step(tool_name: str = "click", *, note: str | None = None, thought: str = "Going on.", **arguments: Any) -> Step:
    """Return a step; without arguments a click on the OK button."""
    if tool_name == "click" and not arguments:
        arguments = {"element": "OK button", "x": 500, "y": 500}
    return Step(note=note, thought=thought, tool_call=EVERY.read({"tool_name": tool_name, **arguments}))


def turn(before: int, step: Step, after: int) -> Turn:
    """Return a turn between two numbered pictures."""
    return Turn(shot(before), step, shot(after))


def after_steps(steps: Sequence[Step], task: str = "Do it.") -> Transcript:
    """Return a conversation after these steps, each with its own picture, ending with the newest screen."""
    transcript = Transcript(task).extended(Observed(shot(0)))
    for number, step in enumerate(steps, start=1):
        transcript = transcript.extended(
            ModelStep(step), StepResult(step.tool_call.tool_name, "Done."), Observed(shot(number))
        )
    return transcript


def wrote(content: object, **fields: Any) -> Reply:
    """Return a text reply. Content that is not text is encoded as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return Reply(**{"content": text, "finish_reason": "stop", "usage": BILL, **fields})


def called(name: str, arguments: Mapping[str, Any] | str, *, call_id: str = "c1", **fields: Any) -> Reply:
    """Return a reply that calls a function."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return wrote(**{"content": "", "tool_calls": (ToolRequest(call_id, name, written),), **fields})


class MemoryModel:
    """A model client that replies from a script and keeps its requests. Raises an exception that it finds in the
    script.
    """

    endpoint = "memory://"

    def __init__(self, script: Sequence[Said] | Callable[[int, Mapping[str, Any]], Said]) -> None:
        self._script = script
        self.bodies: list[dict[str, Any]] = []
        self.timeouts_s: list[float] = []

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        number = len(self.bodies)
        self.bodies.append(json.loads(json.dumps(body)))
        self.timeouts_s.append(timeout_s)
        script = self._script
        said = script(number, body) if callable(script) else script[min(number, len(script) - 1)]
        if isinstance(said, Exception):
            raise said
        return said


class MemoryRecorder:
    """Keeps events and pictures in memory."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []
        self.shots: list[Shot] = []

    async def keep(self, shot: Shot | Attachment) -> None:
        self.shots.append(shot)

    async def record(self, event: Event) -> None:
        self.events.append(event)  # type: ignore[arg-type]

    def of(self, kind: str) -> list[Any]:
        """Return the events of a kind, in order."""
        return [event for event in self.events if event.kind == kind]


def as_model(client: ModelClient, profile: Profile | None = None, dialect: str = "auto", **changes: Any) -> Model:
    """Return a profile's model with the given client. Changes apply to the profile."""
    made = (profile or profile_for("holo3-1-35b-a3b")).model_copy(update=changes)
    return model_at(client, made, dialect)  # type: ignore[arg-type]  # any client will do


def walk_of(
    model: Model,
    *,
    desktop: Desktop | None = None,
    recorder: Recorder | None = None,
    limits: Limits | None = None,
    transcript: Transcript | None = None,
    redactor: Redactor | None = None,
    now_s: Callable[[], float] = time.monotonic,
) -> Walk:
    """Return a walk of a sub-goal with permission to act, on a painted desktop by default."""
    services = Services(
        desktop=desktop or PaintedDesktop(),
        redactor=redactor or NothingToRedact(),
        encoder=JpegEncoder(),
        model=model,
        policy=Rules(trust="act"),
        recorder=recorder or MemoryRecorder(),
        now_s=now_s,
    )
    return Walk(services, Guard("The run", limits or Limits(), now_s()), 1, transcript or Transcript("Press OK."))


async def work(walk: Walk, max_steps: int = 30, effect_buttons: EffectButtons | None = None) -> Answered[str]:
    """Run a sub-goal until it is answered, without Prefect."""
    return await pursue(
        Executor(walk, Walk.act),
        read=str,
        decide=lambda it, final: it.decide(answer_only=final),
        max_steps=max_steps,
        effect_buttons=effect_buttons,
    )


def pictures_in(body: Mapping[str, Any]) -> list[str]:
    """Return the data URIs of a request's pictures, in order."""
    return [
        part["image_url"]["url"]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


def frames_in(folder: Path) -> set[str]:
    """Return the digests of the pictures in a trace's folder."""
    return {path.stem for path in (folder / "frames").iterdir()}
