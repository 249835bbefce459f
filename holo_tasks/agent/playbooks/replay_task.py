"""Run the replay of a playbook as one Prefect task. Its steps are in the trace, and its progress is in an artifact."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from prefect import tags
from prefect.states import Completed

from holo_tasks.agent.agent_step import step_as_task
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.prompts.step import Step
from holo_tasks.loop.script_port import Brain
from holo_tasks.loop.walk import Walk
from holo_tasks.run.prefect_edge.artifacts import publish_markdown, publish_progress, update_progress
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_context import as_current_walk
from holo_tasks.run.subgoal_options import PLAYBOOK
from holo_tasks.safety.scrubbing import scrub_text
from holo_tasks.scripts.plan import Plan, percent_of, picture_of

FIRST_S, EVERY_S = 5.0, 1.0
"""Seconds of a replay before its progress is published in Prefect, and the shortest time between two updates. Most
replays end before, and each request costs Prefect's server as much CPU time as a step."""


@dataclass
class Replay:
    """One replay of a playbook by the layer "playbook" of a sub-goal.

    ``followed`` are the ids of the rules that were followed, in order. ``answered`` is whether the replay ended with an
    answer. ``ended`` is set at its end.
    """

    run: Run
    subgoal: int
    plan: Plan
    followed: list[str] = field(default_factory=list)
    answered: bool = False
    end_exception: BaseException | None = None
    """The exception that ended the replay and did not fail its task, such as `GaveUp`. `run_as_task` raises it."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def decide(self, walk: Walk, brain: Brain) -> Step:
        """Return the playbook's next step."""
        with as_current_walk(walk):
            step = await brain.decide(walk)
        rule = self.plan.rule_of(step.thought)
        if rule and [rule] != self.followed[-1:]:
            self.followed.append(rule)
        return step

    async def act(self, walk: Walk, step: Step) -> str:
        """Perform the action of a step."""
        with as_current_walk(walk):
            return await walk.act(step)

    async def run_as_task(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run ``work``, the loop over the playbook's steps, as one task named after the goal, and return its result."""
        mark = _replay.set((self, work))
        try:
            with tags(f"layer:{PLAYBOOK}"):
                found = await _replayed(self.plan.name)
        finally:
            _replay.reset(mark)
        if self.end_exception is not None:
            raise self.end_exception
        return found

    async def publish(self) -> None:
        """Publish the progress of a long replay in Prefect until the end, then a diagram of the followed rules."""
        what = f"{self.plan.name}, sub-goal {self.subgoal}"
        key = f"{self.run.run_id}-{self.subgoal}"
        await _wait_at_most(self.ended, FIRST_S)
        reported, ended, artifact = 0.0, self.ended.is_set(), None
        if not ended:
            artifact = await publish_progress(f"replaying-{key}", reported, f"Replaying {what}")
        while artifact is not None and not ended:
            await _wait_at_most(self.ended, EVERY_S)
            ended = self.ended.is_set()
            percent = 100.0 if self.answered else percent_of(self.plan, self.followed)
            if percent != reported:
                reported = percent
                await update_progress(artifact, percent, f"Replaying {what}: {' '.join(self.followed[-1:])}")
        await self.ended.wait()
        await publish_markdown(f"replay-{key}", self._page(), f"Replay of {what}")

    def _page(self) -> str:
        ending = "came to its answer" if self.answered else "stopped, and the next layer took over or it was given up"
        drawn = picture_of(self.plan, self.followed, ended=self.answered)
        return f"The playbook `{self.plan.name}` {ending}.\n\n```mermaid\n{drawn}\n```\n"


_replay: ContextVar[tuple[Replay, Callable[[], Awaitable[Any]]]] = ContextVar("holo_replay")


@step_as_task(acts=True, title="playbook · {name}")
async def _replayed(name: str) -> Any:
    """Run the replay of `_replay` to its end; ``name`` is for the task's name.

    The task has no retries, because the effect of a failed replay is unknown.
    """
    replay, work = _replay.get()
    replay.run.run_in_background(replay.publish())
    try:
        found = await work()
        replay.answered = True
        return found
    except GaveUp as error:  # the next layer goes on; without a next layer the run fails
        replay.end_exception = error
        return Completed(name="Gave up", message=scrub_text(str(error)), data=None)
    except (asyncio.CancelledError, Exception):
        raise
    except BaseException as left:  # such as `EffectFound`
        replay.end_exception = left
        return None
    finally:
        replay.ended.set()


async def _wait_at_most(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, up to ``seconds``."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
