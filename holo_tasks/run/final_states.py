"""How work that was stopped by a guardrail ends in Prefect: a state named after the reason, and an event to act on."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State, StateType
from prefect.context import FlowRunContext
from prefect.events import emit_event

from holo_tasks.core.errors import HoloError, Killed, LimitReached
from holo_tasks.run.run import running_here
from holo_tasks.safety.scrubbing import hush_error

LIMIT_EVENT = "holo.limit-reached"


def failed_state(error: HoloError) -> State[Any]:
    """Return the final state of the present flow run for an error; whoever awaits its result gets the error.

    A limit is also told to Prefect's event stream, for an automation to act on. Where Prefect is to try the flow again
    the error is raised: of a state that is returned Prefect would make a run that waits for its retry for ever.
    """
    context = FlowRunContext.get()
    if context is not None and context.flow_run is not None:
        run = context.flow_run
        if run.run_count <= (run.empirical_policy.retries or 0) and not isinstance(error, Killed):
            raise error
    told = hush_error(error)
    if isinstance(error, LimitReached):
        _tell(error, str(told))
    kind = StateType.CANCELLED if isinstance(error, Killed) else StateType.FAILED
    return State(type=kind, name=state_name(error), message=str(told), data=told)


def state_name(error: HoloError) -> str:
    """Name a state after what stopped the work: ``Limit: max_cost_usd``, ``Needs person``."""
    if isinstance(error, LimitReached):
        return f"Limit: {error.limit}"
    return error.status.replace("_", " ").capitalize()


def _tell(error: LimitReached, message: str) -> None:
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    run, around = context.flow_run, running_here()
    # Of a sub-goal's flow run Prefect knows no deployment: it is that of the flow which has the agent.
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
