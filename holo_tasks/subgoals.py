"""Sub-goals: async subflows with a fresh history, a progress line and, if wanted, a business token."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from prefect import flow, get_run_logger
from pydantic import BaseModel, TypeAdapter, ValidationError

from holo_tasks.agent import flow_run_id
from holo_tasks.core import events
from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.loop import AnswerReader
from holo_tasks.core.loop import pursue as run_loop
from holo_tasks.core.transcript import Transcript
from holo_tasks.core.walk import Walk
from holo_tasks.run import Run, current_guard, current_progress, current_run, ending, guarded
from holo_tasks.safety.ledger import digest_of
from holo_tasks.tasks import act_as_task, decide_as_task

P = ParamSpec("P")
R = TypeVar("R")
MAX_GOAL_CHARACTERS = 100_000


@dataclass
class Subgoal:
    """The sub-goal that is being worked on: its place in the run and in the story."""

    number: int
    title: str
    progress: str
    token: str


_subgoal: ContextVar[Subgoal | None] = ContextVar("holo_subgoal", default=None)


@overload
def subgoal(function: Callable[P, Awaitable[R]], /) -> Callable[P, Awaitable[R]]: ...
@overload
def subgoal(
    *, title: str | None = None, token: str | None = None
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]: ...
def subgoal(
    function: Callable[P, Awaitable[R]] | None = None,
    /,
    *,
    title: str | None = None,
    token: str | None = None,
) -> Any:
    """Make an async function a sub-goal: a subflow named after its goal, with a history of its own.

    ``title`` and ``token`` are format strings over the function's arguments. With a ``token`` the result is
    kept in the ledger under that business item: a later call with the same arguments returns it without a
    model call or an input event; with other arguments it raises `TokenConflict`.
    """

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        signature = inspect.signature(function)
        goal_name = function.__name__.replace("_", " ")
        returns = TypeAdapter(inspect.get_annotations(function, eval_str=True).get("return", Any))

        @wraps(function)
        async def body(*args: P.args, **kwargs: P.kwargs) -> R:
            given = _arguments(signature, args, kwargs)
            here = Subgoal(
                number=0,
                title=_fill(title, given) if title else _default_title(goal_name, given),
                progress="",
                token=_fill(token, given) if token else "",
            )
            return await _run_subgoal(here, goal_name, given, returns, lambda: function(*args, **kwargs))

        def run_name() -> str:
            given = dict(_flow_parameters())
            return _fill(title, given) if title else _default_title(goal_name, given)

        # What a sub-goal came to is kept in the ledger by business token: Prefect would match results by
        # call order, which gives one sub-goal another's result when a retry plans differently.
        return flow(
            name=goal_name,
            flow_run_name=run_name,
            persist_result=False,
            retries=0,
            validate_parameters=False,
        )(body)

    return decorate(function) if function is not None else decorate


async def pursue(goal: str, *, returns: Any = str, max_steps: int | None = None) -> Any:
    """Let the agent work on a goal until it answers; return the answer as ``returns``.

    ``returns`` is any type pydantic can validate: the model is told its JSON schema, and an answer that does not
    fit is sent back once. Raises a `HoloError` whose status says how it ended.
    """
    run = current_run()
    text = goal.strip()
    if not text:
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    if len(text) > MAX_GOAL_CHARACTERS:
        raise InvalidUsage(f"The goal has {len(text)} characters; {MAX_GOAL_CHARACTERS} is the limit.")
    here = _subgoal.get()
    if here is None:
        run.subgoals += 1
        here = Subgoal(run.subgoals, text[:120], "", "")
    guard = current_guard() or run.guard
    walk = Walk(run.doors(), guard, here.number, Transcript(task_text(text, here.progress, returns)))
    await walk.record(
        events.SubgoalOpened(
            title=here.title,
            goal=text,
            progress=here.progress,
            token=here.token,
            model=run.model,
            display=run.desktop.display,
            flow_run_id=flow_run_id(),
        )
    )
    spent_before = guard.spent_micro
    status: events.Status = "answered"
    reason = answer = ""
    async with run.busy:
        try:
            found = await run_loop(
                walk,
                read=reader_for(returns),
                decide=decide_as_task,
                act=act_as_task,
                max_steps=max_steps or run.max_steps,
            )
            run.answer = answer = found.text
            return found.value
        except BaseException as error:
            status, reason = ending(error)
            if isinstance(error, LimitReached):
                answer = error.partial_answer or ""
            raise
        finally:
            run.steps += walk.step
            cost = None if guard.unpriced_calls else guard.spent_micro - spent_before
            await walk.record(
                events.SubgoalClosed(status=status, answer=answer, reason=reason, steps=walk.step, cost_micro_usd=cost)
            )
            pass


def task_text(goal: str, progress: str, returns: Any) -> str:
    """Write the task message: the goal, where it stands in the story, and the shape of the answer."""
    parts = [goal]
    if progress:
        parts.append(f"Progress: {progress}")
    if returns is not str:
        schema = json.dumps(TypeAdapter(returns).json_schema(), ensure_ascii=False)
        parts.append(f"When done, answer with JSON that fits this schema, and nothing else: {schema}")
    return "\n\n".join(parts)


def reader_for(returns: Any) -> AnswerReader[Any]:
    """Return what turns an answer's text into ``returns``."""
    if returns is str:
        return lambda text: text
    adapter: TypeAdapter[Any] = TypeAdapter(returns)

    def read(text: str) -> Any:
        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            problems = [
                f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)
            ]
            raise ValueError("; ".join(problems[:3])) from None

    return read


async def _run_subgoal(
    here: Subgoal,
    goal: str,
    given: dict[str, Any],
    returns: TypeAdapter[Any],
    work: Callable[[], Awaitable[Any]],
) -> Any:
    run = current_run()
    run.subgoals += 1
    here.number = run.subgoals
    story = current_progress()
    here.progress = story.step(here.title) if story else ""
    logger = get_run_logger()
    if here.progress:
        logger.info("%s", here.progress)
    inputs = digest_of(given)
    if here.token and run.ledger:
        done = run.ledger.find(here.token, goal, inputs)
        if done is not None:
            logger.info("Already done for %s; evidence: %s", here.token, done.trace)
            await _record_skipped(run, here, done.result)
            return returns.validate_json(done.result)
    mark = _subgoal.set(here)
    try:
        with guarded(f"‘{here.title}’", Limits()):
            result = await work()
    finally:
        _subgoal.reset(mark)
    if here.token and run.ledger:
        text = returns.dump_json(result).decode()
        run.ledger.finish(here.token, goal, inputs, text, run.trace)
    return result


async def _record_skipped(run: Run, here: Subgoal, result: str) -> None:
    await run.recorder.record(
        events.SubgoalOpened(
            subgoal=here.number, title=here.title, goal=here.title, progress=here.progress, token=here.token
        )
    )
    await run.recorder.record(
        events.SubgoalClosed(
            subgoal=here.number, status="answered", answer=result, steps=0, cost_micro_usd=0, skipped=True
        )
    )


def _arguments(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in bound.arguments.items()
    }


def _fill(template: str, given: dict[str, Any]) -> str:
    try:
        return template.format(**given)
    except (KeyError, IndexError, AttributeError, ValueError) as error:
        raise InvalidUsage(f"{template!r} cannot be filled in from the arguments ({error!r}).") from None


def _default_title(goal: str, given: dict[str, Any]) -> str:
    first = next((value for value in given.values() if isinstance(value, str | int)), "")
    return f"{goal} {first}".strip()[:120]


def _flow_parameters() -> dict[str, Any]:
    from prefect.runtime import flow_run

    return flow_run.parameters or {}
