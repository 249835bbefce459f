"""Find the sub-goal and the walk around this code.

`Subgoal` is the state of a sub-goal. `as_current_subgoal` and `as_current_walk` set the current sub-goal and walk,
which `current_subgoal` and `current_walk` return.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.core.prompts.model import Model
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.core.screen.geometry import Box
from holo_tasks.loop.ask_model.ask import QuestionCalls
from holo_tasks.loop.ask_model.corrections import Corrections
from holo_tasks.loop.walk import Walk
from holo_tasks.run.items.journal import not_untouched
from holo_tasks.run.run import Run, current_guard, current_run
from holo_tasks.run.subgoal_options import SubgoalOptions


@dataclass(frozen=True)
class Subgoal:
    """A sub-goal that is being worked on.

    Sub-goals get their number when they reach the screen; one that only groups others has number 0. ``data`` are its
    arguments from outside: each `pursue` inside passes them to the model as data. ``titled_by_data`` says that the
    title contains such data, so the model does not get the title.
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
    """The arguments that are not ``data``."""
    titled_by_data: bool = False
    resolved: list[str] = field(default_factory=list)
    """Layers that answered inside, in order."""
    around: Subgoal | None = None
    listed: set[str] = field(default_factory=set)
    """Goals inside, with the same token, that failed and are on the dead-letter list."""

    @property
    def progress_text(self) -> str:
        """Return the progress line for the model, without a title that contains data from outside."""
        return self.progress.partition(":")[0] if self.titled_by_data else self.progress

    def numbered(self, run: Run) -> Subgoal:
        """Return a copy with the run's next number."""
        run.whole.subgoals += 1
        return replace(self, number=run.whole.subgoals)


_subgoal: ContextVar[Subgoal | None] = ContextVar("holo_subgoal", default=None)


def current_subgoal() -> Subgoal | None:
    """Return the sub-goal around this code, or ``None``."""
    return _subgoal.get()


@contextmanager
def as_current_subgoal(subgoal: Subgoal) -> Iterator[None]:
    """Make ``subgoal`` the current one inside the block."""
    mark, scope = _subgoal.set(subgoal), current_guard()
    try:
        with not_untouched(scope, since=scope.actions if scope else 0, alone=not has_token(subgoal)):
            yield
    finally:
        _subgoal.reset(mark)


def has_token(subgoal: Subgoal | None) -> bool:
    """Return whether a sub-goal, or one around it, works on a business item."""
    while subgoal is not None and not subgoal.token:
        subgoal = subgoal.around
    return subgoal is not None


def side_walk(task: str, *, region: Box | None = None, model: Model | None = None) -> Walk:
    """Return a walk for one question outside the sub-goal's conversation.

    Its cost and its events belong to the sub-goal.
    """
    run, here = current_run(), _subgoal.get()
    services = run.services() if model is None else replace(run.services(), model=model)
    return Walk(services, current_guard() or run.guard, here.number if here else 0, Transcript(task), region)


def chances() -> QuestionCalls:
    """Return the correction counter for a single question."""
    return QuestionCalls(Corrections(current_run().options.max_corrections))


_walk: ContextVar[Walk] = ContextVar("holo_walk")


def current_walk() -> Walk | None:
    """Return the walk whose step is in progress, or ``None``."""
    return _walk.get(None)


@contextmanager
def as_current_walk(walk: Walk) -> Iterator[None]:
    """Make ``walk`` the current one inside the block."""
    mark = _walk.set(walk)
    try:
        yield
    finally:
        _walk.reset(mark)
