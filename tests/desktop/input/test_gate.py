"""The input gate in the process that owns the mouse: its checks before a gesture, and its interruptions during one."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import DesktopFailed, Killed, LimitReached, PolicyRefused, ScreenChanged
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.input.permit import Scene
from holo_tasks.core.prompts.tool_calls import WriteAtCall
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Desktop, Settle, VirtualDesktop
from holo_tasks.desktop.input import gate as gates
from holo_tasks.desktop.stop import kill_files
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.machine.clock import boot_s
from holo_tasks.safety.policy import Rules
from tests.desktop.conftest import Agent
from tests.support.inputs import APPS, Inputs, witnessed

SPOT, OTHER = Point(200, 200), Point(400, 300)
GESTURES = [
    Click(SPOT),
    Move(SPOT),
    Drag(SPOT, OTHER),
    Scroll(SPOT, "down", 2),
    Write("text"),
    Write("text", overwrite=True, press_enter=True, at=SPOT),
    Hotkey(("ctrl", "c")),
    HoldAndTap(("ctrl",), ("a", "b")),
]
LONG = Write("Ab " * 5_000)
LONG_EVENTS = 15_000
"""A lower bound: the key presses of its letters."""
RUN = "20260101-000000-run"


class Served:
    """A desktop that serves a run, with a witness of its input, and a thread that renews the lease."""

    def __init__(self, desktop: Desktop, inputs: Inputs, folder: Path) -> None:
        self.desktop, self.inputs, self.folder = desktop, inputs, folder
        self.alive, self._over = True, threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        while not self._over.is_set():
            if self.alive:
                self.desktop.renew(boot_s() + 0.8)
            self._over.wait(0.1)

    async def close(self) -> None:
        """Stop renewing the lease, and close the desktop."""
        self._over.set()
        self._renewing.join()
        await self.desktop.close()

    async def do(self, gesture: Gesture, deadline: float | None = None, **input_permit: Any) -> Any:
        return await self.desktop.do(gesture, deadline, InputPermit(gesture_digest(gesture), **in_time(**input_permit)))

    async def quiet(self) -> int:
        """Return the number of input events. A capture first makes sure that all have arrived."""
        await self.desktop.look()
        return len(self.inputs.sent())

    async def nothing_held(self) -> bool:
        """Return whether no key or button stays pressed. On a busy machine the witness sees a release late."""
        end_s = time.monotonic() + 10
        while self.inputs.held() and time.monotonic() < end_s:
            await asyncio.sleep(0.05)
        return not self.inputs.held()

    async def stopped(self, before: int) -> None:
        """Assert that only part of a long input was sent, that no more follows, and that nothing stays pressed."""
        assert await self.nothing_held()
        sent, end_s = -1, time.monotonic() + 10
        while sent != (sent := len(self.inputs.sent())):  # on a busy machine the witness writes late
            assert time.monotonic() < end_s
            await asyncio.sleep(0.3)
        assert before < sent < before + LONG_EVENTS

    async def typing(self, gesture: Gesture = LONG, **input_permit: Any) -> asyncio.Task[Any]:
        """Start a long input, and return once it is well under way."""
        before = len(self.inputs.sent())
        task = asyncio.create_task(self.do(gesture, **in_time(600, **input_permit)))
        while len(self.inputs.sent()) < before + 20:
            await asyncio.sleep(0.01)
        return task


def in_time(seconds: float = 60, **input_permit: Any) -> dict[str, Any]:
    return {"expires_s": time.monotonic() + seconds, **input_permit}


async def serving(folder: Path) -> Served:
    log = folder / "inputs"
    desktop = await VirtualDesktop.start(app=witnessed(log), settle=Settle(first_change_s=0.05))
    inputs, requests = Inputs(log), kill_files.folder_in(folder)
    while not inputs.ready:
        await asyncio.sleep(0.01)
    await desktop.serve(RUN, time.monotonic(), requests)
    return Served(desktop, inputs, requests)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A shared desktop for tests that leave it unchanged. Each test has its own event loop."""
    one = asyncio.run(serving(tmp_path_factory.mktemp("served")))
    yield one
    asyncio.run(one.close())


@pytest.fixture
async def doomed(tmp_path: Path) -> AsyncIterator[Served]:
    """A desktop for a test that stops its input permanently."""
    one = await serving(tmp_path)
    yield one
    await one.close()


@pytest.mark.parametrize("gesture", GESTURES, ids=lambda gesture: type(gesture).__name__)
async def test_without_a_slip_nothing_is_sent(served: Served, gesture: Gesture) -> None:
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="has permitted"):
        await served.desktop.do(gesture)
    assert await served.quiet() == before


@pytest.mark.parametrize("gesture", GESTURES, ids=lambda gesture: type(gesture).__name__)
async def test_with_its_own_slip_a_gesture_is_carried_out(served: Served, gesture: Gesture) -> None:
    before = await served.quiet()
    await served.do(gesture)
    assert await served.quiet() > before
    assert await served.nothing_held()


@pytest.mark.parametrize("other", [Click(OTHER), Click(SPOT, button="right"), Click(SPOT, count=2), Move(SPOT)])
async def test_a_slip_for_another_gesture_is_refused(served: Served, other: Gesture) -> None:
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="another gesture"):
        await served.desktop.do(Click(SPOT), input_permit=InputPermit(gesture_digest(other), **in_time()))
    assert await served.quiet() == before


@pytest.mark.parametrize("expires_s", [math.nan, math.inf, -math.inf])
async def test_a_slip_without_an_expiry_is_refused(served: Served, expires_s: float) -> None:
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="no expiry time"):
        await served.do(Click(SPOT), expires_s=expires_s)
    assert await served.quiet() == before


@pytest.mark.parametrize("expires_s", [0.0, -1.0])
async def test_a_slip_that_expired_before_its_input_makes_the_agent_look_again(
    served: Served, expires_s: float
) -> None:
    before = await served.quiet()
    with pytest.raises(ScreenChanged, match="has expired"):
        await served.do(Click(SPOT), expires_s=expires_s)
    assert await served.quiet() == before
    await served.do(Click(SPOT))  # its next slip is valid, and nothing of the earlier one is left
    assert await served.quiet() > before


async def test_a_slip_can_be_used_once(served: Served) -> None:
    input_permit = InputPermit(gesture_digest(Click(SPOT)), **in_time())
    await served.desktop.do(Click(SPOT), input_permit=input_permit)
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="used before"):
        await served.desktop.do(Click(SPOT), input_permit=input_permit)
    assert await served.quiet() == before
    await served.do(Click(SPOT))  # the same gesture with a new slip
    assert await served.quiet() > before


async def test_a_slip_is_used_up_by_a_gesture_that_fails(served: Served) -> None:
    input_permit = InputPermit(gesture_digest(LONG), **in_time())
    with pytest.raises(LimitReached):
        await served.desktop.do(LONG, time.monotonic() + 0.3, input_permit)
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="used before"):
        await served.desktop.do(LONG, input_permit=input_permit)
    assert await served.quiet() == before


async def test_a_slip_that_expires_stops_a_long_text(served: Served) -> None:
    before = await served.quiet()
    expires_s = time.monotonic() + 0.5
    with pytest.raises(DesktopFailed, match="A part of the input was sent"):
        await served.do(LONG, expires_s=expires_s)
    assert time.monotonic() >= expires_s
    await served.stopped(before)


async def test_a_pause_needs_no_slip_because_it_sends_no_input(served: Served) -> None:
    assert (await served.desktop.do(Pause(0))).events == 0


async def test_a_desktop_without_a_run_needs_no_slip_but_checks_a_given_one(tmp_path: Path) -> None:
    async with VirtualDesktop() as desktop:
        await desktop.do(Click(SPOT))
        with pytest.raises(PolicyRefused, match="another gesture"):
            await desktop.do(Click(SPOT), input_permit=InputPermit(gesture_digest(Click(OTHER)), **in_time()))
        with pytest.raises(ScreenChanged, match="expired"):
            await desktop.do(Click(SPOT), input_permit=InputPermit(gesture_digest(Click(SPOT)), 0.0))
        await desktop.do(Click(SPOT), input_permit=InputPermit(gesture_digest(Click(SPOT)), **in_time()))


async def test_a_press_in_the_window_of_another_program_is_not_sent(served: Served) -> None:
    mine = (await served.desktop.owner_at(SPOT)).name
    assert mine
    await served.do(Click(SPOT), owner=mine)
    await served.do(Write("x"), owner=mine)
    await served.quiet()
    presses = [event for event in served.inputs.sent() if event.kind != "motion"]
    for gesture in (Click(SPOT), Write("x"), Drag(SPOT, OTHER), Hotkey(("a",)), Scroll(SPOT, "up", 1)):
        with pytest.raises(PolicyRefused, match="permitted in /usr/bin/other only"):
            await served.do(gesture, owner="/usr/bin/other")
    await served.quiet()
    assert [event for event in served.inputs.sent() if event.kind != "motion"] == presses


async def test_a_drag_onto_another_programs_window_is_refused(served: Served) -> None:
    mine = (await served.desktop.owner_at(SPOT)).name
    before = await served.quiet()
    with pytest.raises(PolicyRefused, match="unknown program"):
        await served.do(Drag(SPOT, Point(1200, 700)), owner=mine)
    assert await served.quiet() == before


async def test_a_text_is_not_sent_if_its_click_leaves_the_keyboard_elsewhere(tmp_path: Path) -> None:
    inputs = Inputs(tmp_path / "inputs")
    gesture = Write("text", at=Point(20, 20))
    call = WriteAtCall(tool_name="write_at", element="a label", x=20, y=20, content="text")
    async with VirtualDesktop(app=witnessed(inputs.path)) as desktop:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        command = [sys.executable, str(APPS / "probe_overlay.py"), "0", "0", "50", "50"]
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as label:
            assert label.stdout is not None
            assert label.stdout.readline() == b"mapped\n"
            for places in ({"regions": [[0, 0, 50, 50]]}, {"forbidden_regions": [[1200, 700, 9, 9]]}):
                before = sum(event.kind == "press" for event in inputs.sent())
                scene = Scene(await desktop.look(), desktop.owner_at)
                permit = await Rules.read({"trust": "act", **places}).permit(call, gesture, scene)
                assert permit.allowed, permit.rule
                with pytest.raises(PolicyRefused, match=r"permitted in .*probe_overlay.py only"):
                    await desktop.do(gesture, input_permit=permit.input_permit(gesture, in_time()["expires_s"]))
                await desktop.look()
                kinds = [event.kind for event in inputs.sent()]
                assert kinds.count("press") > before, places
                assert "key" not in kinds, places
            label.kill()


async def test_input_waits_for_a_late_lease_renewal_and_the_text_arrives_complete(served: Served) -> None:
    text = Write("ab" * 400)
    task = await served.typing(text)
    served.alive = False
    served.desktop.renew(0.0)
    await asyncio.sleep(0.3)
    before = len(served.inputs.sent())
    await asyncio.sleep(0.3)
    assert len(served.inputs.sent()) == before
    served.alive = True
    assert (await task).events == 1600


async def test_a_run_that_stops_renewing_its_lease_loses_its_input_and_can_regain_it(served: Served) -> None:
    before = await served.quiet()
    task = await served.typing()
    served.alive = False
    with pytest.raises(DesktopFailed, match="did not renew its lease"):
        await task
    await served.stopped(before)
    served.alive = True
    await served.do(Click(SPOT))


def test_a_lease_is_not_extended_by_the_machines_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    page = SharedFlags(SharedFlags.create())
    gate = gates.Gate(page)
    gate._served = gates.Served("run", time.monotonic(), Path())  # without the thread that watches for kill requests
    page.renew(boot_s() + 60)
    gate.admit(Move(SPOT), InputPermit(gesture_digest(Move(SPOT)), time.monotonic() + 60))
    gate.motion()
    monkeypatch.setattr(gates, "boot_s", lambda: boot_s() + 61)
    with pytest.raises(DesktopFailed, match="did not renew its lease"):
        gate.motion()


def test_a_slip_that_was_used_and_has_expired_is_not_one_whose_input_was_not_sent() -> None:
    page = SharedFlags(SharedFlags.create())
    gate = gates.Gate(page)
    gate._served = gates.Served("run", time.monotonic(), Path())  # without the thread that watches for kill requests
    page.renew(boot_s() + 60)
    slip = InputPermit(gesture_digest(Click(SPOT)), time.monotonic() + 0.2)
    gate.admit(Click(SPOT), slip)
    gate.leave()
    while time.monotonic() < slip.expires_s:
        time.sleep(0.01)
    with pytest.raises(PolicyRefused, match="used before"):
        gate.admit(Click(SPOT), slip)


async def test_no_button_stays_pressed_for_a_late_lease(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(served.inputs.sent())
    for lease_s in (0.12, 0.14, 0.16, 0.18) * 3:  # on a busy machine a short lease ends before the gesture begins
        served.alive = False
        served.desktop.renew(boot_s() + lease_s)
        with pytest.raises(DesktopFailed, match="did not renew its lease"):
            await served.do(Drag(SPOT, OTHER))
        served.alive = True
        if await served.quiet() > before:
            break
    assert len(served.inputs.sent()) > before
    assert await served.nothing_held()


async def test_the_latch_stops_a_text_and_all_later_input(doomed: Served) -> None:
    task = await doomed.typing()
    doomed.desktop.latch()
    with pytest.raises(Killed):
        await task
    for gesture in (Click(SPOT), Pause(0)):
        with pytest.raises(Killed):
            await doomed.do(gesture)
    with pytest.raises(Killed):
        await doomed.desktop.look()
    await doomed.stopped(0)
    assert doomed.desktop.at_rest


async def test_the_latch_interrupts_a_pause(tmp_path: Path) -> None:
    async with VirtualDesktop() as desktop:
        await desktop.serve(RUN, time.monotonic(), kill_files.folder_in(tmp_path))
        pause = asyncio.create_task(desktop.do(Pause(3600)))
        await asyncio.sleep(0.1)
        desktop.latch()
        with pytest.raises(Killed):
            await asyncio.wait_for(pause, 30)


@pytest.mark.parametrize("request_", ["run", "all"])
async def test_the_sending_process_sees_a_kill_request(doomed: Served, request_: str) -> None:
    kill_files.ask_one(doomed.folder, "20260101-000000-other", "not this one")
    (doomed.folder / "all-0000-99999999999999999").touch()  # from before the machine was started
    task = await doomed.typing()
    if request_ == "run":
        kill_files.ask_one(doomed.folder, RUN, "")
    else:
        kill_files.ask_all(doomed.folder, "")
    with pytest.raises(Killed):
        await task
    while not kill_files.has_stopped(doomed.folder, RUN):
        await asyncio.sleep(0.01)
    await doomed.stopped(0)


async def test_a_kill_request_from_before_the_run_is_ignored(served: Served, tmp_path: Path) -> None:
    folder = kill_files.folder_in(tmp_path)  # not watched yet: the request means the run before
    kill_files.ask_all(folder, "too early")
    await served.desktop.serve("a-later-run", time.monotonic(), folder)
    await asyncio.sleep(0.2)
    await served.do(Click(SPOT))
    await served.desktop.serve(RUN, time.monotonic(), served.folder)


async def test_a_stopped_drag_releases_the_button_and_leaves_the_pointer(doomed: Served) -> None:
    task = asyncio.create_task(doomed.do(Drag(SPOT, OTHER)))
    while not [event for event in doomed.inputs.all() if event.kind == "press"]:
        await asyncio.sleep(0)
    doomed.desktop.latch()
    with pytest.raises(Killed):
        await task
    await doomed.stopped(0)
    assert doomed.inputs.all()[-1].kind == "release"


async def test_input_stops_if_kill_requests_cannot_be_read(doomed: Served) -> None:
    task = await doomed.typing()
    doomed.folder.rename(doomed.folder.with_name("moved"))
    doomed.folder.touch()
    with pytest.raises(Killed):
        await task


DRIVER = """
import asyncio, sys, threading, time
from pathlib import Path
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.machine.clock import boot_s

async def main(folder, *app):
    async with VirtualDesktop(app=list(app)) as desktop:
        await desktop.serve("run", time.monotonic(), Path(folder))
        def renew():
            while True:
                desktop.renew(boot_s() + 0.8)
                time.sleep(0.2)
        threading.Thread(target=renew, daemon=True).start()
        text = Write("ab" * 2500)
        print("typing", flush=True)
        await desktop.do(text, input_permit=InputPermit(gesture_digest(text), time.monotonic() + 600))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_input_stops_when_the_requesting_process_ends(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "inputs"
    inputs, folder = Inputs(log), kill_files.folder_in(tmp_path)
    command = [sys.executable, "-c", DRIVER, str(folder), *witnessed(log)]
    with Agent(command, stderr=subprocess.DEVNULL) as driver:
        try:
            until_s = time.monotonic() + 30
            while len(inputs.sent()) < 100 and time.monotonic() < until_s:
                time.sleep(0.02)
            os.kill(driver.pid, number)
            time.sleep(2.5)
            sent = len(inputs.sent())
            time.sleep(0.5)
            assert 100 <= sent == len(inputs.sent()) < 5000
            assert not inputs.held()
        finally:
            driver.kill()
