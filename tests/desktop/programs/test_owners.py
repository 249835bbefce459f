"""The owner of a window that gets a click or a key is identified by process; titles, properties and overlaps cannot
fake it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.programs import window_owners as owners
from holo_tasks.desktop.x11.x_connection import XConnection

APPS = Path(__file__).parent.parent.parent / "apps"
EMPTY = Point(1190, 790)


@pytest.fixture(scope="module")
def desktop():
    found = asyncio.run(VirtualDesktop.start(size=Size(1200, 800)))
    yield found
    asyncio.run(found.close())


@pytest.fixture(scope="module")
def link(desktop):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAUTHORITY", str(desktop.authority))
        made = XConnection(desktop.display)
    yield made
    made.close()


@pytest.fixture
def show(desktop, tk, tmp_path, until):
    """Starts programs and returns the ids of their windows. They end with the test."""
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    started = []

    async def start(*command, **options):
        known = {window.id for window in await desktop.windows()}
        started.append(subprocess.Popen([*map(str, command)], env=env, stderr=subprocess.DEVNULL, **options))
        for _ in range(500):
            for window in await desktop.windows():
                if window.id not in known:
                    await desktop.look()
                    return window
            await asyncio.sleep(0.02)
        raise AssertionError("no window")

    async def script(name, geometry, title="Accounts"):
        copy = tmp_path / f"{name}.py"
        shutil.copy(APPS / "probe_window.py", copy)
        return await start(tk, copy, title, geometry)

    start.script, start.started, start.env = script, started, env
    yield start
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait()
    asyncio.run(_gone(desktop))


async def _gone(desktop):
    while await desktop.windows():
        await asyncio.sleep(0.02)


def named(owner):
    return Path(owner.script).stem


async def test_an_open_menu_is_recognized_wherever_it_lies(desktop, show, until):
    await show.script("ledger", "150x80+100+100")
    assert not (await desktop.owner_at(None)).popup
    await desktop.do(Click(Point(220, 170), "right"))
    await desktop.look()
    owner = await desktop.owner_at(None)
    assert owner.popup
    assert not (await desktop.owner_at(Point(110, 110))).popup


def naive(windows, at):
    """A naive rule: the process that the topmost window at a point claims."""
    around = [w for w in windows if w.box.left <= at.x < w.box.right and w.box.top <= at.y < w.box.bottom]
    return around[-1].pid


async def test_programs_with_the_same_title_are_distinguished_and_a_false_pid_property_is_ignored(
    desktop, show, x_client
):
    await show.script("ledger", "300x200+100+100")
    liar = await show.script("impostor", "300x200+600+100")
    one, other = await desktop.owner_at(Point(200, 250)), await desktop.owner_at(Point(700, 250))
    assert (named(one), named(other)) == ("ledger", "impostor")
    assert one.title == other.title == "Accounts"
    assert one.executable == other.executable
    assert one.name != other.name
    assert [one.pid, other.pid] == [process.pid for process in show.started]
    assert one.box is not None
    assert (one.box.width, one.box.height) == (300, 200)

    pretended = show.started[0].pid
    x_client(desktop, "xprop", "-id", str(liar.id), "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", str(pretended))
    windows = await desktop.windows()
    assert [window.pid for window in windows if window.id == liar.id] == [pretended]
    assert naive(windows, Point(700, 250)) == pretended
    found = await desktop.owner_at(Point(700, 250))
    assert (found.pid, named(found)) == (show.started[1].pid, "impostor")


async def test_where_windows_overlap_the_upper_one_is_the_owner(desktop, show, x_client):
    lower = await show.script("ledger", "300x200+100+100")
    upper = await show.script("impostor", "300x200+250+150")
    both = Point(300, 250)
    for window, name in ((lower, "ledger"), (upper, "impostor"), (lower, "ledger")):
        x_client(desktop, "xdotool", "windowraise", str(window.id))
        await asyncio.sleep(0.1)
        assert named(await desktop.owner_at(both)) == name
    assert named(await desktop.owner_at(Point(150, 150))) == "ledger"
    assert named(await desktop.owner_at(Point(500, 320))) == "impostor"


async def test_a_menu_belongs_to_its_program(desktop, show):
    await show.script("ledger", "300x200+100+100")
    await show.script("impostor", "300x300+420+100")
    below = Point(500, 250)
    assert named(await desktop.owner_at(below)) == "impostor"
    await desktop.do(Click(Point(380, 200), "right"))
    await desktop.look(after_action=True)
    assert named(await desktop.owner_at(below)) == "ledger"  # the menu lies over the other window, and has no title


async def test_an_invisible_window_in_front_is_the_owner(desktop, show):
    await show.script("ledger", "300x200+100+100")
    code = APPS / "probe_overlay.py"
    overlay = subprocess.Popen(
        [sys.executable, code, "150", "150", "50", "50"],
        env=show.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    show.started.append(overlay)
    assert overlay.stdout.readline() == "mapped\n"
    assert named(await desktop.owner_at(Point(160, 160))) == "probe_overlay"
    assert named(await desktop.owner_at(Point(210, 210))) == "ledger"


async def test_title_bars_belong_to_the_window_manager_and_the_empty_desktop_to_no_program(desktop, show):
    window = await show.script("ledger", "300x200+100+100")
    bar = Point(window.box.left + 100, window.box.top - 8)
    async with asyncio.timeout(60):
        while not (found := await desktop.owner_at(bar)).pid:  # the frame may appear a moment after its window
            await asyncio.sleep(0.02)
    assert found.executable.endswith("/openbox")
    nobody = await desktop.owner_at(EMPTY)
    assert (nobody.name, nobody.why) == ("", "it is the empty desktop")


async def test_keys_belong_to_the_focused_window_wherever_the_pointer_is(desktop, show, link):
    await show.script("ledger", "300x200+100+100")
    await show.script("impostor", "300x200+600+100")
    for at, name in ((Point(200, 250), "ledger"), (Point(700, 250), "impostor"), (Point(200, 250), "ledger")):
        await desktop.do(Click(at))
        await desktop.look(after_action=True)
        for pointer in (Point(200, 250), Point(700, 250), EMPTY):
            link.conn.core.WarpPointer(0, link.root, 0, 0, 0, 0, pointer.x, pointer.y)
            link.sync()
            assert named(await desktop.owner_at(None)) == name


async def test_without_a_window_manager_keys_may_have_no_owner(x_server, tk, tmp_path, monkeypatch):
    display, authority = x_server("Xvfb", "-screen", "0", "900x600x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    copy = tmp_path / "ledger.py"
    shutil.copy(APPS / "probe_window.py", copy)
    async with AttachedDesktop(display, app=[tk, str(copy), "Accounts", "300x200+100+100"]) as desktop:
        link = XConnection(display)
        inside, outside = Point(200, 250), Point(800, 500)
        for focus in (1, link.root):  # PointerRoot and the root window: keys go to the window under the pointer
            for at, name in ((inside, "ledger"), (outside, "")):
                link.conn.core.SetInputFocus(0, focus, 0)
                link.conn.core.WarpPointer(0, link.root, 0, 0, 0, 0, at.x, at.y)
                link.sync()
                assert named(await desktop.owner_at(None)) == name
        link.conn.core.SetInputFocus(0, 0, 0)
        link.sync()
        assert (await desktop.owner_at(None)).why == "no window has the keyboard"
        assert named(await desktop.owner_at(inside)) == "ledger"
        link.close()


async def test_a_replaced_program_file_is_not_identified(desktop, show, tmp_path):
    program = tmp_path / "xterm"
    shutil.copy(Path(shutil.which("xterm")).resolve(), program)
    window = await show(program, "-geometry", "40x10+100+100", "-e", "sleep", "60")
    inside = window.box.center
    assert (await desktop.owner_at(inside)).name == str(program)
    program.unlink()
    assert "gone" in (await desktop.owner_at(inside)).why
    program.write_text("another file")
    assert (await desktop.owner_at(inside)).name == ""


@pytest.fixture(scope="module")
def ledger(desktop, tk, tmp_path_factory):
    """The shared program of the following tests. Its window must not move; the last test freezes it."""
    copy = tmp_path_factory.mktemp("ledger") / "ledger.py"
    shutil.copy(APPS / "probe_window.py", copy)
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    process = subprocess.Popen([tk, str(copy), "Accounts", "300x200+100+100"], env=env, stderr=subprocess.DEVNULL)
    asyncio.run(_shown(desktop))
    yield process
    process.kill()
    process.wait()


async def _shown(desktop):
    async with asyncio.timeout(60):
        while not await desktop.windows():
            await asyncio.sleep(0.02)
    await desktop.look()


async def test_the_gate_finds_the_same_owner_quickly(desktop, ledger, link):
    at = Point(200, 250)
    found = await desktop.owner_at(at)
    assert owners.owner_at(link, at) == found.name == f"{found.executable} {found.script}"
    began = time.process_time()
    for _ in range(100):
        owners.owner_at(link, at)
    assert (time.process_time() - began) / 100 < 0.02, "CPU time, because other processes may slow the wall clock"


async def test_a_server_that_cannot_identify_processes_is_not_trusted(ledger, link, monkeypatch):
    at = Point(200, 250)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)  # as if the server were in another container
        assert "cannot say which process" in owners.owner_of(link, at).why


async def test_a_server_without_the_xres_extension_leaves_only_the_pid_property(
    desktop, ledger, x_client, link, monkeypatch
):
    at, pid = Point(200, 250), str(ledger.pid)
    monkeypatch.setitem(owners._clients, link, None)
    assert owners.owner_at(link, at) == ""  # Tk does not set the property
    (window,) = await desktop.windows()
    x_client(desktop, "xprop", "-id", str(window.id), "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", pid)
    assert owners.owner_at(link, at).endswith("ledger.py")


async def test_a_frozen_program_is_still_identified(desktop, ledger):
    ledger.send_signal(signal.SIGSTOP)
    assert named(await desktop.owner_at(Point(200, 250))) == "ledger"
