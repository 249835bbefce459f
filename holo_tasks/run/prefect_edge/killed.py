"""Set the flow runs and task runs of a killed run to the state ``Killed``, with the reason as message.

Without this Prefect would set them to Crashed, as if the machine had failed, and trigger automations for crashes.
`as_killed` chooses the exception, and `RunKilled` sets the states.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import Abort

from holo_tasks.kill.switch import SIGNAL, KillSwitch
from holo_tasks.run.prefect_edge.internals import publish_task_state, task_runs_around
from holo_tasks.run.prefect_edge.unreported_runs import AWAY, PATIENCE_S, note_unreported
from holo_tasks.safety.scrubbing import scrub_text

logger = logging.getLogger(__name__)


class RunKilled(asyncio.CancelledError, Abort):
    """Ends the flows around a killed run. Neither retries nor error handlers stop it.

    For an exception of this kind Prefect reads ``state`` each time that it leaves a flow, and keeps the flow run in it.
    Only then is it certain that the exception leaves the flow: the author may catch it around one of several agents. So
    the flow run's state is set when Prefect reads the property.

    Prefect does not read it for a task run and would leave the task running forever. The states of task runs are
    therefore set earlier. If the author catches the exception, Prefect sets another state when the task ends.
    """

    def __init__(self, reason: str, home: Path) -> None:
        super().__init__(reason)
        self._home = home
        self._leaves = _current_flow_run()
        self._away = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self._home), self.__dict__.copy()

    @property
    def state(self) -> State[Any]:
        """Set the flow run that this exception leaves, and the tasks around it, to ``Killed``; return the state.

        Prefect reads it once for each flow that the exception leaves.
        """
        leaves, self._leaves = self._leaves, _current_flow_run()  # Prefect has left the flow's context by now
        end_tasks(str(self))
        state = killed_state(str(self))
        if leaves is None:
            return state
        # Wait for an unreachable server once, not for each flow: this blocks the whole process.
        reported = None if self._away else _report(leaves, state)
        if reported is None:
            self._away = True
            begun = str(leaves.state.id) if leaves.state else ""
            logger.warning("%s", note_unreported(self._home, str(leaves.id), begun, state))
        return reported or state


def as_killed(error: BaseException, switch: KillSwitch) -> BaseException:
    """Return the exception to raise: `RunKilled` if the run of the current flow was killed, else ``error``.

    A stop by a signal ends as a `CancelledError`, because Prefect knows whether its own worker sent the signal. With
    `RunKilled` the tasks around this code are set to ``Killed``.
    """
    if not isinstance(error, RunKilled):
        if not switch.why():
            return error
        if switch.source == SIGNAL:
            return error if isinstance(error, asyncio.CancelledError) else asyncio.CancelledError(switch.reason)
        error = RunKilled(scrub_text(switch.reason), switch.home)
    end_tasks(str(error))
    return error


def killed_state(reason: str) -> State[Any]:
    """Return the ``Killed`` state with a reason."""
    return State(type=StateType.CANCELLED, name="Killed", message=reason)


def end_tasks(reason: str) -> None:
    """Set the unfinished task runs of the current flow around this code to ``Killed``."""
    for run in task_runs_around():
        before = run.state
        if before is None or before.is_final():
            continue
        run.state = state = killed_state(reason)
        state.state_details.task_run_id, state.state_details.flow_run_id = run.id, run.flow_run_id
        run.state_id, run.state_type, run.state_name = state.id, state.type, state.name
        # Sent in the event only: Prefect's engine sets these fields if the task ends in another state.
        took = state.timestamp - before.timestamp if before.is_running() else timedelta()
        ended = {"end_time": state.timestamp, "total_run_time": run.total_run_time + took}
        publish_task_state(run.model_copy(update=ended), before, state)


def _current_flow_run() -> FlowRun | None:
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


def _report(flow_run: FlowRun, state: State[Any]) -> State[Any] | None:
    """Set the state in Prefect within ``PATIENCE_S`` seconds; return ``None`` if Prefect is unreachable."""
    states: list[State[Any]] = []

    def set_state() -> None:
        try:
            with get_client(sync_client=True) as client:
                answer = client.set_flow_run_state(flow_run.id, state, force=True)
            states.append(answer.state or state)
        except AWAY as error:
            logger.debug("Prefect does not take the end of a flow run (%s).", error)

    # Prefect's client retries for minutes, so it runs in a thread of its own.
    telling = threading.Thread(target=contextvars.copy_context().run, args=(set_state,), daemon=True)
    telling.start()
    telling.join(PATIENCE_S)
    return states[0] if states else None
