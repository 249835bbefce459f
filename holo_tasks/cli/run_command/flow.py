"""The Prefect flow of `holo-tasks run`. `run_goal` takes `Settings` and returns an `Outcome`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

import httpx
from prefect import flow
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.settings import get_current_settings
from prefect.states import Completed

from holo_tasks.agent.limits import before_deadline
from holo_tasks.agent.open_agent import TITLE_CHARACTERS, open_agent
from holo_tasks.agent.pursue import pursue
from holo_tasks.cli.exit import await_known_result
from holo_tasks.cli.run_command.earlier_replay import begin_this_replay
from holo_tasks.cli.run_command.live_lines import open_live_lines
from holo_tasks.cli.run_command.progress import Progress
from holo_tasks.cli.run_command.settings import GOAL, Outcome, Settings, outcome_of
from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.errors import HoloError, InvalidUsage, Killed, Unavailable
from holo_tasks.core.events import Status
from holo_tasks.core.secrets.secret import names_in
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.texts.outside_text import named
from holo_tasks.machine.output import say
from holo_tasks.machine.patience import SILENT_S, Patience, is_away
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.prefect_server.temporary import is_up
from holo_tasks.run.desktops.lazy_desktop import Closable
from holo_tasks.run.items.business_item import Attempt, ItemRecords, WorkItem
from holo_tasks.run.prefect_edge.artifacts import flush_logs
from holo_tasks.run.prefect_edge.flow_context import attempt, flow_run_id
from holo_tasks.run.prefect_edge.internals import begun_flow_run
from holo_tasks.run.prefect_edge.unreported_runs import note_unreported, report_noted
from holo_tasks.run.run import Run, status_and_reason
from holo_tasks.run.subgoal_options import MODEL, PERSON, Layer, SubgoalOptions
from holo_tasks.safety.records.budgets import item_key
from holo_tasks.safety.records.items import Items


async def run_goal(settings: Settings, desktop: Closable) -> Outcome:
    """Run one goal as a Prefect flow on a started desktop. A `HoloError` becomes an outcome.

    Raises `Unavailable` or `InvalidUsage` if Prefect's server does not accept the run.
    """
    ended: list[Outcome] = []
    known, begun, patience = asyncio.Event(), "", Patience()
    made: FlowRun | None = None
    name = named(settings.goal, TITLE_CHARACTERS)
    for note in await report_noted(settings.home, temporary=settings.temporary):
        say(note)

    def title() -> str:
        """Return the name, and note the flow run: Prefect calls this when it exists, before it begins."""
        nonlocal made
        context = FlowRunContext.get()
        made = context.flow_run if context else None
        return name

    @flow(name="holo-tasks run", flow_run_name=title, persist_result=False, validate_parameters=False, retries=0)
    async def holo_run(goal: str) -> State[Any]:
        nonlocal begun
        begun = attempt()
        word.cancel()
        await asyncio.to_thread(begin_this_replay, settings)
        outcome = await _until_stopped(_claimed(settings, desktop))
        ended.append(outcome)
        known.set()
        return _state_of(outcome)

    # Prefect's client retries silently while its server is busy.
    word = asyncio.get_running_loop().call_later(
        SILENT_S, patience.report_wait, "Prefect's server is slow to take the run."
    )
    state: State[Any] | None = None
    while True:
        try:
            # A flow run that was created but could not begin is used again, so that no second one is created.
            begins = begun_flow_run(holo_run, made, {"goal": name})
            state = await await_known_result(begins, known, _server_answers)
            if not ended and state is not None:
                await state.aresult()  # raises the fault, which is a bug
        except (httpx.HTTPError, PrefectException, RuntimeError) as error:
            if begun and isinstance(error, RuntimeError):
                raise
            if not ended:
                refused = _not_taken(error, begun=bool(begun))
                await asyncio.sleep(_retry_delay_s(refused, patience, settings, made))
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
        unreported = note_unreported(
            settings.home, outcome.flow_run_id, begun, _state_of(outcome), temporary=settings.temporary
        )
        outcome = replace(outcome, message=f"{outcome.message} {unreported}".strip())
    return outcome


def _state_of(outcome: Outcome) -> State[Any]:
    """Return the final state of the flow run for an outcome."""
    if outcome.status == "answered":
        return Completed(message=(outcome.answer or "")[:500])
    kind = StateType.CANCELLED if outcome.status == "killed" else StateType.FAILED
    return State(type=kind, name=outcome.status.replace("_", " ").capitalize(), message=outcome.message)


def _retry_delay_s(refused: InvalidUsage, patience: Patience, settings: Settings, made: FlowRun | None) -> float:
    """Return the seconds until the next try to begin a run.

    Raises ``refused`` if a retry does not help. Raises `Unavailable` when patience ends, and notes the final state of
    the created flow run for a later report.
    """
    if not isinstance(refused, Unavailable):
        raise refused
    try:
        return patience.pause_s(refused)
    except Unavailable as given_up:
        if made is not None and made.state is not None:
            ended = State[Any](type=StateType.FAILED, name="Unavailable", message=str(given_up))
            note_unreported(settings.home, str(made.id), str(made.state.id), ended, temporary=settings.temporary)
        raise given_up from None


def _not_taken(error: Exception, *, begun: bool) -> InvalidUsage:
    """Return the error that Prefect's server did not accept the run.

    It is `Unavailable` only if the run has not begun: that status promises that nothing was done.
    """
    why = first_line(error)
    away = is_away(error) and not begun
    kind, advice = (Unavailable, "try again later") if away else (InvalidUsage, "check PREFECT_API_URL")
    return kind(f"Prefect's server did not take the run ({why}); {advice}.")


def _server_answers() -> bool:
    return is_up(str(get_current_settings().api.url), timeout_s=1.0)


async def _until_stopped(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Await ``work``. A signal cancels it, so that input stops and the trace is closed with the reason."""
    outer, inner = asyncio.current_task(), asyncio.create_task(work)
    # Prefect has installed its own signal handlers by now, and removes them after the flow.
    cancel_at_signals(inner)
    try:
        return await inner
    finally:
        cancel_at_signals(outer)


async def _claimed(settings: Settings, desktop: Closable) -> Outcome:
    """Work under a claim on the token, so that concurrent runs do it once. A `HoloError` becomes an outcome."""
    attempt: Attempt | None = None
    try:
        attempt = Attempt(_item(settings), ItemRecords(settings.ledger, Items(settings.store), settings.home))
        return cast("Outcome", await attempt.do_once(partial(_work, settings, desktop, attempt)))
    except (HoloError, asyncio.CancelledError) as error:
        run, note = (attempt.books.run, attempt.reported_reason) if attempt else (None, "")
        status, message = status_and_reason(error, run=run)
        code = error.exit_code if isinstance(error, HoloError) else Killed.exit_code
        return _outcome_of_run(run, status, code, (run.answer or None) if run else None, message, note)


def _item(settings: Settings) -> WorkItem:
    """Return the entry of this work for the ledger and the dead-letter list."""
    return WorkItem(
        token=settings.options.key,
        goal=GOAL,
        title=named(settings.goal, TITLE_CHARACTERS),
        inputs=settings.inputs,
        same=settings.work,
        how={"kind": "run", "arguments": settings.arguments, "inputs": settings.inputs},
        read=lambda found: outcome_of(settings.options.key, found),
        write=lambda answer: (json.dumps({"answer": answer, "flow_run_id": flow_run_id()}), answer),
        alone=True,
    )


async def _work(settings: Settings, desktop: Closable, attempt: Attempt) -> Outcome:
    """Open a run and pursue the goal. Raises `NeedsPerson` if an earlier attempt may have acted."""
    await attempt.probe_earlier(None)
    endpoint, options = ModelEndpoint(settings.base_url, settings.api_key), settings.options
    followed = settings.followed
    progress_file = Progress(followed.file, options.max_steps) if followed else None
    said = (
        open_live_lines(options.max_steps, options.limits.max_cost_micro)
        if settings.aloud
        else nullcontext(progress_file)
    )
    try:
        async with (
            said as aloud,
            open_agent(
                title=settings.goal,
                desktop=desktop,
                endpoint=endpoint,
                profile=settings.profile,
                destination=settings.audit,
                options=replace(options, budget=item_key(options.key, "run") if options.key else ""),
                dialect=settings.dialect,
                secrets=settings.secrets,
                home=settings.home,
                began_s=settings.began_s,
                aloud=aloud,
                run_id=followed.run_id if followed else "",
            ) as run,
        ):
            attempt.books = replace(attempt.books, run=run)
            run.close_desktop = desktop.close
            answer = await attempt.do_and_store(lambda: _answer(run, settings), attempt.claim)
    finally:
        await endpoint.close()
    return _outcome_of_run(run, "answered", 0, answer)


async def _answer(run: Run, settings: Settings) -> str:
    names = {*settings.secrets, *names_in(settings.goal)}  # the model gets an error for a name without a value
    replay = settings.playbook
    after: Layer | None = MODEL if replay is None or not replay.only else PERSON if settings.options.handoff else None
    layers = [layer for layer in (replay.script if replay else None, after) if layer is not None]
    work = pursue(settings.goal, data=settings.data, options=SubgoalOptions(secrets=sorted(names), layers=layers))
    run.answer = await before_deadline(run.guard, work)
    return run.answer


def _layer(run: Run) -> str | None:
    """Return the layer that found the answer: "playbook", "model", "person", or ``None`` without an answer."""
    return run.resolved[-1].layer if run.resolved else None


def _outcome_of_run(run: Run | None, status: Status, code: int, answer: str | None, *told: str) -> Outcome:
    """Return the outcome of a closed run with its steps and cost. ``run`` is ``None`` if none was opened."""
    ended = Outcome(status, code, answer, 0, 0, None, flow_run_id() or None, " ".join(filter(None, told)))
    if run is None:
        return ended
    late = run.delivery.message if run.delivery and not run.delivery.complete else ""
    doubt = run.delivery.doubt if run.delivery else ""
    return replace(
        ended,
        steps=run.steps,
        cost_micro_usd=run.guard.total_micro,
        trace=run.trace,
        layer=_layer(run),
        model_calls=run.guard.calls,
        healed=run.healed,
        may_have_stored=any(one.may_have_stored for one in run.replayed),
        message=" ".join(filter(None, (ended.message, late, doubt, *run.healing))),
    )
