"""A small window of another program goes behind, and a window beyond the edge comes into the screen, without input."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop import VirtualDesktop, processes
from holo_tasks.desktop.input.fit_window import inside
from holo_tasks.desktop.input.foreign_windows import is_outside

on_a_desktop = pytest.mark.asyncio(loop_scope="module")
pytestmark = pytest.mark.desktop
SIZE = Size(800, 600)
OWN = """
import tkinter
window = tkinter.Tk()
window.title("Own")
window.geometry("700x500+20+40")
entry = tkinter.Entry(window)
entry.pack()
entry.focus_set()
entry.bind("<KeyRelease>", lambda event: window.title("Own " + entry.get()))
window.mainloop()
"""
TIP = """
import sys, tkinter
window = tkinter.Tk()
window.title("Tip")
window.geometry(sys.argv[1])
window.attributes("-topmost", True)
if len(sys.argv) > 2:
    owner, window = window, tkinter.Toplevel(window)
    owner.title("Owner")
    window.title("Tip")
    window.transient(owner)
window.bind("<Button>", lambda event: window.title("Tip pressed"))
window.bind("<Key>", lambda event: window.title("Tip typed"))
window.focus_force()
window.mainloop()
"""
SMALL, LARGE, AT = "200x100+300+200", "500x400+200+100", Point(400, 250)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop(tk: str) -> AsyncIterator[VirtualDesktop]:
    async with VirtualDesktop(size=SIZE, app=[tk, "-c", OWN]) as desktop:
        yield desktop


async def active(desktop: VirtualDesktop) -> str:
    return next((each.title for each in await desktop.windows() if each.active), "")


@pytest.fixture
def tip(desktop: VirtualDesktop, tk: str, until: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a context with a tip that has the keyboard."""

    @contextmanager
    def showing(*arguments: str, mark: str = "") -> Any:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        env |= {processes.MARK: mark} if mark else {}
        tip = subprocess.Popen([tk, "-c", TIP, *arguments], env=env)
        try:
            yield tip
        finally:
            tip.kill()
            tip.wait()

    return showing


async def shown(desktop: VirtualDesktop) -> None:
    for _ in range(200):
        if (await active(desktop)).startswith("Tip"):
            return
        await desktop.look()
    raise AssertionError("the tip does not get the keyboard")


@on_a_desktop
async def test_keys_go_to_the_program_after_a_foreign_tip_was_put_behind(desktop: VirtualDesktop, tip: Any) -> None:
    assert not await desktop.put_foreign_behind(covering=True), "there is none"
    with tip(SMALL):
        await shown(desktop)
        assert await desktop.put_foreign_behind(covering=False)
        assert (await active(desktop)).startswith("Own")
        titles = [each.title for each in await desktop.windows()]
        assert titles.index("Tip") < len(titles) - 1, "it is no longer above the program"
        assert not await desktop.put_foreign_behind(covering=True), "nothing is in the way now"
        await desktop.do(Write("abc"))
        await desktop.look()
        assert await active(desktop) == "Own abc"


@on_a_desktop
async def test_a_window_that_may_belong_to_the_program_is_left_alone(desktop: VirtualDesktop, tip: Any) -> None:
    mark = next(
        each.partition("=")[2]
        for each in Path(f"/proc/{desktop.pid}/environ").read_text().split("\0")
        if each.startswith(f"{processes.MARK}=")
    )
    for arguments, how in [((SMALL,), {"mark": mark}), ((SMALL, "transient"), {}), ((LARGE,), {})]:
        with tip(*arguments, **how):
            await shown(desktop)
            assert not await desktop.put_foreign_behind(covering=True), (arguments, how)
            assert (await active(desktop)).startswith("Tip")


@on_a_desktop
async def test_a_window_that_the_agent_pressed_in_is_part_of_its_work(desktop: VirtualDesktop, tip: Any) -> None:
    with tip(SMALL):
        await shown(desktop)
        await desktop.do(Click(AT))
        assert not await desktop.put_foreign_behind(covering=True)


@on_a_desktop
async def test_a_window_beyond_the_edge_comes_into_the_screen(desktop: VirtualDesktop) -> None:
    assert not await desktop.fit_window(), "it is on the screen"
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    subprocess.run(["xdotool", "getactivewindow", "windowmove", "400", "300"], env=env, check=True)
    await desktop.look()
    assert await desktop.fit_window()
    await desktop.look()
    window = next(each for each in await desktop.windows() if each.title.startswith("Own"))
    assert Box.whole(SIZE).encloses(window.box)
    assert not await desktop.fit_window()


def test_a_window_is_moved_before_it_is_shrunk() -> None:
    screen, frame = Box(0, 0, 800, 600), (1, 20, 1, 4)
    assert inside(Box(10, 30, 300, 200), frame, screen) == Box(10, 30, 300, 200)
    assert inside(Box(700, 500, 300, 200), frame, screen) == Box(499, 396, 300, 200)
    assert inside(Box(-50, 0, 900, 700), frame, screen) == Box(1, 20, 798, 576)


def test_a_process_of_the_desktop_and_an_unknown_one_are_not_outside() -> None:
    assert not is_outside(0, "holo-desktop-x")
    assert not is_outside(os.getpid(), "holo-desktop-x")
    assert not is_outside(1 << 30, "holo-desktop-x"), "it has ended"
    assert is_outside(os.getppid(), "holo-desktop-x")
