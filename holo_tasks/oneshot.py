"""One goal, from settings to outcome: what `holo-tasks run` does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import httpx
from prefect import flow
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import PrefectException
from prefect.states import Completed

from holo_tasks.agent import flow_run_id, open_agent
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.events import Status
from holo_tasks.core.ports import Desktop
from holo_tasks.decorators import before_deadline
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.outcome import GOAL, Outcome, Settings, already_done
from holo_tasks.publish import flush_logs
from holo_tasks.run import Run, ending
from holo_tasks.stopping import cancel_at_signals
from holo_tasks.subgoals import pursue


async def run_goal(settings: Settings, desktop: Desktop) -> Outcome:
    """Run one goal as a Prefect flow on a desktop that is up. A `HoloError` becomes an outcome."""
    ended: list[Outcome] = []

    @flow(name="holo-tasks run", flow_run_name="{goal}", persist_result=False, validate_parameters=False)
    async def holo_run(goal: str) -> State[Any]:
        outcome = await _until_stopped(_claimed(settings, desktop))
        ended.append(outcome)
        if outcome.status == "answered":
            return Completed(message=(outcome.answer or "")[:500])
        kind = StateType.CANCELLED if outcome.status == "killed" else StateType.FAILED
        return State(type=kind, name=outcome.status.replace("_", " ").capitalize(), message=outcome.message)

    try:
        state = await holo_run(settings.goal[:200], return_state=True)
        if not ended:
            await state.aresult()  # a fault of ours: let it be seen
    except (httpx.HTTPError, PrefectException) as error:
        if not ended:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise InvalidUsage(f"Prefect's server did not take the run ({why}); check PREFECT_API_URL.") from None
    except asyncio.CancelledError:
        if not ended:
            raise
    await flush_logs()
    return ended[0]


async def _until_stopped(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to the end, or until SIGINT or SIGTERM: then input stops and the trace is closed with the reason."""
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
        with settings.ledger.claim(settings.token, GOAL):
            return already_done(settings) or await _work(settings, desktop)
    except InvalidUsage as error:
        return Outcome("invalid", error.exit_code, None, 0, 0, None, flow_run_id() or None, str(error))


async def _work(settings: Settings, desktop: Desktop) -> Outcome:
    endpoint = ModelEndpoint(settings.base_url, settings.api_key)
    run: Run | None = None
    answer: str | None = None
    status: Status = "answered"
    code, message = 0, ""
    try:
        async with open_agent(
            title=settings.goal[:200],
            desktop=desktop,
            endpoint=endpoint,
            profile=settings.profile,
            destination=settings.audit,
            dialect=settings.dialect,
            allow=settings.allow,
            limits=settings.limits,
            max_steps=settings.max_steps,
            home=settings.home,
        ) as run:
            found: str = await before_deadline(run.guard, pursue(settings.goal))
            run.answer = answer = found
            if settings.token is not None:
                stored = json.dumps({"answer": answer, "flow_run_id": flow_run_id()})
                settings.ledger.finish(settings.token, GOAL, settings.inputs, stored, run.trace)
    except (HoloError, asyncio.CancelledError) as error:
        status, message = ending(error)
        code = error.exit_code if isinstance(error, HoloError) else 13
        answer = (run.answer or None) if run else None
    finally:
        await endpoint.close()
    ended = Outcome(status, code, answer, 0, 0, None, flow_run_id() or None, message)
    if run is None:
        return ended
    delivery = run.delivery.message if run.delivery and not run.delivery.complete else ""
    return replace(
        ended,
        steps=run.steps,
        cost_micro_usd=run.guard.total_micro,
        trace=run.trace,
        message=f"{message} {delivery}".strip(),
    )
