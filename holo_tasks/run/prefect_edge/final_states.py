"""Return final Prefect states for work that a guardrail stopped, and emit an event for a limit.

`failed_state` is used by sub-goals and by the cost guardrail. The state is named after the reason.
"""

from __future__ import annotations

from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.events import emit_event

from holo_tasks.core.errors import HoloError, Killed, LimitReached
from holo_tasks.run.prefect_edge.unreported_runs import AWAY
from holo_tasks.run.run import running_here
from holo_tasks.safety.scrubbing import scrub_error

LIMIT_EVENT = "holo.limit-reached"


def failed_state(error: HoloError) -> State[Any]:
    """Return the final state of the current flow run for an error. Awaiting the flow's result raises that error.

    A limit also emits an event, so that an automation can act on it. If the flow has retries left, a lasting error ends
    them. Any other error is raised, because Prefect before 3.9.1 would leave the run waiting for its retry forever.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context is not None else None
    if run is not None and run.run_count <= (run.empirical_policy.retries or 0) and not isinstance(error, Killed):
        if not error.lasting:
            raise error
        _end_retries(run, error)
    hidden = scrub_error(error)
    if isinstance(error, LimitReached):
        _emit_limit(error, str(hidden))
    kind = StateType.CANCELLED if isinstance(error, Killed) else StateType.FAILED
    return State(type=kind, name=state_name(error), message=str(hidden), data=hidden)


def _end_retries(run: FlowRun, error: HoloError) -> None:
    """Take the remaining retries from a flow run. Raises ``error`` if Prefect does not answer."""
    try:
        with get_client(sync_client=True) as client:
            policy = client.read_flow_run(run.id).empirical_policy
            client.update_flow_run(run.id, empirical_policy=policy.model_copy(update={"retries": 0}))
    except AWAY as away:
        raise error from away


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
