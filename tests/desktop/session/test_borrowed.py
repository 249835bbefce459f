"""A display that cannot be used is refused at the start, with a one-sentence error."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import xcffib.xproto

from holo_tasks.by_hand.progress import StepReporter
from holo_tasks.cli.record_command import record
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.session import borrowed
from holo_tasks.desktop.x11.x_connection import XConnection

SMALL = Size(640, 480)
needs_wayland = pytest.mark.skipif(
    not (shutil.which("weston") and shutil.which("Xwayland")), reason="needs weston and Xwayland"
)


@pytest.mark.parametrize("depth", [8, 15, 16, 30])
async def test_a_screen_with_another_depth_is_refused_with_the_required_depth(x_server, depth):
    display, authority = x_server("Xvfb", "-screen", "0", f"640x480x{depth}")
    with pytest.raises(DesktopFailed, match=rf"color depth of {depth} bits, and only 24 bits"):
        await AttachedDesktop.start(display, env={"XAUTHORITY": str(authority)}, touches=False)


async def test_a_black_screen_of_another_server_is_accepted(x_server):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    async with AttachedDesktop(display, env={"XAUTHORITY": str(authority)}, touches=False) as desktop:
        assert not any((await desktop.look()).rgb)


async def test_an_xwayland_server_is_refused_unless_it_shows_windows(x_server, monkeypatch):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    link = XConnection(display)
    assert not borrowed.is_xwayland(link)
    monkeypatch.setattr(borrowed, "_outputs", lambda link: ["XWAYLAND0"])
    with pytest.raises(DesktopFailed, match=r"belongs to Wayland \(Xwayland\).*X11 session"):
        borrowed.check_display(link)
    core, window = link.conn.core, link.conn.generate_id()
    core.CreateWindow(24, window, link.root, 9, 9, 50, 50, 0, 1, 0, xcffib.xproto.CW.BackPixel, [0xFF0000])
    core.MapWindow(window)
    link.sync()
    borrowed.check_display(link)  # a nested server in a window, which shows everything it draws
    link.close()


@pytest.fixture
def wayland(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Wayland session without a screen. Yields the display of its X server."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    command = ["weston", "--backend=headless-backend.so", "--xwayland", "--socket=wayland-test", "--idle-time=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as session:
        assert session.stdout is not None
        try:
            for line in session.stdout:
                if "xserver listening on display" in line:
                    yield line.split()[-1]
                    break
            else:
                pytest.skip("weston does not start its X server here")
        finally:
            session.kill()


@needs_wayland
async def test_the_x_server_of_a_wayland_session_is_refused(wayland, tk):
    window = "import tkinter; tkinter.Label(tkinter.Tk(), text='X').pack(); tkinter.mainloop()"
    with subprocess.Popen([tk, "-c", window], env={**os.environ, "DISPLAY": wayland}) as program:
        try:
            with pytest.raises(DesktopFailed, match=r"belongs to Wayland \(Xwayland\)"):
                await AttachedDesktop.start(wayland, touches=False)
        finally:
            program.kill()


@pytest.fixture
def ibus(x_server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A display on which the selections and properties of an input method are set, as ibus does."""
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    link = XConnection(display)
    core, window, server = link.conn.core, link.conn.generate_id(), link.atom("@server=ibus")
    core.ChangeProperty(0, link.root, link.atom("XIM_SERVERS"), xcffib.xproto.Atom.ATOM, 32, 1, [server])
    core.CreateWindow(0, window, link.root, 0, 0, 1, 1, 0, 2, 0, 0, [])
    core.SetSelectionOwner(window, server, 0)
    link.sync()
    yield display
    link.close()


async def test_a_run_on_a_display_with_an_input_method_warns_once_at_its_start(ibus, x_server):
    told: list[str] = []
    async with AttachedDesktop(ibus, tell=told.append):
        pass
    assert [text.partition(":")[0] for text in told] == ["An input method (ibus) runs on the display "]
    other, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    async with AttachedDesktop(other, env={"XAUTHORITY": str(authority)}, tell=told.append):
        pass
    async with AttachedDesktop(ibus, touches=False, tell=told.append):
        pass
    assert len(told) == 1, "a desktop without an input method, and one that only looks, need no warning"


@pytest.mark.skipif(not shutil.which("ibus-daemon"), reason="needs the Debian package ibus")
async def test_a_running_ibus_is_named_until_it_ends(x_server, tmp_path, monkeypatch, until):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    link, told = XConnection(display), list[str]()
    env = {**os.environ, "DISPLAY": display, "HOME": str(tmp_path)}
    bus = ["dbus-run-session", "--", "ibus-daemon", "--xim", "--panel=disable"]
    with subprocess.Popen(bus, env=env, stderr=subprocess.DEVNULL, start_new_session=True) as session:
        try:
            assert await until(lambda: borrowed.input_method(link, {}) == "ibus")
            async with AttachedDesktop(display, tell=told.append):
                pass
            assert [text.partition(":")[0] for text in told] == ["An input method (ibus) runs on the display "]
        finally:
            os.killpg(session.pid, signal.SIGKILL)
    assert await until(lambda: not borrowed.input_method(link, {}))
    link.close()


async def test_a_recording_on_a_display_with_an_input_method_warns_at_its_start(ibus, capsys):
    async with AttachedDesktop(ibus, touches=False) as desktop, record._on_display(desktop, StepReporter(print)):
        pass
    said = capsys.readouterr().err
    assert said.count("An input method (ibus) runs on the display") == 1
    assert "the recording has the keys" in said


async def test_an_input_method_is_recognized_by_its_server_on_the_display(monkeypatch):
    async with VirtualDesktop(size=SMALL) as desktop:
        monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
        link = XConnection(desktop.display)
        assert borrowed.input_method(link, {}) == ""
        assert borrowed.input_method(link, {"XMODIFIERS": "@im=none", "DISPLAY": desktop.display}) == ""
        assert borrowed.input_method(link, {"XMODIFIERS": "@im=fcitx", "DISPLAY": ":1"}) == ""
        assert borrowed.input_method(link, {"XMODIFIERS": "@im=fcitx", "DISPLAY": desktop.display}) == "fcitx"
        core, window, server = link.conn.core, link.conn.generate_id(), link.atom("@server=ibus")
        core.ChangeProperty(0, link.root, link.atom("XIM_SERVERS"), xcffib.xproto.Atom.ATOM, 32, 1, [server])
        assert borrowed.input_method(link, {}) == "", "a server that has ended leaves its name"
        core.CreateWindow(0, window, link.root, 0, 0, 1, 1, 0, 2, 0, 0, [])
        core.SetSelectionOwner(window, server, 0)
        assert borrowed.input_method(link, {}) == "ibus"
        link.close()
