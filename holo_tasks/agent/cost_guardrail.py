"""`@cost_guardrail`: limits on cost, actions, time and calls of a function."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Flow, Task
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext, TaskRunContext

from holo_tasks.agent.limits import before_deadline, limited
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.run.items.stored_work import bound, check_template, fill
from holo_tasks.run.prefect_edge.final_states import failed_state
from holo_tasks.run.prefect_edge.log_filter import one_line_errors

P = ParamSpec("P")
R = TypeVar("R")
_Scope = Callable[[Any, Any], AbstractContextManager[Guard]]
"""Returns the scope for one call of a function, from its arguments."""


def cost_guardrail(
    function: None = None,
    /,
    *,
    max_cost_usd: float | str | None = None,
    max_actions: int | str | None = None,
    timeout_seconds: float | str | None = None,
    max_calls_per_5_minutes: int | str | None = None,
    budget: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Limit the cost, actions, time and calls of everything inside a function.

    Put it under ``@subgoal``, ``@flow`` or ``@task``. Limits nest: the cost of an inner function is charged to all
    scopes around it, and the outermost limit is checked first. Cost, actions and calls count over retries and re-runs,
    of the business item under a sub-goal with a key, else of the flow run. ``budget`` is a format string over the
    arguments. It names a budget that other flows and workers share.

    The time begins again with each attempt. The deadline also stops a model call that hangs, but in a synchronous
    function it is checked at the next step only. A limit may be a format string over the arguments, such as
    ``"{max_cost_usd}"``.

    Raises `LimitReached` at a limit. Directly under ``@flow``, the run ends in a state that is named after the error.
    ``retries`` of the flow or task do not repeat a lasting error, such as a limit on cost or a refusal. They repeat
    other errors. A task's own ``retry_condition_fn`` decides instead, if there is one.
    """
    one_line_errors()
    given = {
        "max_cost_usd": max_cost_usd,
        "max_actions": max_actions,
        "timeout_seconds": timeout_seconds,
        "max_calls_per_5_minutes": max_calls_per_5_minutes,
    }
    if function is not None or all(limit is None for limit in given.values()):
        raise InvalidUsage("@cost_guardrail guards nothing without a limit: @cost_guardrail(max_cost_usd=0.50).")
    _limits(given, None)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _check(function, {**given, "budget": budget})
        name, signature = function.__name__.replace("_", " "), inspect.signature(function)

        def scope(args: Any, kwargs: Any) -> AbstractContextManager[Guard]:
            arguments = bound(signature, args, kwargs)
            shared = None if budget is None else fill(budget, arguments)
            return limited(name, _limits(given, arguments), shared)

        guarded = _guarded_async if inspect.iscoroutinefunction(function) else _guarded_sync
        return cast("Callable[P, R]", _resolved(guarded(function, scope), function))

    return decorate


def _check(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise `InvalidUsage` for a flow, a task, a generator, or a template that does not fit the arguments."""
    if isinstance(function, Flow | Task):
        raise InvalidUsage("@cost_guardrail goes under @flow, @task and @subgoal: above, it would guard nothing.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidUsage("@cost_guardrail cannot guard a generator: its body runs after the call has returned.")
    for what, template in given.items():
        if isinstance(template, str):
            check_template(f"The {what} of {function.__name__!r}", template, inspect.signature(function))


def _guarded_async(function: Callable[..., Any], scope: _Scope) -> Callable[..., Any]:
    @wraps(function)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            with scope(args, kwargs) as guard:
                return await before_deadline(guard, function(*args, **kwargs))
        except HoloError as error:
            return await asyncio.to_thread(_final_state, guarded, error)

    return guarded


def _guarded_sync(function: Callable[..., Any], scope: _Scope) -> Callable[..., Any]:
    name = function.__name__.replace("_", " ")

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            with scope(args, kwargs):
                returned = function(*args, **kwargs)
                if inspect.isawaitable(returned):
                    if inspect.iscoroutine(returned):
                        returned.close()
                    raise InvalidUsage(f"{name!r} returns something to await: make it `async def` to be guarded.")
                return returned
        except HoloError as error:
            return _final_state(guarded, error)

    return guarded


def _resolved(wrapper: Any, function: Callable[..., Any]) -> Any:
    """Give a wrapper the evaluated annotations of its function, since Prefect would look up their names here."""
    with contextlib.suppress(NameError):  # a name for type checkers only, which Prefect could not find either
        wrapper.__signature__ = inspect.signature(function, eval_str=True)
        wrapper.__annotations__ = inspect.get_annotations(function, eval_str=True)
    return wrapper


def _limits(given: Mapping[str, float | str | None], arguments: dict[str, Any] | None) -> Limits:
    """Return the limits of a decorator. Without ``arguments``, format strings count as no limit."""
    values: dict[str, Any] = dict(given)
    for name, value in given.items():
        if isinstance(value, str):
            values[name] = None if arguments is None else _number(name, fill(value, arguments))
    return Limits(**values)


def _number(name: str, text: str) -> float | None:
    if text == "None":
        return None
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        raise InvalidUsage(f"{name} must be a number, not {text!r}.") from None


def _final_state(guarded: Callable[..., Any], error: HoloError) -> State[Any]:
    """Return the state that a guarded flow ends with. Raises ``error`` if the function is not itself a flow."""
    flow, task = FlowRunContext.get(), TaskRunContext.get()
    if flow and flow.flow and flow.flow.fn is guarded:
        return failed_state(error)
    if task and task.task.fn is guarded:
        task.task.retry_condition_fn = task.task.retry_condition_fn or _may_pass
    raise error


def _may_pass(task: Any, task_run: Any, state: State[Any]) -> bool:
    """Return whether a retry of a task makes sense: its error is not lasting."""
    return not (isinstance(state.data, HoloError) and state.data.lasting)
