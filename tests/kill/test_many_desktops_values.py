"""Test the kill switches of a run with several desktops: leases, lost claims, and stopping all desktops."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holo_tasks.kill.run_registry import Running
from holo_tasks.kill.station_switch import StationSwitch
from holo_tasks.kill.switch import CLAIM_GRACE_S, KillSwitch
from holo_tasks.machine.clock import boot_s
from holo_tasks.run.desktops.all_desktops import AllDesktops


class Screen:
    """Desktop that records the calls it gets."""

    def __init__(self) -> None:
        self.until_s = -1.0
        self.latched = self.killed = False
        self.at_rest = True
        self.served: list[str] = []

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        self.served.append(run_id)

    def renew(self, until_s: float) -> None:
        self.until_s = until_s

    def latch(self) -> None:
        self.latched = True

    def kill(self) -> None:
        self.killed = True


@dataclass
class Held:
    """A claim that holds for a given time."""

    seconds: float
    taken_over: bool = False

    def left_s(self) -> float:
        return self.seconds

    def renewal_error(self) -> str:
        return "The database is away."


@dataclass(eq=False)
class One:
    """A desktop and its switch."""

    screen: Any
    switch: StationSwitch

    @property
    def stopped_alone(self) -> bool:
        return bool(self.switch.reason)

    def renew(self, until_s: float) -> None:
        self.switch.renew(until_s)


async def several(folder: Path) -> tuple[AllDesktops, KillSwitch, One, One]:
    everything = AllDesktops()
    whole = KillSwitch(everything, Running.here("r-1", "a test", "trace", "", None), folder)
    ones = [One(screen, StationSwitch(screen, whole)) for screen in (Screen(), Screen())]
    await everything.serve("r-1", 0.0, folder)
    for one in ones:
        await everything.add(one)
        one.switch.begin(asyncio.ensure_future(asyncio.sleep(3600)))
    return everything, whole, ones[0], ones[1]


async def test_an_expired_claim_stops_input_of_its_own_desktop_only(tmp_path: Path) -> None:
    everything, _, first, second = await several(tmp_path)
    first.switch.add_claim(Held(0.0))
    later = boot_s() + 0.8
    everything.renew(later)
    assert first.screen.until_s < later
    assert second.screen.until_s == later
    everything.renew(0.0)
    assert second.screen.until_s == 0.0


async def test_a_lost_claim_stops_its_own_desktop_only(tmp_path: Path) -> None:
    everything, whole, first, second = await several(tmp_path)
    first.switch.add_claim(Held(0.0, taken_over=True))
    everything.renew(boot_s() + 0.8)
    assert first.screen.latched
    assert "taken over" in first.switch.why()
    assert not everything.latched
    assert not second.screen.latched
    assert whole.reason == second.switch.reason == ""


async def test_an_unreachable_database_stops_all_desktops(tmp_path: Path) -> None:
    everything, whole, first, second = await several(tmp_path)
    whole._loop, whole._task = first.switch._loop, first.switch._task
    whole._cancelled_before = 0
    first.switch._last_held_s -= CLAIM_GRACE_S + 1
    first.switch.add_claim(Held(0.0))
    everything.renew(boot_s() + 0.8)
    assert whole.source == "database"
    assert first.screen.latched
    assert second.screen.latched
    assert second.switch.why() == "The database is away."


async def test_a_desktop_that_is_added_later_is_stopped_with_the_run(tmp_path: Path) -> None:
    everything, whole, first, _ = await several(tmp_path)
    first.screen.at_rest = False
    everything.latch()
    assert everything.latched
    assert not everything.at_rest
    late = One(Screen(), StationSwitch(Screen(), whole))
    await everything.add(late)
    assert late.screen.served == ["r-1"]
    assert late.screen.latched
    everything.leave(first)
    assert everything.at_rest
    assert first.screen.until_s == 0.0
    everything.kill()
    assert late.screen.killed
    assert not first.screen.killed
