"""Requests as the product makes them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Transcript
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.profile import profile_for


def shot_of(picture: Image.Image) -> Shot:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data, size = buffer.getvalue(), Size(*picture.size)
    return Shot(data, "image/png", hashlib.sha256(data).hexdigest(), size, size, "digest")


def shades(count: int) -> list[Shot]:
    """Return distinct pictures."""
    return [shot_of(Image.new("RGB", (64, 48), (n, 0, 0))) for n in range(count)]


def click(thought: str = "A button.") -> Step:
    return Step.model_validate(
        {
            "note": None,
            "thought": thought,
            "tool_call": {"tool_name": "click", "element": "button", "x": 5, "y": 6},
        }
    )


def after_steps(count: int, task: str = "Do it.") -> Transcript:
    """Return a conversation after ``count`` steps, ending with the newest screen."""
    shots = shades(count + 1)
    entries: list[Any] = []
    for number, shot in enumerate(shots):
        entries.append(Observed(shot))
        if number < count:
            entries += [ModelStep(click(f"Step {number}.")), StepResult("click", "Clicked.")]
    return Transcript(task, tuple(entries))


BodyMaker = Callable[..., dict[str, Any]]


@pytest.fixture
def body() -> BodyMaker:
    def make(
        steps: int = 4, *, transcript: Transcript | None = None, correction: bool = False, final: bool = False
    ) -> dict[str, Any]:
        request = Structured(profile_for("rehearsal")).request(
            transcript or after_steps(steps),
            correction=Correction("click", "That was wrong.") if correction else None,
            answer_only=final,
        )
        return request.body

    return make
