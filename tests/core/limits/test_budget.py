"""Limits nest, are checked before each use, record all consumption, and refuse invalid numbers."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.limits.money import Price, Usage, image_tokens
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, as_model, walk_of, work, wrote


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "5", True])
@pytest.mark.parametrize("name", ["max_cost_usd", "max_actions", "timeout_seconds"])
def test_an_invalid_limit_is_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidUsage, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_a_time_limit_of_zero_is_refused_and_a_budget_of_zero_is_not() -> None:
    with pytest.raises(InvalidUsage):
        Limits(timeout_seconds=0)
    guard = Guard("g", Limits(max_cost_usd=0, max_actions=0), 0)
    with pytest.raises(LimitReached):
        guard.reserve(1)
    with pytest.raises(LimitReached):
        guard.check_action()


def test_costs_of_a_scope_are_charged_to_its_ancestors() -> None:
    outer = Guard("outer", Limits(max_cost_usd=0.001), 0)
    inner = Guard("inner", Limits(max_cost_usd=1), 0, parent=outer)
    inner.reserve(900)
    inner.settle(900, 600)
    assert (outer.spent_micro, inner.spent_micro, outer.held_micro) == (600, 600, 0)
    with pytest.raises(LimitReached, match="outer"):
        inner.reserve(401)
    assert inner.held_micro == 0
    inner.reserve(400)


def test_the_outermost_limit_is_named_first() -> None:
    outer = Guard("outer", Limits(max_actions=1), 0)
    inner = Guard("inner", Limits(max_actions=1), 0, parent=outer)
    inner.count_action()
    with pytest.raises(LimitReached, match="outer") as caught:
        inner.check_action()
    assert caught.value.limit == "max_actions"


def test_the_earliest_deadline_counts() -> None:
    outer = Guard("outer", Limits(timeout_seconds=10), 100)
    inner = Guard("inner", Limits(timeout_seconds=100), 105, parent=outer)
    assert inner.deadline_s == 110
    inner.check_time(109.9)
    with pytest.raises(LimitReached):
        inner.check_time(110)


def test_one_unpriced_call_makes_the_total_unknown() -> None:
    guard = Guard("g", Limits(), 0)
    guard.count_unpriced()
    assert guard.total_micro is None


def test_bills_are_rounded_up_and_cached_tokens_have_their_own_price() -> None:
    price = Price(Decimal("0.30"), Decimal("2.00"), Decimal("0.03"))
    assert price.of(Usage(1000, 10)) == 320
    assert price.of(Usage(1000, 10, cached_tokens=900)) == 30 + 27 + 20
    assert price.of(Usage(1, 0)) == 1
    assert Price(Decimal("0.25"), Decimal("1.80")).of(Usage(1000, 0, cached_tokens=1000)) == 250


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1280, 800, 1000), (1280, 720, 880), (1920, 1080, 2040), (3840, 2160, 8160)],
)
def test_image_tokens_follow_the_rule_of_the_model_family(width: int, height: int, tokens: int) -> None:
    assert image_tokens(width, height) == tokens + 2


async def test_a_walk_counts_its_actions_without_a_ledger() -> None:
    desktop, again = PaintedDesktop(), wrote(step("click", element="OK button", x=500, y=500))
    walk = walk_of(as_model(MemoryModel([again])), desktop=desktop, limits=Limits(max_actions=1))
    with pytest.raises(LimitReached, match="max_actions"):
        await work(walk)
    assert sum(isinstance(gesture, Click) for gesture in desktop.gestures) == 1
