"""Suspend a flow run for a person: it ends, and starts again with the answer. No process or desktop waits meanwhile.

`hand_over` creates a `Suspending` for each question that may suspend the run.
"""

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

from holo_tasks.core.errors import InvalidUsage, NeedsPerson, StoreLost
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.person import Answer
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.handoff.pause import PATIENCE_S, PREFECT_ERRORS, patiently
from holo_tasks.handoff.resume import begun_by, said_to_suspended
from holo_tasks.run.prefect_edge.unreported_runs import note_unreported
from holo_tasks.run.run import Run, current_run
from holo_tasks.safety.records.handoffs import Handoff, Handoffs

logger = logging.getLogger("holo_tasks.handoff")
MAX_DEPTH = 20
"""Deepest nesting of subflows that is followed."""
TIMEOUT_S = 3 * 86_400.0
"""Default time limit in seconds: a weekend. A long wait is cheap, since nothing stays open."""
MAX_ATTEMPTS = 100
"""Number of attempts whose questions are remembered. One process never runs more at a time."""
_asked: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
"""Digests of the questions that each attempt of a flow run has asked. The attempt that asked last is at the end."""


class Suspended(Pause):
    """Raised to end the process of a flow run that Prefect has suspended. ``except Exception`` does not catch it."""

    def __init__(self, handoff: str, message: str) -> None:
        super().__init__(message, state=State(type=StateType.PAUSED, name="Suspended", message=message))
        self.handoff = handoff


class Suspending:
    """A question that may suspend its flow run. A later attempt finds the answer by ``about`` and the exact question.

    ``about`` identifies the asker, since an attempt that skips finished work may ask the remaining questions in another
    order.
    """

    def __init__(self, run: Run, *about: str, choices: tuple[str, ...]) -> None:
        self._run = run
        self.asked = digest_of({"about": [run.title, *about], "choices": list(choices)})
        self._again = _asked_before(run.flow_run_id, run.attempt, self.asked)

    @property
    def place(self) -> tuple[str, str]:
        """The attempt, and the digest of its question."""
        return self._run.attempt, self.asked

    def hindrance(self) -> str:
        """Return why the flow run cannot be suspended, or an empty string if it can. Prefect itself may still
        refuse."""
        if not (self._run.flow_run_id and get_current_settings().api.url):
            return "it is not a flow run on a Prefect server"
        if not self._run.deployment_id:
            return "it is not a run of a deployment, so nothing would start it again"
        if TaskRunContext.get() is not None:
            return "the question comes from inside a task; ask from the body of the flow or of a sub-goal"
        if self._run.front is None and not getattr(self._run.desktop, "rebuilt", False):
            return "its desktop cannot be rebuilt, because this run did not start the display"
        if self._run.front is not None:
            return "the work on its other desktops would be lost"
        if self._again:
            return "this attempt has asked the same question before; name the item in the question"
        return ""

    async def answer(self) -> Handoff | None:
        """Return the answered hand-off if its answer started this attempt, else ``None``.

        Earlier hand-offs of the flow run without an answer are closed. Raises `NeedsPerson` if Prefect cannot be
        reached.
        """
        run = self._run
        handoffs = run.handoffs
        if self.hindrance():
            return None
        try:
            resumed, answer = await patiently(lambda: _resumed_with(run, handoffs))
        except PREFECT_ERRORS as error:
            why = first_line(error, "no answer in time")
            raise NeedsPerson(f"The person's answer cannot be read from Prefect: {why}") from None
        for waiting in await asyncio.to_thread(handoffs.unanswered, run.flow_run_id, run.attempt):
            await asyncio.to_thread(_settle, handoffs, waiting, answer if waiting.id == resumed else None)
        return await asyncio.to_thread(
            lambda: handoffs.answer_for(run.flow_run_id, run.attempt, self.asked, begun=answer is not None)
        )


def _asked_before(flow_run_id: str, attempt: str, question: str) -> bool:
    """Return whether an attempt has asked this question before, and remember the question."""
    place = (flow_run_id, attempt)
    questions = _asked.setdefault(place, set())
    _asked.move_to_end(place)
    if len(_asked) > MAX_ATTEMPTS:
        _asked.popitem(last=False)
    was_asked = question in questions
    questions.add(question)
    return was_asked


async def _resumed_with(run: Run, handoffs: Handoffs) -> tuple[str, Answer | None]:
    """Return the hand-off whose answer started the current attempt, and the answer.

    Returns ``("", None)`` if the attempt was not started by an answer.
    """
    handoff_id = await begun_by(run.flow_run_id, run.attempt)
    if not handoff_id:
        return "", None
    try:
        handoff = await asyncio.to_thread(handoffs.find, handoff_id)
    except StoreLost:
        raise
    except InvalidUsage:  # another library suspended the flow run
        return "", None
    return handoff_id, await said_to_suspended(handoff)


def _settle(handoffs: Handoffs, waiting: Handoff, answer: Answer | None) -> None:
    """Store the answer of a hand-off, or cancel the hand-off if ``answer`` is ``None``."""
    try:
        if answer is None:
            handoffs.close(waiting.id, "cancelled")
        else:
            handoffs.answer(waiting.id, answer.choice, note=answer.note, by=answer.by, taken=True)
    except StoreLost:
        raise
    except InvalidUsage:  # answered or closed meanwhile
        return


async def leave_suspended(error: Pause, outer: str = "") -> None:
    """End the current subflow in Prefect, because the flow run around it is suspended and will start another one.

    If ``outer`` is the suspended run's id, end every subflow between the two as well. Those may belong to flows that
    do not know of the suspension.
    """
    context = FlowRunContext.get()
    found = context.flow_run if context is not None else None
    state: State[Any] = State(type=StateType.CANCELLED, name="Suspended", message=str(error))
    for _ in range(MAX_DEPTH):
        if found is None or found.parent_task_run_id is None or str(found.id) == outer:
            return
        begun = str(found.state.id) if found.state else ""
        try:
            async with get_client() as client:
                await asyncio.wait_for(client.set_flow_run_state(found.id, state, force=True), PATIENCE_S)
                if not outer:
                    return
                task = await asyncio.wait_for(client.read_task_run(found.parent_task_run_id), PATIENCE_S)
                if task.flow_run_id is None or str(task.flow_run_id) == outer:
                    return
                found = await asyncio.wait_for(client.read_flow_run(task.flow_run_id), PATIENCE_S)
        except PREFECT_ERRORS:  # the subflow would still look as if it were running
            home = current_run().home
            logger.warning("%s", await asyncio.to_thread(note_unreported, home, str(found.id), begun, state))
            return
