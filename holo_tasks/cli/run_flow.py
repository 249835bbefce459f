"""One goal, from settings to outcome: what `holo-tasks run` does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

import httpx
from prefect import flow
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.flow_engine import run_flow_async
from prefect.settings import get_current_settings
from prefect.states import Completed

from holo_tasks.agent.limits import before_deadline
from holo_tasks.agent.open_agent import TITLE_CHARACTERS, open_agent
from holo_tasks.agent.pursue import pursue
from holo_tasks.cli.exit import until_told
from holo_tasks.cli.live_lines import Aloud, said_aloud
from holo_tasks.cli.run_settings import GOAL, Outcome, Settings, already_done
from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import HoloError, InvalidUsage, Killed, NeedsPerson, Unavailable
from holo_tasks.core.events import Status
from holo_tasks.core.outside import named
from holo_tasks.core.ports import Desktop
from holo_tasks.core.secret import names_in
from holo_tasks.machine.output import say
from holo_tasks.machine.patience import SILENT_S, Patience, is_away
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.prefect_server.temporary import is_up
from holo_tasks.run.artifacts import flush_logs
from holo_tasks.run.dead_letters import file_item
from holo_tasks.run.flow_context import attempt, flow_run_id
from holo_tasks.run.journal import left_to_person, look_for_effect
from holo_tasks.run.run import Run, ending, working
from holo_tasks.run.subgoal_options import SubgoalOptions
from holo_tasks.run.untold import note_untold, tell_untold
from holo_tasks.safety.budgets import item_key
from holo_tasks.safety.items import Items
from holo_tasks.safety.ledger import Claim


async def run_goal(settings: Settings, desktop: Desktop) -> Outcome:
    """Run one goal as a Prefect flow on a desktop that is up. A `HoloError` becomes an outcome."""
    ended: list[Outcome] = []
    known, begun, patience = asyncio.Event(), "", Patience()
    made: FlowRun | None = None
    name = named(settings.goal, TITLE_CHARACTERS)
    for told in await tell_untold(settings.home, temporary=settings.temporary):
        say(told)

    def title() -> str:
        """Prefect asks for it once there is a flow run, before that begins."""
        nonlocal made
        context = FlowRunContext.get()
        made = context.flow_run if context else None
        return name

    @flow(name="holo-tasks run", flow_run_name=title, persist_result=False, validate_parameters=False)
    async def holo_run(goal: str) -> State[Any]:
        nonlocal begun
        begun = attempt()
        word.cancel()
        outcome = await _until_stopped(_claimed(settings, desktop))
        ended.append(outcome)
        known.set()
        return _state_of(outcome)

    # Prefect's client tries again by itself while its server is busy, and says nothing of it.
    word = asyncio.get_running_loop().call_later(SILENT_S, patience.tell, "Prefect's server is slow to take the run.")
    state: State[Any] | None = None
    while True:
        try:
            # One that was made, and could not begin, is gone on with: it would stay there beside another one.
            begins: Any = run_flow_async(holo_run, made, {"goal": name}, return_type="state")
            state = await until_told(begins, known, _server_answers)
            if not ended and state is not None:
                await state.aresult()  # a fault of ours: let it be seen
        except (httpx.HTTPError, PrefectException, RuntimeError) as error:
            if begun and isinstance(error, RuntimeError):
                raise
            if not ended:
                refused = _not_taken(error, begun=bool(begun))
                await asyncio.sleep(_until_again_s(refused, patience, settings, made))
                continue
        except asyncio.CancelledError:
            if not ended:
                raise
        break
    word.cancel()
    outcome = ended[0]
    if state is not None:
        await flush_logs()
    elif outcome.flow_run_id:
        untold = note_untold(
            settings.home, outcome.flow_run_id, begun, _state_of(outcome), temporary=settings.temporary
        )
        outcome = replace(outcome, message=f"{outcome.message} {untold}".strip())
    return outcome


def _state_of(outcome: Outcome) -> State[Any]:
    """Return the state that a flow run ends in."""
    if outcome.status == "answered":
        return Completed(message=(outcome.answer or "")[:500])
    kind = StateType.CANCELLED if outcome.status == "killed" else StateType.FAILED
    return State(type=kind, name=outcome.status.replace("_", " ").capitalize(), message=outcome.message)


def _until_again_s(refused: InvalidUsage, patience: Patience, settings: Settings, made: FlowRun | None) -> float:
    """Return how long to wait until a run is begun again; raise if it is not, and have Prefect told so later."""
    if not isinstance(refused, Unavailable):
        raise refused
    try:
        return patience.pause_s(refused)
    except Unavailable as given_up:
        if made is not None and made.state is not None:
            ended = State[Any](type=StateType.FAILED, name="Unavailable", message=str(given_up))
            note_untold(settings.home, str(made.id), str(made.state.id), ended, temporary=settings.temporary)
        raise given_up from None


def _not_taken(error: Exception, *, begun: bool) -> InvalidUsage:
    """Say that Prefect's server did not take the run. Of one that has begun nobody says that nothing was done."""
    why = first_line(error)
    away = is_away(error) and not begun
    kind, advice = (Unavailable, "try again later") if away else (InvalidUsage, "check PREFECT_API_URL")
    return kind(f"Prefect's server did not take the run ({why}); {advice}.")


def _server_answers() -> bool:
    return is_up(str(get_current_settings().api.url), timeout_s=1.0)


async def _until_stopped(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to the end, or until a signal stops it: then input stops and the trace is closed with the reason."""
    outer, inner = asyncio.current_task(), asyncio.create_task(work)
    # Prefect has put its own handlers in place by now, and takes them away after the flow.
    cancel_at_signals(inner)
    try:
        return await inner
    finally:
        cancel_at_signals(outer)


async def _claimed(settings: Settings, desktop: Desktop) -> Outcome:
    """Do the work of a token once, also when two runs of it begin together."""
    if settings.token is None:
        return await _work(settings, desktop)
    try:
        async with settings.ledger.at_work(settings.token, GOAL, settings.work) as claim:
            done = already_done(settings)
            if done is None:
                await look_for_effect(settings.ledger, claim, None)
            return done or await _work(settings, desktop, claim)
    except (InvalidUsage, NeedsPerson) as error:
        status, message = ending(error)
        if isinstance(error, NeedsPerson):
            told = await _file(settings, status, message, trace=claim.earlier[-1].trace)
            message = f"{message} {told}".strip()
        return Outcome(status, error.exit_code, None, 0, 0, None, flow_run_id() or None, message)


async def _file(settings: Settings, status: Status, reason: str, *, trace: str) -> str:
    """Put a business item that could not be finished on the dead-letter list; return what is to be told of that."""
    how = {"kind": "run", "arguments": settings.arguments, "inputs": settings.inputs}
    assert settings.token is not None
    return await file_item(
        Items(settings.store),
        settings.home,
        settings.token,
        GOAL,
        status=status,
        reason=reason,
        trace=trace,
        flow_run_id=flow_run_id(),
        how=how,
    )


def _aloud(settings: Settings) -> AbstractAsyncContextManager[Aloud | None]:
    if not settings.aloud:
        return nullcontext()
    return said_aloud(settings.max_steps, settings.limits.max_cost_micro)


def _opened(
    settings: Settings, desktop: Desktop, endpoint: ModelEndpoint, aloud: Aloud | None
) -> AbstractAsyncContextManager[Run]:
    return open_agent(
        title=settings.goal,
        desktop=desktop,
        endpoint=endpoint,
        profile=settings.profile,
        destination=settings.audit,
        dialect=settings.dialect,
        allow=settings.allow,
        rules=settings.rules,
        redaction=settings.redaction,
        handoff=settings.handoff or False,
        key=settings.token or "",
        budget=item_key(settings.token, "run") if settings.token else "",
        limits=settings.limits,
        max_steps=settings.max_steps,
        max_corrections=settings.max_corrections,
        home=settings.home,
        began_s=settings.began_s,
        secrets=settings.secrets,
        aloud=aloud,
    )


async def _work(settings: Settings, desktop: Desktop, claim: Claim | None = None) -> Outcome:
    endpoint = ModelEndpoint(settings.base_url, settings.api_key)
    run: Run | None = None
    finished = False
    try:
        async with _aloud(settings) as aloud, _opened(settings, desktop, endpoint, aloud) as run:
            with left_to_person(claim):
                answer = await _answer(run, settings, claim)
                finished = claim is not None
            if claim is not None:
                with suppress(InvalidUsage):  # the next run finds it done, and takes it off the list
                    await asyncio.to_thread(Items(settings.store).settle, claim.token, GOAL)
        ended = Outcome("answered", 0, answer, 0, 0, None, None)
    except (HoloError, asyncio.CancelledError) as error:
        ended = await _failed(error, run, settings, finished=finished)
    finally:
        await endpoint.close()
    ended = replace(ended, flow_run_id=flow_run_id() or None)
    if run is None:
        return ended
    delivery = run.delivery.message if run.delivery and not run.delivery.complete else ""
    doubt = run.delivery.doubt if run.delivery else ""
    return replace(
        ended,
        steps=run.steps,
        cost_micro_usd=run.guard.total_micro,
        trace=run.trace,
        message=" ".join(said for said in (ended.message, delivery, doubt) if said),
    )


async def _answer(run: Run, settings: Settings, claim: Claim | None) -> str:
    """Pursue the goal, and write down under its token that it is done."""
    names = {*settings.secrets, *names_in(settings.goal)}  # one that is not there is told to the model
    with working(run, claim, effect=True) if claim else nullcontext():
        work = pursue(settings.goal, data=settings.data, options=SubgoalOptions(secrets=sorted(names)))
        answer: str = await before_deadline(run.guard, work)
    run.answer = answer
    if claim is not None:
        stored = json.dumps({"answer": answer, "flow_run_id": flow_run_id()})
        settings.ledger.finish(claim, settings.inputs, stored, run.trace)
    return answer


async def _failed(error: BaseException, run: Run | None, settings: Settings, *, finished: bool) -> Outcome:
    """Return what an error makes of a run; a business item that was not finished goes on the dead-letter list."""
    status, message = (run.status, run.reason) if run and run.switch.reason else ending(error)
    code = error.exit_code if isinstance(error, HoloError) else Killed.exit_code
    half_done = isinstance(error, HoloError) and error.half_done
    if settings.token is not None and (half_done or status not in ("invalid", Unavailable.status)) and not finished:
        told = await _file(settings, status, message, trace=run.trace if run else "")
        message = f"{message} {told}".strip()
    return Outcome(status, code, (run.answer or None) if run else None, 0, 0, None, None, message)
