"""Deciding and acting as Prefect tasks."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.core.actions import label
from holo_tasks.core.errors import HoloError, TransientModelFault
from holo_tasks.core.step import Step
from holo_tasks.core.walk import Walk

BACKOFF_S = (0.5, 1.0, 2.0, 4.0)
_walk: ContextVar[Walk] = ContextVar("holo_walk")
_step: ContextVar[Step] = ContextVar("holo_step")


async def _is_transient(task: Any, task_run: Any, state: Any) -> bool:
    """Retry only what may pass by itself, and give an overloaded server the time it asked for."""
    error = await state.aresult(raise_on_failure=False)
    if not (isinstance(error, HoloError) and error.transient):
        return False
    walk = _walk.get()
    wait_s = error.retry_after_s if isinstance(error, TransientModelFault) else None
    deadline_s = walk.guard.deadline_s
    if deadline_s is not None and walk.doors.now_s() + (wait_s or 0) >= deadline_s:
        return False
    await asyncio.sleep(wait_s or 0)
    return True


@task(
    task_run_name="{number} · decide",
    # The same screen may need another decision at another step: nothing is cached here.
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=len(BACKOFF_S),
    retry_delay_seconds=list(BACKOFF_S),
    retry_jitter_factor=0.3,
    retry_condition_fn=_is_transient,
)
async def decide(number: int, screen: str, answer_only: bool) -> Step:
    """Ask the model for step ``number``, looking at the picture with SHA-256 ``screen``."""
    return await _walk.get().decide(answer_only=answer_only)


@task(task_run_name="{number} · {what}", cache_policy=NO_CACHE, persist_result=False, retries=0)
async def act(number: int, what: str) -> str:
    """Do what the step asks for, once. Never cached, never retried: the world may have changed."""
    return await _walk.get().act(_step.get())


async def decide_as_task(walk: Walk, answer_only: bool) -> Step:
    """Run the walk's decision as a task named after its step."""
    token = _walk.set(walk)
    try:
        seen = walk.seen.shot.sha256 if walk.seen else ""
        return await decide(walk.step, seen, answer_only)
    finally:
        _walk.reset(token)


async def act_as_task(walk: Walk, step: Step) -> str:
    """Run the walk's action as a task named after what it does."""
    # By context, not as parameters: Prefect looks for task results inside those, field by field.
    walk_token, step_token = _walk.set(walk), _step.set(step)
    try:
        return await act(walk.step, label(step.tool_call))
    finally:
        _step.reset(step_token)
        _walk.reset(walk_token)
