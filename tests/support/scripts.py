"""Run a script in a walk, without a model and without Prefect."""

from __future__ import annotations

from holo_tasks.core.prompts.step import Step
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.script_port import Brain, Intent
from holo_tasks.loop.walk import Walk


async def done(walk: Walk, brain: Brain, intents: list[Intent] | None = None, max_steps: int = 40) -> str:
    """Return the script's answer. ``intents`` collects the intent of each step."""

    async def decide(walk: Walk, final: bool) -> Step:
        step = await brain.decide(walk)
        if intents is not None:
            intents.append(brain.intent)
        return step

    try:
        found = await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=max_steps)
        return found.text
    finally:
        await brain.close()
