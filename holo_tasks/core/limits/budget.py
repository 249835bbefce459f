"""Limits on a piece of work, and its consumption.

Recording and checking are separate: consumption is always recorded, even if it exceeds a limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.limits.money import usd
from holo_tasks.core.limits.overbilling import Overbilling

WINDOW_S = 300.0


@dataclass(frozen=True)
class Limits:
    """Upper limits of money, input actions, time and model calls; ``None`` means no limit.

    Time runs from the start of the scope. Calls are counted in a sliding window of five minutes. Raises `InvalidUsage`
    for invalid limits: negative numbers, a time of 0, fractions of actions.
    """

    max_cost_usd: float | None = None
    max_actions: int | None = None
    timeout_seconds: float | None = None
    max_calls_per_5_minutes: int | None = None

    def __post_init__(self) -> None:
        _check_number("max_cost_usd", self.max_cost_usd, zero=True)
        _check_number("timeout_seconds", self.timeout_seconds)
        for name in ("max_actions", "max_calls_per_5_minutes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise InvalidUsage(f"{name} must be a whole number, not {value!r}.")
            _check_number(name, value, zero=True)

    @property
    def max_cost_micro(self) -> int | None:
        return None if self.max_cost_usd is None else int(Decimal(str(self.max_cost_usd)) * 1_000_000)


def _check_number(name: str, value: float | None, *, zero: bool = False) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidUsage(f"{name} must be a finite number, not {value!r}.")
    if value < 0 or (value == 0 and not zero):
        raise InvalidUsage(f"{name} must be {'0 or more' if zero else 'more than 0'}, not {value!r}.")


@dataclass
class Guard:
    """The limits and consumption of one scope.

    Scopes nest: all ancestors are charged, and the outermost is checked first.

    ``started_s`` and all other times are seconds on the monotonic clock, passed in by the caller. A scope with a
    ``key`` is also stored in the shared database under that key, so it outlives this process.
    """

    name: str
    limits: Limits
    started_s: float
    parent: Guard | None = None
    key: str = ""
    opened: dict[str, int] = field(default_factory=dict, repr=False)
    spent_micro: int = 0
    held_micro: int = 0
    actions: int = 0
    calls: int = 0
    unpriced_calls: int = 0
    overbilling: dict[str, Overbilling] = field(default_factory=dict, repr=False)
    doubts: int = 0
    """Calls since the last reply whose billing is unknown."""
    cut_off: bool = False
    """Whether a reply of this model exceeded its limit. Later replies are then not shortened to save money."""
    calls_s: list[float] = field(default_factory=list, repr=False)
    stops: int = 0
    stopped_s: float = 0.0

    def lineage(self) -> list[Guard]:
        """Return this scope and its ancestors, outermost first."""
        chain: list[Guard] = []
        scope: Guard | None = self
        while scope is not None:
            chain.append(scope)
            scope = scope.parent
        return chain[::-1]

    def key_of(self, name: str) -> str:
        """Return the key of a nested scope.

        A later attempt that opens the same scopes in the same order gets the same keys.
        """
        if not self.key:
            return ""
        self.opened[name] = self.opened.get(name, 0) + 1
        return f"{self.key}/{name}#{self.opened[name]}"

    @property
    def deadline_s(self) -> float | None:
        """The earliest deadline of this scope and its ancestors."""
        times = [
            scope.started_s + scope.limits.timeout_seconds
            for scope in self.lineage()
            if scope.limits.timeout_seconds is not None and not scope.stops
        ]
        return min(times, default=None)

    def stop_clocks(self, now_s: float) -> None:
        """Stop the clocks of this scope and its ancestors, because a person has the screen.

        Calls nest with `start_clocks`.
        """
        for scope in self.lineage():
            scope.stopped_s = scope.stopped_s if scope.stops else now_s
            scope.stops += 1

    def start_clocks(self, now_s: float) -> None:
        """Start the clocks again. Deadlines move by the time that the clocks were stopped."""
        for scope in self.lineage():
            scope.stops -= 1
            if not scope.stops:
                scope.started_s += now_s - scope.stopped_s

    def left_s(self, now_s: float) -> float:
        """Return the seconds left for this scope alone; infinity while its clock is stopped."""
        seconds = self.limits.timeout_seconds
        return math.inf if seconds is None or self.stops else self.started_s + seconds - now_s

    @property
    def has_cost_limit(self) -> bool:
        return self.cost_limit_micro is not None

    @property
    def cost_limit_micro(self) -> int | None:
        """The lowest money limit of this scope and its ancestors."""
        limits = [scope.limits.max_cost_micro for scope in self.lineage()]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def headroom_micro(self) -> int | None:
        """Micro-USD that may still be spent, or ``None`` without a money limit."""
        left = [
            limit - scope.spent_micro - scope.held_micro
            for scope in self.lineage()
            if (limit := scope.limits.max_cost_micro) is not None
        ]
        return min(left, default=None)

    def check_time(self, now_s: float) -> None:
        """Raise `LimitReached` if a deadline has passed."""
        for scope in self.lineage():
            if scope.left_s(now_s) <= 0:
                raise out_of_time(scope)

    def check_action(self) -> None:
        """Raise `LimitReached` if one more action would exceed a limit."""
        for scope in self.lineage():
            most = scope.limits.max_actions
            if most is not None and scope.actions >= most:
                raise too_many_actions(scope)

    def check_calls(self, now_s: float) -> None:
        """Raise `LimitReached` if one more call would exceed the limit for five minutes."""
        for scope in self.lineage():
            most = scope.limits.max_calls_per_5_minutes
            scope.calls_s = [at_s for at_s in scope.calls_s if at_s > now_s - WINDOW_S]
            if most is not None and len(scope.calls_s) >= most:
                raise too_many_calls(scope)

    def count_call(self, now_s: float) -> None:
        for scope in self.lineage():
            scope.calls += 1
            if scope.limits.max_calls_per_5_minutes is not None:
                scope.calls_s.append(now_s)

    def late(self) -> LimitReached | None:
        """Return the error of the scope with the earliest deadline, or ``None`` without a deadline."""
        timed = [scope for scope in self.lineage() if scope.limits.timeout_seconds is not None]
        first = min(timed, key=lambda scope: scope.started_s + (scope.limits.timeout_seconds or 0), default=None)
        return None if first is None else out_of_time(first)

    def reserve(self, worst_micro: int) -> None:
        """Reserve the worst-case cost of a call in every scope. Raises `LimitReached` without reserving anything."""
        for scope in self.lineage():
            most = scope.limits.max_cost_micro
            if most is not None and scope.spent_micro + scope.held_micro + worst_micro > most:
                raise too_expensive(scope, worst_micro, scope.spent_micro, scope.held_micro)
        for scope in self.lineage():
            scope.held_micro += worst_micro

    def settle(self, worst_micro: int, actual_micro: int, still_held_micro: int = 0) -> None:
        """Replace a reservation by the bill. ``still_held_micro`` stays reserved because it may still be billed."""
        for scope in self.lineage():
            scope.held_micro += still_held_micro - worst_micro
            scope.spent_micro += actual_micro

    def learn(self, meter: str, seen: Overbilling) -> None:
        """Remember by how much a server bills more than requested, so that the next worst case holds."""
        bills = self.lineage()[0].overbilling
        bills[meter] = bills.get(meter, Overbilling()).after_bill(seen)

    def doubt(self) -> None:
        """Count a call whose billing is unknown."""
        self.lineage()[0].doubts += 1

    def trust(self) -> None:
        """Reset the count of doubtful calls after a reply."""
        self.lineage()[0].doubts = 0

    @property
    def in_doubt(self) -> bool:
        """Whether it is unknown if the last call was billed."""
        return self.lineage()[0].doubts > 0

    def expected(self, meter: str) -> Overbilling:
        """Return by how much a server is expected to bill more than requested."""
        return self.lineage()[0].overbilling.get(meter, Overbilling())

    def count_action(self) -> None:
        for scope in self.lineage():
            scope.actions += 1

    def count_unpriced(self) -> None:
        for scope in self.lineage():
            scope.unpriced_calls += 1

    @property
    def total_micro(self) -> int | None:
        """The money spent in micro-USD, or ``None`` if the price of any call is unknown."""
        return None if self.unpriced_calls else self.spent_micro


def unpriced(model: str) -> InvalidUsage:
    """Return the error for a money limit with a model of unknown price. An unknown price never counts as zero."""
    return InvalidUsage(
        f"The price of {model} is not known, so a limit in USD cannot be enforced; give its prices or drop the limit."
    )


def too_expensive(scope: Guard, worst_micro: int, spent_micro: int, held_micro: int) -> LimitReached:
    """Return the error for a scope whose money does not cover the worst case of another call."""
    held = (
        f" and {usd(held_micro)} are reserved for calls of unknown cost (a failed call may be billed, so its highest "
        "possible cost is reserved)"
        if held_micro
        else ""
    )
    return LimitReached(
        f"{scope.name} has spent {usd(spent_micro)} of {usd(scope.limits.max_cost_micro)}{held}, and the next call may "
        f"cost {usd(worst_micro)}; raise max_cost_usd (on the command line --max-cost-usd).",
        limit="max_cost_usd",
        scope=scope.name,
    )


def too_many_actions(scope: Guard) -> LimitReached:
    """Return the error for a scope that has used up its actions."""
    return LimitReached(
        f"{scope.name} reached its limit of {scope.limits.max_actions} actions; raise max_actions or split the goal.",
        limit="max_actions",
        scope=scope.name,
    )


def too_many_calls(scope: Guard) -> LimitReached:
    """Return the error for a scope with too many model calls in five minutes."""
    return LimitReached(
        f"{scope.name} reached its limit of {scope.limits.max_calls_per_5_minutes} model calls in five minutes; it may "
        "be stuck. Look at its report, then raise max_calls_per_5_minutes or split the goal.",
        limit="max_calls_per_5_minutes",
        scope=scope.name,
    )


def out_of_time(scope: Guard) -> LimitReached:
    """Return the error for a scope whose time is over."""
    return LimitReached(
        f"{scope.name} ran out of its {scope.limits.timeout_seconds:g} s; raise timeout_seconds (on the command "
        "line --timeout) or split the goal.",
        limit="timeout_seconds",
        scope=scope.name,
    )
