"""Return ids of the Prefect flow run around this code: flow run, deployment and attempt."""

from __future__ import annotations

from prefect.context import FlowRunContext


def deployment_id() -> str:
    """Return the id of the current deployment, or an empty string."""
    context = FlowRunContext.get()
    return str(context.flow_run.deployment_id or "") if context and context.flow_run else ""


def attempt() -> str:
    """Return the id of the flow run's current state, which identifies this attempt.

    A run count would not: it stays the same when a suspended run resumes.
    """
    context = FlowRunContext.get()
    state = context.flow_run.state if context and context.flow_run else None
    return str(state.id) if state else ""


def flow_run_id() -> str:
    """Return the id of the current flow run, or an empty string."""
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context and context.flow_run else ""


def in_part_of_another() -> bool:
    """Return whether the current flow run is a subflow, such as that of a sub-goal."""
    context = FlowRunContext.get()
    return bool(context and context.flow_run and context.flow_run.parent_task_run_id)
