"""The Prefect flow run that this code is in: its id, its deployment, and which attempt at it this is."""

from __future__ import annotations

from prefect.context import FlowRunContext


def deployment_id() -> str:
    """Return the id of the Prefect deployment that this code runs as, or an empty string."""
    context = FlowRunContext.get()
    return str(context.flow_run.deployment_id or "") if context and context.flow_run else ""


def attempt() -> str:
    """Return a name of this time that the Prefect flow run was begun; its count stays the same over suspensions."""
    context = FlowRunContext.get()
    state = context.flow_run.state if context and context.flow_run else None
    return str(state.id) if state else ""


def flow_run_id() -> str:
    """Return the id of the Prefect flow run this code is in, or an empty string."""
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context and context.flow_run else ""


def in_part_of_another() -> bool:
    """Say whether the Prefect flow run this code is in is part of another one, as that of a sub-goal is."""
    context = FlowRunContext.get()
    return bool(context and context.flow_run and context.flow_run.parent_task_run_id)
