"""A flow run that ends for a person and begins again with the answer: no process and no desktop waits meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType
from prefect.context import FlowRunContext, TaskRunContext
from prefect.exceptions import Pause
from prefect.settings import get_current_settings

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage, NeedsPerson, StoreLost
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.person import Answer
from holo_tasks.handoff.pause import AWAY, PATIENCE_S, patiently
from holo_tasks.handoff.resume import begun_by, said_to_suspended
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.untold import note_untold
from holo_tasks.safety.handoffs import Handoff, Handoffs

logger = logging.getLogger("holo_tasks.handoff")
MOST_BETWEEN = 20
"""So many flows inside each other are looked at."""
TIMEOUT_S = 3 * 86_400.0
"""A weekend: nothing is kept open meanwhile."""
MOST_ATTEMPTS = 100
"""The questions of so many attempts are kept: more do not go on at once in one process."""
_asked: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
"""The questions of each attempt of a flow run, the one that asked last at the end."""


class Suspended(Pause):
    """Ends the process of a flow run that Prefect has suspended. No handler of errors sees it."""

    def __init__(self, handoff: str, message: str) -> None:
        super().__init__(message, state=State(type=StateType.PAUSED, name="Suspended", message=message))
        self.handoff = handoff


class Suspending:
    """One question of a flow run that may be suspended for it. Its answer is found by ``about`` and the exact words.

    ``about`` says who asks: an attempt that leaves out what is done asks the rest in another order.
    """

    def __init__(self, run: Run, *about: str, choices: tuple[str, ...]) -> None:
        self._run = run
        self.asked = digest_of({"about": [run.title, *about], "choices": list(choices)})
        self._again = _asked_before(run.flow_run_id, run.attempt, self.asked)

    @property
    def place(self) -> tuple[str, str]:
        """The attempt, and what it asks."""
        return self._run.attempt, self.asked

    def hindrance(self) -> str:
        """Return why the flow run cannot be suspended, as far as can be seen from here; empty if it can."""
        if not (self._run.flow_run_id and get_current_settings().api.url):
            return "it is no flow run of a Prefect server"
        if not self._run.deployment_id:
            return "it is no run of a deployment, so that nobody would begin it again"
        if TaskRunContext.get() is not None:
            return "a person is asked from inside a task; ask from the body of the flow or of a sub-goal"
        if self._run.front is None and not getattr(self._run.desktop, "rebuilt", False):
            return "its desktop cannot be rebuilt, since its display is somebody else's"
        if self._run.front is not None:
            return "the work on its other desktops would be lost"
        if self._again:
            return "the same was asked before in this attempt; name the item in the question"
        return ""

    async def answer(self) -> Handoff | None:
        """Return what was answered before this attempt began, if that is what began it."""
        run = self._run
        handoffs = run.handoffs
        if self.hindrance():
            return None
        try:
            resumed, said = await patiently(lambda: _said(run, handoffs))
        except AWAY as error:
            why = first_line(error, "no answer in time")
            raise NeedsPerson(f"Prefect cannot be asked what a person has said: {why}") from None
        for waiting in await asyncio.to_thread(handoffs.unanswered, run.flow_run_id, run.attempt):
            await asyncio.to_thread(_heard, handoffs, waiting, said if waiting.id == resumed else None)
        return await asyncio.to_thread(
            lambda: handoffs.answer_for(run.flow_run_id, run.attempt, self.asked, begun=said is not None)
        )


def _asked_before(flow_run_id: str, attempt: str, asked: str) -> bool:
    """Say whether an attempt has asked this already; from now on it has."""
    place = (flow_run_id, attempt)
    questions = _asked.setdefault(place, set())
    _asked.move_to_end(place)
    if len(_asked) > MOST_ATTEMPTS:
        _asked.popitem(last=False)
    again = asked in questions
    questions.add(asked)
    return again


async def _said(run: Run, handoffs: Handoffs) -> tuple[str, Answer | None]:
    """Return the hand-off that the present attempt was begun by, and what was said; nothing if it was not."""
    by = await begun_by(run.flow_run_id, run.attempt)
    if not by:
        return "", None
    try:
        handoff = await asyncio.to_thread(handoffs.find, by)
    except StoreLost:
        raise
    except InvalidUsage:  # a suspension that is not of this library
        return "", None
    return by, await said_to_suspended(handoff)


def _heard(handoffs: Handoffs, waiting: Handoff, said: Answer | None) -> None:
    try:
        if said is None:
            handoffs.close(waiting.id, "cancelled")
        else:
            handoffs.answer(waiting.id, said.choice, note=said.note, by=said.by, taken=True)
    except StoreLost:
        raise
    except InvalidUsage:  # it was answered or closed just now
        return


async def leave_suspended(error: Pause, around: str = "") -> None:
    """End the present subflow in Prefect: the flow run around it is suspended, and will begin another one.

    With the id of that one ``around``, so are all between the two, which may be flows that know of no suspension.
    """
    context = FlowRunContext.get()
    found = context.flow_run if context is not None else None
    state: State[Any] = State(type=StateType.CANCELLED, name="Suspended", message=str(error))
    for _ in range(MOST_BETWEEN):
        if found is None or found.parent_task_run_id is None or str(found.id) == around:
            return
        begun = str(found.state.id) if found.state else ""
        try:
            async with get_client() as client:
                await asyncio.wait_for(client.set_flow_run_state(found.id, state, force=True), PATIENCE_S)
                if not around:
                    return
                task = await asyncio.wait_for(client.read_task_run(found.parent_task_run_id), PATIENCE_S)
                if task.flow_run_id is None or str(task.flow_run_id) == around:
                    return
                found = await asyncio.wait_for(client.read_flow_run(task.flow_run_id), PATIENCE_S)
        except AWAY:  # it would look as if it went on
            home = current_run().home
            logger.warning("%s", await asyncio.to_thread(note_untold, home, str(found.id), begun, state))
            return
