"""Let the brain of a playbook decide on a screen with a decision of its rules that a test gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from holo_tasks.core.prompts.step import Step
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.vision.screen_text import Sight


async def decided(brain: PlaybookBrain, decision: Decision, sight: Sight, typed: ReadBack | None = None) -> Step:
    """Return the step that a brain takes, given what its rules decide on a screen, and the texts typed before."""

    async def in_view(_: Any) -> tuple[Sight, Decision]:
        return sight, decision

    brain._hear = lambda walk: None  # type: ignore[method-assign]
    brain._decided_in_view = in_view  # type: ignore[method-assign]
    walk: Any = SimpleNamespace(
        services=SimpleNamespace(now_s=lambda: 0.0),
        transcript=SimpleNamespace(entries=[]),
        seen=None,
        extends_waits=False,
        typed=typed or ReadBack(),
    )
    return await brain.decide(walk)
