"""The sub-goal and the walk that this code is a part of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.core.geometry import Box
from holo_tasks.core.model import Model
from holo_tasks.core.transcript import Transcript
from holo_tasks.loop.ask import Asked
from holo_tasks.loop.corrections import Corrections
from holo_tasks.loop.walk import Walk
from holo_tasks.run.journal import not_untouched
from holo_tasks.run.run import Run, current_guard, current_run
from holo_tasks.run.subgoal_options import SubgoalOptions


@dataclass(frozen=True)
class Subgoal:
    """The sub-goal that is being worked on: its place in the run and in the story.

    Sub-goals are numbered as they reach the screen; one that only holds others together has no number. ``data`` are
    its arguments that come from outside: each `pursue` inside is told them, as data. What its title says is not told to
    the model if it is ``titled_by_data``.
    """

    number: int
    title: str
    progress: str
    token: str
    advisor: str = ""
    goal: str = ""
    options: SubgoalOptions = field(default_factory=SubgoalOptions)
    probe: Callable[[], Awaitable[Any]] | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not data."""
    titled_by_data: bool = False
    resolved: list[str] = field(default_factory=list)
    """The layers that came to an answer inside, in order."""
    around: Subgoal | None = None
    listed: set[str] = field(default_factory=set)
    """The goals inside, under the same token, that failed and are on the dead-letter list."""

    @property
    def told_progress(self) -> str:
        """Where it stands, as the model is told; what came from outside stays out of it."""
        return self.progress.partition(":")[0] if self.titled_by_data else self.progress

    def numbered(self, run: Run) -> Subgoal:
        """Return it with the run's next number."""
        run.whole.subgoals += 1
        return replace(self, number=run.whole.subgoals)


_subgoal: ContextVar[Subgoal | None] = ContextVar("holo_subgoal", default=None)


def current_subgoal() -> Subgoal | None:
    """Return the sub-goal around this code."""
    return _subgoal.get()


@contextmanager
def inside(subgoal: Subgoal) -> Iterator[None]:
    """Make a sub-goal the one around this code."""
    mark, scope = _subgoal.set(subgoal), current_guard()
    try:
        with not_untouched(scope, since=scope.actions if scope else 0, alone=not has_token(subgoal)):
            yield
    finally:
        _subgoal.reset(mark)


def has_token(here: Subgoal | None) -> bool:
    """Say whether a sub-goal, or one around it, works on a business item."""
    while here is not None and not here.token:
        here = here.around
    return here is not None


def side_walk(task: str, *, region: Box | None = None, model: Model | None = None) -> Walk:
    """Return a walk for a single question beside the sub-goal's conversation, charged and recorded like it."""
    run, here = current_run(), _subgoal.get()
    doors = run.doors() if model is None else replace(run.doors(), model=model)
    return Walk(doors, current_guard() or run.guard, here.number if here else 0, Transcript(task), region)


def chances() -> Asked:
    """Return what a single question begins with: how often the model may be corrected."""
    return Asked(Corrections(current_run().options.max_corrections))


_walk: ContextVar[Walk] = ContextVar("holo_walk")


def current_walk() -> Walk | None:
    """Return the walk whose step is being worked on."""
    return _walk.get(None)


@contextmanager
def stepping(walk: Walk) -> Iterator[None]:
    """Make a walk the one whose step is being worked on."""
    mark = _walk.set(walk)
    try:
        yield
    finally:
        _walk.reset(mark)
