"""Give a person the screen, wait for their answer, and take the screen back.

`hand_over` is public API. `ask_person` does the same within a model's conversation. `Helper` answers a model's
questions by it, and `approval_by_person` asks for approvals.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.settings import get_current_settings

from holo_tasks.audit.pages.formatting import until
from holo_tasks.core import events
from holo_tasks.core.errors import HoloError, InvalidUsage, NeedsPerson, StoreLost
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.person import CHOICES, GIVE_UP, Answer, HandOff
from holo_tasks.core.ports import Held, Shown
from holo_tasks.core.renamed_arguments import renamed
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point
from holo_tasks.handoff.page import Pictured, command, form_text, page
from holo_tasks.handoff.pause import IN_PAGES, Pausing
from holo_tasks.handoff.prefect_event import notify
from holo_tasks.handoff.suspend import TIMEOUT_S as SUSPENDED_S
from holo_tasks.handoff.suspend import Suspended, Suspending, leave_suspended
from holo_tasks.live_view.view import LiveView, open_live_view
from holo_tasks.loop.walk import Walk
from holo_tasks.run.prefect_edge.artifacts import publish_markdown
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.run.run import AnsweredSubgoal, Run, current_guard, current_run, run_to_end, status_and_reason
from holo_tasks.run.subgoal_context import Subgoal, current_subgoal, side_walk
from holo_tasks.safety.records.handoffs import HEARD_S, Handoff, Handoffs, State, check_choices, too_late
from holo_tasks.safety.scrubbing import scrub_text

POLL_S = 1.0
"""How often the answer is polled, in seconds."""
SIGNAL_WAIT_S = 0.1
"""How long to wait for the signal thread to set the reason of a stop, in seconds."""
PERSON = "person"
logger = logging.getLogger("holo_tasks.handoff")


@renamed(timeout_s="timeout_seconds=")
async def hand_over(
    question: str,
    *,
    choices: Sequence[str] = CHOICES,
    picture: bool = True,
    timeout_seconds: float | None = None,
    suspend: bool = False,
) -> Answer:
    """Give a person the screen and return their answer. Call it from the body of a flow or sub-goal.

    Meanwhile the agent's input is blocked, and the time limits of guardrails are paused. The person answers in the form
    of the paused flow run in Prefect, or with `holo-tasks handoff resume`. The first answer counts, and only for this
    attempt. Look at the screen again afterwards: it may show anything.

    The person picks one of ``choices`` (1 to 80 characters each), which becomes the answer's ``choice``. No choice
    stops the run by itself, not even "give up", so compare it. ``timeout_seconds`` is at most seven days. Its default
    is the agent's ``handoff`` option, or else one hour. ``picture`` includes a screenshot.

    With ``suspend``, no process and no desktop stay open, if the desktop can be rebuilt. The deployment's flow run ends
    here, and starts again from the top after the answer. Work that was finished under a key is not repeated, and work
    that had begun is checked by its probe.

    The new attempt finds the answer by the question, its choices, the key, and the titles of sub-goal and agent. So
    name the item in the question, and no time. If the flow run cannot be suspended, it is paused and the reason is
    logged. Without an answer in time (three days, unless ``timeout_seconds`` is given), Prefect fails the flow run, and
    the item is listed.

    Raises `NeedsPerson` without an answer in time. Raises `InvalidUsage` if the question, the choices or the time
    limit is invalid. A suspension raises an exception that is not an `Exception`: do not catch it.
    """
    run, text, seconds = _validate(question, choices, timeout_seconds)
    async with run.exclusive_screen(), AsyncExitStack() as stack:
        subgoal = await stack.enter_async_context(_question_subgoal(run, text))
        walk = subgoal.walk
        suspending = _suspending(run, walk, text, tuple(choices)) if suspend else None
        stack.enter_context(_clocks_stopped(current_guard() or run.guard))
        if suspending and (found := await suspending.answer()):
            subgoal.answer = await _record_answer(walk, found)
            return subgoal.answer
        shot = await _screenshot(walk, fresh=True) if picture else None
        shown = Pictured(shot, ()) if shot else None
        waiting = _WaitingHandoff(run, run.handoffs, walk, text, tuple(choices), seconds, shown)
        if suspending:
            longer = replace(waiting, timeout_s=SUSPENDED_S if timeout_seconds is None else seconds)
            await longer.suspend(suspending)
        subgoal.answer = await _wait_with_screen(waiting, stack)
        return subgoal.answer


async def ask_person(
    question: str, walk: Walk, *, choices: Sequence[str] = CHOICES, points: tuple[Point, ...] = ()
) -> Answer:
    """Hand over within a conversation, with the conversation's picture. ``points`` of the screen are marked in it.

    Raises what `hand_over` raises.
    """
    run, text, seconds = _validate(question, choices, None)
    async with run.exclusive_screen(), AsyncExitStack() as stack:
        stack.enter_context(_clocks_stopped(current_guard() or run.guard))
        shot = await _screenshot(walk, fresh=False)
        shown = Pictured(shot, points) if shot else None
        return await _wait_with_screen(
            _WaitingHandoff(run, run.handoffs, walk, text, tuple(choices), seconds, shown), stack
        )


def _validate(question: str, choices: Sequence[str], timeout_seconds: float | None) -> tuple[Run, str, float]:
    """Return the run, the question with secrets removed, and the time limit in seconds. Raises `InvalidUsage`."""
    run = current_run()
    text = scrub_text(" ".join(question.split()))
    if not text:
        raise InvalidUsage("The question is empty. Describe in one sentence the help that is needed.")
    check_choices(choices)
    given = run.options.waits or HandOff() if timeout_seconds is None else HandOff(timeout_seconds)
    return run, text, given.timeout_seconds


async def _wait_with_screen(waiting: _WaitingHandoff, stack: AsyncExitStack) -> Answer:
    """Hold the desktop for a person until they answer. The agent gets it back when ``stack`` closes."""
    run = waiting.run
    if isinstance(run.desktop, Held):
        await run.desktop.hold()
        stack.push_async_callback(_take_back, run, run.desktop)
    waiting.view = await _show_desktop(stack, run)
    return await waiting.answer()


@dataclass
class _WaitingHandoff:
    """A hand-off that this process waits for, from its database row to its answer."""

    run: Run
    handoffs: Handoffs
    walk: Walk
    question: str
    choices: tuple[str, ...]
    timeout_s: float
    shown: Pictured | None
    view: LiveView | None = None
    heard_s: float = field(default_factory=time.monotonic)

    async def answer(self) -> Answer:
        end_s = time.monotonic() + self.timeout_s
        handoff = await asyncio.to_thread(self._open)
        pausing = Pausing(handoff.id, self.choices, self._form(handoff), self._message(handoff))
        try:
            await self.walk.record(events.HandedOver(question=self.question, handoff=handoff.id))
            self._announce(handoff)
            around, inside = self.run.flow_run_id, flow_run_id()
            # If the run has several desktops, pause the item's flow run rather than the run's.
            pausing.begin([around, inside] if self.run.front is None else [inside, around], self.timeout_s)
            found = await self._wait(handoff, pausing, end_s)
            if found is None and not await asyncio.to_thread(self.handoffs.close, handoff.id, "expired"):
                last = await asyncio.to_thread(self.handoffs.find, handoff.id)  # an answer arrived at the last moment
                found = last if last.state == "answered" else None
            in_pages = found is not None and found.by == IN_PAGES
            await pausing.end(None if in_pages else lambda answer: self._log_late_answer(handoff, answer))
        except BaseException:
            await run_to_end(self._close_stopped(handoff, pausing))
            raise
        if found is None:
            error = NeedsPerson(f"Hand-off {handoff.id} was not answered within {self.timeout_s:g} s: {self.question}")
            error.handoff = handoff.id
            raise error
        return await _record_answer(self.walk, found)

    async def suspend(self, suspending: Suspending) -> None:
        """Suspend the flow run, which ends it by raising `Suspended`. Returns if that is not possible."""
        why = suspending.hindrance()
        if not why:
            handoff = await asyncio.to_thread(self._open, suspending.place)
            # From here on, keep the row unless the run is killed. Prefect may have accepted the suspension, and the
            # next attempt will look for the row.
            try:
                await self.walk.record(events.HandedOver(question=self.question, handoff=handoff.id))
                pausing = Pausing(handoff.id, self.choices, self._form(handoff), self._message(handoff))
                why = await pausing.suspend(self.run.flow_run_id, self.timeout_s)
                message = self._message(handoff)
            except NeedsPerson as error:  # it may be suspended; then it would restart while this process works
                why, message = "", str(error)
                logger.error("%s This process ends now, as if the run were suspended.", message)
            except BaseException:
                if self.run.switch.why():
                    await run_to_end(self._close(handoff, "killed"))
                raise
            if not why:
                self.run.suspended = Suspended(handoff.id, message)
                self.run.switch.rest()
                self._announce(handoff)
                await run_to_end(leave_suspended(self.run.suspended, self.run.flow_run_id))
                raise self.run.suspended
            await self._close(handoff, "cancelled")
        _log("The run waits and is not suspended: %s.", why.rstrip("."))

    async def _wait(self, handoff: Handoff, pausing: Pausing, end_s: float) -> Handoff | None:
        """Poll until the hand-off is answered in Prefect or from the command line. Returns ``None`` at the time
        limit."""
        while (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(min(POLL_S, left_s))
            try:
                if answer := await pausing.answered():
                    with contextlib.suppress(InvalidUsage):  # the hand-off was answered meanwhile
                        return await asyncio.to_thread(
                            lambda: self.handoffs.answer(handoff.id, answer.choice, note=answer.note, by=answer.by)
                        )
                now = await asyncio.to_thread(self.handoffs.find, handoff.id)
                if now.state == "answered":
                    return now
                if time.monotonic() - self.heard_s > HEARD_S:
                    self.heard_s = time.monotonic()
                    await asyncio.to_thread(self.handoffs.renew_wait, handoff.id)
            except StoreLost as error:
                logger.warning(
                    "The answer to hand-off %s cannot be read at the moment (%s); trying again.", handoff.id, error
                )
        return None

    def _open(self, suspended: tuple[str, str] | None = None) -> Handoff:
        return self.handoffs.open(
            self.question,
            self.choices,
            run_id=self.run.run_id,
            timeout_s=self.timeout_s,
            flow_run_id=self.run.flow_run_id,
            api_url=get_current_settings().api.url or "",
            trace=self.run.trace,
            token=self.walk.token or self.run.options.key,
            picture=self.shown.shot.sha256 if self.shown else "",
            live=self.view.url if self.view else "",
            suspended=suspended,
        )

    def _form(self, handoff: Handoff) -> str:
        return scrub_text(form_text(handoff, self.shown))

    def _message(self, handoff: Handoff) -> str:
        return f"Hand-off {handoff.id}: {self.question}"[:500]

    async def _close_stopped(self, handoff: Handoff, pausing: Pausing) -> None:
        """Close the hand-off because the work is being stopped. A kill gets the state ``killed``."""
        if not self.run.switch.why():
            await asyncio.sleep(SIGNAL_WAIT_S)
        state: State = "killed" if self.run.switch.why() else "cancelled"
        await self._close(handoff, state)
        if state == "cancelled":
            await pausing.end(lambda answer: self._log_late_answer(handoff, answer))
        else:
            await pausing.leave()

    def _log_late_answer(self, handoff: Handoff, answer: Answer) -> None:
        """Log in the flow run that an answer given in Prefect came too late and does not count."""
        with contextlib.suppress(HoloError):
            why = too_late(self.handoffs.find(handoff.id))
            _log("The answer ‘%s’, given in Prefect's pages, does not count. %s", answer.choice, why)

    async def _close(self, handoff: Handoff, state: State) -> None:
        with contextlib.suppress(HoloError):  # the row has expired by itself
            await asyncio.to_thread(self.handoffs.close, handoff.id, state)

    def _announce(self, handoff: Handoff) -> None:
        """Announce the hand-off: in logs, hooks and the live view, and with an artifact and an event in Prefect."""
        self.run.wants(handoff)
        self.run.subscribed.handoff(handoff)
        message = "A person is needed: %s Answer in Prefect's pages (Resume%s), or with `%s`; %s."
        shell_command, when = command(handoff), until(handoff.expires_at)
        inside, several_desktops = flow_run_id() != self.run.flow_run_id, self.run.front is not None
        where = ", on the page of the parent run" if inside and not several_desktops else ""
        _log(message, self.question, where, shell_command, when)
        if inside and self.run.log is not None:
            where = ", on the page of the sub-goal's run" if several_desktops else ""
            self.run.log.warning(message, self.question, where, shell_command, when)
        if self.view is not None:
            self.view.ask(self.question, when=until(handoff.expires_at, stays=True), answer=shell_command)
        if self.run.flow_run_id:
            text = page(handoff, self.shown, title=self.run.title)
            self.run.run_in_background(_publish(f"handoff-{handoff.id}", text, self.question))
            notify(handoff, self.run)


def _suspending(run: Run, walk: Walk, question: str, choices: tuple[str, ...]) -> Suspending:
    around = current_subgoal()
    asker = (around.goal, around.title) if around else ("", "")
    return Suspending(run, *asker, walk.token or run.options.key, question, choices=choices)


async def _record_answer(walk: Walk, found: Handoff) -> Answer:
    """Record a person's answer in the trace and return it."""
    await walk.record(events.TakenBack(handoff=found.id, choice=found.choice, note=found.note, by=found.by))
    _log("Hand-off %s: %s answered ‘%s’.", found.id, found.by, found.choice)
    return Answer(found.choice, found.note, found.by)


class Helper:
    """Answers the model's questions by asking a person. The model then goes on with a fresh screen and the answer."""

    async def help(self, walk: Walk, question: str) -> str:
        answer = await ask_person(question, walk)
        if answer.choice == GIVE_UP:
            raise NeedsPerson(f"{answer.by} gave up: {answer.note or question}")
        return answer.sentence


@contextmanager
def _clocks_stopped(guard: Guard) -> Iterator[None]:
    guard.stop_clocks(time.monotonic())
    try:
        yield
    finally:
        guard.start_clocks(time.monotonic())


async def _take_back(run: Run, desktop: Held) -> None:
    """Let the agent use the screen again, unless its run is being stopped."""
    if not run.switch.why():
        await desktop.release()


@asynccontextmanager
async def _question_subgoal(run: Run, question: str) -> AsyncIterator[_QuestionSubgoal]:
    """Record a question outside any conversation as a sub-goal of the run."""
    around = current_subgoal()
    here = (around or Subgoal(0, "A person is asked", "", run.options.key)).numbered(run)
    subgoal = _QuestionSubgoal(replace(side_walk(question), number=here.number, token=here.token or run.options.key))
    opened = events.SubgoalOpened(
        title=here.title,
        goal=question,
        progress=here.progress,
        token=here.token,
        display=run.desktop.display,
        flow_run_id=flow_run_id(),
    )
    await run.skipping.report(run)
    await subgoal.walk.record(opened)
    status, reason, layer = "answered", "", ""
    try:
        yield subgoal
        if subgoal.answer.choice == GIVE_UP:
            status, reason = "needs_person", f"{subgoal.answer.by} gave up."
        else:
            layer = PERSON
            run.resolved.append(AnsweredSubgoal(here.number, here.title, here.token, PERSON))
            if around is not None:
                around.resolved.append(PERSON)
    except BaseException as error:
        status, reason = status_and_reason(error, subgoal.walk.guard)
        raise
    finally:
        answer = ": ".join(part for part in (subgoal.answer.choice, subgoal.answer.note) if part)
        closed = events.SubgoalClosed(
            status=cast("events.Status", status), answer=answer, reason=reason, steps=0, cost_micro_usd=0, layer=layer
        )
        await subgoal.walk.record(closed)


@dataclass
class _QuestionSubgoal:
    """A question to a person that is recorded as a sub-goal of its own."""

    walk: Walk
    answer: Answer = field(default_factory=lambda: Answer(""))


async def _show_desktop(stack: AsyncExitStack, run: Run) -> LiveView | None:
    """Open a live view if the run allows one and the desktop supports it. Returns ``None`` otherwise."""
    if run.live_view == "never" or not isinstance(run.desktop, Shown):
        return None
    try:
        return await stack.enter_async_context(open_live_view(run.desktop))
    except HoloError as error:
        logger.warning("No live view of the desktop could be opened (%s).", error)
        return None


async def _screenshot(walk: Walk, *, fresh: bool) -> Shot | None:
    """Return the redacted screen, or ``None`` if no picture can be taken. The hand-off goes on without one."""
    try:
        if fresh or walk.seen is None:
            await walk.look()
    except StoreLost:
        raise
    except HoloError as error:
        logger.warning("The hand-off has no picture of the screen (%s).", error)
    return walk.seen.shot if walk.seen else None


async def _publish(key: str, text: str, description: str) -> None:
    await publish_markdown(key, text, description)


def _log(message: str, *arguments: Any) -> None:
    try:
        get_run_logger().warning(message, *arguments)
    except MissingContextError:
        logger.warning(message, *arguments)
