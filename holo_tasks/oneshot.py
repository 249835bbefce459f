"""One goal, from settings to outcome: what `holo-tasks run` does."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State, StateType
from prefect.states import Completed
from pydantic import SecretStr

from holo_tasks.agent import flow_run_id, open_agent
from holo_tasks.audit import Destination
from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import HoloError
from holo_tasks.core.events import Status
from holo_tasks.core.geometry import Size
from holo_tasks.core.ports import Desktop
from holo_tasks.decorators import before_deadline
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import Profile
from holo_tasks.run import Run, ending
from holo_tasks.safety.ledger import Ledger, digest_of
from holo_tasks.safety.policy import Trust
from holo_tasks.subgoals import pursue

GOAL = "run"
"""The kind of work, as the ledger knows it."""


@dataclass(frozen=True)
class Settings:
    """Everything one run needs to know.

    ``app`` starts a program on a virtual desktop; ``display`` attaches to an existing one.
    """

    goal: str
    base_url: str
    profile: Profile
    display: str | None = None
    app: str | None = None
    size: Size = field(default_factory=lambda: Size(1280, 800))
    api_key: SecretStr | None = None
    dialect: str = "auto"
    max_steps: int = 50
    limits: Limits = field(default_factory=Limits)
    allow: Trust = "read"
    audit: Destination | None = None
    token: str | None = None
    home: Path = field(default_factory=Path)


@dataclass(frozen=True)
class Outcome:
    """How a run ended; the fields of the command line's JSON object."""

    status: Status
    exit_code: int
    answer: str | None
    steps: int
    cost_micro_usd: int | None
    trace: str | None
    flow_run_id: str | None
    message: str = ""

    def to_json(self) -> str:
        """Return the one-line JSON object of ``--json``; an unknown cost is null, never 0."""
        cost = None if self.cost_micro_usd is None else self.cost_micro_usd / 1_000_000
        return json.dumps(
            {
                "status": self.status,
                "answer": self.answer,
                "steps": self.steps,
                "cost_usd": cost,
                "trace": self.trace,
                "flow_run_id": self.flow_run_id,
            },
            ensure_ascii=False,
        )


def already_done(settings: Settings) -> Outcome | None:
    """Return the stored outcome of a finished token; raise `TokenConflict` if its goal was another."""
    if settings.token is None:
        return None
    found = _ledger(settings).find(settings.token, GOAL, _inputs(settings))
    if found is None:
        return None
    stored = json.loads(found.result)
    message = f"{settings.token} is already done; nothing was repeated."
    return Outcome("answered", 0, stored["answer"], 0, 0, found.trace, stored["flow_run_id"], message)


async def run_goal(settings: Settings, desktop: Desktop) -> Outcome:
    """Run one goal as a Prefect flow on a desktop that is up. A `HoloError` becomes an outcome."""
    ended: list[Outcome] = []

    @flow(name="holo-tasks run", flow_run_name="{goal}", persist_result=False, validate_parameters=False)
    async def holo_run(goal: str) -> State[Any]:
        outcome = await _until_stopped(_work(settings, desktop))
        ended.append(outcome)
        if outcome.status == "answered":
            return Completed(message=(outcome.answer or "")[:500])
        kind = StateType.CANCELLED if outcome.status == "killed" else StateType.FAILED
        return State(type=kind, name=outcome.status.replace("_", " ").capitalize(), message=outcome.message)

    state = await holo_run(settings.goal[:200], return_state=True)
    if not ended:
        await state.aresult()  # a fault of ours: let it be seen
    return ended[0]


async def _until_stopped(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to the end, or until SIGINT or SIGTERM: then input stops and the trace is closed with the reason."""
    inner = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    # Prefect has put its own handlers in place by now, and takes them away after the flow.
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, inner.cancel)
    try:
        return await inner
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


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
            destination=settings.audit or Destination.parse(str(settings.home / "runs")),
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
                _ledger(settings).finish(settings.token, GOAL, _inputs(settings), stored, run.trace)
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


def _ledger(settings: Settings) -> Ledger:
    return Ledger(settings.home / "ledger.db")


def _inputs(settings: Settings) -> str:
    return digest_of({"goal": settings.goal})
