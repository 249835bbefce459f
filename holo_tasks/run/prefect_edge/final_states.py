"""Return final Prefect states for work that a guardrail stopped, and emit an event for a limit.

`failed_state` is used by sub-goals and by the cost guardrail. The state is named after the reason.
"""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State, StateType
from prefect.context import FlowRunContext
from prefect.events import emit_event

from holo_tasks.core.errors import HoloError, Killed, LimitReached
from holo_tasks.run.run import running_here
from holo_tasks.safety.scrubbing import scrub_error

LIMIT_EVENT = "holo.limit-reached"


def failed_state(error: HoloError) -> State[Any]:
    """Return the final state of the current flow run for an error. Awaiting the flow's result raises that error.

    A limit also emits an event, so that an automation can act on it. If Prefect is going to retry the flow, the error
    is raised instead. A returned state would leave the run waiting for its retry forever.
    """
    context = FlowRunContext.get()
    if context is not None and context.flow_run is not None:
        run = context.flow_run
        if run.run_count <= (run.empirical_policy.retries or 0) and not isinstance(error, Killed):
            raise error
    hidden = scrub_error(error)
    if isinstance(error, LimitReached):
        _emit_limit(error, str(hidden))
    kind = StateType.CANCELLED if isinstance(error, Killed) else StateType.FAILED
    return State(type=kind, name=state_name(error), message=str(hidden), data=hidden)


def state_name(error: HoloError) -> str:
    """Return the state's name for an error: ``Limit: max_cost_usd``, ``Needs person``."""
    if isinstance(error, LimitReached):
        return f"Limit: {error.limit}"
    return error.status.replace("_", " ").capitalize()


def _emit_limit(error: LimitReached, message: str) -> None:
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    run, around = context.flow_run, running_here()
    # Prefect records no deployment for a sub-goal's flow run: take that of the flow that opened the agent.
    deployment = run.deployment_id or (around.deployment_id if around else "")
    emit_event(
        event=LIMIT_EVENT,
        resource={"prefect.resource.id": f"prefect.flow-run.{run.id}", "prefect.resource.name": run.name},
        related=[
            {
                "prefect.resource.id": f"prefect.deployment.{deployment}",
                "prefect.resource.role": "deployment",
            }
        ]
        if deployment
        else [],
        payload={"limit": error.limit, "message": message},
    )
