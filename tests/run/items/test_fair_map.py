"""Map items over some desktops: start in order, yield each outcome as it ends, lose none and start none too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from holo_tasks.run.items.fair_map import FairMap, Outcome

Told = Outcome[int, int]


class Work:
    """Items that end when their gate opens. ``begun`` is in order of start, and ``most`` is the highest concurrency."""

    def __init__(self, *, held: bool = False) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.under_way = self.most = 0
        self._gates: dict[int, asyncio.Event] = {}
        self._held = held

    def gate(self, item: int) -> asyncio.Event:
        return self._gates.setdefault(item, asyncio.Event())

    async def __call__(self, number: int, item: int) -> Told:
        self.begun.append(item)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await (self.gate(item).wait() if self._held else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled.append(item)
            raise
        finally:
            self.under_way -= 1
        self.ended.append(item)
        return Outcome(item, number, 10 * item)


async def until(true: Callable[[], Any]) -> None:
    """Run other tasks until a condition holds."""
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0)


async def settled() -> None:
    """Run other tasks for longer than they need."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_every_item_has_one_outcome_and_concurrency_is_bounded() -> None:
    work = Work()
    told = [one async for one in FairMap(range(100), work, at_once=3).outcomes()]
    assert sorted(one.item for one in told) == list(range(100))
    assert [one.outcome for one in told] == [10 * one.item for one in told]
    assert [one.number for one in sorted(told, key=lambda one: one.item)] == list(range(1, 101))
    assert work.begun == list(range(100))
    assert work.most == 3


async def test_outcomes_come_in_the_order_of_their_ends() -> None:
    work = Work(held=True)
    outcomes = FairMap(range(3), work, at_once=3).outcomes()
    first = asyncio.ensure_future(anext(outcomes))
    await until(lambda: len(work.begun) == 3)
    work.gate(2).set()
    assert (await first).item == 2
    work.gate(0).set()
    assert (await anext(outcomes)).item == 0
    work.gate(1).set()
    assert [one.item async for one in outcomes] == [1]


async def test_an_endless_list_is_read_only_as_fast_as_outcomes_are_consumed() -> None:
    taken: list[int] = []

    async def items() -> AsyncIterator[int]:
        while True:
            taken.append(len(taken))
            yield taken[-1]

    outcomes = FairMap(items(), Work(), at_once=2).outcomes()
    told = [(await anext(outcomes)).item for _ in range(5)]
    await settled()
    # Two items are under way and two outcomes wait: a slow consumer causes backpressure.
    assert told == [0, 1, 2, 3, 4]
    assert len(taken) <= 5 + 4
    await outcomes.aclose()
    before = len(taken)
    await settled()
    assert len(taken) == before


async def test_a_consumer_that_stops_early_starts_no_items_and_lets_running_ones_end() -> None:
    work = Work(held=True)
    mapped = FairMap(range(100), work, at_once=2)
    work.gate(0).set()
    async for _ in mapped.outcomes():
        break
    begun = len(work.begun)
    for item in range(100):
        work.gate(item).set()
    await mapped.finish()
    assert mapped.is_over
    assert work.begun == work.ended
    assert len(work.begun) <= begun + 1
    assert not work.cancelled


async def test_cancelling_the_consumer_cancels_running_items_and_waits_for_them() -> None:
    work = Work(held=True)

    async def flow() -> None:
        async for _ in FairMap(range(100), work, at_once=2).outcomes():
            raise AssertionError

    doing = asyncio.ensure_future(flow())
    await until(lambda: len(work.begun) == 2)
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    assert work.cancelled == [0, 1]
    assert work.begun == [0, 1]


async def test_an_error_that_ends_all_is_raised_after_the_running_items() -> None:
    class Over(Exception):
        pass

    work = Work(held=True)

    async def do(number: int, item: int) -> Told:
        found = await work(number, item)
        return Outcome(item, number, error=Over("no money is left")) if item == 0 else found

    mapped = FairMap(range(100), do, at_once=3, ends=lambda error: isinstance(error, Over))
    told: list[Told] = []

    async def flow() -> None:
        async for one in mapped.outcomes():
            told.append(one)

    doing = asyncio.ensure_future(flow())
    await until(lambda: len(work.begun) == 3)
    work.gate(0).set()
    await until(lambda: told)
    await settled()
    assert work.begun == [0, 1, 2]
    work.gate(1).set()
    work.gate(2).set()
    with pytest.raises(Over):
        await doing
    assert sorted(one.item for one in told) == [0, 1, 2]
    with pytest.raises(Over):
        _ = next(one for one in told if one.item == 0).result


async def test_an_error_of_one_item_does_not_stop_the_others() -> None:
    async def do(number: int, item: int) -> Told:
        return Outcome(item, number, error=ValueError(item)) if item % 2 else Outcome(item, number, item)

    told = [one async for one in FairMap(range(6), do, at_once=2).outcomes()]
    assert sorted(one.item for one in told if one.error) == [1, 3, 5]


@pytest.mark.parametrize("fails", ["items", "work"])
async def test_an_error_in_the_flow_is_raised_and_does_not_hang(fails: str) -> None:
    def items() -> Any:
        yield from range(5)
        raise ValueError("the list ends in a torn line")

    async def do(number: int, item: int) -> Told:
        if fails == "work" and item == 3:
            raise ValueError("not even an outcome")
        return Outcome(item, number, item)

    told: list[Told] = []

    async def flow(do: Callable[[int, int], Awaitable[Told]]) -> None:
        async for one in FairMap(items(), do, at_once=2).outcomes():
            told.append(one)

    with pytest.raises(ValueError, match="torn line" if fails == "items" else "not even"):
        await flow(do)
    assert {one.item for one in told} >= {0, 1, 2}
