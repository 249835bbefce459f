"""How a run that was killed ends in Prefect: each flow and task around it ``Killed``, with the reason as its message.

Prefect would call it crashed: an anonymous end that looks like a fault of the machine, and trips what people have set
up for those.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType, TaskRun
from prefect.context import FlowRunContext, TaskRunContext
from prefect.exceptions import Abort
from prefect.utilities.engine import emit_task_run_state_change_event

from holo_tasks.kill.switch import SIGNAL, KillSwitch
from holo_tasks.run.untold import AWAY, PATIENCE_S, note_untold
from holo_tasks.safety.scrubbing import hushed

logger = logging.getLogger(__name__)


class RunKilled(asyncio.CancelledError, Abort):
    """Ends what a run that was killed is part of: no retry and no handler of errors holds it up.

    Of such an exception Prefect asks, each time that it leaves a flow, which ``state`` the flow run was put in already,
    and lets it be. There and nowhere else it is certain that it leaves the flow: agents side by side in one flow go on
    if their author catches it. So the flow run is put in its state as Prefect asks. Of a task run it asks nothing, and
    leaves it as it is, for ever: those are put in that state before. One that goes on all the same, because its author
    catches this, is put in another state by Prefect as it ends.
    """

    def __init__(self, reason: str, home: Path) -> None:
        super().__init__(reason)
        self._home = home
        self._leaves = _present()
        self._away = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self._home), self.__dict__.copy()

    @property
    def state(self) -> State[Any]:
        """Put the flow run that this leaves next in its last state, and the tasks around it; return that state."""
        leaves, self._leaves = self._leaves, _present()  # Prefect is out of the flow as it asks
        end_tasks(str(self))
        state = killed_state(str(self))
        if leaves is None:
            return state
        # A server that was away is not waited for with each flow: nothing else of the process goes on meanwhile.
        told = None if self._away else _told(leaves, state)
        if told is None:
            self._away = True
            begun = str(leaves.state.id) if leaves.state else ""
            logger.warning("%s", note_untold(self._home, str(leaves.id), begun, state))
        return told or state


def as_killed(error: BaseException, switch: KillSwitch) -> BaseException:
    """Return what ends the present flow and the tasks in it: another exception than ``error`` if its run was killed.

    What a signal stops is Prefect's to name: it knows whether its own worker has sent it, and why.
    """
    if not isinstance(error, RunKilled):
        if not switch.why():
            return error
        if switch.source == SIGNAL:
            return error if isinstance(error, asyncio.CancelledError) else asyncio.CancelledError(switch.reason)
        error = RunKilled(hushed(switch.reason), switch.home)
    end_tasks(str(error))
    return error


def killed_state(reason: str) -> State[Any]:
    """Return the state of what was killed."""
    return State(type=StateType.CANCELLED, name="Killed", message=reason)


def end_tasks(reason: str) -> None:
    """Put the tasks of the present flow that this code is part of in their last state."""
    for run in _tasks():
        before = run.state
        if before is None or before.is_final():
            continue
        run.state = state = killed_state(reason)
        state.state_details.task_run_id, state.state_details.flow_run_id = run.id, run.flow_run_id
        run.state_id, run.state_type, run.state_name = state.id, state.type, state.name
        # Prefect's engine sets these where it comes to another end after all.
        took = state.timestamp - before.timestamp if before.is_running() else timedelta()
        ended = {"end_time": state.timestamp, "total_run_time": run.total_run_time + took}
        emit_task_run_state_change_event(run.model_copy(update=ended), before, state)


def _tasks() -> Iterator[TaskRun]:
    """Give the task runs of the present flow that are around this code, the innermost first."""
    flow_run, context = _present(), TaskRunContext.get()
    while isinstance(context, TaskRunContext) and context.task_run.flow_run_id == (flow_run.id if flow_run else None):
        yield context.task_run
        token = context._token  # the only way out: a task run does not name the one around it
        context = token.old_value if token else None


def _present() -> FlowRun | None:
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


def _told(flow_run: FlowRun, state: State[Any]) -> State[Any] | None:
    """Tell Prefect how a flow run ended, within bounds; return None where it does not hear it."""
    told: list[State[Any]] = []

    def tell() -> None:
        try:
            with get_client(sync_client=True) as client:
                answer = client.set_flow_run_state(flow_run.id, state, force=True)
            told.append(answer.state or state)
        except AWAY as error:
            logger.debug("Prefect does not take the end of a flow run (%s).", error)

    # Its client tries again for minutes, in this thread's stead.
    telling = threading.Thread(target=contextvars.copy_context().run, args=(tell,), daemon=True)
    telling.start()
    telling.join(PATIENCE_S)
    return told[0] if told else None
