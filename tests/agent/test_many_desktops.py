"""Several desktops in one flow process: one run and one trace, common limits, and separate failures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import (
    DesktopFailed,
    InvalidUsage,
    Killed,
    LimitReached,
    Limits,
    current_run,
    limits,
    pursue,
    subgoal,
)
from holo_tasks.core.events import RunClosed, SubgoalClosed, SubgoalOpened
from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.screen.frame import Frame
from holo_tasks.run.items.fair_map import Outcome
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from tests.support.agents import agents, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel, step
from tests.support.spending import PROFILE

CLICK = step("click", element="OK button", x=500, y=500)
PROFILE_CALL_MICRO = 340
"""The server's bill for a call: a thousand tokens in, fifty out."""

pytestmark = pytest.mark.usefixtures("prefect")


def clicks(count: int) -> Callable[[int, dict[str, Any]], Any]:
    """Let each conversation click this often, and then answer "done"."""

    def said(number: int, body: Mapping[str, Any]) -> Any:
        if sum(message["role"] == "assistant" for message in body["messages"]) < count:
            return CLICK
        return step("answer", content="done")

    return said


class Shop:
    """Starts painted desktops;

    ``breaks`` lists the failing ones by number from 1: at a capture ("seen") or a gesture ("used").
    """

    def __init__(self, breaks: Mapping[int, str] | None = None) -> None:
        self.all: list[PaintedDesktop] = []
        self._breaks = breaks or {}

    async def start(self) -> PaintedDesktop:
        desktop = Painted(self._breaks.get(len(self.all) + 1, ""))
        self.all.append(desktop)
        return desktop

    @property
    def gestures(self) -> int:
        return sum(len(desktop.gestures) for desktop in self.all)


class Painted(PaintedDesktop):
    def __init__(self, breaks: str) -> None:
        super().__init__(on_gesture=self._break if breaks == "used" else None)
        self._breaks = breaks

    async def look(self, *, after_action: bool = False) -> Frame:
        if self._breaks == "seen":
            raise DesktopFailed("The process of the desktop was killed by signal 9: start the desktop again.")
        return await super().look(after_action=after_action)

    def _break(self, gesture: Gesture) -> None:
        raise DesktopFailed("The process of the desktop was killed by signal 9: start the desktop again.")


@subgoal(title="File {item}", key="{item}")
async def file(item: str) -> str:
    return str(await pursue("Press OK."))


@subgoal(title="Look {item} up", key="{item}", effect=None)
async def look_up(item: str) -> str:
    return str(await pursue("Press OK."))


async def press(item: str) -> str:
    """Neither a sub-goal nor keyed: only the number of its actions is recorded."""
    return str(await pursue(f"Press OK for {item}."))


def names(count: int) -> list[str]:
    return [f"I-{number}" for number in range(count)]


async def test_all_desktops_share_one_run_and_each_item_is_its_own_sub_goal(tmp_path: Path) -> None:
    shop, told = Shop(), []

    @flow(name="list", persist_result=False)
    async def whole() -> str:
        async with agents(model, shop.start, tmp_path, desktops=3, profile=PROFILE) as opened:
            async for one in opened.map(file, names(4)):
                told.append((one.item, one.result, one.tries))
            with pytest.raises(InvalidUsage, match=r"several desktops.*agents\.map"):
                await file("I-9")
        assert opened.run.steps == 8
        assert sorted(one.token for one in opened.run.resolved) == names(4)
        return opened.run.trace

    with ScriptedModel(clicks(1)) as model:
        trace = await whole()
    assert sorted(told) == [(name, "done", 1) for name in names(4)]
    assert len(shop.all) == 3
    assert shop.gestures == 4
    recorded = events(trace)
    opened = [event for event in recorded if isinstance(event, SubgoalOpened)]
    closed = [event for event in recorded if isinstance(event, SubgoalClosed)]
    # The last one was refused.
    assert sorted(event.token for event in opened) == [*names(4), "I-9"]
    assert len({event.subgoal for event in opened}) == len({event.flow_run_id for event in opened}) == 5
    (end,) = (event for event in recorded if isinstance(event, RunClosed))
    assert end.cost_micro_usd == sum(event.cost_micro_usd or 0 for event in closed) > 0
    assert {event.cost_micro_usd for event in closed if event.status == "answered"} == {end.cost_micro_usd // 4}


async def test_finished_items_start_no_desktop(tmp_path: Path) -> None:
    shop = Shop()

    async def whole() -> list[str]:
        async with agents(model, shop.start, tmp_path, desktops=2, spares=1) as opened:
            return [one.result async for one in opened.map(file, names(3))]

    with ScriptedModel(clicks(0)) as model:
        assert await whole() == ["done"] * 3
        started = len(shop.all)
        assert await whole() == ["done"] * 3
    assert len(shop.all) == started <= 3


@pytest.mark.parametrize(
    ("what", "inside"),
    [
        ("max_cost_usd", "a flow"),
        ("max_actions", "no flow"),
        ("max_calls_per_5_minutes", "no flow"),
    ],
)
async def test_ten_desktops_stay_within_a_common_limit(what: str, inside: str, tmp_path: Path) -> None:
    """All ask at the same moment, so that each request seems to fit, although only some do."""
    shop, told = Shop(), []
    most: dict[str, Any] = {"max_cost_usd": 0.02, "max_actions": 7, "max_calls_per_5_minutes": 13}

    async def whole() -> None:
        allowed = Limits(**{what: most[what]})
        async with agents(model, shop.start, tmp_path, desktops=10, profile=PROFILE, limits=allowed) as opened:
            runs.append(opened.run)
            async for one in opened.map(press, names(20)):
                told.append(one)

    runs: list[Any] = []
    run: Any = flow(name="list", persist_result=False)(whole) if inside == "a flow" else whole
    with ScriptedModel(clicks(3)) as model, pytest.raises(LimitReached) as reached:
        await run()
    assert reached.value.limit == what
    billed = len(model.requests)
    if what == "max_cost_usd":
        assert runs[0].guard.spent_micro <= 20_000
        assert 0 < billed * PROFILE_CALL_MICRO <= 20_000
    elif what == "max_actions":
        assert shop.gestures == 7
    else:
        assert billed == 13
    # No item began after the limit.
    assert all(isinstance(one.error, LimitReached) for one in told if one.error)
    assert len(told) < 20


async def test_a_limit_of_one_item_does_not_affect_others(tmp_path: Path) -> None:
    async def work(item: str) -> str:
        async with limits(max_actions=1 if item == "I-1" else 5, name="one item"):
            return str(await pursue("Press OK."))

    with ScriptedModel(clicks(2)) as model:
        async with agents(model, Shop().start, tmp_path, desktops=2) as opened:
            told = [one async for one in opened.map(work, names(4))]
    assert {one.item: type(one.error) for one in told if one.error} == {"I-1": LimitReached}


@pytest.mark.parametrize(
    ("work", "breaks", "again"),
    [(file, "used", False), (press, "seen", True), (press, "used", False), (look_up, "used", True)],
)
async def test_a_broken_desktop_affects_only_its_item(work: Any, breaks: str, again: bool, tmp_path: Path) -> None:
    shop = Shop({1: breaks})

    async def whole() -> list[Outcome[str, str]]:
        async with agents(model, shop.start, tmp_path, desktops=2) as opened:
            return [one async for one in opened.map(work, names(3))]

    with ScriptedModel(clicks(1)) as model:
        told = await whole()
    assert len(shop.all) == 3
    broken = [one for one in told if one.error or one.tries > 1]
    assert len(broken) == 1
    if again:
        assert broken[0].tries == 2
        assert broken[0].result == "done"
    else:
        assert broken[0].tries == 1
        assert isinstance(broken[0].error, DesktopFailed)
    assert shop.gestures == (3 if again else 2)


async def test_an_item_that_breaks_every_desktop_fails_and_the_others_finish(tmp_path: Path) -> None:
    shop = Shop()

    async def work(item: str) -> str:
        if item == "I-0":
            await current_run().desktop.look()
            raise DesktopFailed("The X server ended.")
        return str(await pursue("Press OK."))

    with ScriptedModel(clicks(1)) as model:
        async with agents(model, shop.start, tmp_path, desktops=2, spares=1) as opened:
            told = {one.item: one async for one in opened.map(work, names(5))}
    assert told["I-0"].tries == 2
    assert isinstance(told["I-0"].error, DesktopFailed)
    assert [told[name].outcome for name in names(5)[1:]] == ["done"] * 4


async def test_the_list_ends_if_no_desktop_starts(tmp_path: Path) -> None:
    async def start() -> PaintedDesktop:
        raise DesktopFailed("Xvfb is not installed.")

    told = []

    async def whole(opened: Any) -> None:
        async for one in opened.map(press, names(50)):
            told.append(one)

    with ScriptedModel(clicks(1)) as model:
        async with agents(model, start, tmp_path, desktops=2) as opened:
            with pytest.raises(DesktopFailed, match="not installed"):
                await whole(opened)
    assert len(told) <= 2


async def test_a_lost_claim_stops_one_item_and_its_desktop_is_replaced(tmp_path: Path) -> None:
    shop = Shop()

    async def work(item: str) -> str:
        await current_run().desktop.look()
        if item == "I-1":
            current_run().switch.trip("takeover", "Another worker has taken over this work.")
            await asyncio.Event().wait()
        return str(await pursue("Press OK."))

    with ScriptedModel(clicks(1)) as model:
        async with agents(model, shop.start, tmp_path, desktops=2) as opened:
            told = {one.item: one async for one in opened.map(work, names(6))}
    assert isinstance(told["I-1"].error, Killed)
    assert "taken over" in str(told["I-1"].error)
    assert [one.outcome for name, one in told.items() if name != "I-1"] == ["done"] * 5
    assert len(shop.all) == 3


@pytest.mark.parametrize(
    ("source", "reached"), [("command", "listening"), ("command", "at work on an outcome"), ("signal", "listening")]
)
async def test_a_kill_stops_all_items_and_starts_no_more(source: str, reached: str, tmp_path: Path) -> None:
    shop, begun, stopped = Shop(), [], []

    async def work(item: str) -> str:
        begun.append(item)
        if item == "I-0":
            return "at once"
        try:
            if len(begun) == 4:
                current_run().whole.switch.trip(source, "killed by a test")
            await asyncio.Event().wait()
        finally:
            stopped.append(item)
        raise AssertionError

    async def whole() -> None:
        async with agents(model, shop.start, tmp_path, desktops=3) as opened:
            runs.append(opened.run)
            async for _ in opened.map(work, names(50)):
                if reached != "listening":
                    await asyncio.Event().wait()

    runs: list[Any] = []
    with ScriptedModel(clicks(1)) as model, pytest.raises(asyncio.CancelledError, match="killed by a test"):
        await whole()
    assert runs[0].status == "killed"
    assert sorted(begun) == names(4)
    assert sorted(stopped) == names(4)[1:]


async def test_cancelling_the_sub_goal_of_one_desktop_in_prefect_stops_the_run(tmp_path: Path, prefect: str) -> None:
    api, inside = PrefectAPI(prefect), asyncio.Queue[str]()

    @subgoal(key="{item}", effect=None)
    async def wait(item: str) -> None:
        await inside.put(flow_run_id())
        await asyncio.Event().wait()

    async def cancel() -> None:
        both = [await inside.get(), await inside.get()]
        api.post(f"/flow_runs/{both[1]}/set_state", {"state": {"type": "CANCELLING"}, "force": True})

    @flow(name="list", persist_result=False)
    async def whole() -> None:
        with ScriptedModel([]) as model:
            async with agents(model, Shop().start, tmp_path, desktops=2) as opened:
                runs.append(opened.run)
                opened.run.run_in_background(cancel())
                async for _ in opened.map(wait, names(9)):
                    raise AssertionError

    runs: list[Any] = []
    with pytest.raises(asyncio.CancelledError, match="by cancelling the flow run"):
        await whole()
    assert runs[0].status == "killed"


async def test_a_new_desktop_for_each_item_or_one_for_all(tmp_path: Path) -> None:
    used: Counter[int] = Counter()

    async def work(item: str) -> None:
        desktop: Any = current_run().desktop
        used[id(await desktop.started())] += 1
        await pursue("Press OK.")

    with ScriptedModel(clicks(1)) as model:
        shop = Shop()
        async with agents(model, shop.start, tmp_path, desktops=2, spares=1, fresh="item") as opened:
            assert len([one.result async for one in opened.map(work, names(5))]) == 5
        assert sorted(used.values()) == [1] * 5
        used.clear()
        shop = Shop()
        for _ in range(2):
            async with agents(model, shop.start, tmp_path, desktops=2, fresh="never", same="counter") as opened:
                assert len([one.result async for one in opened.map(work, names(5))]) == 5
        assert len(used) == len(shop.all) == 2


async def test_an_item_does_not_wait_for_a_second_desktop(tmp_path: Path) -> None:
    async def within(item: str) -> list[Any]:
        return [one async for one in opened.map(press, [item])]

    with ScriptedModel([]) as model:
        async with agents(model, Shop().start, tmp_path, desktops=1) as opened:
            (told,) = [one async for one in opened.map(within, names(1))]
    assert isinstance(told.error, InvalidUsage)


async def test_two_lists_at_once_share_the_desktops(tmp_path: Path) -> None:
    ended: list[str] = []

    async def listen(opened: Any, kind: str) -> None:
        async for one in opened.map(press, [f"{kind}-{number}" for number in range(4)]):
            ended.append(one.item)

    with ScriptedModel(clicks(0)) as model:
        shop = Shop()
        async with agents(model, shop.start, tmp_path, desktops=2) as opened, asyncio.TaskGroup() as group:
            group.create_task(listen(opened, "A"))
            group.create_task(listen(opened, "B"))
    assert len(ended) == 8
    assert len(shop.all) == 2
    # Neither list waits for the end of the other.
    assert {name[0] for name in ended[:4]} == {"A", "B"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"desktops": 0}, "desktops= is from 1"), ({"spares": 3}, "spares= is from 0"), ({"fresh": "day"}, "fresh= is")],
)
async def test_invalid_options_are_refused(wrong: dict[str, Any], told: str, tmp_path: Path) -> None:
    with ScriptedModel([]) as model, pytest.raises(InvalidUsage, match=told):
        async with agents(model, Shop().start, tmp_path, **{"desktops": 2, **wrong}):
            raise AssertionError
