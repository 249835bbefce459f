"""Spare desktops: as many as requested are started after the first use, and none is left over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.run.desktops.spares import Spares


class Shop:
    """Starts numbered desktops."""

    def __init__(self, *, refuses: int = 0, gate: asyncio.Event | None = None) -> None:
        self.started = self.tried = 0
        self.up: set[int] = set()
        self._refuses, self._gate = refuses, gate

    async def start(self) -> int:
        self.tried += 1
        if self.tried <= self._refuses:
            raise DesktopFailed("no display was free")
        if self._gate is not None:
            await self._gate.wait()
        self.started += 1
        self.up.add(self.started)
        return self.started

    async def end(self, desktop: int) -> None:
        self.up.remove(desktop)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0)


async def test_no_desktop_is_started_before_the_first_is_taken() -> None:
    shop = Shop()
    spares = Spares(shop.start, shop.end, spares=2)
    await asyncio.sleep(0)
    assert not shop.tried
    assert await spares.take() == 1
    await until(lambda: shop.started == 3)
    assert await spares.take() == 2  # a spare
    await until(lambda: shop.started == 4)
    await spares.close()
    assert shop.up == {1, 2}  # taken desktops stay up


async def test_close_waits_for_ended_desktops() -> None:
    shop = Shop()
    spares = Spares(shop.start, shop.end)
    spares.end(await spares.take())
    await spares.close()
    assert not shop.up


async def test_a_failed_start_is_tried_again_and_then_raised() -> None:
    shop = Shop(refuses=1)
    spares = Spares(shop.start, shop.end)
    assert await spares.take() == 1
    assert spares.failed is None
    never = Shop(refuses=9)
    spares = Spares(never.start, never.end)
    with pytest.raises(DesktopFailed, match="no display"):
        await spares.take()
    assert isinstance(spares.failed, DesktopFailed)
    assert never.tried == 2


async def test_a_usage_error_of_the_start_is_raised_at_once() -> None:
    async def start() -> int:
        raise InvalidUsage("There is no such program.")

    async def end(desktop: int) -> None:
        raise AssertionError

    spares = Spares(start, end)
    with pytest.raises(InvalidUsage):
        await spares.take()


async def test_a_cancelled_take_leaves_its_desktop_to_the_next() -> None:
    gate = asyncio.Event()
    shop = Shop(gate=gate)
    spares = Spares(shop.start, shop.end)
    taking = asyncio.ensure_future(spares.take())
    await until(lambda: shop.tried)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    gate.set()
    assert await spares.take() == 1
    assert shop.tried == 1


async def test_a_kept_desktop_is_reused_by_a_run_with_the_same_key() -> None:
    shop = Shop()
    first = Spares(shop.start, shop.end, same="ledger")
    assert first.keep(await first.take())
    await first.close()
    assert await Spares(shop.start, shop.end, same="other").take() == 2
    assert await Spares(shop.start, shop.end, same="ledger").take() == 1
    assert await Spares(shop.start, shop.end, same="ledger").take() == 3
    alone = Spares(shop.start, shop.end)
    assert not alone.keep(await alone.take())
