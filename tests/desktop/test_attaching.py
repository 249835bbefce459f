"""A display that runs already can be used, and is left as it was found."""

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
    """An X server of somebody else, with a window manager or without."""
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


async def test_a_borrowed_display_is_used_and_left_as_it_was(borrowed, probe, tmp_path, state, keymap, pressed):
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
        assert await again.windows() == []  # the program was ours, and is gone
    assert manager is None or manager.poll() is None


async def test_a_borrowed_display_is_put_right_when_the_host_is_killed(x_server, keymap, watch, until):
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


async def test_a_borrowed_display_is_put_right_when_host_and_agent_are_killed(x_server, keymap, watch, until):
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
    """Kill an agent and its host at a moment at which something is pressed."""
    caught = False
    while not caught:
        assert await until(anything_down)
        for pid in (agent, host):
            os.kill(pid, signal.SIGSTOP)
        caught = anything_down()
        for pid in (agent, host):
            os.kill(pid, signal.SIGKILL if caught else signal.SIGCONT)


def menders(display: str) -> list[int]:
    """List the processes that watch over a display."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"holo_tasks.desktop.session.restore_keymap" in words and display.encode() in words:
                found.append(int(entry.name))
    return found


async def test_what_is_left_pressed_is_let_go_of_before_the_first_look_and_nobody_watches_after_a_good_end(
    x_server, watch
):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    subprocess.run(["xdotool", "mousedown", "1", "keydown", "a"], env={**os.environ, "DISPLAY": display}, check=True)
    assert anything_down()
    async with AttachedDesktop(display, touches=False) as onlooker:
        await onlooker.look()
        assert anything_down(), "to look at a screen that may be somebody's own changes nothing there"
    async with AttachedDesktop(display):
        assert not anything_down()
        assert len(menders(display)) == 1
    assert menders(display) == []


async def test_a_desktop_ends_without_its_frozen_x_server_which_is_put_right_when_it_goes_on(
    x_server, keymap, watch, until
):
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
        assert menders(display), "it waits for the X server, and nobody waits for it"
    finally:
        server.send_signal(signal.SIGCONT)
    assert await until(lambda: not menders(display))
    assert not anything_down()
    async with AttachedDesktop(display) as again:
        assert keymap(again) == before


async def test_what_a_person_holds_from_elsewhere_is_let_go_of_when_a_borrowed_display_is_left(x_server, watch):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    anything_down = watch(display, authority)
    desktop = await AttachedDesktop.start(display, env={"XAUTHORITY": str(authority)})
    await desktop.hold()
    await desktop.by_hand([Pointing(10, 10, 1), Key(CONTROL, down=True)])
    assert anything_down()
    await desktop.close()
    assert not anything_down()


async def test_a_display_that_is_not_there_says_so():
    with pytest.raises(DesktopFailed, match=r"Cannot open display :98765.*check"):
        await AttachedDesktop.start(":98765")


async def test_a_display_that_does_not_let_us_in_says_so(x_server, tmp_path):
    display, _ = x_server("Xvfb", "-screen", "0", "640x480x24")
    with pytest.raises(DesktopFailed, match="XAUTHORITY"):
        await AttachedDesktop.start(display, env={"XAUTHORITY": str(tmp_path / "none")})


async def test_a_display_without_xtest_says_so(x_server):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24", "-extension", "XTEST")
    with pytest.raises(DesktopFailed, match="XTEST"):
        await AttachedDesktop.start(display, env={"XAUTHORITY": str(authority)})


async def test_a_display_has_a_colon():
    with pytest.raises(InvalidUsage, match=":0"):
        AttachedDesktop("7")
