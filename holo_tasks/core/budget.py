"""Limits on a piece of work, and what it has used up.

Recording and checking are two verbs: what happened is always recorded, also when it breaks a limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.money import usd


@dataclass(frozen=True)
class Limits:
    """Ceilings on money, input actions and time; None is no ceiling. Time runs from the start of the scope."""

    max_cost_usd: float | None = None
    max_actions: int | None = None
    timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        _positive("max_cost_usd", self.max_cost_usd, zero=True)
        _positive("timeout_seconds", self.timeout_seconds)
        if self.max_actions is not None:
            if isinstance(self.max_actions, bool) or not isinstance(self.max_actions, int):
                raise InvalidUsage(f"max_actions must be a whole number, not {self.max_actions!r}.")
            _positive("max_actions", self.max_actions, zero=True)

    @property
    def max_cost_micro(self) -> int | None:
        return None if self.max_cost_usd is None else int(Decimal(str(self.max_cost_usd)) * 1_000_000)


def _positive(name: str, value: float | None, *, zero: bool = False) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidUsage(f"{name} must be a finite number, not {value!r}.")
    if value < 0 or (value == 0 and not zero):
        raise InvalidUsage(f"{name} must be {'0 or more' if zero else 'more than 0'}, not {value!r}.")


@dataclass
class Guard:
    """One scope's limits and spending. Scopes nest: all ancestors are charged, the outermost is checked first.

    ``started_s`` and all times are on the monotonic clock, in seconds; the caller brings the clock.
    """

    name: str
    limits: Limits
    started_s: float
    parent: Guard | None = None
    spent_micro: int = 0
    held_micro: int = 0
    actions: int = 0
    unpriced_calls: int = 0
    overbilling: float = 1.0

    def lineage(self) -> list[Guard]:
        """This scope and all around it, outermost first."""
        chain: list[Guard] = []
        scope: Guard | None = self
        while scope is not None:
            chain.append(scope)
            scope = scope.parent
        return chain[::-1]

    @property
    def deadline_s(self) -> float | None:
        """The earliest deadline of this scope and all around it."""
        times = [
            scope.started_s + scope.limits.timeout_seconds
            for scope in self.lineage()
            if scope.limits.timeout_seconds is not None
        ]
        return min(times, default=None)

    @property
    def has_cost_limit(self) -> bool:
        return any(scope.limits.max_cost_usd is not None for scope in self.lineage())

    @property
    def headroom_micro(self) -> int | None:
        """Micro-USD that may still be spent; None when no scope limits money."""
        left = [
            limit - scope.spent_micro - scope.held_micro
            for scope in self.lineage()
            if (limit := scope.limits.max_cost_micro) is not None
        ]
        return min(left, default=None)

    def check_time(self, now_s: float) -> None:
        """Raise `LimitReached` when a deadline has passed."""
        for scope in self.lineage():
            seconds = scope.limits.timeout_seconds
            if seconds is not None and now_s >= scope.started_s + seconds:
                raise out_of_time(scope)

    def check_action(self) -> None:
        """Raise `LimitReached` when one more action would be too many."""
        for scope in self.lineage():
            most = scope.limits.max_actions
            if most is not None and scope.actions >= most:
                raise LimitReached(
                    f"{scope.name} reached its limit of {most} actions; raise max_actions or split the goal.",
                    limit="max_actions",
                )

    def reserve(self, worst_micro: int) -> None:
        """Hold the worst case of a call in every scope, or raise `LimitReached` and hold nothing."""
        for scope in self.lineage():
            most = scope.limits.max_cost_micro
            if most is not None and scope.spent_micro + scope.held_micro + worst_micro > most:
                raise LimitReached(
                    f"{scope.name} has spent {usd(scope.spent_micro)} of {usd(most)} and the next call may cost "
                    f"{usd(worst_micro)}; raise max_cost_usd.",
                    limit="max_cost_usd",
                )
        for scope in self.lineage():
            scope.held_micro += worst_micro

    def settle(self, worst_micro: int, actual_micro: int) -> None:
        """Replace a held worst case by the bill."""
        for scope in self.lineage():
            scope.held_micro -= worst_micro
            scope.spent_micro += actual_micro

    def learn(self, estimated_tokens: int, billed_tokens: int) -> None:
        """Remember by how much a server bills more than was estimated, so that the next worst case holds."""
        root = self.lineage()[0]
        root.overbilling = max(root.overbilling, billed_tokens / max(1, estimated_tokens))

    def worst_tokens(self, estimated_tokens: int) -> int:
        """Return the most prompt tokens a request of this estimated size has been billed for."""
        return math.ceil(estimated_tokens * self.lineage()[0].overbilling)

    def count_action(self) -> None:
        for scope in self.lineage():
            scope.actions += 1

    def count_unpriced(self) -> None:
        for scope in self.lineage():
            scope.unpriced_calls += 1

    @property
    def total_micro(self) -> int | None:
        """What was spent, or None when some call had no known price."""
        return None if self.unpriced_calls else self.spent_micro


def out_of_time(scope: Guard) -> LimitReached:
    """The error of a scope whose time is up."""
    return LimitReached(
        f"{scope.name} ran out of its {scope.limits.timeout_seconds:g} s; raise timeout_seconds or split the goal.",
        limit="timeout_seconds",
    )
