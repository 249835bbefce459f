"""Declare the screens of a program: its states, their interruptions, and the ways between them.

`Screens` holds the declaration, `Route` adds where a sub-goal begins and ends, and `plan` finds ways. Used by `Guide`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.states import ANY, Recognizer, State

if TYPE_CHECKING:
    from holo_tasks.loop.script_port import Brain

MOST_TIMES = 3
"""Default limit on how often one interruption is cleared in a sub-goal."""


@runtime_checkable
class Scripted(Protocol):
    """A script: it can be done repeatedly, each time by a new brain."""

    @property
    def name(self) -> str:
        """Name of the script in the trace."""
        ...

    def brain(self, recognizer: Recognizer | None = None, screens: Screens | None = None) -> Brain:
        """Return a new brain for one run of the script. ``screens`` has the states that it may wait for by name."""
        ...


@runtime_checkable
class CheckedScript(Protocol):
    """A script that may have been created without its values."""

    def check_values(self) -> None:
        """Raise `InvalidUsage` if values are missing."""
        ...


Do: TypeAlias = "Callable[[], Awaitable[Any]] | Scripted"
"""An async function without arguments, which may be a sub-goal, or a `Script`."""


@dataclass(frozen=True)
class Way:
    """How to get to a state, from a given state or from any."""

    do: Do
    to: str
    start: str = ANY

    def __post_init__(self) -> None:
        _check_do(f"The way to {self.to!r}", self.do)


@dataclass(frozen=True)
class Interruption:
    """A state that may appear at any time, such as a popup, and the action that clears it.

    If it appears more than ``most`` times in one sub-goal, the layer gives up.
    """

    state: State
    do: Do
    most: int = MOST_TIMES
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.state, State):
            raise InvalidUsage(f"An Interruption needs a State, not {self.state!r}; write State(name, marks…).")
        if not self.name:
            object.__setattr__(self, "name", self.state.name)
        if self.state.busy:
            raise InvalidUsage(
                f"The interruption {self.name!r} is a busy state, which is never acted on; declare it among the states."
            )
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise InvalidUsage(f"The interruption {self.name!r} may be cleared at least once, not {self.most!r} times.")
        _check_do(f"The interruption {self.name!r}", self.do)


@dataclass(frozen=True)
class Screens:
    """The declared screens of a program.

    ``home`` is the state from which all work can begin. ``closed`` means that the states are complete: the run waits up
    to ``timeout_seconds`` for an unknown screen to change, then tries to leave it, and never acts on it. With
    ``closed=False`` the agent may act on unknown screens. Raises `InvalidUsage` if the names do not fit together.
    """

    states: tuple[State, ...]
    interruptions: tuple[Interruption, ...] = ()
    ways: tuple[Way, ...] = ()
    home: str = ""
    closed: bool = True
    timeout_seconds: float = 20.0

    def __init__(
        self,
        states: Iterable[State],
        interruptions: Iterable[Interruption] = (),
        ways: Iterable[Way] = (),
        home: str = "",
        closed: bool = True,
        timeout_seconds: float = 20.0,
    ) -> None:
        given = {
            "states": _checked_tuple(State, states),
            "interruptions": _checked_tuple(Interruption, interruptions),
            "ways": _checked_tuple(Way, ways),
            "home": home,
            "closed": bool(closed),
            "timeout_seconds": timeout_seconds,
        }
        for field, value in given.items():
            object.__setattr__(self, field, value)
        self._check()

    @cached_property
    def candidates(self) -> tuple[State, ...]:
        """All states in the order of recognition. Interruptions come first, because a popup covers another state."""
        return tuple(dict.fromkeys((*(one.state for one in self.interruptions), *self.states)))

    def state(self, name: str) -> State:
        """Return a state or an interruption's state by its name. Raises `InvalidUsage` if the name is unknown."""
        found = next((state for state in self.candidates if state.name == name), None)
        if found is None:
            raise InvalidUsage(f"There is no state {name!r}; there are: {_names_of(self.candidates)}.")
        return found

    def route(self, *, begins: str = "", ends: str | Iterable[str] = ()) -> Route:
        """Return the route of a sub-goal over these screens, with the states where it begins and may end."""
        return Route(self, begins, ends)

    def interruption(self, state: State) -> Interruption | None:
        """Return the interruption with this state, or ``None``."""
        return next((one for one in self.interruptions if one.state == state), None)

    def while_clearing(self, interruption: Interruption | None = None) -> Screens:
        """Return the screens that apply while an interruption is cleared or a way is taken.

        Both may pass undeclared screens.
        """
        others = [one for one in self.interruptions if one != interruption]
        own = (interruption.state,) if interruption else ()
        # The interruption covers the other states, even while the program is busy.
        return Screens([*own, *self.states], others, closed=False, timeout_seconds=self.timeout_seconds)

    def _check(self) -> None:
        if not self.states:
            raise InvalidUsage("Screens need at least one State; declare those that the program can be in.")
        _check_unique("states", [state.name for state in self.candidates])
        _check_unique("interruptions", [one.name for one in self.interruptions])
        self._check_ways()
        self._check_home()
        seconds = self.timeout_seconds
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not isfinite(seconds) or seconds < 0:
            raise InvalidUsage(f"timeout_seconds is a number of seconds, 0 or more, not {seconds!r}.")

    def _check_ways(self) -> None:
        known, anywhere = {state.name for state in self.states}, {state.name for state in self.candidates}
        for way in self.ways:
            if way.to not in known:
                raise InvalidUsage(
                    f"A way leads to {way.to!r}, which is not a declared state; there are: {_names_of(self.states)}."
                )
            if way.start != ANY and way.start not in anywhere:
                raise InvalidUsage(
                    f"The way to {way.to!r} starts at {way.start!r}, which is not a declared state; there are: "
                    f"{_names_of(self.candidates)}, or {ANY!r} for any."
                )
            if way.start != ANY and self.state(way.start).busy:
                raise InvalidUsage(
                    f"The way to {way.to!r} starts at {way.start!r}, which is busy. The run waits until a busy state "
                    "ends, so start the way at the state after it."
                )

    def _check_home(self) -> None:
        known = {state.name: state for state in self.states}
        if self.home and (self.home not in known or known[self.home].busy):
            wrong = "is busy" if self.home in known else "is not a declared state"
            ready = _names_of(state for state in self.states if not state.busy)
            raise InvalidUsage(f"home={self.home!r} {wrong}; choose one of: {ready or 'none yet'}.")


@dataclass(frozen=True, init=False)
class Route:
    """The screens of a program, the state where the work on a sub-goal begins, and the states where it may end.

    The run brings the program to the first state by the declared ways. It accepts an answer only in one of the last
    states. Raises `InvalidUsage` for a state that is not among the screens.
    """

    screens: Screens
    begins: str = ""
    ends: tuple[str, ...] = ()

    def __init__(self, screens: Screens, begins: str = "", ends: str | Iterable[str] = ()) -> None:
        given = {"screens": screens, "begins": begins, "ends": (ends,) if isinstance(ends, str) else tuple(ends)}
        for field, value in given.items():
            object.__setattr__(self, field, value)
        if not (self.begins or self.ends):
            raise InvalidUsage("A route needs begins= or ends=. Without either, give the Screens themselves.")
        for name in filter(None, (self.begins, *self.ends)):
            screens.state(name)


def plan(
    screens: Screens, from_state_name: str | None, to: str, *, without: Collection[Way] = ()
) -> tuple[Way, ...] | None:
    """Return the shortest sequence of ways from one state to another; ``None`` without one.

    ``from_state_name`` is ``None`` for an unknown screen. Only ways from any state start there. ``without`` are ways
    that must not be taken again. A way from the given state is preferred to one from any state. No state is passed
    twice. Raises `InvalidUsage` for an unknown state.
    """
    screens.state(to)
    if from_state_name is not None:
        screens.state(from_state_name)
    if from_state_name == to:
        return ()
    ways = sorted((way for way in screens.ways if way not in without), key=lambda way: way.start == ANY)
    seen = {from_state_name}
    reached: deque[tuple[str | None, tuple[Way, ...]]] = deque([(from_state_name, ())])
    while reached:
        here, taken = reached.popleft()
        for way in ways:
            if way.start not in (ANY, here) or way.to in seen:
                continue
            if way.to == to:
                return (*taken, way)
            seen.add(way.to)
            reached.append((way.to, (*taken, way)))
    return None


def _check_do(what: str, do: Any) -> None:
    if not callable(do) and not hasattr(do, "brain"):
        raise InvalidUsage(f"{what} needs something to do: an async function without arguments or a Script.")


def _checked_tuple(kind: type, given: Iterable[Any]) -> tuple[Any, ...]:
    values = (given,) if isinstance(given, kind) else tuple(given)
    wrong = next((value for value in values if not isinstance(value, kind)), None)
    if wrong is not None:
        raise InvalidUsage(f"Screens take {kind.__name__} objects here, not {wrong!r}.")
    return values


def _check_unique(what: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidUsage(f"Two {what} are named {twice!r}; give each a name of its own.")


def _names_of(states: Iterable[State]) -> str:
    return ", ".join(state.name for state in states)
