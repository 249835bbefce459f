"""`@subgoal`: async subflows with an empty history, a progress line and, with a key, a business item."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

from prefect import get_run_logger, tags
from prefect.context import FlowRunContext
from prefect.exceptions import Pause
from prefect.states import Completed
from pydantic import TypeAdapter

from holo_tasks.agent.agent_step import ending_as_killed
from holo_tasks.agent.layers import EffectFound
from holo_tasks.agent.limits import before_deadline, limited
from holo_tasks.agent.prefect_options import check_flow_options
from holo_tasks.agent.pursue import perform
from holo_tasks.core.errors import GaveUp, HoloError, InvalidUsage, NeedsPerson
from holo_tasks.core.limits.budget import Limits
from holo_tasks.core.texts.visible_text import shell_word
from holo_tasks.handoff.suspend import leave_suspended
from holo_tasks.loop.ask_model.corrections import quoted_start
from holo_tasks.loop.screens import Route, Screens
from holo_tasks.run.items.business_item import Attempt, ItemRecords, WorkItem
from holo_tasks.run.items.journal import NOT_DONE, current_journal, journalled
from holo_tasks.run.items.stored_work import Call, StoredFunction, check_template, fields_of
from holo_tasks.run.items.work_identity import work_of
from holo_tasks.run.learn import Learn, Learned
from holo_tasks.run.prefect_edge.final_states import failed_state
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.run.prefect_edge.log_filter import one_line_errors
from holo_tasks.run.prefect_edge.secret_filter import ScrubbedFlow, with_scrubbed_errors
from holo_tasks.run.run import Run, current_progress, current_run, guarded, progress, run_to_end, running_here, to_text
from holo_tasks.run.subgoal_context import Subgoal, as_current_subgoal, current_subgoal
from holo_tasks.run.subgoal_options import ANY_EFFECT, MODEL, SCRIPTED, Effect, Layer, SubgoalOptions

if TYPE_CHECKING:
    from holo_tasks.agent.playbooks.learning import PlaybookLearner

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_PREFECTS_OWN = frozenset({"return_state", "wait_for"})
"""Keyword arguments of a call to Prefect. A call with such an argument creates a flow run even if the result is
known."""


class SubgoalFlow(ScrubbedFlow[P, R]):
    """The flow of a sub-goal. A call whose result is in the ledger creates no flow run."""

    def __init__(
        self,
        known: StoredFunction,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        *,
        only_looks: bool = False,
    ) -> None:
        flow_options = dict(check_flow_options(options))
        self.run_tags = frozenset(flow_options.pop("tags", ()))
        # The ledger stores results by business item. Prefect would match results by call order, so a retry with
        # another plan would give one sub-goal the result of another.
        super().__init__(
            fn=function,
            name=known.goal,
            flow_run_name=known.title,
            persist_result=False,
            retries=0,
            validate_parameters=False,
            **flow_options,
        )
        self.known, self._options, self.only_looks = known, dict(options), only_looks

    def with_options(self, **flow_options: Any) -> SubgoalFlow[P, R]:
        """Return the same sub-goal with other options of Prefect. Results under its key stay valid."""
        made: SubgoalFlow[P, R] = SubgoalFlow(
            self.known, self.fn, {**self._options, **flow_options}, only_looks=self.only_looks
        )
        made._storage, made._entrypoint = self._storage, self._entrypoint
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = running_here()
        usual: Callable[[], Any] = lambda: super(SubgoalFlow, self).__call__(*args, **kwargs)  # noqa: E731
        if self.run_tags:
            usual = self._with_run_tags(usual)
        if run is None or not self.known.token or _PREFECTS_OWN & kwargs.keys():
            return usual()
        return self._unless_done(run, usual, args, kwargs)

    def _with_run_tags(self, usual: Callable[[], Any]) -> Callable[[], Any]:
        async def tagged() -> Any:
            with tags(*self.run_tags):
                return await usual()

        return tagged

    async def _unless_done(self, run: Run, usual: Callable[[], Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        known = self.known
        found = await asyncio.to_thread(known.found, run.ledger, args, kwargs)
        if found is None:
            return await usual()
        if story := current_progress():
            story.step(found.call.title)
        await run.skipping.add(run, found.call.token, known.goal, found.call.title, found.done)
        return found.result


class SubgoalCall(Protocol[P, R_co]):
    """Type of a sub-goal for callers, with the signature of its function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R_co]: ...

    def with_options(self, **flow_options: Any) -> SubgoalCall[P, R_co]:
        """Return the same sub-goal with other options of Prefect's flows."""
        ...


class Decorator(Protocol):
    """Decorator that keeps the signature of an async function."""

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
    learn: bool | Learn = False,
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
    learn: bool | Learn = False,
    **flow_options: Any,
) -> Any:
    """Make an async function a sub-goal: a subflow that is named after its goal, with its own history.

    ``title`` and ``key`` are format strings over the function's arguments. With a ``key`` the result is stored in the
    ledger under that business item. A later call with the same arguments returns it without a model call or input.
    With other arguments, or from another function of the same name, it raises `TokenConflict`. ``inputs`` names the
    arguments that are compared, by default all. If all arguments in the key are None, the call has no key.

    A function is identified by its name and the place of its file: the package, else the folder, without the commit
    that Git has checked out there. ``ledger`` is a fixed name instead. Use it if each release has its own folder, or
    if one function creates several sub-goals.

    ``data`` names the arguments from outside, such as the text of a mail. Each `pursue` directly inside gets them as
    its ``data``, so the goal refers to them by name. The text of any argument in the title is cleaned and shortened.
    ``advisor`` names the model for `judge`, also in nested sub-goals that name none.

    Under a key every action gets an intent in the journal. ``effect`` decides about an attempt that was interrupted
    after an action: see `Effect`. With ``effect=None`` the sub-goal only looks, and is done again.

    ``screens``, ``layers`` and ``secrets`` apply to each `pursue` inside that does not override them: see
    `SubgoalOptions`. On known screens, interruptions are cleared and busy programs are awaited before each decision.
    Without ``secrets`` the model may type the secrets that the goal names.

    With ``learn`` a playbook is compiled after some runs that the model has answered. When it has agreed with the model
    in some further runs, it works before the model. See `Learn`.

    ``limits`` apply to each call, including its retries and re-runs, as with `cost_guardrail`. ``flow_options`` are
    options of Prefect's flows, and ``tags``. Raises `InvalidUsage` for an unsafe option, such as ``retries``.
    """
    one_line_errors()
    check_flow_options(flow_options)
    options = SubgoalOptions(screens=screens, layers=layers, effect=effect, secrets=secrets)
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidUsage(f"limits= is Limits(max_cost_usd=…, …), not {limits!r}.")
    learns = _learn_of(learn, options)

    def decorate(function: Callable[P, Awaitable[R]]) -> SubgoalFlow[P, R]:
        if not any(map(inspect.iscoroutinefunction, (function, inspect.unwrap(function)))):
            raise InvalidUsage(f"@subgoal goes on an async function: make {function.__name__!r} `async def`.")
        signature = inspect.signature(function)
        for what, template in (("title", title), ("key", key)):
            check_template(f"The {what} of {function.__name__!r}", template, signature)
        known = StoredFunction.describe(function, token=key, title=title, inputs=inputs, work=work_of(function, ledger))
        options.check_for_subgoal(signature.parameters.keys(), known.goal)
        defined = _Defined(known, options, advisor or "", _named_arguments(signature, data), limits, learns)

        @wraps(function)
        @with_scrubbed_errors
        @ending_as_killed
        async def body(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast("R", await defined.work_on(function, args, kwargs))

        only_looks = bool(known.token) and not options.declared_effect.changes
        return SubgoalFlow(known, body, flow_options, only_looks=only_looks)

    return decorate(function) if function is not None else decorate


@dataclass(frozen=True)
class _Defined:
    """The declaration of a sub-goal. ``data`` has the names of the arguments from outside."""

    known: StoredFunction
    options: SubgoalOptions
    advisor: str
    data: frozenset[str]
    limits: Limits | None
    learn: Learn | None

    async def work_on(self, function: Callable[..., Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        """Work on a call of the sub-goal. Return its result, or a failed Prefect state with its error."""
        known, call, around, run = self.known, self.known.call(args, kwargs), current_subgoal(), current_run()
        options, learning = await self._options(run, call)
        here = self._context_of(call, around, args, kwargs, options.called(args, kwargs, call.given))
        changes = self.options.declared_effect
        answered, replayed = len(run.resolved), len(run.replayed)
        ready = changes.precondition
        attempt = Attempt(WorkItem.of(known, call, run), ItemRecords.of_current_run(), around, here.listed)
        here = replace(here, progress=_next_of_story(here.title))

        async def work() -> Any:
            if (found := await attempt.probe_earlier(here.probe)) is not NOT_DONE:
                return found
            if ready is not None and call.token in run.resumed:
                await _check_ready(lambda: ready(*args, **kwargs), known.goal, call.token)
            result = await self._call_within_limits(function, args, kwargs)
            if changes.confirm:
                await _confirm(here, result)
            return result

        async def under_claim() -> Any:
            if attempt.claim is not None and attempt.claim.epoch > 1:
                run.resumed.add(call.token)
            journal = (attempt.claim or current_journal()) if changes.changes else None
            return await attempt.do_and_store(lambda: _work_on(here, work), journal, here.resolved)

        try:
            return _completed_state(await attempt.do_once(under_claim), here.resolved)
        except HoloError as error:
            return failed_state(error)  # Prefect raises the error in the caller
        except Pause as suspended:
            await run_to_end(leave_suspended(suspended))
            raise
        finally:
            if learning is not None:
                learning.count_result(run, call, answered, replayed)

    async def _options(self, run: Run, call: Call) -> tuple[SubgoalOptions, PlaybookLearner | None]:
        """Return the options of this call, with a learned playbook before the model, and the object that learns."""
        if self.learn is None and not any(isinstance(layer, Learned) for layer in self.options.in_order):
            return self.options, None
        from holo_tasks.agent.playbooks.learning import (  # imports OCR, which takes long to load
            learner_of_run,
            resolve_learned_layer,
        )

        if self.learn is None:
            return await resolve_learned_layer(run, self.options, call.given)
        learning = await learner_of_run(run, self.known, self.learn)
        return learning.options_with_playbook(self.options, call.given), learning

    def _context_of(
        self, call: Call, outer: Subgoal | None, args: Any, kwargs: Any, options: SubgoalOptions
    ) -> Subgoal:
        """Return the context for the code inside this call."""
        probe, screens = self.options.declared_effect.probe, self.options.known_screens
        # The probe does not use the route and the layers of the sub-goal, only its screens.
        looking = (
            (lambda: perform(lambda: probe(*args, **kwargs), f"look whether done: {call.title}", screens))
            if probe
            else None
        )
        return Subgoal(
            number=0,
            title=call.title,
            progress="",
            token=call.token,
            advisor=self.advisor or (outer.advisor if outer else ""),
            goal=self.known.goal,
            options=options,
            probe=looking,
            data={name: call.given[name] for name in self.data},
            arguments={name: value for name, value in call.given.items() if name not in self.data},
            titled_by_data=bool(self.data & fields_of(self.known.title)),
            around=outer,
        )

    async def _call_within_limits(self, function: Callable[..., Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        if self.limits is None:
            return await function(*args, **kwargs)
        with limited(self.known.goal, self.limits) as guard:
            return await before_deadline(guard, function(*args, **kwargs))


def _learn_of(given: bool | Learn, options: SubgoalOptions) -> Learn | None:
    """Return the settings of learning, or ``None``. Raises `InvalidUsage` if layers= has no model or has a script."""
    if not isinstance(given, bool | Learn):
        raise InvalidUsage(f"learn= is True, or Learn(into=…, after=…, shadow=…), not {given!r}.")
    if given and (MODEL not in options.order or {*SCRIPTED} & {*options.order}):
        raise InvalidUsage("learn= makes a script that works before the model: layers= needs the model and no script.")
    return (Learn() if given is True else given) or None


def _completed_state(found: Any, layers: Sequence[str]) -> Any:
    """Return a sub-goal's result in a Prefect state that names the layers that found it."""
    context = FlowRunContext.get()
    by = " + ".join(dict.fromkeys(layers))
    if not by or context is None:
        return found
    name = None if by == MODEL else f"Completed by {by}"
    return Completed(name=name or "Completed", message=f"Resolved by: {by}.", data=found)


def is_done(work: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Return whether the ledger has a sub-goal's result for these arguments.

    Raises `TokenConflict` if its key was used with other inputs, and `InvalidUsage` for work without a key.
    """
    run, known = current_run(), known_by_key(work, "is_done")
    call = known.call(args, kwargs)
    return run.ledger.find(call.token, known.goal, call.inputs, known.same) is not None


def known_by_key(work: Callable[..., Any], asking: str) -> StoredFunction:
    """Return the description of a sub-goal or a step with a key. Raises `InvalidUsage` for other functions."""
    known = cast("StoredFunction | None", getattr(work, "known", None))
    if known is None or known.token is None:
        raise InvalidUsage(f"{asking}() needs a sub-goal or a step with a key.")
    return known


def _next_of_story(title: str) -> str:
    """Begin the next step of the progress, log its line and return it. Empty outside of `progress`."""
    story = current_progress()
    line = story.step(title) if story else ""
    if line:
        get_run_logger().info("%s", line)
    return line


async def _check_ready(ready: Callable[[], Awaitable[bool]], goal: str, token: str) -> None:
    """Raise `NeedsPerson` unless the precondition of interrupted work holds."""
    with journalled(None), progress(1):
        if await ready():
            return
    raise NeedsPerson(
        f"{token!r} was interrupted, and the screen is not where {goal!r} begins; bring the program there, then: "
        f"`holo-tasks retry {shell_word(token)}`."
    )


async def _confirm(here: Subgoal, result: Any) -> None:
    """Look with the probe for the effect of a finished sub-goal.

    Raises `GaveUp` if the effect is certainly missing, and `NeedsPerson` if the probe cannot tell.
    """
    assert here.probe is not None
    with journalled(None), progress(1):
        found = await here.probe()
    answer = quoted_start(to_text(TypeAdapter(Any).dump_python(result, mode="json"))) or "empty"
    if found is NOT_DONE:
        raise GaveUp(f"The answer is {answer}, but the probe does not find the effect.")
    if found is None:
        raise NeedsPerson(f"The answer is {answer}, and the probe cannot tell whether the effect is there.")


async def _work_on(subgoal: Subgoal, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        with (
            as_current_subgoal(subgoal),
            guarded(f"‘{subgoal.title}’", Limits()),
            current_run().switch.inside(flow_run_id()),
        ):
            return await work()
    except EffectFound as found:
        return found.value


def _named_arguments(signature: inspect.Signature, data: Sequence[str]) -> frozenset[str]:
    """Return the names in ``data=``. Raises `InvalidUsage` for a name that is not an argument."""
    names = frozenset((data,) if isinstance(data, str) else data)
    for name in sorted(names - signature.parameters.keys()):
        raise InvalidUsage(f"data= must name arguments of the function; {name!r} is not one.")
    return names
