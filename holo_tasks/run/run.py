"""One run: the desktop, model, evidence and limits that all of its sub-goals share."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from prefect.exceptions import Pause

from holo_tasks.audit import Delivery
from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core import events
from holo_tasks.core.budget import Guard, Limits, unpriced
from holo_tasks.core.errors import HoloError, InvalidUsage, LimitReached
from holo_tasks.core.frame import Frame
from holo_tasks.core.model import Model
from holo_tasks.core.money import Price
from holo_tasks.core.person import SUSPENDED
from holo_tasks.core.ports import Desktop, Journal, TellsWindows
from holo_tasks.core.states import Recognizer
from holo_tasks.core.version import __version__
from holo_tasks.core.visible_text import exact
from holo_tasks.kill.switch import KillSwitch
from holo_tasks.loop.doors import Doors
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.walk import Walk
from holo_tasks.run.artifacts import publish_table
from holo_tasks.run.hooks import Subscribed
from holo_tasks.run.journal import current_journal, journalled
from holo_tasks.run.killed import as_killed
from holo_tasks.run.run_options import RunOptions
from holo_tasks.run.skipping import Skipping
from holo_tasks.safety.handoffs import Handoff, Handoffs
from holo_tasks.safety.items import Items
from holo_tasks.safety.ledger import Claim, Ledger
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.scripts.step_outcome import StepOutcome, count
from holo_tasks.vision.control_text import ScreenText, can_read

LiveViewing: TypeAlias = Literal["never", "handoff", "always"]
"""When a person can see the desktop in a browser: while it is handed to them, or also, without input, all along."""
Log: TypeAlias = logging.Logger | logging.LoggerAdapter[logging.Logger]
ASIDE_PATIENCE_S, KILLED_PATIENCE_S = 15.0, 1.0
LIBRARY = f"prefect-holo {__version__}"
MOST_ROWS = 200
"""A table that people read in Prefect's pages is no longer than this; the trace has it all."""


class Surroundings(Protocol):
    """Finds out what there is on the machine."""

    async def told(self, run: Run, walk: Walk) -> str:
        """Return what a model is told of it: the same words in every conversation of a run."""
        ...


@dataclass(frozen=True)
class Resolved:
    """A sub-goal of this run that has its answer, and the layer that came to it."""

    subgoal: int
    title: str
    token: str
    layer: str


@dataclass(frozen=True)
class Replayed:
    """A goal of a playbook that was followed in a sub-goal of this run, and what came of its steps, in order."""

    subgoal: int
    playbook: str
    goal: str
    outcomes: tuple[StepOutcome, ...]


@dataclass
class Run:
    """What sub-goals find through `current_run`. One desktop, hence one sub-goal at a time."""

    run_id: str
    title: str
    options: RunOptions
    outside: Doors
    """The outside world, but for the journal of the sub-goal that is at work."""
    advisors: Mapping[str, Model]
    trace: str
    folder: Path | None
    home: Path
    """Where local state lives."""
    guard: Guard
    switch: KillSwitch
    ledger: Ledger
    items: Items
    handoffs: Handoffs
    flow_run_id: str
    deployment_id: str
    attempt: str
    """Names this time that the flow run was begun, among all others."""
    log: Log
    """Of the flow run that the agent was opened in, which is the one that is paused for a person."""
    told: Subscribed
    """What a flow has subscribed to."""
    wants: Callable[[Handoff], None]
    """Called with each hand-off, to tell who waits for this run what they are asked."""
    ask: Callable[[str, Frame], Awaitable[bool]]
    """Asks the model whether something is so on a frame, for states that are told by that."""
    live_view: LiveViewing = "handoff"
    front: Run | None = None
    """The run that this is a part of, if this is its work on one desktop of several."""
    discovery: Surroundings | None = None
    """Finds out what there is on the machine, if the agent is to know."""
    sees: Recognizer | None = None
    """What tells the states of the screen; made when it is first needed."""
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    aside: set[asyncio.Task[None]] = field(default_factory=set)
    subgoals: int = 0
    steps: int = 0
    spent_inside: int = 0
    """Micro-USD that sub-goals have written down as their own: of one inside another it is not the other's, too."""
    skipping: Skipping = field(default_factory=Skipping)
    """What was done before and is not begun."""
    resumed: set[str] = field(default_factory=set)
    """The business items that an earlier attempt worked on."""
    resolved: list[Resolved] = field(default_factory=list)
    replayed: list[Replayed] = field(default_factory=list)
    healing: list[str] = field(default_factory=list)
    """What there is to say of playbooks that did not fit: changes proposed, and one that fits less and less."""
    learning: dict[str, Any] = field(default_factory=dict)
    """What is known and learned of sub-goals that become playbooks by themselves."""
    sharing: object | None = None
    """Who uses the folder that the desktop's programs share with the agent, if anybody does."""
    suspended: Pause | None = None
    """What ends this run because Prefect has suspended its flow run: nothing may be done any more."""
    status: events.Status = "answered"
    reason: str = ""
    answer: str = ""
    delivery: Delivery | None = None

    @property
    def desktop(self) -> Desktop:
        return self.outside.desktop

    @property
    def whole(self) -> Run:
        """The run with all of its desktops: what is counted is counted there."""
        return self.front or self

    @property
    def layers(self) -> Counter[str]:
        """How many sub-goals each layer has come to the answer of."""
        return Counter(one.layer for one in self.resolved)

    @property
    def healed(self) -> int:
        """How many steps of playbooks did not fit and were done by the model, after which the playbook went on."""
        return sum(count(one.outcomes, "healed") for one in self.replayed)

    def layer_of(self, token: str) -> str:
        """Return the layers that worked on a business item in this run, the one that needed most help last."""
        found = {one.layer for one in self.resolved if one.token == token}
        return " + ".join(layer for layer in ("api", "model", "playbook", "script", "person") if layer in found)

    @property
    def recognizer(self) -> Recognizer:
        """What tells the states of the screen."""
        if self.sees is None:
            from holo_tasks.vision.state_recognizer import ScreenRecognizer

            told = self.outside.elements
            self.sees = ScreenRecognizer(ask=self.ask, elements=told.read if told else None)
        return self.sees

    def watch(self, screens: Screens) -> None:
        """Have the desktop's frames tell what the states of these screens are recognized by."""
        from holo_tasks.vision.state_recognizer import needs_windows

        if (far := getattr(self.desktop, "far", "")) and needs_windows(screens):
            raise InvalidUsage(
                f"A state is told by a window, and the desktop shows the screen of another machine ({far}), whose "
                "windows nobody here knows: tell it by a Text or a Picture."
            )
        if isinstance(self.desktop, TellsWindows) and (screens.closed or needs_windows(screens)):
            self.desktop.tells_windows = True

    def do_aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something for people to see without holding up the agent; waited for as the run is closed."""
        task = asyncio.create_task(work)
        self.aside.add(task)
        task.add_done_callback(self.aside.discard)

    def doors(self, *, reads: bool = False) -> Doors:
        """The outside world, as a walk needs it; with what reads the screen if it ``reads`` what it acts on."""
        if reads and self.outside.reader is None and can_read():
            self.outside = replace(self.outside, reader=ScreenText())
        return replace(self.outside, journal=current_journal())

    @asynccontextmanager
    async def screen_alone(self) -> AsyncIterator[None]:
        """Have the screen to oneself; whoever has it already goes on having it."""
        if _has_screen.get() is self:
            yield
            return
        async with self.busy:
            if self.suspended is not None:
                raise self.suspended
            mark = _has_screen.set(self)
            try:
                yield
            finally:
                _has_screen.reset(mark)


@dataclass
class Progress:
    """Counts the steps of a story, for lines like ``step 2 of 4: look up TX-10482``."""

    total: int
    done: int = 0

    def step(self, title: str) -> str:
        """Begin the next step and return its line."""
        self.done += 1
        return f"step {self.done} of {self.total}: {title}"


_run: ContextVar[Run | None] = ContextVar("holo_run", default=None)
_has_screen: ContextVar[Run | None] = ContextVar("holo_has_screen", default=None)
_guard: ContextVar[Guard | None] = ContextVar("holo_guard", default=None)
_progress: ContextVar[Progress | None] = ContextVar("holo_progress", default=None)


def current_run() -> Run:
    """Return the run around this code, or raise `InvalidUsage`."""
    run = _run.get()
    if run is None:
        raise InvalidUsage("There is no agent here; call this inside `async with holo_agent(...)`.")
    return run


def running_here() -> Run | None:
    """Return the run around this code, if there is one."""
    return _run.get()


@contextmanager
def within(run: Run) -> Iterator[None]:
    """Make a run the one around this code."""
    mark = _run.set(run)
    try:
        yield
    finally:
        _run.reset(mark)


def current_guard() -> Guard | None:
    """Return the innermost guardrail around this code."""
    return _guard.get()


def current_progress() -> Progress | None:
    """Return the story this code is a step of."""
    return _progress.get()


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Number the steps of a story: each sub-goal inside takes the next number by itself."""
    story = Progress(total)
    token = _progress.set(story)
    try:
        yield story
    finally:
        _progress.reset(token)


@contextmanager
def working(run: Run | None, claim: Claim, journal: Journal | None) -> Iterator[None]:
    """Work under a claim: actions are written into a ``journal``, or into none, and the run stops when it is lost."""
    with journalled(journal):
        if run is None:
            yield
            return
        claim.trace = run.trace
        run.switch.take_up(claim)
        try:
            yield
        finally:
            run.switch.leave(claim)


@contextmanager
def guarded(name: str, limits: Limits, key: str = "") -> Iterator[Guard]:
    """Open a guardrail scope; everything inside is charged to it and to all scopes around it.

    With a ``key``, its own or one made from that of the scope around it, what it spends is added to what was spent
    under that key before, by whatever process.
    """
    around = _guard.get()
    key = key or (around.key_of(name) if around else "")
    guard = Guard(name, limits, started_s=time.monotonic(), parent=around, key=key)
    token = _guard.set(guard)
    try:
        yield guard
    finally:
        _guard.reset(token)


def check_price(model: str, price: Price | None, limits: Limits) -> None:
    """Raise `InvalidUsage` for limits that cannot be kept; a price that is not known is never taken to be nothing."""
    around = _guard.get()
    if price is None and (limits.max_cost_usd is not None or (around is not None and around.has_cost_limit)):
        raise unpriced(model)


@asynccontextmanager
async def open_run(run: Run) -> AsyncIterator[Run]:
    """Open a run around some sub-goals and close its trace whatever happens inside; its own guard is open around it.

    When its switch is used the task is cancelled: an `asyncio.CancelledError` comes out of here with the reason in it,
    which no retry and no handler of errors holds up, and the flows that it leaves end as killed.
    """
    await run.outside.recorder.record(
        events.RunOpened(
            run_id=run.run_id,
            title=run.title,
            library=LIBRARY,
            flow_run_id=run.flow_run_id,
            display=run.desktop.display,
            model=run.outside.model.name,
        )
    )
    switch, mark = run.switch, _run.set(run)
    try:
        await switch.start()
        yield run
        if run.suspended is not None:
            raise run.suspended
    except BaseException as raised:
        # Whatever became of it on the way, in groups of tasks for example: Prefect has suspended the flow run.
        error = raised if run.suspended is None or switch.reason else run.suspended
        switch.rest()
        run.status, run.reason = ending(error, run.guard)
        if run.status == LimitReached.status:
            late = LimitReached(run.reason, limit="timeout_seconds", scope=run.guard.name)
            run.told.limit(error if isinstance(error, LimitReached) else late)
        if isinstance(error, LimitReached) and error.partial_answer:
            run.answer = error.partial_answer
        if run.status == "killed":
            with suppress(EvidenceFailed):  # that it was killed counts, also where it cannot be recorded
                await surely(run.outside.recorder.record(events.KillSeen(source=switch.source, reason=run.reason)))
        error = as_killed(error, switch)
        if error is not raised:
            raise error from raised
        raise
    finally:
        switch.rest()
        _run.reset(mark)
        try:
            await surely(_closed(run))
        except EvidenceFailed:
            if run.status == "answered":
                raise
            # What stopped the work is told already; that its last word is missing shows in the trace.
        finally:
            switch.close()


async def _closed(run: Run) -> None:
    """Wait for what is done aside, within bounds, then close the trace."""
    await run.skipping.tell(run)
    if run.flow_run_id and run.status != "killed":
        if run.resolved:
            run.do_aside(_publish_layers(run))
        if run.skipping.count:
            run.do_aside(run.skipping.publish(run))
    if run.aside:
        await asyncio.wait(run.aside, timeout=KILLED_PATIENCE_S if run.status == "killed" else ASIDE_PATIENCE_S)
    await run.outside.recorder.record(
        events.RunClosed(
            status=run.status,
            answer=run.answer,
            reason=run.reason,
            steps=run.steps,
            cost_micro_usd=run.guard.total_micro,
        )
    )


async def _publish_layers(run: Run) -> None:
    """Publish which layer came to the answer of each sub-goal."""
    rows = [
        {"sub-goal": str(one.subgoal), "title": one.title, "item": exact(one.token), "resolved by": one.layer}
        for one in run.resolved[-MOST_ROWS:]
    ]
    counts = ", ".join(f"{layer} {number}" for layer, number in run.layers.most_common())
    await publish_table(f"layers-{run.run_id}", rows, f"Resolved by: {counts}")


async def surely(work: Coroutine[Any, Any, None]) -> None:
    """Do something to its end, also if that is cancelled meanwhile, even twice; then be cancelled."""
    doing, cancelled = asyncio.ensure_future(work), None
    while not doing.done():
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError as error:
            if doing.cancelled():
                raise
            cancelled = error
    doing.result()
    if cancelled is not None:
        raise cancelled


def ending(error: BaseException, guard: Guard | None = None, run: Run | None = None) -> tuple[events.Status, str]:
    """Say how work of a run, by default the one around, ends that was stopped by this error.

    A deadline of ``guard`` cancels what it stops.
    """
    run = run or _run.get()
    if run is not None and (reason := run.switch.why()):
        return "killed", reason
    if guard is not None and isinstance(error, asyncio.CancelledError):
        try:
            guard.check_time(time.monotonic())
        except HoloError as late:
            error = late
    if isinstance(error, HoloError):
        return error.status, hushed(str(error))  # type: ignore[return-value]  # every status in errors.py is one
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "killed", "The run was stopped from outside."
    if isinstance(error, Pause):
        return "needs_person", hushed(f"{SUSPENDED} {error}".strip())
    return "invalid", hushed(f"{type(error).__name__}: {error}")


def to_text(value: Any) -> str:
    """Write an answer down: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
