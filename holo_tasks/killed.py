"""How a run that was killed ends in Prefect: each flow around it in a state ``Killed``, with the reason as its message.

Prefect would call it crashed: an anonymous end that looks like a fault of the machine, and trips what people have set
up for those.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import Abort

from holo_tasks.kill_switch import SIGNAL, KillSwitch
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.untold import AWAY, PATIENCE_S, note_untold

logger = logging.getLogger(__name__)


class RunKilled(asyncio.CancelledError, Abort):
    """Ends what a run that was killed is part of: no retry and no handler of errors holds it up.

    Of such an exception Prefect asks, each time that it leaves a flow, which ``state`` the flow run was put in already,
    and lets it be. There and nowhere else it is certain that it leaves the flow: agents side by side in one flow go on
    if their author catches it. So the flow run is put in its state as Prefect asks.
    """

    def __init__(self, reason: str, home: Path) -> None:
        super().__init__(reason)
        self._home = home
        self._leaves = _present()

    @property
    def state(self) -> State[Any]:
        """Put the flow run that this leaves next in its last state, and return that."""
        leaves, self._leaves = self._leaves, _present()  # Prefect is out of the flow as it asks
        state = killed_state(str(self))
        return state if leaves is None else _told(leaves, state, self._home)


def as_killed(error: BaseException, switch: KillSwitch) -> BaseException:
    """Return what ends the present flow: another exception than ``error`` if its run was killed.

    What a signal stops is Prefect's to name: it knows whether its own worker has sent it, and why.
    """
    if isinstance(error, RunKilled) or not switch.why():
        return error
    if switch.source == SIGNAL:
        return error if isinstance(error, asyncio.CancelledError) else asyncio.CancelledError(switch.reason)
    return RunKilled(hushed(switch.reason), switch.home)


def killed_state(reason: str) -> State[Any]:
    """Return the state of what was killed."""
    return State(type=StateType.CANCELLED, name="Killed", message=reason)


def _present() -> FlowRun | None:
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


def _told(flow_run: FlowRun, state: State[Any], home: Path) -> State[Any]:
    """Tell Prefect how a flow run ended, within bounds; a later command does where it does not hear it now."""
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
    if told:
        return told[0]
    begun = str(flow_run.state.id) if flow_run.state else ""
    logger.warning("%s", note_untold(home, str(flow_run.id), begun, state))
    return state
