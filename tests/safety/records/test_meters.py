"""The first call to a server is a probe call, and its bill informs all callers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holo_tasks.core.errors import TransientModelFault
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.limits.overbilling import RETEST_S, Overbilling, Quote, meter_id
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records import meters
from holo_tasks.safety.records.budgets import Budgets
from holo_tasks.safety.records.meters import METERS

LONG = Overbilling(completion=20.0, longest=20_000)
HERE = "http://h:1 m"


def scope() -> Guard:
    return Guard("s", Limits(max_cost_usd=1), 0, key="s")


async def quoted(budgets: Budgets, patience_s: float = 0) -> Quote:
    return await budgets.quote(scope(), HERE, patience_s)


async def test_other_callers_wait_for_the_bill_of_the_probe(tmp_path: Path) -> None:
    one, two = Budgets(store_at(tmp_path)), Budgets(store_at(tmp_path))
    first = await quoted(one)
    assert first.probe
    with pytest.raises(TransientModelFault, match="which shows the cost of a call") as caught:
        await quoted(two)
    assert not caught.value.maybe_billed
    waiting = asyncio.create_task(quoted(two, 30))
    await one.learn(first, HERE, LONG)
    assert await waiting == Quote(1_000_000, LONG)
    assert (await two.quote(scope(), "http://h:2 m", 0)).probe


async def test_a_probe_without_a_bill_is_followed_by_another(tmp_path: Path) -> None:
    budgets = Budgets(store_at(tmp_path))
    await budgets.learn(await quoted(budgets), HERE, None)
    assert (await quoted(budgets)).probe


async def test_a_dead_probe_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert second.probe not in ("", gone[1])
    # A late end of the dead probe does not end the new one.
    meters.Meters(store).give_up(HERE, gone[1])
    with pytest.raises(TransientModelFault):
        await quoted(budgets)
    await budgets.learn(second, HERE, None)


async def test_a_running_probe_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.safety.records.budgets.STALE_S", 0.04)
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


def heard_before(store: Store, seconds: float) -> None:
    """Let time pass."""
    with store.transaction() as db:
        db.execute(METERS.update().values(heard_s=METERS.c.heard_s - seconds))


async def poisoned(store: Store) -> Budgets:
    budgets = Budgets(store)
    await budgets.learn(await quoted(budgets), HERE, LONG)
    return budgets


async def test_a_call_that_cannot_afford_the_excess_probes_alone(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    one, two = await poisoned(store), Budgets(store)
    known = await quoted(two)
    assert await two.alone(known, HERE, 0) is None
    heard_before(store, RETEST_S)
    lone = await two.alone(known, HERE, 0)
    assert lone is not None
    assert (lone.headroom_micro, lone.known) == (1_000_000, Overbilling())
    with pytest.raises(TransientModelFault):
        await one.alone(known, HERE, 0)
    assert (await quoted(one)).known.is_expected  # a caller that can afford the excess does not wait
    await two.learn(lone, HERE, LONG)
    assert await one.alone(known, HERE, 0) is None


async def test_good_bills_end_the_excess_step_by_step(tmp_path: Path) -> None:
    budgets = await poisoned(store := store_at(tmp_path))
    heard_before(store, RETEST_S)
    calls = 0
    while (known := await quoted(budgets)).known.is_expected:
        lone = await budgets.alone(known, HERE, 0)
        assert lone is not None
        await budgets.learn(lone, HERE, Overbilling())
        calls += 1
    assert calls < 15


@pytest.mark.parametrize("doubtful", [True, False])
async def test_only_an_unbilled_probe_is_followed_at_once(tmp_path: Path, doubtful: bool) -> None:
    budgets = await poisoned(store := store_at(tmp_path))
    heard_before(store, RETEST_S)
    known = await quoted(budgets)
    lone = await budgets.alone(known, HERE, 0)
    assert lone is not None
    await budgets.learn(lone, HERE, None, doubtful=doubtful)
    again = await budgets.alone(known, HERE, 0)
    assert (again is None) == doubtful
    if again:
        await budgets.learn(again, HERE, None)


async def test_a_bill_of_an_unlimited_run_informs_other_runs(tmp_path: Path) -> None:
    budgets = Budgets(store_at(tmp_path))
    await budgets.learn(Quote(), HERE, LONG)
    assert (before := (await quoted(budgets)).known).longest == LONG.longest
    await budgets.learn(Quote(), HERE, Overbilling())
    assert (await quoted(budgets)).known.completion < before.completion


async def test_a_changed_clock_does_not_block_calls(tmp_path: Path) -> None:
    budgets = await poisoned(store := store_at(tmp_path))
    for values in ({"heard_s": 1e12}, {"era": "an earlier start"}):
        with store.transaction() as db:
            db.execute(METERS.update().values(**values))
        lone = await budgets.alone(await quoted(budgets), HERE, 0)
        assert lone is not None
        await budgets.learn(lone, HERE, None, doubtful=True)


async def test_an_unlimited_run_does_not_wait_or_open_the_database(tmp_path: Path) -> None:
    store = store_at(tmp_path / "none")
    guard = Guard("s", Limits(max_actions=1), 0, key="s")
    assert await Budgets(store).quote(guard, HERE, 0) == Quote()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "url", ["http://u:p@h:1/v1/", "http://h:1/secret-path/v1", "http://p%40ss@h:1", "http://h:1?key=x"]
)
def test_a_meters_name_holds_nothing_private_of_the_url(url: str) -> None:
    assert meter_id(url, "m") == HERE


def test_an_excess_decays_slowly_and_completely() -> None:
    now, calls = LONG, 0
    while now != Overbilling():
        assert now.most_completion(100) == 20_000
        now, calls = now.after_bill(Overbilling()), calls + 1
    assert 100 < calls < 1_000
