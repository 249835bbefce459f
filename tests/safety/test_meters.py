"""Who is the first to ask a server asks alone, and what its bills tell is kept for all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holo_tasks.core.budget import Guard, Limits
from holo_tasks.core.errors import TransientModelFault
from holo_tasks.core.overbilling import Overbilling, Quote, meter
from holo_tasks.safety import meters
from holo_tasks.safety.budgets import Budgets
from holo_tasks.safety.meters import METERS
from holo_tasks.safety.store import store_at

LONG = Overbilling(completion=20.0, longest=20_000)
HERE = "http://h:1 m"


def scope() -> Guard:
    return Guard("s", Limits(max_cost_usd=1), 0, key="s")


async def quoted(budgets: Budgets, patience_s: float = 0) -> Quote:
    return await budgets.quote(scope(), HERE, patience_s)


async def test_others_wait_for_the_first_bill_and_know_it_then(tmp_path: Path) -> None:
    one, two = Budgets(store_at(tmp_path)), Budgets(store_at(tmp_path))
    first = await quoted(one)
    assert first.first
    with pytest.raises(TransientModelFault, match="for the first time") as caught:
        await quoted(two)
    assert not caught.value.maybe_billed
    waiting = asyncio.create_task(quoted(two, 30))
    await one.learn(first, HERE, LONG)
    assert await waiting == Quote(1_000_000, LONG)
    assert (await two.quote(scope(), "http://h:2 m", 0)).first


async def test_a_first_call_without_a_bill_leaves_it_to_the_next(tmp_path: Path) -> None:
    budgets = Budgets(store_at(tmp_path))
    await budgets.learn(await quoted(budgets), HERE, None)
    assert (await quoted(budgets)).first


async def test_who_was_the_first_and_is_gone_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_at(tmp_path)
    with store.transaction() as db:
        gone = meters.Meters(store).read(db, HERE)
    assert gone is not None
    budgets = Budgets(store)
    with pytest.raises(TransientModelFault):
        await quoted(budgets)
    with store.transaction() as db:
        db.execute(METERS.update().values(heard_s=METERS.c.heard_s - meters.STALE_S - 1))
    second = await quoted(budgets)
    assert second.first not in ("", gone[1])
    # What came back late is heard all the same, and takes nobody's place.
    meters.Meters(store).give_up(HERE, gone[1])
    with pytest.raises(TransientModelFault):
        await quoted(budgets)
    await budgets.learn(second, HERE, None)


async def test_who_is_still_out_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.safety.budgets.STALE_S", 0.04)
    one, store = Budgets(store_at(tmp_path)), store_at(tmp_path)
    quote = await quoted(one)

    def heard_s() -> float:
        with store.transaction() as db:
            return float(db.execute(METERS.select()).one().heard_s)

    before = heard_s()
    async with asyncio.timeout(30):
        while heard_s() == before:
            await asyncio.sleep(0.01)
    await one.learn(quote, HERE, None)


async def test_without_a_limit_on_money_nobody_waits_and_nothing_is_opened(tmp_path: Path) -> None:
    store = store_at(tmp_path / "none")
    guard = Guard("s", Limits(max_actions=1), 0, key="s")
    assert await Budgets(store).quote(guard, HERE, 0) == Quote()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "url", ["http://u:p@h:1/v1/", "http://h:1/secret-path/v1", "http://p%40ss@h:1", "http://h:1?key=x"]
)
def test_a_meter_is_named_without_what_is_private_in_a_url(url: str) -> None:
    assert meter(url, "m") == HERE


def test_an_excess_is_forgotten_slowly_and_as_a_whole() -> None:
    now, calls = LONG, 0
    while now != Overbilling():
        assert now.most_completion(100) == 20_000
        now, calls = now.after(Overbilling()), calls + 1
    assert 100 < calls < 1_000
