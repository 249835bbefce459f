"""A frame shows a settled screen."""

from __future__ import annotations

import time

import pytest
from xcffib.xproto import RECTANGLE, EventMask

from holo_tasks.core.input.gestures import Click, Move, Pause
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import AttachedDesktop, Settle, VirtualDesktop
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.x11.x_connection import XConnection

GREEN, WHITE = (0, 255, 0), (255, 255, 255)
SPOT = Point(150, 350)
SMALL = Size(680, 500)
# on a busy machine, a spinner with a 20 ms period pauses longer than the usual limit
PATIENT = Settle(quiet_s=0.3, cap_s=0.6)


async def clicked(desktop, color):
    """Click, and return the frame that follows."""
    before = await desktop.look()
    assert color(before, SPOT) == WHITE
    await desktop.do(Click(Point(150, 300)))
    return await desktop.look(after_action=True)


@pytest.mark.parametrize("mode", ["slow", "busy", "late", "caret"])
async def test_the_frame_after_a_click_shows_all_of_its_effect(probe, color, mode):
    async with VirtualDesktop(size=SMALL, app=probe("repaints", mode)) as desktop:
        frame = await clicked(desktop, color)
    assert frame.settled
    assert color(frame, SPOT) == GREEN
    assert color(frame, Point(150, 100)) == GREEN
    assert frame.quiet_ns > 0


async def test_a_single_digit_that_changes_is_awaited(probe, color):
    async with VirtualDesktop(size=SMALL, app=probe("repaints", "digit")) as desktop:
        box = (await desktop.windows())[0].box
        around = [Point(x, box.top + 200 + y) for x in range(box.left + 130, box.left + 170) for y in range(-15, 15)]
        await desktop.look()
        await desktop.do(Click(Point(150, 300)))
        frame = await desktop.look(after_action=True)
    assert frame.settled
    assert any(color(frame, point) == GREEN for point in around)


async def test_a_spinner_is_captured_at_the_cap_and_reported_unsettled(probe, color):
    async with VirtualDesktop(size=SMALL, app=probe("repaints", "spinner"), settle=PATIENT) as desktop:
        frame = await clicked(desktop, color)
    assert not frame.settled
    assert color(frame, SPOT) == GREEN


async def test_a_caret_settles(probe):
    async with VirtualDesktop(size=SMALL, app=probe("repaints", "caret")) as desktop:
        frames = [await desktop.look() for _ in range(3)]
    assert all(frame.settled for frame in frames)


async def test_a_window_that_closes_need_not_answer_a_ping(probe):
    async with VirtualDesktop(size=SMALL, app=probe("repaints", "close")) as desktop:
        await desktop.do(Click(Point(150, 300)))
        frame = await desktop.look(after_action=True)
        assert frame.settled
        assert await desktop.windows() == []


async def test_the_pointer_is_not_in_the_picture_and_its_motion_is_no_change():
    async with VirtualDesktop(size=Size(640, 480)) as desktop:
        before = await desktop.look()
        await desktop.do(Move(Point(320, 240)))
        after = await desktop.look(after_action=True)
    assert after.digest == before.digest
    assert after.settled
    assert after.quiet_ns == 0


async def test_a_pause_waits_for_no_change():
    async with VirtualDesktop(size=Size(640, 480), settle=Settle(first_change_s=30)) as desktop:
        await desktop.do(Pause(0.01))
        assert (await desktop.look(after_action=True)).settled


async def test_a_frame_has_the_current_size_of_the_screen(resize):
    async with VirtualDesktop(size=Size(1000, 700)) as desktop:
        assert (await desktop.look()).size == desktop.size == Size(1000, 700)
        resize(desktop, 800, 600)
        frame = await desktop.look()
        assert frame.size == desktop.size == Size(800, 600)
        assert len(frame.rgb) == 800 * 600 * 3


async def test_a_screen_that_grows_is_captured_whole(x_server, resize):
    display, authority = x_server("Xtigervnc", "-SecurityTypes", "None", "-rfbport", "-1", "-geometry", "640x480")
    async with AttachedDesktop(display, env={"XAUTHORITY": str(authority)}) as desktop:
        assert desktop.size == Size(640, 480)
        resize(desktop, 1024, 768)
        frame = await desktop.look()
        assert frame.size == desktop.size == Size(1024, 768)


@pytest.mark.parametrize("toolkit", ["SubstructureNotify", "StructureNotify"])
def test_a_ping_answer_is_recognized_in_every_toolkits_form(x_server, monkeypatch, toolkit):
    display, authority = x_server("Xvfb")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    repaints, link, serial = Repaints(display, lambda: None), XConnection(display), 0xE0000001
    words = link.atom("WM_PROTOCOLS"), link.atom("_NET_WM_PING"), serial, link.root, 0, 0
    mask = EventMask.SubstructureRedirect | getattr(EventMask, toolkit)  # Qt uses the second mask
    link.conn.core.SendEvent(False, link.root, mask, CLIENT_MESSAGE.pack(33, 32, link.root, *words))
    link.sync()
    repaints.wait(30_000_000_000, serial=serial)
    assert repaints.answered(serial)


@pytest.mark.parametrize("mode", ["slow", "late"])
async def test_without_damage_pictures_are_compared(x_server, probe, color, mode):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24", "-extension", "DAMAGE")
    desktop = AttachedDesktop(display, env={"XAUTHORITY": str(authority)}, app=probe("repaints", mode))
    async with desktop:
        frame = await clicked(desktop, color)
    assert color(frame, SPOT) == GREEN


def test_after_catching_up_all_earlier_repaints_are_recorded(x_server, monkeypatch):
    display, authority = x_server("Xvfb", "-screen", "0", "320x240x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    repaints, link = Repaints(display, lambda: None), XConnection(display)
    core, window, context = link.conn.core, link.conn.generate_id(), link.conn.generate_id()
    core.CreateWindow(24, window, link.root, 0, 0, 320, 240, 0, 1, 0, 0, [])
    core.MapWindow(window)
    core.CreateGC(context, window, 0, [])
    repaints.also = lambda area: time.sleep(0.0005)  # as if the thread got no CPU
    for turn in range(5):
        before = len(repaints.latest())
        for x in range(20):
            core.PolyFillRectangle(window, context, 1, [RECTANGLE.synthetic(10 * x, 10 * turn, 5, 5)])
        link.sync()
        repaints.catch_up()
        assert len(repaints.latest()) - before >= 20
