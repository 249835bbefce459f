"""The ``screens:`` section of a playbook: the states that the program's screen can be in, and how to get to them.

screens:
  home: search
  states:
    search: LEDGER SEARCH
    record: [RECORD, {picture: stamp.png}]
    saving: {marks: "Saving*", busy: true}
  interruptions:
    notice: {marks: "NOTICE", do: [{click: Close, thought: A notice is in the way.}]}
    sign-on: {marks: "SESSION EXPIRED"}     # its action is given in Python, by this name
  ways:
    - {to: search, from: record, do: back-to-search}     # a goal of this playbook that takes no values
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import ANY, Absent, AnyOf, Asked, Mark, Picture, State, Text, Widget, Window
from holo_tasks.loop.screens import MOST_TIMES, Do, Interruption, Screens, Way
from holo_tasks.scripts.steps_and_targets import Action, Part, Shown


def _listed(value: Any) -> Any:
    return value if value is None or isinstance(value, list | tuple) else [value]


Corner = tuple[int, int, int, int]


class DeclaredWindow(Part):
    """A window by its title (a shell pattern) or its program."""

    title: str = "*"
    program: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"title": value} if isinstance(value, str) else value


class DeclaredMark(Shown):
    """A mark of a state: exactly one kind. ``within`` is a box of the screen: left, top, width, height.

    An element, by role and name, may also have a text, for programs that do not report their elements.
    """

    window: DeclaredWindow | None = None
    asked: str | None = Field(default=None, description="a question that a model answers with yes or no")
    not_: DeclaredMark | None = Field(default=None, alias="not")
    any_of: tuple[DeclaredMark, ...] | None = None
    within: Corner | None = None
    likeness: float | None = None

    @model_validator(mode="after")
    def _one(self) -> DeclaredMark:
        kinds = ("text", "picture", "window", "asked", "not_", "any_of")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if self.is_named:
            if given not in ([], ["text"]):
                raise ValueError("a mark with role: or name: can only be combined with text:")
            given = ["element"]
        if len(given) != 1:
            raise ValueError("a mark is one of text:, picture:, window:, asked:, not: and any_of:, or role: and name:")
        if self.within is not None and given[0] not in ("text", "picture"):
            raise ValueError("within: is for text: and picture:")
        if self.likeness is not None and given[0] != "picture":
            raise ValueError("likeness: is for picture:")
        _sound(self.mark)
        return self

    def mark(self) -> Mark:
        """Return the mark as the class of `core.screen.states`."""
        box = None if self.within is None else Box(*self.within)
        if self.is_named:
            return Widget(self.role, self.name, self.text or "")
        if self.text is not None:
            return Text(self.text, box)
        if self.picture is not None:
            return Picture(self.picture, box) if self.likeness is None else Picture(self.picture, box, self.likeness)
        if self.window is not None:
            return Window(self.window.title, self.window.program)
        if self.asked is not None:
            return Asked(self.asked)
        if self.not_ is not None:
            return Absent(self.not_.mark())
        return AnyOf(*(one.mark() for one in self.any_of or ()))


Marks = Annotated[tuple[DeclaredMark, ...], BeforeValidator(_listed), Field(min_length=1)]


class DeclaredState(Part):
    """A state: marks that must all hold. ``busy`` means that the program works and the run waits."""

    marks: Marks
    busy: bool = False

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) and "marks" in value else {"marks": value}


def _actions(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Doing = Annotated[str | tuple[Action, ...] | None, BeforeValidator(_actions)]
"""A goal of this playbook, or actions. Without it, the action is given in Python."""


class DeclaredInterruption(Part):
    """A state that may appear at any time, the action that clears it, and the most times that it is cleared."""

    marks: Marks
    do: Doing = None
    most: Annotated[int, Field(ge=1)] = MOST_TIMES


class DeclaredWay(Part):
    """How to get to a state, from a given state or from any."""

    to: str
    from_: str = Field(default=ANY, alias="from")
    name: str = Field(default="", description="name of its action in do=; `to` by default")
    do: Doing = None


class DeclaredScreens(Part):
    """States and interruptions by name, and ways between states."""

    states: Annotated[dict[str, DeclaredState], Field(min_length=1)]
    interruptions: dict[str, DeclaredInterruption] = Field(default_factory=dict)
    ways: tuple[DeclaredWay, ...] = ()
    home: str = ""
    closed: bool = Field(default=True, description="a screen that matches no state is never acted on")
    patience: Annotated[float, Field(ge=0, le=3600)] = Field(default=20.0, description="seconds")

    @model_validator(mode="after")
    def _coherent(self) -> DeclaredScreens:
        _sound(lambda: self.screens(lambda name, do: _nothing))
        return self

    def screens(self, doing: Doings) -> Screens:
        """Return the `Screens` object. ``doing`` returns the action with a name."""
        return Screens(
            [State(name, *_marks(state.marks), busy=state.busy) for name, state in self.states.items()],
            [
                Interruption(State(name, *_marks(one.marks)), doing(name, one.do), one.most, name)
                for name, one in self.interruptions.items()
            ],
            [Way(doing(way.name or way.to, way.do), way.to, way.from_) for way in self.ways],
            self.home,
            self.closed,
            self.patience,
        )

    def check_expected(self, goal: str, actions: Sequence[Action]) -> None:
        """Raise `ValueError` if an action expects an undeclared state."""
        known = {*self.states, *self.interruptions}
        for action in actions:
            if action.expect is not None and action.expect not in known:
                raise ValueError(
                    f"goal {goal}: {action.thought!r} expects the state {action.expect!r}, which is not under screens:"
                )

    def check_known(self, goal: str, states: Iterable[str]) -> None:
        """Raise `ValueError` if rules name an undeclared state."""
        for name in states:
            if name not in {*self.states, *self.interruptions}:
                raise ValueError(f"goal {goal}: a rule asks for the state {name!r}, which is not under screens:")

    def check_goals(self, params: Mapping[str, Set[str]]) -> None:
        """Raise `ValueError` if an action names an unknown goal, or a goal that takes values."""
        for do in (*(one.do for one in self.interruptions.values()), *(way.do for way in self.ways)):
            if isinstance(do, str):
                if do not in params:
                    raise ValueError(f"screens: do: {do!r} is not a goal of this playbook")
                if params[do]:
                    raise ValueError(f"screens: do: the goal {do!r} takes values, which cannot be given here")
            elif do is not None:
                self.check_expected("screens", do)


Doings = Callable[[str, str | tuple[Action, ...] | None], Do]


async def _nothing() -> None:
    """Placeholder for an action where only its name matters."""


def _marks(declared: Sequence[DeclaredMark]) -> list[Mark]:
    return [one.mark() for one in declared]


def _sound(make: Callable[[], object]) -> None:
    """Convert an `InvalidUsage` error of a declaration to the `ValueError` that pydantic expects."""
    try:
        make()
    except InvalidUsage as error:
        raise ValueError(str(error)) from None
