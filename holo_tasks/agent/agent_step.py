"""`@agent_step`: steps of an agent as Prefect tasks. `decide` and `act` are such steps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from prefect import Task, tags
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict

from holo_tasks.agent.decision_cache import SAME_DECISION
from holo_tasks.agent.prefect_options import check_task_options
from holo_tasks.core.errors import HoloError, ScreenChanged, TransientModelFault
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import label
from holo_tasks.loop.script_port import Brain
from holo_tasks.loop.walk import Walk
from holo_tasks.run.items.journal import current_journal
from holo_tasks.run.prefect_edge.killed import as_killed
from holo_tasks.run.prefect_edge.secret_filter import ScrubbedRunName, with_scrubbed_errors
from holo_tasks.run.run import current_guard, current_run, running_here
from holo_tasks.run.subgoal_context import as_current_walk, current_walk

BACKOFF_S = (0.5, 1.0, 2.0, 4.0)
MOST_PATIENCE_S = 120.0
"""Longest Retry-After in seconds. A server that asks for more counts as failed."""
P = ParamSpec("P")
R = TypeVar("R")
_step: ContextVar[Step] = ContextVar("holo_step")
_brain: ContextVar[Brain] = ContextVar("holo_brain")


class Decision(BaseModel):
    """A step with the digest of the situation that it is based on.

    The situation differs from the one before the call if the model got another picture of the screen meanwhile.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: Step
    situation: str


@dataclass(frozen=True)
class _NoInputSent:
    error: ScreenChanged


class StepDecorator(Protocol):
    """Decorator that keeps the signature of an async function."""

    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Awaitable[R]]: ...


def agent_step(*, acts: bool, title: str | None = None, **task_options: Any) -> StepDecorator:
    """Make an async function an agent step: a Prefect task with safe caching and retries.

    ``acts`` says whether the step may have an effect. A step that acts is never retried or cached, because the effect
    of a failed attempt is unknown. Other steps are retried on transient faults, with back-off, until the deadline of
    the guardrails around them. They are cached only with a ``cache_policy``.

    ``title`` is a format string over the arguments. ``task_options`` are options of Prefect's tasks. Raises
    `InvalidUsage` for an unsafe option, such as ``retries`` of a step that acts. Put it above `cost_guardrail`.

    Inside a sub-goal with a key, an intent is written before a step that acts. After an interruption the step is not
    repeated before the sub-goal's probe has looked for its effect.
    """
    check_task_options(task_options, acts=acts)
    if not acts:
        return step_as_task(acts=False, title=title, task_options=task_options)

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @wraps(function)
        async def noted(*args: P.args, **kwargs: P.kwargs) -> R:
            journal = current_journal()
            if journal is None:
                return await function(*args, **kwargs)
            number = await journal.intend(function.__name__.replace("_", " "), "")
            done = await function(*args, **kwargs)
            await journal.done(number)
            return done

        return step_as_task(acts=True, title=title, task_options=task_options)(noted)

    return decorate


class _Step(Task[..., Any]):
    """The task of a step. Its `with_options` also refuses unsafe options."""

    acts = True

    def with_options(self, **task_options: Any) -> Task[..., Any]:
        return super().with_options(**check_task_options(task_options, acts=self.acts))


def step_as_task(
    *, acts: bool, title: str | None = None, task_options: Mapping[str, Any] = MappingProxyType({})
) -> StepDecorator:
    """Return a decorator that makes a function the task of a step, without a journal.

    A step that acts gets no retries and no cache.
    """
    options: dict[str, Any] = {"cache_policy": NO_CACHE, **task_options}
    retries = options.setdefault("retries", 0 if acts else len(BACKOFF_S))
    if retries:
        options = {
            "retry_delay_seconds": [BACKOFF_S[min(n, len(BACKOFF_S) - 1)] for n in range(retries)],
            "retry_jitter_factor": 0.3,
            "retry_condition_fn": _is_transient,
            **options,
        }
    cached = options["cache_policy"] is not NO_CACHE or "cache_key_fn" in options
    if cached:
        options.setdefault("result_serializer", "json")

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        name = None if title is None else ScrubbedRunName(title)
        made = _Step(
            with_scrubbed_errors(ending_as_killed(function)), task_run_name=name, persist_result=cached, **options
        )
        made.acts = acts
        return cast("Callable[P, Awaitable[R]]", made)

    return decorate


async def _is_transient(task: Any, task_run: Any, state: Any) -> bool:
    """Return whether to retry a task, after waiting as long as an overloaded server asked.

    Only transient errors are retried, and only if the wait ends before the deadline.
    """
    error = await state.aresult(raise_on_failure=False)
    if not (isinstance(error, HoloError) and error.transient):
        return False
    wait_s = (error.retry_after_s or 0.0) if isinstance(error, TransientModelFault) else 0.0
    if wait_s > MOST_PATIENCE_S:
        return False
    guard = current_guard()
    if guard and guard.deadline_s is not None and time.monotonic() + wait_s >= guard.deadline_s:
        return False
    await asyncio.sleep(wait_s)
    return True


def ending_as_killed(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Make a cancelled task of a killed run raise the exception of `as_killed`, so that its state becomes Killed."""

    @wraps(function)
    async def recorded_call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await function(*args, **kwargs)
        except asyncio.CancelledError as error:
            run = running_here()
            ended = error if run is None else as_killed(error, run.switch)
            if ended is error:
                raise
            raise ended from error

    return recorded_call


def _walking() -> Walk:
    walk = current_walk()
    assert walk is not None  # set by `as_current_walk` in the functions below
    return walk


@agent_step(acts=False, title="{number} · decide")
async def decide(number: int, screen: str, answer_only: bool) -> Step:
    """Ask the model for step ``number``, on the picture with SHA-256 ``screen``."""
    return await _walking().decide(answer_only=answer_only)


@agent_step(acts=False, title="{number} · decide", cache_policy=SAME_DECISION)
async def decide_once(number: int, screen: str, answer_only: bool, situation: str) -> Decision:
    """Ask the model for step ``number`` unless it has decided on the same ``situation`` before."""
    walk = _walking()
    step = await walk.decide(answer_only=answer_only)
    return Decision(step=step, situation=walk.situation(answer_only=answer_only))


@agent_step(acts=False, retries=0, title="{number} · script · decide")
async def decide_scripted(number: int, screen: str) -> Step:
    """Ask the script for step ``number``, on the picture with SHA-256 ``screen``."""
    return await _brain.get().decide(_walking())


@step_as_task(acts=True, title="{number} · {what}")
async def act(number: int, what: str) -> str | _NoInputSent:
    """Perform the action of the present step, once. A screen that changed before the input does not fail the task."""
    try:
        return await _walking().act(_step.get())
    except ScreenChanged as error:
        return _NoInputSent(error)


async def decide_as_task(walk: Walk, answer_only: bool) -> Step:
    """Run the walk's decision as a task that is named after its step. A cached decision costs no call."""
    with as_current_walk(walk):
        seen = walk.seen.shot.sha256 if walk.seen else ""
        if current_run().options.cache_decisions:
            situation = walk.situation(answer_only=answer_only)
            known = await decide_once(walk.step, seen, answer_only, situation)
            if known.situation == walk.situation(answer_only=answer_only):
                return known.step
        return await decide(walk.step, seen, answer_only)


async def decide_by_script(walk: Walk, brain: Brain) -> Step:
    """Run a script's decision as a task that is named after its step. It costs no call."""
    token = _brain.set(brain)
    try:
        with as_current_walk(walk), tags("layer:script"):
            return await decide_scripted(walk.step, walk.seen.shot.sha256 if walk.seen else "")
    finally:
        _brain.reset(token)


def act_by(layer: str) -> Callable[[Walk, Step], Awaitable[str]]:
    """Return the function that acts for a layer. Layers other than the model show in the tasks' names and tags."""
    if layer == "model":
        return act_as_task

    async def act_for(walk: Walk, step: Step) -> str:
        with tags(f"layer:{layer}"):
            return await act_as_task(walk, step, f"{layer} · ")

    return act_for


async def act_as_task(walk: Walk, step: Step, by: str = "") -> str:
    """Run the walk's action as a task that is named after it. ``by`` is a prefix with the layer."""
    # The step is passed by context: Prefect searches parameters for task results, field by field.
    token = _step.set(step)
    try:
        with as_current_walk(walk):
            done = await act(walk.step, f"{by}{label(step.tool_call)}")
        if isinstance(done, _NoInputSent):
            raise done.error
        return done
    finally:
        _step.reset(token)
