"""`Hooks`: what a flow can subscribe to, to hear of steps, limits, hand-offs and items as they happen."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, fields
from typing import Any

from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.safety.handoffs import Handoff
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.telemetry.watch import UNWATCHED, Watch

logger = logging.getLogger("holo_tasks")


@dataclass(frozen=True)
class StepTaken:
    """A step that was taken: its number within the sub-goal, what it did in words, by which tool, and what came of it.

    ``outcome`` is what the verdict says (``changed``, ``unchanged``, …), ``not done`` where the screen had changed
    before the action, ``failed``, or empty for what does nothing on the screen, such as an answer.
    """

    subgoal: int
    number: int
    action: str
    tool: str
    outcome: str


@dataclass(frozen=True)
class LimitHit:
    """A limit was reached: its name as in `Limits`, what it was set for, and the error in words."""

    limit: str
    scope: str
    message: str


@dataclass(frozen=True)
class HandOffOpened:
    """A person is asked: the hand-off's id, the question and its choices, the item, and until when."""

    id: str
    question: str
    choices: tuple[str, ...]
    key: str
    expires_at: str


@dataclass(frozen=True)
class ItemFinished:
    """The work on a business item has ended: ``answered``, or as the status says, and why.

    ``layer`` is who came to the result; it is empty where nobody did, and for work without a screen.
    """

    key: str
    title: str
    status: str
    reason: str
    layer: str


@dataclass(frozen=True)
class Hooks:
    """Functions that are called as a run does something, each with one small value that tells of it.

    A hook may be an async function; it then runs beside the agent, and the run waits for it at its end, within bounds.
    No hook holds up, changes or stops a run: what it raises is logged, once for each hook. Secrets' values are in
    none of what hooks are given.
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
    """Calls a run's hooks, and tells who measures it; ``aside`` runs what is async beside the run."""

    def __init__(self, hooks: Hooks | None = None, watch: Watch = UNWATCHED) -> None:
        self.watch = watch
        self.aside: Callable[[Coroutine[Any, Any, None]], None] = lambda work: work.close()
        self._hooks = hooks or Hooks()
        self._decided: dict[int, events.Decided] = {}
        self._outcomes: dict[int, str] = {}
        self._limit: LimitHit | None = None
        self._broken: set[str] = set()

    def hear(self, event: events.Event) -> None:
        """Hear of an event that was recorded, and tell of the steps that such are parts of."""
        match event:
            case events.SubgoalOpened():
                self._limit = None  # from here on another one may be reached, of the same words
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
        """Tell of a limit once, however many scopes its error passes."""
        hit = LimitHit(error.limit, hushed(error.scope), hushed(str(error)))
        if hit != self._limit:
            self._limit = hit
            self.watch.limit(error.limit)
            self._call("on_limit", hit)

    def handoff(self, handoff: Handoff) -> None:
        """Tell of a hand-off that was opened."""
        opened = HandOffOpened(handoff.id, handoff.question, tuple(handoff.choices), handoff.token, handoff.expires_at)
        self._call("on_handoff", opened)

    def item(self, key: str, title: str, status: str, reason: str = "", layer: str = "") -> None:
        """Tell of a business item that was worked on; work without one is none."""
        if key:
            self.watch.item(status, layer)
            self._call("on_item", ItemFinished(key, title, status, hushed(reason), layer))

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
        except (Exception, asyncio.CancelledError) as error:  # somebody else's code, which must not stop the run
            self._failed(name, error)
            return
        if inspect.isawaitable(found):
            self.aside(self._awaited(name, found))

    async def _awaited(self, name: str, work: Awaitable[object]) -> None:
        try:
            await work
        except Exception as error:  # somebody else's code, which must not stop the run
            self._failed(name, error)

    def _failed(self, name: str, error: BaseException) -> None:
        """Log the first error of a hook: the same one at every step would hide all else."""
        if name not in self._broken:
            self._broken.add(name)
            logger.warning(
                "The hook %s failed (%s: %s); the run goes on.", name, type(error).__name__, hushed(str(error))
            )
