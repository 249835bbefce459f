"""A running display can be used, and is left unchanged."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage, Killed
from holo_tasks.core.input.gestures import Click, Drag, HoldAndTap, Write
from holo_tasks.core.input.remote_input import Key, Pointing
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import AttachedDesktop
from tests.desktop.conftest import Agent

CONTROL = 0xFFE3
UNICODE = "Zoë – €10 – 東京 – 🙂"


@pytest.fixture(params=["no manager", "openbox"])
def borrowed(request, x_server):
    """An X server of another owner, with a window manager or without."""
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    env = {"XAUTHORITY": str(authority)}
    manager = None
    if request.param == "openbox":
        manager = subprocess.Popen(
            ["openbox"], env={**os.environ, **env, "DISPLAY": display}, stderr=subprocess.DEVNULL
        )
    yield display, env, manager
    if manager is not None:
        manager.terminate()
        manager.wait()


async def test_a_borrowed_display_is_used_and_left_unchanged(borrowed, probe, tmp_path, state, keymap, pressed):
    display, env, manager = borrowed
    told = state(tmp_path / "state")
    async with AttachedDesktop(display, env=env, app=probe("fields", told.path)) as desktop:
        before = keymap(desktop)
        assert desktop.size == Size(900, 600)
        assert (await desktop.look()).size == Size(900, 600)
        await desktop.do(Click(told.at("entry")))
        await desktop.do(Write(UNICODE, overwrite=True))
        assert await told.becomes("entry", UNICODE) == UNICODE
        assert keymap(desktop) != before
        await desktop.do(Click(told.at("text")))
        await desktop.do(Write("second", overwrite=True))
        assert await told.becomes("text", "second") == "second"
    async with AttachedDesktop(display, env=env) as again:
        assert keymap(again) == before
        assert pressed(again) == []
        assert await again.windows() == []  # the program was started by the desktop, and has ended
    assert manager is None or manager.poll() is None


async def test_a_borrowed_display_is_restored_when_the_host_is_killed(x_server, keymap, watch, until):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    env = {"XAUTHORITY": str(authority)}
    anything_down = watch(display, authority)
    async with AttachedDesktop(display, env=env) as watcher:
        before = keymap(watcher)
        for gesture in (Drag(Point(10, 10), Point(800, 500)), HoldAndTap(("ctrl",), ("é",) * 9999)):
            victim = await AttachedDesktop.start(display, env=env)
            doing = asyncio.ensure_future(victim.do(gesture))
            assert await until(anything_down)
            os.kill(victim.pid, signal.SIGKILL)
            with pytest.raises(DesktopFailed, match="signal 9"):
                await doing
            assert not anything_down()
            assert keymap(watcher) == before
            await victim.close()
            assert (await watcher.look()).settled


AGENT = """
import asyncio, sys
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.input.gestures import Drag, HoldAndTap
from holo_tasks.desktop import AttachedDesktop
async def main():
    async with AttachedDesktop(sys.argv[1]) as desktop:
        print(desktop.pid, flush=True)
        while True:
            await desktop.do({"drag": Drag(Point(10, 10), Point(800, 500)),
                              "keys": HoldAndTap(("ctrl",), ("\u00e9",) * 9999)}[sys.argv[2]])
asyncio.run(main())
"""


async def test_a_borrowed_display_is_restored_when_host_and_agent_are_killed(x_server, keymap, watch, until):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    async with AttachedDesktop(display) as watcher:
        before = keymap(watcher)
        for what in ("drag", "keys"):
            command = [sys.executable, "-c", AGENT, display, what]
            with Agent(command, stdout=subprocess.PIPE, text=True) as agent:
                host = int(await asyncio.to_thread(agent.stdout.readline))
                await killed_in_the_midst(agent.pid, host, anything_down, until)
            assert await until(lambda: not anything_down())
            assert await until(lambda: keymap(watcher) == before)
            assert await until(lambda: len(menders(display)) == 1), "that of the watcher"


async def killed_in_the_midst(agent, host, anything_down, until):
    """Kill an agent and its host while a key or button is pressed."""
    caught = False
    while not caught:
        assert await until(anything_down)
        for pid in (agent, host):
            os.kill(pid, signal.SIGSTOP)
        caught = anything_down()
        for pid in (agent, host):
            os.kill(pid, signal.SIGKILL if caught else signal.SIGCONT)


def menders(display: str) -> list[int]:
    """List the processes that watch a display in order to restore it."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"holo_tasks.desktop.session.restore_keymap" in words and display.encode() in words:
                found.append(int(entry.name))
    return found


async def test_keys_left_pressed_are_released_before_the_first_capture_and_the_watcher_ends_normally(x_server, watch):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    subprocess.run(["xdotool", "mousedown", "1", "keydown", "a"], env={**os.environ, "DISPLAY": display}, check=True)
    assert anything_down()
    async with AttachedDesktop(display, touches=False) as onlooker:
        await onlooker.look()
        assert anything_down(), "a desktop that only captures must not release keys"
    async with AttachedDesktop(display):
        assert not anything_down()
        assert len(menders(display)) == 1
    assert menders(display) == []


async def test_a_desktop_closes_despite_a_frozen_x_server_which_is_restored_later(x_server, keymap, watch, until):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    async with AttachedDesktop(display) as watcher:
        before = keymap(watcher)
    desktop = await AttachedDesktop.start(display)
    doing = asyncio.ensure_future(desktop.do(HoldAndTap(("ctrl",), ("é",) * 9999)))
    assert await until(anything_down)
    server = x_server.processes[-1]
    server.send_signal(signal.SIGSTOP)
    try:
        async with asyncio.timeout(40):
            await asyncio.to_thread(desktop.kill)
            with pytest.raises(Killed):
                await doing
        assert menders(display), "the watcher must wait for the X server in the background"
    finally:
        server.send_signal(signal.SIGCONT)
    assert await until(lambda: not menders(display))
    assert not anything_down()
    async with AttachedDesktop(display) as again:
        assert keymap(again) == before


async def test_keys_held_by_a_remote_person_are_released_when_a_borrowed_display_is_left(x_server, watch):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    desktop = await AttachedDesktop.start(display, env={"XAUTHORITY": str(authority)})
    await desktop.hold()
    await desktop.by_hand([Pointing(10, 10, 1), Key(CONTROL, down=True)])
    assert anything_down()
    await desktop.close()
    assert not anything_down()


async def test_a_missing_display_is_reported():
    with pytest.raises(DesktopFailed, match=r"Cannot open display :98765.*check"):
        await AttachedDesktop.start(":98765")


async def test_a_display_that_refuses_the_connection_is_reported(x_server, tmp_path):
    display, _ = x_server("Xvfb", "-screen", "0", "640x480x24")
    with pytest.raises(DesktopFailed, match="XAUTHORITY"):
        await AttachedDesktop.start(display, env={"XAUTHORITY": str(tmp_path / "none")})


async def test_a_display_without_xtest_is_reported(x_server):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24", "-extension", "XTEST")
    with pytest.raises(DesktopFailed, match="XTEST"):
        await AttachedDesktop.start(display, env={"XAUTHORITY": str(authority)})


async def test_a_display_name_needs_a_colon():
    with pytest.raises(InvalidUsage, match=":0"):
        AttachedDesktop("7")
