"""`hand_over`: give a person the screen, wait until they have answered, and take it back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.settings import get_current_settings

from holo_tasks.audit.pages.formatting import until
from holo_tasks.core import events
from holo_tasks.core.budget import Guard
from holo_tasks.core.errors import HoloError, InvalidUsage, NeedsPerson, PolicyRefused, StoreLost
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Point
from holo_tasks.core.person import CHOICES, GIVE_UP, NO, YES, Answer, HandOff
from holo_tasks.core.ports import Held, Shown
from holo_tasks.core.renamed import renamed
from holo_tasks.handoff.page import Pictured, command, form_text, page
from holo_tasks.handoff.pause import IN_PAGES, Pausing
from holo_tasks.handoff.suspend import TIMEOUT_S as SUSPENDED_S
from holo_tasks.handoff.suspend import Suspended, Suspending, leave_suspended
from holo_tasks.live_view.view import LiveView, open_live_view
from holo_tasks.loop.consent import Asked
from holo_tasks.loop.walk import Walk
from holo_tasks.run.artifacts import publish_markdown
from holo_tasks.run.flow_context import flow_run_id
from holo_tasks.run.run import Resolved, Run, current_guard, current_run, ending, surely
from holo_tasks.run.subgoal_context import Subgoal, current_subgoal, current_walk, side_walk
from holo_tasks.safety.handoffs import HEARD_S, Handoff, Handoffs, State, check_choices, too_late
from holo_tasks.safety.scrubbing import hushed

EVENT = "holo.handoff.opened"
AGAIN_S = 1.0
"""How often it is looked whether somebody has answered."""
SIGNAL_S = 0.1
"""How long a signal that stops the work may take to be known by another thread, which knows that it was one."""
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
    """Give a person the screen and return their answer, from a flow's or a sub-goal's body.

    The agent's input is blocked meanwhile, and no guardrail's time runs. The answer is given in the form of the paused
    flow run in Prefect's pages, or by `holo-tasks handoff resume`: the first one counts, for this attempt only.
    Afterwards the screen may be anything: take a new look.

    They choose one of ``choices`` (1 to 80 characters each), which is the answer's ``choice``: it stops nothing by
    itself, not even "give up", so compare it. ``timeout_seconds`` is at most seven days; without it the agent's
    ``handoff`` says how long, or else it is an hour. ``picture`` shows them the screen.

    With ``suspend`` nothing is kept open meanwhile, where the desktop can be rebuilt: the flow run of a deployment ends
    here, and begins again from the top when somebody has answered. What was finished under a key is not done again;
    what was begun is looked at by its probe. The answer is found by the question, its choices, the key and the titles
    of sub-goal and agent, so name the item in them, and no time. Where that is not possible the run is paused, and says
    why. If nobody answers in time (three days, unless ``timeout_seconds`` says otherwise), Prefect lets the flow run
    fail, and the item is on the list.

    Raises `NeedsPerson` if nobody has answered in time, `InvalidUsage` for a question, choices or a time that cannot
    be. Being suspended is no `Exception`: let it pass.
    """
    run, told, seconds = _checked(question, choices, timeout_seconds)
    async with run.screen_alone(), AsyncExitStack() as stack:
        beside = await stack.enter_async_context(_asked_beside(run, told))
        here = beside.walk
        suspending = _suspending(run, here, told, tuple(choices)) if suspend else None
        stack.enter_context(_no_time(current_guard() or run.guard))
        if suspending and (found := await suspending.answer()):
            beside.answer = await _taken(here, found)
            return beside.answer
        shot = await _picture(here, fresh=True) if picture else None
        shown = Pictured(shot, ()) if shot else None
        waiting = _Waiting(run, run.handoffs, here, told, tuple(choices), seconds, shown)
        if suspending:
            longer = replace(waiting, timeout_s=SUSPENDED_S if timeout_seconds is None else seconds)
            await longer.suspend(suspending)
        beside.answer = await _answered(waiting, stack)
        return beside.answer


async def ask_person(
    question: str, walk: Walk, *, choices: Sequence[str] = CHOICES, points: tuple[Point, ...] = ()
) -> Answer:
    """Hand over as a part of a conversation: of its picture, in which ``points`` of the screen are marked."""
    run, told, seconds = _checked(question, choices, None)
    async with run.screen_alone(), AsyncExitStack() as stack:
        stack.enter_context(_no_time(current_guard() or run.guard))
        shot = await _picture(walk, fresh=False)
        shown = Pictured(shot, points) if shot else None
        return await _answered(_Waiting(run, run.handoffs, walk, told, tuple(choices), seconds, shown), stack)


def _checked(question: str, choices: Sequence[str], timeout_seconds: float | None) -> tuple[Run, str, float]:
    """Return the run, the question as it is told, and how long a person has; raise `InvalidUsage` if that cannot be."""
    run = current_run()
    told = hushed(" ".join(question.split()))
    if not told:
        raise InvalidUsage("The question is empty; say in a sentence what a person should do.")
    check_choices(choices)
    given = run.options.waits or HandOff() if timeout_seconds is None else HandOff(timeout_seconds)
    return run, told, given.timeout_seconds


async def _answered(waiting: _Waiting, stack: AsyncExitStack) -> Answer:
    """Let a person have the screen until they have answered, and the agent have it again as the stack is left."""
    run = waiting.run
    if isinstance(run.desktop, Held):
        await run.desktop.hold()
        stack.push_async_callback(_take_back, run, run.desktop)
    waiting.view = await _shown(stack, run)
    return await waiting.answer()


@dataclass
class _Waiting:
    """One hand-off, from its row to its answer."""

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
            self._tell(handoff)
            around, inside = self.run.flow_run_id, flow_run_id()
            # Beside other desktops it is the item that waits, not the flow.
            pausing.begin([around, inside] if self.run.front is None else [inside, around], self.timeout_s)
            found = await self._wait(handoff, pausing, end_s)
            if found is None and not await asyncio.to_thread(self.handoffs.close, handoff.id, "expired"):
                last = await asyncio.to_thread(self.handoffs.find, handoff.id)  # answered at the last moment
                found = last if last.state == "answered" else None
            in_pages = found is not None and found.by == IN_PAGES
            await pausing.end(None if in_pages else lambda said: self._late(handoff, said))
        except BaseException:
            await surely(self._stopped(handoff, pausing))
            raise
        if found is None:
            error = NeedsPerson(
                f"Nobody has answered hand-off {handoff.id} within {self.timeout_s:g} s: {self.question}"
            )
            error.handoff = handoff.id
            raise error
        return await _taken(self.walk, found)

    async def suspend(self, suspending: Suspending) -> None:
        """Suspend the flow run, which ends it by raising `Suspended`; return if that is not possible."""
        why = suspending.hindrance()
        if not why:
            handoff = await asyncio.to_thread(self._open, suspending.place)
            # Whatever happens now, the row stays unless the run is killed: Prefect may have heard, and the next attempt
            # looks.
            try:
                await self.walk.record(events.HandedOver(question=self.question, handoff=handoff.id))
                pausing = Pausing(handoff.id, self.choices, self._form(handoff), self._message(handoff))
                why = await pausing.suspend(self.run.flow_run_id, self.timeout_s)
                message = self._message(handoff)
            except NeedsPerson as error:  # it may be, and then begin again while this process still works
                why, message = "", str(error)
                logger.error("%s This process ends, as if it were suspended.", message)
            except BaseException:
                if self.run.switch.why():
                    await surely(self._closed(handoff, "killed"))
                raise
            if not why:
                self.run.suspended = Suspended(handoff.id, message)
                self.run.switch.rest()
                self._tell(handoff)
                await surely(leave_suspended(self.run.suspended, self.run.flow_run_id))
                raise self.run.suspended
            await self._closed(handoff, "cancelled")
        _log("The run is not suspended but waits: %s.", why.rstrip("."))

    async def _wait(self, handoff: Handoff, pausing: Pausing, end_s: float) -> Handoff | None:
        """Wait until somebody has answered, by whatever way; None if nobody has in time."""
        while (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(min(AGAIN_S, left_s))
            try:
                if said := await pausing.answered():
                    with contextlib.suppress(InvalidUsage):  # somebody was faster
                        return await asyncio.to_thread(
                            lambda: self.handoffs.answer(handoff.id, said.choice, note=said.note, by=said.by)
                        )
                now = await asyncio.to_thread(self.handoffs.find, handoff.id)
                if now.state == "answered":
                    return now
                if time.monotonic() - self.heard_s > HEARD_S:
                    self.heard_s = time.monotonic()
                    await asyncio.to_thread(self.handoffs.hear, handoff.id)
            except StoreLost as error:
                logger.warning("It cannot be seen whether hand-off %s is answered (%s).", handoff.id, error)
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
        return hushed(form_text(handoff, self.shown))

    def _message(self, handoff: Handoff) -> str:
        return f"Hand-off {handoff.id}: {self.question}"[:500]

    async def _stopped(self, handoff: Handoff, pausing: Pausing) -> None:
        """Close the hand-off because the work is being stopped; one that is killed gets its state from whoever does."""
        if not self.run.switch.why():
            await asyncio.sleep(SIGNAL_S)
        state: State = "killed" if self.run.switch.why() else "cancelled"
        await self._closed(handoff, state)
        if state == "cancelled":
            await pausing.end(lambda said: self._late(handoff, said))
        else:
            await pausing.leave()

    def _late(self, handoff: Handoff, said: Answer) -> None:
        """Tell whoever looks at the flow run that an answer that Prefect took does not count."""
        with contextlib.suppress(HoloError):
            why = too_late(self.handoffs.find(handoff.id))
            _log("‘%s’, said in Prefect's pages, does not count. %s", said.choice, why)

    async def _closed(self, handoff: Handoff, state: State) -> None:
        with contextlib.suppress(HoloError):  # that its time is over, the row says by itself
            await asyncio.to_thread(self.handoffs.close, handoff.id, state)

    def _tell(self, handoff: Handoff) -> None:
        """Tell people by all ways there are; none of them holds up the hand-off."""
        self.run.wants(handoff)
        self.run.told.handoff(handoff)
        said = "A person is needed: %s Answer in Prefect's pages (Resume%s), or with `%s`; %s."
        told, when = command(handoff), until(handoff.expires_at)
        inside, beside = flow_run_id() != self.run.flow_run_id, self.run.front is not None
        there = ", on the page of the run around this one" if inside and not beside else ""
        _log(said, self.question, there, told, when)
        if inside and self.run.log is not None:
            there = ", on the page of the sub-goal's run" if beside else ""
            self.run.log.warning(said, self.question, there, told, when)
        if self.view is not None:
            self.view.ask(self.question, when=until(handoff.expires_at, stays=True), answer=told)
        if self.run.flow_run_id:
            text = page(handoff, self.shown, title=self.run.title)
            self.run.do_aside(_published(f"handoff-{handoff.id}", text, self.question))
            _emit(handoff, self.run)


def _suspending(run: Run, walk: Walk, question: str, choices: tuple[str, ...]) -> Suspending:
    around = current_subgoal()
    who = (around.goal, around.title) if around else ("", "")
    return Suspending(run, *who, walk.token or run.options.key, question, choices=choices)


async def _taken(walk: Walk, found: Handoff) -> Answer:
    """Record a person's answer and return it."""
    await walk.record(events.TakenBack(handoff=found.id, choice=found.choice, note=found.note, by=found.by))
    _log("Hand-off %s: %s answered ‘%s’.", found.id, found.by, found.choice)
    return Answer(found.choice, found.note, found.by)


class ByHandOff:
    """Asks persons on the spot for their yes to an action: an `Approver` that waits.

    A yes is kept in memory, for exactly this action on exactly this screen in the step that asked, and used up once:
    there is never an old one, not even one that was given and could not be used.
    """

    def __init__(self) -> None:
        self._yes: dict[tuple[Asked, int, int], str] = {}
        self._walk: Walk | None = None

    async def take(self, asked: Asked) -> str | None:
        return self._yes.pop(self._place(asked), None)

    async def ask(self, asked: Asked) -> None:
        """Wait for a yes. Raises `PolicyRefused` if it is a no, `NeedsPerson` if nobody answers."""
        self._yes.clear()
        question = f"{asked.words}. Leave the screen as it is, and answer."
        walk = current_walk()
        assert walk is not None  # only a step of a walk asks for a yes
        answer = await ask_person(question, walk, choices=(YES, NO), points=asked.points)
        if answer.choice != YES:
            raise PolicyRefused(f"{answer.by} said no: {answer.note or asked.words}.")
        self._walk = walk  # kept, so that no other one gets its identity
        self._yes[self._place(asked)] = answer.by

    def _place(self, asked: Asked) -> tuple[Asked, int, int]:
        walk = current_walk()
        return _same(asked), id(walk), walk.step if walk else 0


class Helper:
    """The person whom the model asks for: it goes on afterwards, with a fresh screen and what the person says."""

    async def help(self, walk: Walk, question: str) -> str:
        answer = await ask_person(question, walk)
        if answer.choice == GIVE_UP:
            raise NeedsPerson(f"{answer.by} gave up: {answer.note or question}")
        return answer.sentence


def _same(asked: Asked) -> Asked:
    """Return what a yes is bound to: neither how it is said nor in which picture it is seen."""
    return replace(asked, words="", picture="")


@contextmanager
def _no_time(guard: Guard) -> Iterator[None]:
    guard.stop_clocks(time.monotonic())
    try:
        yield
    finally:
        guard.start_clocks(time.monotonic())


async def _take_back(run: Run, desktop: Held) -> None:
    """Let the agent have the screen again, unless its run is being stopped: then nobody has it."""
    if not run.switch.why():
        await desktop.release()


@asynccontextmanager
async def _asked_beside(run: Run, question: str) -> AsyncIterator[_Beside]:
    """Make what a person is asked, outside of any conversation, a sub-goal of its own in the story of the run."""
    around = current_subgoal()
    here = (around or Subgoal(0, "A person is asked", "", run.options.key)).numbered(run)
    asked = _Beside(replace(side_walk(question), number=here.number, token=here.token or run.options.key))
    opened = events.SubgoalOpened(
        title=here.title,
        goal=question,
        progress=here.progress,
        token=here.token,
        display=run.desktop.display,
        flow_run_id=flow_run_id(),
    )
    await run.skipping.tell(run)
    await asked.walk.record(opened)
    status, reason, layer = "answered", "", ""
    try:
        yield asked
        if asked.answer.choice == GIVE_UP:
            status, reason = "needs_person", f"{asked.answer.by} gave up."
        else:
            layer = PERSON
            run.resolved.append(Resolved(here.number, here.title, here.token, PERSON))
            if around is not None:
                around.resolved.append(PERSON)
    except BaseException as error:
        status, reason = ending(error, asked.walk.guard)
        raise
    finally:
        answer = ": ".join(part for part in (asked.answer.choice, asked.answer.note) if part)
        closed = events.SubgoalClosed(
            status=cast("events.Status", status), answer=answer, reason=reason, steps=0, cost_micro_usd=0, layer=layer
        )
        await asked.walk.record(closed)


@dataclass
class _Beside:
    """A question to a person that is no part of a conversation."""

    walk: Walk
    answer: Answer = field(default_factory=lambda: Answer(""))


async def _shown(stack: AsyncExitStack, run: Run) -> LiveView | None:
    """Show the desktop to a person if that is wanted and possible; return where."""
    if run.live_view == "never" or not isinstance(run.desktop, Shown):
        return None
    try:
        return await stack.enter_async_context(open_live_view(run.desktop))
    except HoloError as error:
        logger.warning("The desktop cannot be shown (%s).", error)
        return None


async def _picture(walk: Walk, *, fresh: bool) -> Shot | None:
    """Return the screen as it may be known outside this machine; a person is also asked without it."""
    try:
        if fresh or walk.seen is None:
            await walk.look()
    except StoreLost:
        raise
    except HoloError as error:
        logger.warning("The hand-off has no picture (%s).", error)
    return walk.seen.shot if walk.seen else None


async def _published(key: str, text: str, description: str) -> None:
    await publish_markdown(key, text, description)


def _log(message: str, *arguments: Any) -> None:
    try:
        get_run_logger().warning(message, *arguments)
    except MissingContextError:
        logger.warning(message, *arguments)


def _emit(handoff: Handoff, run: Run) -> None:
    """Tell Prefect's event stream, for an automation to call somebody. The link to the desktop is not in it."""
    context = FlowRunContext.get()
    name = context.flow_run.name if context and context.flow_run else run.title
    deployment = {"prefect.resource.id": f"prefect.deployment.{run.deployment_id}"}
    emit_event(
        event=EVENT,
        resource={"prefect.resource.id": f"prefect.flow-run.{run.flow_run_id}", "prefect.resource.name": name},
        related=[deployment | {"prefect.resource.role": "deployment"}] if run.deployment_id else [],
        payload={
            "handoff": handoff.id,
            "question": handoff.question,
            "choices": list(handoff.choices),
            "expires_at": handoff.expires_at,
            "command": command(handoff),
            "token": handoff.token,
        },
    )
