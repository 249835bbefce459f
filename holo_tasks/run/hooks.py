"""Call functions that a flow subscribed to steps, limits, hand-offs and finished items.

`Hooks` holds the functions, `Subscribed` calls them from a run's events. It also counts limits and items as metrics.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, fields
from typing import Any

from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.safety.records.handoffs import Handoff
from holo_tasks.safety.scrubbing import scrub_text
from holo_tasks.telemetry.run_observer import NO_OBSERVER, RunObserver

logger = logging.getLogger("holo_tasks")


@dataclass(frozen=True)
class StepTaken:
    """A step that the run took.

    ``number`` counts within the sub-goal, ``action`` describes the action in words. ``outcome`` is the verdict
    (``changed``, ``unchanged``, …). It is ``not done`` if the screen had changed before the action. It is ``failed`` if
    the action failed. It is empty if the step does nothing on the screen, such as an answer.
    """

    subgoal: int
    number: int
    action: str
    tool: str
    outcome: str


@dataclass(frozen=True)
class LimitHit:
    """A limit that was reached: its name as in `Limits`, the scope that it was set for, and the error message."""

    limit: str
    scope: str
    message: str


@dataclass(frozen=True)
class HandOffOpened:
    """A hand-off to a person: its id, question, choices, business item and expiry time."""

    id: str
    question: str
    choices: tuple[str, ...]
    key: str
    expires_at: str


@dataclass(frozen=True)
class ItemFinished:
    """A business item whose work has ended, with its ``status`` (``answered`` or a failure) and the reason.

    ``layer`` is the layer that produced the result. It is empty if no layer did, and for work without a screen.
    """

    key: str
    title: str
    status: str
    reason: str
    layer: str


@dataclass(frozen=True)
class Hooks:
    """Functions that a run calls with one small value when an event happens.

    A hook may be async. It then runs as a task concurrent with the agent, and the run waits a bounded time for it at
    the end. A hook never delays, changes or stops a run. Its first exception is logged. The values passed to hooks
    contain no secrets.
    """

    on_step: Callable[[StepTaken], object] | None = None
    on_limit: Callable[[LimitHit], object] | None = None
    on_handoff: Callable[[HandOffOpened], object] | None = None
    on_item: Callable[[ItemFinished], object] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None and not callable(given):
                raise InvalidUsage(f"{field.name}= is a function that takes one value, not {given!r}.")


class Subscribed:
    """Calls a run's hooks and updates its metrics (``watch``).

    ``aside`` starts the coroutine of an async hook.
    """

    def __init__(self, hooks: Hooks | None = None, watch: RunObserver = NO_OBSERVER) -> None:
        self.watch = watch
        self.aside: Callable[[Coroutine[Any, Any, None]], None] = lambda work: work.close()
        self._hooks = hooks or Hooks()
        self._decided: dict[int, events.Decided] = {}
        self._outcomes: dict[int, str] = {}
        self._limit: LimitHit | None = None
        self._broken: set[str] = set()

    def on_event(self, event: events.Event) -> None:
        """Handle a recorded event, and call ``on_step`` when the events of a step are complete."""
        match event:
            case events.SubgoalOpened():
                self._limit = None  # an equal limit in the next sub-goal is a new one
            case events.Decided():
                self._step(event.subgoal)
                self._decided[event.subgoal] = event
            case events.Judged():
                self._outcomes[event.subgoal] = event.outcome
            case events.LookedAgain():
                self._outcomes[event.subgoal] = "not done"
            case events.ActionFailed():
                self._outcomes[event.subgoal] = "failed"
            case events.StepTimed() | events.SubgoalClosed():
                self._step(event.subgoal)

    def limit(self, error: LimitReached) -> None:
        """Report a limit once, although its error passes through several scopes."""
        hit = LimitHit(error.limit, scrub_text(error.scope), scrub_text(str(error)))
        if hit != self._limit:
            self._limit = hit
            self.watch.limit(error.limit)
            self._call("on_limit", hit)

    def handoff(self, handoff: Handoff) -> None:
        """Report a hand-off that was opened."""
        opened = HandOffOpened(handoff.id, handoff.question, tuple(handoff.choices), handoff.token, handoff.expires_at)
        self._call("on_handoff", opened)

    def item(self, key: str, title: str, status: str, reason: str = "", layer: str = "") -> None:
        """Report the end of the work on a business item. Without a ``key`` it does nothing."""
        if key:
            self.watch.item(status, layer)
            self._call("on_item", ItemFinished(key, title, status, scrub_text(reason), layer))

    def _step(self, subgoal: int) -> None:
        decided, outcome = self._decided.pop(subgoal, None), self._outcomes.pop(subgoal, "")
        if decided is not None:
            taken = StepTaken(subgoal, decided.step, decided.label, decided.tool_name, outcome)
            self._call("on_step", taken)

    def _call(self, name: str, value: object) -> None:
        hook = getattr(self._hooks, name)
        if hook is None:
            return
        try:
            found = hook(value)
        except (Exception, asyncio.CancelledError) as error:  # a user's hook must not stop the run
            self._log_first_error(name, error)
            return
        if inspect.isawaitable(found):
            self.aside(self._await_hook(name, found))

    async def _await_hook(self, name: str, work: Awaitable[object]) -> None:
        try:
            await work
        except Exception as error:  # a user's hook must not stop the run
            self._log_first_error(name, error)

    def _log_first_error(self, name: str, error: BaseException) -> None:
        """Log the first error of a hook. Further ones are not logged, since they would flood the log."""
        if name not in self._broken:
            self._broken.add(name)
            logger.warning(
                "The hook %s failed (%s: %s); the run goes on.", name, type(error).__name__, scrub_text(str(error))
            )
