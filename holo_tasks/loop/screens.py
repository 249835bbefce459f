"""The screens of a program: its states, what may interrupt them, and how to get from one to another."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.states import ANY, Recognizer, State

if TYPE_CHECKING:
    from holo_tasks.loop.script_port import Brain

MOST_TIMES = 3


@runtime_checkable
class Scripted(Protocol):
    """A script: what can be done again and again, each time by a brain of its own."""

    @property
    def name(self) -> str:
        """What it is called in the trace."""
        ...

    def brain(self, recognizer: Recognizer | None = None, screens: Screens | None = None) -> Brain:
        """Return what decides it once; ``screens`` are the states that it may wait for by name."""
        ...


@runtime_checkable
class Checked(Protocol):
    """A script that may have been made without the values that it takes."""

    def check_values(self) -> None:
        """Raise `InvalidUsage` unless it can be done as it is."""
        ...


Do: TypeAlias = "Callable[[], Awaitable[Any]] | Scripted"
"""What is done to get somewhere: an async function without arguments, which may be a sub-goal, or a `Script`."""


@dataclass(frozen=True)
class Way:
    """How to get to a state from another one, or from any."""

    do: Do
    to: str
    start: str = ANY

    def __post_init__(self) -> None:
        _check_do(f"The way to {self.to!r}", self.do)


@dataclass(frozen=True)
class Interruption:
    """A state that may come at any time, such as a popup, and what clears it.

    Where that was needed more than ``most`` times in one sub-goal, it is for the next layer.
    """

    state: State
    do: Do
    most: int = MOST_TIMES
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.state, State):
            raise InvalidUsage(f"An Interruption is told by a State, not by {self.state!r}; write State(name, marks…).")
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
    """All that is known of a program's screens.

    ``home`` is the state where everything can be begun anew. They are ``closed``: a screen that is none of the states
    is unknown; it is waited out for ``timeout_seconds``, then handled, and never acted on. With ``closed=False`` a
    screen that nobody declared is left to who works on it. Raises `InvalidUsage` if the names do not fit together.
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
            "states": _all(State, states),
            "interruptions": _all(Interruption, interruptions),
            "ways": _all(Way, ways),
            "home": home,
            "closed": bool(closed),
            "timeout_seconds": timeout_seconds,
        }
        for field, value in given.items():
            object.__setattr__(self, field, value)
        self._check()

    @cached_property
    def candidates(self) -> tuple[State, ...]:
        """All states in the order they are recognized in: a popup lies over what it interrupts, so it comes first."""
        return tuple(dict.fromkeys((*(one.state for one in self.interruptions), *self.states)))

    def state(self, name: str) -> State:
        """Return a state by its name, an interruption's included; raise `InvalidUsage` if there is none."""
        found = next((state for state in self.candidates if state.name == name), None)
        if found is None:
            raise InvalidUsage(f"There is no state {name!r}; there are: {_named(self.candidates)}.")
        return found

    def route(self, *, begins: str = "", ends: str | Iterable[str] = ()) -> Route:
        """Return the route of a sub-goal over these screens: the state it begins in, and those that it may end in."""
        return Route(self, begins, ends)

    def interruption(self, state: State) -> Interruption | None:
        """Return the interruption that a state is, or None."""
        return next((one for one in self.interruptions if one.state == state), None)

    def while_clearing(self, interruption: Interruption | None = None) -> Screens:
        """Return what holds while an interruption is cleared, or a way taken, which passes screens of its own."""
        others = [one for one in self.interruptions if one != interruption]
        own = (interruption.state,) if interruption else ()
        # It lies over what it interrupts, also while that is busy.
        return Screens([*own, *self.states], others, closed=False, timeout_seconds=self.timeout_seconds)

    def _check(self) -> None:
        if not self.states:
            raise InvalidUsage("Screens need at least one State; declare those that the program can be in.")
        _once("states", [state.name for state in self.candidates])
        _once("interruptions", [one.name for one in self.interruptions])
        self._check_ways()
        self._check_home()
        seconds = self.timeout_seconds
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not isfinite(seconds) or seconds < 0:
            raise InvalidUsage(f"timeout_seconds is a number of seconds, 0 or more, not {seconds!r}.")

    def _check_ways(self) -> None:
        known, anywhere = {state.name for state in self.states}, {state.name for state in self.candidates}
        for way in self.ways:
            if way.to not in known:
                raise InvalidUsage(f"A way leads to {way.to!r}, which is no state; there are: {_named(self.states)}.")
            if way.start != ANY and way.start not in anywhere:
                raise InvalidUsage(
                    f"The way to {way.to!r} starts at {way.start!r}, which is no state; "
                    f"there are: {_named(self.candidates)}, or {ANY!r} for any."
                )
            if way.start != ANY and self.state(way.start).busy:
                raise InvalidUsage(
                    f"The way to {way.to!r} starts at {way.start!r}, which is busy, and a busy state is waited out; "
                    "start it at the state that comes after."
                )

    def _check_home(self) -> None:
        known = {state.name: state for state in self.states}
        if self.home and (self.home not in known or known[self.home].busy):
            wrong = "is busy" if self.home in known else "is no state"
            ready = _named(state for state in self.states if not state.busy)
            raise InvalidUsage(f"home={self.home!r} {wrong}; choose one of: {ready or 'none yet'}.")


@dataclass(frozen=True, init=False)
class Route:
    """The screens of a program, the state in which the work on a sub-goal begins, and those in which it may end.

    The run brings the program to the first by the ways that the screens declare, and takes no answer unless the screen
    is one of the others. Raises `InvalidUsage` for a state that is not among the screens.
    """

    screens: Screens
    begins: str = ""
    ends: tuple[str, ...] = ()

    def __init__(self, screens: Screens, begins: str = "", ends: str | Iterable[str] = ()) -> None:
        given = {"screens": screens, "begins": begins, "ends": (ends,) if isinstance(ends, str) else tuple(ends)}
        for field, value in given.items():
            object.__setattr__(self, field, value)
        if not (self.begins or self.ends):
            raise InvalidUsage("A route says where the work begins= or ends=; else give the Screens themselves.")
        for name in filter(None, (self.begins, *self.ends)):
            screens.state(name)


def plan(
    screens: Screens, from_state_name: str | None, to: str, *, without: Collection[Way] = ()
) -> tuple[Way, ...] | None:
    """Return the fewest ways that lead from one state to another, or None if none do.

    ``from_state_name`` None is a screen nobody knows: only ways from anywhere start there. ``without`` are ways that
    are not to be taken again. A way from the very state is preferred to one from anywhere. No state is passed twice,
    which bounds the plan by the number of states. Raises `InvalidUsage` for a state that is not there.
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


def _all(kind: type, given: Iterable[Any]) -> tuple[Any, ...]:
    values = (given,) if isinstance(given, kind) else tuple(given)
    wrong = next((value for value in values if not isinstance(value, kind)), None)
    if wrong is not None:
        raise InvalidUsage(f"Screens take {kind.__name__} objects here, not {wrong!r}.")
    return values


def _once(what: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidUsage(f"Two {what} are named {twice!r}; give each a name of its own.")


def _named(states: Iterable[State]) -> str:
    return ", ".join(state.name for state in states)
