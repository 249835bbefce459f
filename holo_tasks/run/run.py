"""Hold one run: the desktop, model, trace and limits that all of its sub-goals share.

`open_run` opens a `Run` and closes its trace. Code inside finds it with `current_run`. `guarded` opens a scope of
limits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from prefect.exceptions import Pause

from holo_tasks.audit import Delivery
from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core import events
from holo_tasks.core.errors import HoloError, InvalidUsage, LimitReached
from holo_tasks.core.limits.budget import Guard, Limits, unpriced
from holo_tasks.core.limits.money import Price
from holo_tasks.core.person import SUSPENDED
from holo_tasks.core.ports import Desktop, Journal, ReportsWindows
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.states import Recognizer
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.core.version import __version__
from holo_tasks.kill.switch import KillSwitch
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.run.hooks import Subscribed
from holo_tasks.run.items.journal import current_journal, journalled
from holo_tasks.run.items.skipping import Skipping
from holo_tasks.run.prefect_edge.artifacts import publish_table
from holo_tasks.run.prefect_edge.killed import as_killed
from holo_tasks.run.run_options import RunOptions
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Claim, Ledger
from holo_tasks.safety.scrubbing import scrub_text
from holo_tasks.scripts.step_outcome import StepOutcome, count
from holo_tasks.vision.control_text import ScreenText, can_read

LiveViewing: TypeAlias = Literal["never", "handoff", "always"]
"""When a person can watch the desktop in a browser: never, during a hand-off, or always (view only)."""
Log: TypeAlias = logging.Logger | logging.LoggerAdapter[logging.Logger]
ASIDE_PATIENCE_S, KILLED_PATIENCE_S = 15.0, 1.0
"""Seconds that a run waits at its end for background tasks, and seconds if it was killed."""
LIBRARY = f"prefect-holo {__version__}"
MOST_ROWS = 200
"""Most rows of a table in Prefect's UI. The trace has every row."""


class InventoryCollector(Protocol):
    """Collects an inventory of the machine."""

    async def inventory_text(self, run: Run, walk: Walk) -> str:
        """Return the inventory for the model: the same text in every conversation of a run."""
        ...


@dataclass(frozen=True)
class AnsweredSubgoal:
    """An answered sub-goal of this run, and the layer that gave the answer."""

    subgoal: int
    title: str
    token: str
    layer: str


@dataclass(frozen=True)
class FollowedPlaybook:
    """A playbook's goal that a sub-goal of this run followed, and the outcomes of its steps in order."""

    subgoal: int
    playbook: str
    goal: str
    outcomes: tuple[StepOutcome, ...]
    may_have_stored: bool = False
    """Whether its item may be stored: it did the steps that store it, or the model after it pressed something."""


@dataclass
class Run:
    """The state of a run, which sub-goals find through `current_run`.

    A run has one desktop, so its sub-goals work one at a time.
    """

    run_id: str
    title: str
    options: RunOptions
    outside: Services
    """The ports to the outside world, without the journal of the current sub-goal."""
    advisors: Mapping[str, Model]
    trace: str
    folder: Path | None
    home: Path
    """Folder of local state."""
    guard: Guard
    switch: KillSwitch
    ledger: Ledger
    items: Items
    handoffs: Handoffs
    flow_run_id: str
    deployment_id: str
    attempt: str
    """Id of this attempt at the flow run, unique among all attempts."""
    log: Log
    """Logger of the flow run that opened the agent. A hand-off pauses this flow run."""
    subscribed: Subscribed
    """The flow's hooks."""
    wants: Callable[[Handoff], None]
    """Called with each hand-off, to announce it in the run's live output."""
    ask: Callable[[str, Frame], Awaitable[bool]]
    """Asks the model a yes-or-no question about a frame, for states that need it."""
    live_view: LiveViewing = "handoff"
    close_desktop: Callable[[], Awaitable[Sequence[str] | None]] | None = None
    """Closes a desktop that ends with this run. Returns titles for `record_dialogs`, unless it records them itself."""
    front: Run | None = None
    """The whole run, if this one is its part on one of several desktops."""
    discovery: InventoryCollector | None = None
    """Collects the inventory of the machine, if it was requested."""
    sees: Recognizer | None = None
    """Recognizer of screen states, created on first use."""
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    aside: set[asyncio.Task[None]] = field(default_factory=set)
    subgoals: int = 0
    steps: int = 0
    spent_inside: int = 0
    """Micro-USD that finished sub-goals have already reported. An enclosing sub-goal does not report them again."""
    skipping: Skipping = field(default_factory=Skipping)
    """Work that was already done and is skipped."""
    resumed: set[str] = field(default_factory=set)
    """Tokens of the business items that an earlier attempt worked on."""
    resolved: list[AnsweredSubgoal] = field(default_factory=list)
    replayed: list[FollowedPlaybook] = field(default_factory=list)
    may_end_typed: set[str] = field(default_factory=set)
    """Names of sub-goals that only fill in fields: the model ended them right after a text, in spite of a doubt."""
    healing: list[str] = field(default_factory=list)
    """Messages about playbooks that did not fit: proposed changes, and warnings about a falling hit rate."""
    learning: dict[str, Any] = field(default_factory=dict)
    """The state of sub-goals that learn playbooks, by key."""
    sharing: object | None = None
    """The current user of the folder that the desktop's programs share with the agent."""
    suspended: Pause | None = None
    """The `Pause` that ends this run, after Prefect has suspended its flow run. No work may start after it."""
    status: events.Status = "answered"
    reason: str = ""
    answer: str = ""
    delivery: Delivery | None = None

    @property
    def desktop(self) -> Desktop:
        return self.outside.desktop

    @property
    def whole(self) -> Run:
        """Return the run over all desktops, where sub-goals and steps are counted."""
        return self.front or self

    @property
    def layers(self) -> Counter[str]:
        """Return the number of answered sub-goals by layer."""
        return Counter(one.layer for one in self.resolved)

    @property
    def healed(self) -> int:
        """Return the number of playbook steps that the model did instead, after which the playbook went on."""
        return sum(count(one.outcomes, "healed") for one in self.replayed)

    def layer_of(self, token: str) -> str:
        """Return the layers that answered sub-goals of a business item, joined by " + ", a person last."""
        found = {one.layer for one in self.resolved if one.token == token}
        return " + ".join(layer for layer in ("api", "model", "playbook", "script", "person") if layer in found)

    @property
    def recognizer(self) -> Recognizer:
        """Return the recognizer of screen states."""
        if self.sees is None:
            from holo_tasks.vision.state_recognizer import ScreenRecognizer

            elements = self.outside.elements
            self.sees = ScreenRecognizer(ask=self.ask, elements=elements.read if elements else None)
        return self.sees

    def watch(self, screens: Screens) -> None:
        """Add window information to the desktop's frames if the states of these screens need it.

        Raises `InvalidUsage` if they need it and the desktop shows a remote screen.
        """
        from holo_tasks.vision.state_recognizer import needs_windows

        if (remote := getattr(self.desktop, "far", "")) and needs_windows(screens):
            raise InvalidUsage(
                f"A state is recognized by a window, and the desktop shows the screen of another machine ({remote}), "
                "whose windows are unknown here: use a Text or a Picture for the state."
            )
        if isinstance(self.desktop, ReportsWindows) and (screens.closed or needs_windows(screens)):
            self.desktop.tells_windows = True

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a background task, such as publishing an artifact. The run waits for it at the end."""
        task = asyncio.create_task(work)
        self.aside.add(task)
        task.add_done_callback(self.aside.discard)

    def services(self, *, reads: bool = False) -> Services:
        """Return the ports for a walk, with the current journal.

        With ``reads`` they include an OCR reader, if OCR is installed.
        """
        if reads and self.outside.reader is None and can_read():
            self.outside = replace(self.outside, reader=ScreenText())
        return replace(self.outside, journal=current_journal())

    @asynccontextmanager
    async def exclusive_screen(self) -> AsyncIterator[None]:
        """Hold the run's screen exclusively. A caller that already holds it keeps it."""
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
    """Counts the steps of a flow, for lines like ``step 2 of 4: look up TX-10482``."""

    total: int
    done: int = 0

    def step(self, title: str) -> str:
        """Count the next step and return its line."""
        self.done += 1
        return f"step {self.done} of {self.total}: {title}"


_run: ContextVar[Run | None] = ContextVar("holo_run", default=None)
_has_screen: ContextVar[Run | None] = ContextVar("holo_has_screen", default=None)
_guard: ContextVar[Guard | None] = ContextVar("holo_guard", default=None)
_progress: ContextVar[Progress | None] = ContextVar("holo_progress", default=None)


def current_run() -> Run:
    """Return the run around this code. Raises `InvalidUsage` outside a run."""
    run = _run.get()
    if run is None:
        raise InvalidUsage("No agent is open here: call this inside `async with holo_agent(...)`.")
    return run


def running_here() -> Run | None:
    """Return the run around this code, or ``None``."""
    return _run.get()


@contextmanager
def as_current_run(run: Run) -> Iterator[None]:
    """Make ``run`` the current run inside the block."""
    mark = _run.set(run)
    try:
        yield
    finally:
        _run.reset(mark)


def current_guard() -> Guard | None:
    """Return the innermost guard around this code, or ``None``."""
    return _guard.get()


def current_progress() -> Progress | None:
    """Return the step counter around this code, or ``None``."""
    return _progress.get()


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Number the sub-goals inside the block as steps of ``total``."""
    story = Progress(total)
    token = _progress.set(story)
    try:
        yield story
    finally:
        _progress.reset(token)


@contextmanager
def under_claim(run: Run | None, claim: Claim, journal: Journal | None) -> Iterator[None]:
    """Work under a claim inside the block.

    Actions are written into ``journal``, or into no journal. If the claim is lost, the run's kill switch stops the run.
    """
    with journalled(journal):
        if run is None:
            yield
            return
        claim.trace = run.trace
        run.switch.add_claim(claim)
        try:
            yield
        finally:
            run.switch.leave(claim)


@contextmanager
def guarded(name: str, limits: Limits, key: str = "") -> Iterator[Guard]:
    """Open a scope of limits. Its costs count for this scope and for all scopes around it.

    ``key`` is by default derived from the key of the scope around. With a key, costs are added to those of earlier
    processes under the same key.
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
    """Raise `InvalidUsage` if a cost limit applies and the model's price is unknown.

    An unknown price never counts as zero.
    """
    around = _guard.get()
    if price is None and (limits.max_cost_usd is not None or (around is not None and around.has_cost_limit)):
        raise unpriced(model)


@asynccontextmanager
async def open_run(run: Run) -> AsyncIterator[Run]:
    """Make ``run`` current inside the block, start its kill switch, and close its trace at the end.

    The kill switch cancels the task. Then an `asyncio.CancelledError` with the reason leaves the block. Retries and
    error handlers do not stop it, and the flows that it leaves end as ``Killed``.
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
        # The Pause may have been wrapped, by a task group for example: Prefect has suspended the flow run anyway.
        error = raised if run.suspended is None or switch.reason else run.suspended
        switch.rest()
        run.status, run.reason = status_and_reason(error, run.guard)
        if run.status == LimitReached.status:
            late = LimitReached(run.reason, limit="timeout_seconds", scope=run.guard.name)
            run.subscribed.limit(error if isinstance(error, LimitReached) else late)
        if isinstance(error, LimitReached) and error.partial_answer:
            run.answer = error.partial_answer
        if run.status == "killed":
            with suppress(EvidenceFailed):  # the kill counts even if it cannot be recorded
                await run_to_end(run.outside.recorder.record(events.KillSeen(source=switch.source, reason=run.reason)))
        error = as_killed(error, switch)
        if error is not raised:
            raise error from raised
        raise
    finally:
        switch.rest()
        _run.reset(mark)
        try:
            await run_to_end(_close_run(run))
        except EvidenceFailed:
            if run.status == "answered":
                raise
            # The first error is already on its way to the caller; the trace lacks its last event.
        finally:
            switch.close()


async def _close_run(run: Run) -> None:
    """Wait a bounded time for background tasks, close a desktop that ends with the run, and record the end."""
    await run.skipping.report(run)
    if run.flow_run_id and run.status != "killed":
        if run.resolved:
            run.run_in_background(_publish_layers(run))
        if run.skipping.count:
            run.run_in_background(run.skipping.publish(run))
    if run.aside:
        await asyncio.wait(run.aside, timeout=KILLED_PATIENCE_S if run.status == "killed" else ASIDE_PATIENCE_S)
    try:
        if run.close_desktop is not None and run.status != "killed":
            await record_dialogs(run, await run.close_desktop() or ())
    finally:
        await _record_end(run)


async def record_dialogs(run: Run, titles: Sequence[str]) -> None:
    """Record the dialogs that programs opened while their desktop closed."""
    for title in titles:
        await run.outside.recorder.record(events.DialogUnanswered(title=title))


async def _record_end(run: Run) -> None:
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
    """Publish a table of the layers that answered each sub-goal."""
    rows = [
        {"sub-goal": str(one.subgoal), "title": one.title, "item": exact(one.token), "resolved by": one.layer}
        for one in run.resolved[-MOST_ROWS:]
    ]
    counts = ", ".join(f"{layer} {number}" for layer, number in run.layers.most_common())
    await publish_table(f"layers-{run.run_id}", rows, f"Resolved by: {counts}")


async def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work`` to its end even if this task is cancelled meanwhile, then raise the cancellation."""
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


def status_and_reason(
    error: BaseException, guard: Guard | None = None, run: Run | None = None
) -> tuple[events.Status, str]:
    """Return the status and reason of work that ``error`` stopped.

    ``run`` is by default the current run. A cancellation counts as a reached limit if the deadline of ``guard`` has
    passed.
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
        return error.status, scrub_text(str(error))  # type: ignore[return-value]  # every status in errors.py is one
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "killed", "The run was stopped from outside."
    if isinstance(error, Pause):
        return "needs_person", scrub_text(f"{SUSPENDED} {error}".strip())
    return "invalid", scrub_text(f"{type(error).__name__}: {error}")


def to_text(value: Any) -> str:
    """Return an answer as text: a string unchanged, every other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
