"""Sub-goals: async subflows with a fresh history, a progress line and, if wanted, a business token."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from prefect import get_run_logger, tags
from prefect.context import FlowRunContext
from prefect.exceptions import Pause
from prefect.states import Completed

from holo_tasks.agent.layers import EffectFound
from holo_tasks.agent.limits import before_deadline, limited
from holo_tasks.agent.prefect_options import check_flow_options
from holo_tasks.agent.pursue import perform
from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import HoloError, InvalidUsage, NeedsPerson
from holo_tasks.core.visible_text import shell_word
from holo_tasks.handoff.suspend import leave_suspended
from holo_tasks.loop.screens import Route, Screens
from holo_tasks.run.final_states import failed_state
from holo_tasks.run.flow_context import flow_run_id
from holo_tasks.run.journal import NOT_DONE, current_journal, journalled, left_to_person, look_for_effect
from holo_tasks.run.kept_work import Kept, check_template, fields_of
from holo_tasks.run.killed import as_killed
from holo_tasks.run.run import (
    Run,
    current_guard,
    current_progress,
    current_run,
    ending,
    guarded,
    progress,
    running_here,
    surely,
    working,
)
from holo_tasks.run.same_work import work_of
from holo_tasks.run.secret_filter import HushedFlow, HushedName, hushing_errors
from holo_tasks.run.stored_results import stored
from holo_tasks.run.subgoal_context import Subgoal, current_subgoal, inside
from holo_tasks.run.subgoal_options import ANY_EFFECT, MODEL, Effect, Layer, SubgoalOptions
from holo_tasks.run.unfinished import file_unfinished
from holo_tasks.safety.ledger import Claim, Ledger
from holo_tasks.safety.scrubbing import hush_error

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
FILING_S = 2.0
"""How long a run that is being stopped takes to put its item on the list."""


@dataclass(frozen=True)
class _Again:
    """How a sub-goal that was interrupted may be worked on again."""

    effect: bool
    probe: Callable[[], Awaitable[Any]] | None
    precondition: Callable[[], Awaitable[bool]] | None


_PREFECTS_OWN = frozenset({"return_state", "wait_for"})
"""Of a call that asks Prefect for more than the result a flow run is made always."""


class SubgoalFlow(HushedFlow[P, R]):
    """The flow of a sub-goal. No flow run is made for a call whose result is known."""

    def __init__(self, known: Kept, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        flow_options = dict(check_flow_options(options))
        self.run_tags = frozenset(flow_options.pop("tags", ()))
        # What a sub-goal came to is kept in the ledger by business item: Prefect would match results by
        # call order, which gives one sub-goal another's result when a retry plans differently.
        super().__init__(
            fn=function,
            name=known.goal,
            flow_run_name=HushedName(known.title),
            persist_result=False,
            retries=0,
            validate_parameters=False,
            **flow_options,
        )
        self.known, self._options = known, dict(options)

    def with_options(self, **flow_options: Any) -> SubgoalFlow[P, R]:
        """Return the same sub-goal with other options of Prefect's; what is known under its key stays known."""
        made: SubgoalFlow[P, R] = SubgoalFlow(self.known, self.fn, {**self._options, **flow_options})
        made._storage, made._entrypoint = self._storage, self._entrypoint
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = running_here()
        usual: Callable[[], Any] = lambda: super(SubgoalFlow, self).__call__(*args, **kwargs)  # noqa: E731
        if self.run_tags:
            usual = self._tagged(usual)
        if run is None or run.ledger is None or not self.known.token or _PREFECTS_OWN & kwargs.keys():
            return usual()
        return self._unless_done(run, run.ledger, usual, args, kwargs)

    def _tagged(self, usual: Callable[[], Any]) -> Callable[[], Any]:
        async def tagged() -> Any:
            with tags(*self.run_tags):
                return await usual()

        return tagged

    async def _unless_done(
        self, run: Run, ledger: Ledger, usual: Callable[[], Awaitable[Any]], args: Any, kwargs: Any
    ) -> Any:
        known = self.known
        found = await asyncio.to_thread(known.found, ledger, args, kwargs)
        if found is None:
            return await usual()
        if story := current_progress():
            story.step(found.call.title)
        await run.skipping.add(run, found.call.token, known.goal, found.call.title, found.done)
        return found.result


class SubgoalCall(Protocol[P, R_co]):
    """A sub-goal as it is called: with the signature of its function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R_co]: ...

    def with_options(self, **flow_options: Any) -> SubgoalCall[P, R_co]:
        """Return the same sub-goal with other options of Prefect's flows."""
        ...


class Decorator(Protocol):
    """Keeps the wrapped function's signature."""

    def __call__(self, function: Callable[P, Awaitable[R]], /) -> SubgoalCall[P, R]: ...


@overload
def subgoal(function: Callable[P, Awaitable[R]], /) -> SubgoalCall[P, R]: ...
@overload
def subgoal(
    *,
    key: str | None = None,
    title: str | None = None,
    inputs: Sequence[str] | None = None,
    data: Sequence[str] = (),
    advisor: str | None = None,
    effect: Effect | None = ANY_EFFECT,
    screens: Screens | Route | None = None,
    layers: Layer | Sequence[Layer] = MODEL,
    secrets: str | Sequence[str] | None = None,
    ledger: str | None = None,
    limits: Limits | None = None,
    **flow_options: Any,
) -> Decorator: ...
def subgoal(
    function: Callable[P, Awaitable[R]] | None = None,
    /,
    *,
    key: str | None = None,
    title: str | None = None,
    inputs: Sequence[str] | None = None,
    data: Sequence[str] = (),
    advisor: str | None = None,
    effect: Effect | None = ANY_EFFECT,
    screens: Screens | Route | None = None,
    layers: Layer | Sequence[Layer] = MODEL,
    secrets: str | Sequence[str] | None = None,
    ledger: str | None = None,
    limits: Limits | None = None,
    **flow_options: Any,
) -> Any:
    """Make an async function a sub-goal: a subflow named after its goal, with a history of its own.

    ``title`` and ``key`` are format strings over the function's arguments. With a ``key`` the result is
    kept in the ledger under that business item: a later call with the same arguments returns it without a
    model call or an input event; with other arguments it raises `TokenConflict`. A key of arguments that are all None
    is no key. ``inputs`` names the arguments that count for that; all do unless it is given. Another function of that
    name gets `TokenConflict`, too. Which function it is tell its name and the place of its file: the package, else the
    folder, without the commit that Git has checked out there. ``ledger`` is a name that stays where those change, as
    with releases that each have a folder of their own, and that tells apart what one function makes several of.
    ``data`` names the arguments that come from outside, such as what a mail says: each `pursue` directly inside is told
    them as its `pursue(data=…)`, so the goal speaks of them by name and does not hold them. Whatever the argument, what
    it adds to the title is cleaned and bounded.
    ``advisor`` names the model that `judge` asks inside, also in sub-goals inside this one that name none.

    Under a key every action is written down before it is tried, and ``effect`` says what becomes of an attempt that was
    interrupted after it acted: see `Effect`. With ``effect=None`` the sub-goal only looks things up, and is done again.

    ``screens``, ``layers`` and ``secrets`` hold for each `pursue` inside that does not say otherwise: see
    `SubgoalOptions`. On known screens, what comes up is cleared and what works is waited for before every decision.
    Without ``secrets`` the model may have those typed that the goal names.

    ``limits`` hold for each call, its retries and re-runs together, as under `cost_guardrail`. ``flow_options`` are
    those of Prefect's flows, and ``tags``; what would break a promise, such as ``retries``, raises `InvalidUsage`.
    """
    check_flow_options(flow_options)
    options = SubgoalOptions(screens=screens, layers=layers, effect=effect, secrets=secrets)
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidUsage(f"limits= is Limits(max_cost_usd=…, …), not {limits!r}.")

    def decorate(function: Callable[P, Awaitable[R]]) -> SubgoalFlow[P, R]:
        if not any(map(inspect.iscoroutinefunction, (function, inspect.unwrap(function)))):
            raise InvalidUsage(f"{function.__name__!r} is under @subgoal, which is awaited: make it `async def`.")
        signature = inspect.signature(function)
        for what, template in (("title", title), ("key", key)):
            check_template(f"The {what} of {function.__name__!r}", template, signature)
        known = Kept.of(function, token=key, title=title, inputs=inputs, work=work_of(function, ledger))
        defined = _Defined(known, options, advisor or "", _named_arguments(signature, data), limits)

        @wraps(function)
        @hushing_errors
        async def body(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast("R", await defined.worked_on(function, args, kwargs))

        return SubgoalFlow(known, body, flow_options)

    return decorate(function) if function is not None else decorate


@dataclass(frozen=True)
class _Defined:
    """What a sub-goal is declared to be; ``data`` are the arguments from outside."""

    known: Kept
    options: SubgoalOptions
    advisor: str
    data: frozenset[str]
    limits: Limits | None

    async def worked_on(self, function: Callable[..., Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        """Work on a call of the sub-goal; return its result, or a state of Prefect's that holds what went wrong."""
        known, call, around = self.known, self.known.call(args, kwargs), current_subgoal()
        changes, screens = self.options.what_it_changes, self.options.known_screens
        probe, precondition = changes.probe, changes.precondition
        # Where the work begins and ends, and who does it, does not hold for a look at what came of it.
        looking = (
            (lambda: perform(lambda: probe(*args, **kwargs), f"look whether done: {call.title}", screens))
            if probe
            else None
        )
        here = Subgoal(
            number=0,
            title=call.title,
            progress="",
            token=call.token,
            advisor=self.advisor or (around.advisor if around else ""),
            goal=known.goal,
            options=self.options.called(args, kwargs),
            probe=looking,
            data={name: call.given[name] for name in self.data},
            arguments={name: value for name, value in call.given.items() if name not in self.data},
            titled_by_data=bool(self.data & fields_of(known.title)),
            around=around,
        )
        ready = (lambda: precondition(*args, **kwargs)) if precondition else None
        return await _filed_on_failure(
            here,
            known.resume(call),
            lambda: _run_subgoal(
                here,
                known,
                call.inputs,
                lambda: self._limited(function, args, kwargs),
                _Again(changes.changes, looking, ready),
            ),
        )

    async def _limited(self, function: Callable[..., Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        if self.limits is None:
            return await function(*args, **kwargs)
        with limited(self.known.goal, self.limits) as guard:
            return await before_deadline(guard, function(*args, **kwargs))


async def _filed_on_failure(here: Subgoal, resume: Mapping[str, Any], work: Callable[[], Awaitable[Any]]) -> Any:
    """Do the work of a sub-goal; put its item on the dead-letter list where that does not come to its result."""
    try:
        found = await work()
    except HoloError as error:
        hush_error(error)
        await _file(here, error, error.status, resume)
        return failed_state(error)  # Prefect raises the error to whoever awaits the result
    except (Pause, BaseExceptionGroup) as error:
        # Out of a group of tasks it comes as a part of the group.
        suspended = error if isinstance(error, Pause) else current_run().suspended
        if suspended is None:
            if isinstance(error, Exception):
                await _file(here, error, "invalid", resume)
            raise
        status, why = ending(suspended)
        await surely(_file(here, suspended, status, resume, why))
        await surely(leave_suspended(suspended))
        raise suspended from (None if suspended is error else error)
    except asyncio.CancelledError as error:
        status, why = ending(error, current_guard())
        filing = asyncio.ensure_future(_file(here, error, status, resume, why))
        await asyncio.wait({filing}, timeout=FILING_S)
        ended = as_killed(error, current_run().switch)
        raise ended from (None if ended is error else error)
    except Exception as error:
        await _file(here, error, "invalid", resume)
        raise
    return _completed(found, here.resolved)


def _completed(found: Any, layers: Sequence[str]) -> Any:
    """Return a sub-goal's result in a state that says which layer came to it; Prefect hands the result on."""
    context = FlowRunContext.get()
    by = " + ".join(dict.fromkeys(layers))
    if not by or context is None:
        return found
    name = None if by == MODEL else f"Completed by {by}"
    return Completed(name=name or "Completed", message=f"Resolved by: {by}.", data=found)


def is_done(work: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Say whether a sub-goal's result for these arguments is in the ledger already.

    Raises `TokenConflict` if its key was used with other inputs, `InvalidUsage` for work without a key.
    """
    run, spec = current_run(), cast("Kept | None", getattr(work, "known", None))
    if spec is None or spec.token is None:
        raise InvalidUsage("Only a sub-goal with a key can be known to be done.")
    call = spec.call(args, kwargs)
    return run.ledger is not None and run.ledger.find(call.token, spec.goal, call.inputs, spec.same) is not None


async def _run_subgoal(
    here: Subgoal,
    known: Kept,
    inputs: str,
    work: Callable[[], Awaitable[Any]],
    again: _Again,
) -> Any:
    run = current_run()
    story = current_progress()
    here = replace(here, progress=story.step(here.title) if story else "")
    logger = get_run_logger()
    if here.progress:
        logger.info("%s", here.progress)
    ledger = run.ledger
    if not here.token or ledger is None:
        with journalled(current_journal() if again.effect else None):
            return await _work_on(here, work)
    goal = known.goal
    async with AsyncExitStack() as around:
        claim = await around.enter_async_context(ledger.at_work(here.token, goal, known.same))
        around.enter_context(left_to_person(claim))
        done = ledger.find(here.token, goal, inputs)
        if done is not None:
            result = known.read(here.token, done)
            await run.skipping.add(run, here.token, goal, here.title, done)
            return result
        if claim.epoch > 1:
            run.resumed.add(here.token)
        with working(run, claim, effect=again.effect):
            result = await _work_on(here, lambda: _once(run, claim, work, again))
        text, result = stored(known.returns, result)
        ledger.finish(claim, inputs, text, run.trace)
        await _settle(run, here)
        run.told.item(here.token, here.title, "answered", layer=" + ".join(dict.fromkeys(here.resolved)))
        return result


async def _once(run: Run, claim: Claim, work: Callable[[], Awaitable[Any]], again: _Again) -> Any:
    """Do the work, unless an earlier attempt did it; raise `NeedsPerson` if that cannot be known."""
    with progress(1):  # looking again is no step of the story
        found = await look_for_effect(claim.ledger, claim, again.probe)
    if found is not NOT_DONE:
        return found
    if claim.token in run.resumed and again.precondition is not None:
        with journalled(None), progress(1):
            ready = await again.precondition()
        if not ready:
            raise NeedsPerson(
                f"{claim.token!r} was interrupted, and the screen is not where {claim.goal!r} begins; bring the "
                f"program there, then: `holo-tasks retry {shell_word(claim.token)}`."
            )
    return await work()


async def _settle(run: Run, here: Subgoal) -> None:
    """Take a finished item off the dead-letter list, if that is what it was there for."""
    if run.items is not None:
        await asyncio.to_thread(run.items.settle, here.token, here.goal)


async def _file(here: Subgoal, error: BaseException, status: str, resume: Mapping[str, Any], why: str = "") -> None:
    """Put the sub-goal's business item on the dead-letter list."""
    run = current_run()
    run.told.item(here.token, here.title, status, why or str(error))
    if run.items is not None:
        await file_unfinished(
            run.items,
            run.home,
            here.token,
            here.goal,
            error,
            status,
            around=here.around,
            resume=resume,
            listed=here.listed,
            why=why,
            deployment_id=run.deployment_id,
            trace=run.trace,
            flow_run_id=run.flow_run_id,
        )


async def _work_on(here: Subgoal, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        with inside(here), guarded(f"‘{here.title}’", Limits()), current_run().switch.inside(flow_run_id()):
            return await work()
    except EffectFound as found:
        return found.value


def _named_arguments(signature: inspect.Signature, data: Sequence[str]) -> frozenset[str]:
    """Return the names of arguments that a sub-goal declares as data; raise `InvalidUsage` for one it does not have."""
    names = frozenset((data,) if isinstance(data, str) else data)
    for name in sorted(names - signature.parameters.keys()):
        raise InvalidUsage(f"data= names arguments of the function; there is no {name!r}.")
    return names
