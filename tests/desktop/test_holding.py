"""While a person holds the screen, no agent input reaches it and no picture is captured."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from holo_tasks.core.errors import DesktopFailed, InvalidUsage, Killed, NeedsPerson, ScreenHeld
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Pause, Write
from holo_tasks.core.input.remote_input import Key
from holo_tasks.core.ports import Desktop as DesktopPort
from holo_tasks.core.ports import Held
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.session.child import Child
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from tests.desktop.input.test_gate import OTHER, SPOT, Served, serving
from tests.support.painted_desktop import PaintedDesktop

SHIFT = 0xFFE1
# One loop for all tests: several tasks wait for the desktop, and their locks belong to one loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    served = await serving(tmp_path_factory.mktemp("held"))
    yield served
    await served.desktop.close()


@pytest_asyncio.fixture(loop_scope="module")
async def served(one: Served) -> AsyncIterator[Served]:
    """A desktop that a failed test cannot leave held."""
    yield one
    while one.desktop.held:
        await one.desktop.release()


def by_hand(served: Served, *command: str) -> None:
    env = {"DISPLAY": served.desktop.display, "XAUTHORITY": str(served.desktop.authority), "PATH": "/usr/bin"}
    subprocess.run(["xdotool", *command], env=env, check=True)


async def past_the_parent(served: Served, what: str, **details: object) -> None:
    """Send a request directly to the process that owns the mouse, bypassing the parent's check of the hold."""
    child: Child = served.desktop._running()
    async with child.turn:
        await child.ask(what, **details)


async def test_input_under_way_is_cut_off_and_waiting_or_later_input_never_arrives(served: Served, until) -> None:
    long = await served.typing()
    waiting = [asyncio.create_task(served.do(gesture)) for gesture in (Click(SPOT), Hotkey(("ctrl", "c")), Pause(0))]
    looking = asyncio.create_task(served.desktop.look())
    await asyncio.sleep(0)
    await served.desktop.hold()
    held_s = time.monotonic()
    assert await until(lambda: not served.inputs.held()), "the witness sees the release a little later"
    assert all(event.at_s <= held_s for event in served.inputs.all())
    for task in (long, *waiting, looking):
        with pytest.raises(ScreenHeld):
            await task
    for gesture in (Click(SPOT), Drag(SPOT, OTHER), Write("no"), Pause(0)):
        with pytest.raises(ScreenHeld):
            await served.do(gesture)
    await served.desktop.release()
    arrived = Write("b")
    await served.do(arrived)
    await served.quiet()
    assert [event.kind for event in served.inputs.sent(held_s)] == ["key"]


@pytest.mark.parametrize("gesture", [Click(SPOT), Write("x"), Drag(SPOT, OTHER)], ids=lambda g: type(g).__name__)
async def test_the_process_that_owns_the_mouse_also_refuses_by_itself(served: Served, gesture: Gesture) -> None:
    from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
    from holo_tasks.desktop.session import ipc_messages

    input_permit = ipc_messages.from_permit(InputPermit(gesture_digest(gesture), expires_s=time.monotonic() + 60))
    await served.desktop.hold()
    before = len(served.inputs.sent())
    with pytest.raises(ScreenHeld):
        await past_the_parent(served, "do", gesture=ipc_messages.from_gesture(gesture), slip=input_permit)
    for what in ({"what": "look", "after_action": False, "windows": False}, {"what": "windows"}):
        with pytest.raises(ScreenHeld):
            await past_the_parent(served, **what)
    await served.desktop.release()
    assert await served.quiet() == before


async def test_a_persons_own_input_arrives_and_is_released_afterwards(served: Served, until) -> None:
    await served.desktop.hold()
    before = len(served.inputs.sent())
    by_hand(served, "mousemove", "210", "210", "mousedown", "1", "keydown", "Shift_L")
    while len(served.inputs.sent()) < before + 3:
        await asyncio.sleep(0.01)
    assert await until(lambda: len(served.inputs.held()) == 2)
    await served.desktop.release()
    await served.quiet()
    assert await until(lambda: not served.inputs.held())


async def test_the_screen_stays_held_until_every_holder_has_released_it(served: Served) -> None:
    before = (await served.desktop.look()).holds
    await served.desktop.hold()
    await served.desktop.hold()
    await served.desktop.release()
    assert served.desktop.held
    with pytest.raises(ScreenHeld):
        await served.do(Click(SPOT))
    await served.desktop.release()
    await served.desktop.release()  # one release too many is harmless
    assert not served.desktop.held
    assert (await served.desktop.look()).holds == before + 2


async def test_keys_mapped_for_typing_are_free_during_a_hold(served: Served) -> None:
    await served.do(Write("€ß"))
    await served.desktop.hold()
    env = {"DISPLAY": served.desktop.display, "XAUTHORITY": str(served.desktop.authority)}
    names = subprocess.run(["xmodmap", "-pke"], env=env, check=True, capture_output=True, text=True).stdout
    assert "EuroSign EuroSign" not in names
    await served.desktop.release()
    await served.do(Write("€ß"))


async def test_the_lease_is_renewed_during_a_hold_and_expires_as_usual_afterwards(served: Served) -> None:
    await served.desktop.hold()
    lease_s = served.desktop._running().page.lease_until_s
    while served.desktop._running().page.lease_until_s < lease_s + 2:  # longer than any lease
        await asyncio.sleep(0.05)
    served.alive = False
    served.desktop.renew(0.0)
    await served.desktop.release()
    with pytest.raises(DesktopFailed, match="did not renew its lease"):
        await served.do(Click(SPOT))
    served.alive = True
    await served.do(Click(SPOT))


async def test_a_hold_cancelled_before_it_began_holds_nothing(served: Served) -> None:
    long = await served.typing()
    child = served.desktop._running()
    holding = asyncio.create_task(served.desktop.hold())
    await asyncio.sleep(0)
    assert child.page.held
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    long.cancel()
    await asyncio.wait([long])
    assert not served.desktop.held
    assert not child.page.held
    await served.do(Click(SPOT))


async def test_the_kill_switch_overrides_a_hold(tmp_path: Path) -> None:
    served = await serving(tmp_path)
    try:
        await served.desktop.hold()
        await served.desktop.by_hand([Key(SHIFT, down=True)])
        served.desktop.latch()
        while not served.desktop.at_rest:
            await asyncio.sleep(0.01)
        with pytest.raises(Killed):
            await served.desktop.by_hand([Key(SHIFT, down=False)])
        while served.inputs.held():
            await asyncio.sleep(0.01)
        await served.desktop.release()
        with pytest.raises(Killed):
            await served.do(Click(SPOT))
        with pytest.raises(Killed):
            await served.desktop.hold()
    finally:
        await served.desktop.close()


async def test_stopping_a_request_also_stops_a_persons_input() -> None:
    page = SharedFlags(SharedFlags.create())
    page.hold(True)
    gate = Gate(page)
    person = gate.for_person()
    gate.arm(1, None)
    person.check()
    gate.stop(1)  # the viewer has left, or the requesting process has ended
    with pytest.raises(Killed):
        person.check()
    gate.arm(2, None)
    person.check()


async def test_a_lazily_started_desktop_starts_held(served: Served) -> None:
    async def start() -> DesktopPort:
        return served.desktop

    lazy = LazyDesktop(start)  # type: ignore[arg-type]
    assert isinstance(lazy, Held)
    assert not lazy.held
    await lazy.hold()
    assert lazy.held
    with pytest.raises(NeedsPerson):
        await lazy.look()
    await lazy.release()
    await lazy.look()


async def test_a_desktop_that_cannot_be_held_is_reported() -> None:
    async def start() -> PaintedDesktop:
        return PaintedDesktop()

    with pytest.raises(InvalidUsage, match="cannot be held"):
        await LazyDesktop(start).hold()
