"""The parts of Prefect that it does not document for others. A new version of Prefect may change them.

Only this module imports them, apart from the temporary server in `prefect_server`. `tests/test_arrows.py` checks that.
Each import is inside a function, because commands load this module without needing all of Prefect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.client.schemas.objects import FlowRun, State, TaskRun


async def begun_flow_run(flow: Flow[..., Any], flow_run: FlowRun | None, parameters: Mapping[str, Any]) -> Any:
    """Run a flow in a flow run that exists already, or in a new one; return its state."""
    from prefect.flow_engine import run_flow_async

    begins: Any = run_flow_async(flow, flow_run, dict(parameters), return_type="state")
    return await begins


def publish_task_state(task_run: TaskRun, before: State[Any], after: State[Any]) -> None:
    """Report the new state of a task run to the server, as Prefect's engine does."""
    from prefect.utilities.engine import emit_task_run_state_change_event

    emit_task_run_state_change_event(task_run, before, after)


def task_runs_around() -> Iterator[TaskRun]:
    """Yield the task runs of the current flow around this code, the innermost first."""
    from prefect.context import FlowRunContext, TaskRunContext

    flow, context = FlowRunContext.get(), TaskRunContext.get()
    flow_run_id = flow.flow_run.id if flow is not None and flow.flow_run is not None else None
    while isinstance(context, TaskRunContext) and context.task_run.flow_run_id == flow_run_id:
        yield context.task_run
        token = context._token  # a task run does not name its parent: its context token is the only path
        context = token.old_value if token else None


def schema_errors(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return the errors of a value against a JSON schema, empty if it fits."""
    from prefect.utilities.schema_tools.validation import validate

    return [error.message for error in validate(value, schema, preprocess=False)]
