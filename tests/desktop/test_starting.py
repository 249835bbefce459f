"""A desktop starts, or its error explains in one sentence why not; and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed, Killed
from holo_tasks.core.input.gestures import Click, Pause, Write
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.x11 import window_manager as wm
from tests.desktop.conftest import Agent

pytestmark = pytest.mark.usefixtures("nothing_left")
SMALL = Size(320, 240)


async def test_a_desktop_without_a_program_is_an_empty_screen():
    async with VirtualDesktop(size=SMALL) as desktop:
        frame = await desktop.look()
        assert (frame.size, frame.display, frame.scale) == (SMALL, desktop.display, 1.0)
        assert await desktop.windows() == []
        assert Path(f"/tmp/.X11-unix/X{desktop.display[1:]}").exists()
        assert {"x_server", "window_manager", "imports", "connections"} <= set(desktop.started_s)
    assert not Path(f"/tmp/.X11-unix/X{desktop.display[1:]}").exists()
    assert not Path(f"/tmp/.X{desktop.display[1:]}-lock").exists()
    with pytest.raises(DesktopFailed, match="closed"):
        await desktop.look()
    await desktop.close()


async def test_the_program_is_visible_when_the_desktop_has_started(probe):
    async with VirtualDesktop(app=probe("repaints", "still")) as desktop:
        (window,) = await desktop.windows()
        assert (window.title, window.active) == ("Repaints", True)
        assert (window.box.width, window.box.height) == (600, 400)
        frame = await desktop.look()
        assert frame.rgb[(200 * 1280 + 200) * 3 :][:3] == b"\xff\xff\xff"


HASTY = """
import sys, xcffib, xcffib.xproto as xproto
conn = xcffib.connect()
screen, window = conn.get_setup().roots[0], conn.generate_id()
conn.core.CreateWindow(24, window, screen.root, 0, 0, 300, 200, 0, xproto.WindowClass.InputOutput, screen.root_visual,
                       xproto.CW.BackPixel | xproto.CW.EventMask, [screen.white_pixel, xproto.EventMask.Exposure])
conn.core.MapWindow(window)
conn.core.GetInputFocus().reply()
settings, read_by_manager = sys.argv[1:]
with open(settings) as source, open(read_by_manager, "w") as pipe:
    pipe.write(source.read())
while conn.wait_for_event():
    pass
"""


async def test_a_window_that_appears_before_the_window_manager_is_ready_is_shown(tmp_path, monkeypatch):
    """The window manager reads its settings from a pipe, which the program fills once it wants to be shown."""
    pipe, manager, program = tmp_path / "rc.xml", tmp_path / "openbox", tmp_path / "hasty.py"
    os.mkfifo(pipe)
    manager.write_text(f"#!/bin/sh\nexec {shutil.which('openbox')} --config-file {pipe} --sm-disable\n")
    manager.chmod(0o700)
    program.write_text(HASTY)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with VirtualDesktop(
        app=[sys.executable, str(program), str(wm.CONFIG), str(pipe)], app_timeout_s=5
    ) as desktop:
        (window,) = await desktop.windows()
        assert (window.box.width, window.box.height) == (300, 200)


async def test_several_desktops_work_side_by_side(probe, tmp_path, state):
    told = [state(tmp_path / str(n)) for n in range(2)]
    desktops = await asyncio.gather(*(VirtualDesktop.start(app=probe("fields", one.path)) for one in told))
    try:
        assert len({desktop.display for desktop in desktops}) == 2

        async def use(desktop, one, text):
            await desktop.do(Click(one.at("entry")))
            await desktop.do(Write(text, overwrite=True))
            await desktop.look(after_action=True)
            return await one.becomes("entry", text)

        texts = ["first é", "second 東 🙂"]
        assert await asyncio.gather(*map(use, desktops, told, texts)) == texts
    finally:
        await asyncio.gather(*(desktop.close() for desktop in desktops))


async def test_requests_to_one_desktop_take_turns():
    async with VirtualDesktop(size=SMALL) as desktop:
        frames = await asyncio.gather(*(desktop.look() for _ in range(4)), desktop.do(Pause(0.01)))
        assert len({frame.digest for frame in frames[:4]}) == 1


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("no-such-program --flag", "'no-such-program' was not found: install it"),
        (["sh", "-c", "echo 'no licence' >&2; exit 3"], "ended with status 3 .*no licence"),
        (["true"], "ended at once"),
        (["xterm", "-e", "no-such-program"], "its command 'no-such-program' was not found: install it"),
        (["sh", "-c", "kill -SEGV $$"], "ended by signal 11"),
        (["/etc/passwd"], "cannot be started: Permission denied"),
    ],
)
async def test_a_program_that_does_not_start_is_explained(app, why):
    with pytest.raises(DesktopFailed, match=why) as error:
        await VirtualDesktop.start(size=SMALL, app=app)
    assert "\n" not in str(error.value)


async def test_a_program_without_a_window_is_given_up():
    with pytest.raises(DesktopFailed, match=r"showed no window within 0.3 s"):
        await VirtualDesktop.start(size=SMALL, app="sleep 1000", app_timeout_s=0.3)


SPLASH = """
import sys, tkinter
window = tkinter.Tk(className="Splash")
window.attributes("-type", "splash")
window.geometry("300x200+20+20")
if "main" in sys.argv:
    window.after(600, lambda: (tkinter.Toplevel(window).title("Main"), window.withdraw()))
window.mainloop()
"""


@pytest.mark.parametrize("title", ["Main", "splash"])
async def test_a_splash_screen_is_no_window_unless_no_other_follows(tk, title):
    app = [tk, "-c", SPLASH, title.lower()]
    async with VirtualDesktop(app=app, size=SMALL, app_timeout_s=20 if title == "Main" else 2.5) as desktop:
        assert [window.title for window in await desktop.windows()] == [title]


async def test_a_launcher_may_end_when_its_program_comes_up():
    async with VirtualDesktop(size=SMALL, app=["sh", "-c", "xterm -e sleep 1000 & exit 0"]) as desktop:
        assert len(await desktop.windows()) == 1


async def test_a_terminal_may_run_a_command_that_only_its_shell_knows():
    async with VirtualDesktop(size=SMALL, app=["xterm", "-e", "exec sleep 1000"]) as desktop:
        assert len(await desktop.windows()) == 1


@pytest.mark.parametrize(("missing", "package"), [("Xvfb", "xvfb"), ("openbox", "openbox")])
async def test_a_missing_debian_package_is_named(monkeypatch, tmp_path, missing, package):
    for program in {"Xvfb", "openbox", "xkbcomp", "sh"} - {missing}:
        found = subprocess.run(["which", program], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DesktopFailed, match=f"apt-get install {package}`"):
        await VirtualDesktop.start(size=SMALL)


PRIVATE = {
    "HAI_API_KEY": "canary-1",
    "GITHUB_TOKEN": "canary-2",
    "DATABASE_URL": "postgres://me:canary-3@db.example/x",
    "HARMLESS": "canary-4",
}


@pytest.mark.parametrize(("inherits", "plain"), [("needed", set()), ("plain", {"APP_LOG"})])
async def test_processes_of_a_desktop_get_the_variables_they_need(monkeypatch, inherits, plain):
    for name, value in {**PRIVATE, "APP_LOG": "/tmp/mine", "PASSED": "canary", "HOLO_PROGRAM_ENV": "PASSED"}.items():
        monkeypatch.setenv(name, value)
    options = {"env": {"MINE": "canary"}, "secrets": {"A": "canary-4"}, "inherits": inherits}
    async with VirtualDesktop(size=SMALL, app="xterm -e sleep 1000", **options) as desktop:
        await desktop.open_vnc()
        found = {}
        for pid in processes_with(desktop.authority.parent.name):
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].rpartition(b"/")[2].decode()
            around = Path(f"/proc/{pid}/environ").read_bytes().decode()
            found[program] = dict(line.partition("=")[::2] for line in around.split("\0"))
    own = {*PRIVATE, "APP_LOG", "PASSED", "MINE"}
    for program in ("xterm", "sleep"):
        assert "XCOMPOSEFILE" not in found[program]
        assert own & set(found.pop(program)) == {"PASSED", "MINE"} | plain
    assert {"Xvfb", "openbox", "dbus-daemon"} < set(found)
    assert [name for name, around in found.items() if "XCOMPOSEFILE" in around] == ["openbox"], "nobody types into it"
    assert len(found) == 5, "five processes, including the host, the message bus and the VNC server"
    for around in found.values():
        assert not own & set(around)
        assert around["PATH"]


async def test_the_error_of_a_program_names_withheld_variables(monkeypatch):
    monkeypatch.setenv("LEDGER_PASSWORD", "canary")
    with pytest.raises(DesktopFailed, match=r"did not get .*LEDGER_PASSWORD.*HOLO_PROGRAM_ENV") as failed:
        await VirtualDesktop.start(size=SMALL, app="false", inherits="plain")
    assert "canary" not in str(failed.value)


async def test_an_exception_closes_the_desktop():
    with pytest.raises(ZeroDivisionError):
        async with VirtualDesktop(size=SMALL) as desktop:
            raise ZeroDivisionError
    with pytest.raises(DesktopFailed):
        await desktop.look()


@pytest.mark.parametrize("after_s", [0, 0.01, 0.5])
async def test_cancelling_a_start_leaves_nothing(after_s):
    start = asyncio.ensure_future(VirtualDesktop.start(size=SMALL, app="sleep 1000"))
    await asyncio.sleep(after_s)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_the_death_of_the_x_server_is_reported(until):
    async with VirtualDesktop(size=SMALL) as desktop:
        server = server_of(desktop)
        os.kill(server, signal.SIGKILL)
        assert await until(lambda: not Path(f"/proc/{server}/cmdline").read_bytes())
        with pytest.raises(DesktopFailed, match="X server"):
            await desktop.look()
        with pytest.raises(DesktopFailed, match="X server"):
            await desktop.do(Click(Point(1, 1)))
        with pytest.raises(DesktopFailed, match="X server"):
            await desktop.do(Write("x"))
    assert not Path(f"/tmp/.X11-unix/X{desktop.display[1:]}").exists()


async def test_a_killed_host_ends_all_its_processes():
    stubborn = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' & exec xterm"
    desktop = await VirtualDesktop.start(app=["sh", "-c", stubborn])
    socket = Path(f"/tmp/.X11-unix/X{desktop.display[1:]}")
    assert socket.exists()
    os.kill(desktop.pid, signal.SIGKILL)
    with pytest.raises(DesktopFailed, match=r"killed by signal 9.*start the desktop again"):
        await desktop.look()
    assert not socket.exists()
    await desktop.close()


async def test_the_kill_switch_works_during_a_gesture():
    desktop = await VirtualDesktop.start(size=SMALL)
    pause = asyncio.ensure_future(desktop.do(Pause(3600)))
    await asyncio.sleep(0.05)
    desktop.kill()
    with pytest.raises(Killed):
        await pause
    await desktop.close()


PARENT = """
import asyncio, os, signal, sys
from holo_tasks.desktop import VirtualDesktop, wm
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
async def main():
    desktop = await VirtualDesktop.start(app=["sh", "-c", "setsid sleep 1000 & exec xterm"])
    if os.fork() == 0:  # keeps the socket open, as a worker of multiprocessing would
        os.execvp("sleep", ["sleep", "3"])
    print(desktop.display, desktop.authority.parent, flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
async def test_a_parent_that_ends_ends_all_its_processes(signum, until):
    start = Agent if signum == signal.SIGKILL else subprocess.Popen  # a killed parent does no cleanup itself
    parent = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    display, folder = parent.stdout.readline().split()
    assert processes_with(Path(folder).name)
    parent.send_signal(signum)
    parent.wait()
    parent.stdout.close()
    assert await until(lambda: not processes_with(Path(folder).name))
    assert await until(lambda: not Path(folder).exists())
    assert not Path(f"/tmp/.X11-unix/X{display[1:]}").exists()


async def test_the_host_prints_nothing(capfd):
    async with VirtualDesktop(size=SMALL, app=["sh", "-c", "echo out; echo err >&2; exec xterm"]) as desktop:
        await desktop.do(Click(Point(5, 5)))
    assert capfd.readouterr() == ("", "")


def server_of(desktop) -> int:
    """Return the process id of a desktop's X server."""
    for name in processes_with(desktop.authority.parent.name):
        if b"Xvfb" in Path(f"/proc/{name}/cmdline").read_bytes():
            return name
    raise AssertionError("no X server")


def processes_with(mark: str) -> list[int]:
    """List the processes of one desktop."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"HOLO_DESKTOP={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


@pytest.mark.skipif(not (shutil.which("dbus-daemon") and shutil.which("gdbus")), reason="needs dbus-daemon and gdbus")
async def test_a_program_cannot_reach_the_persons_session_bus(tmp_path, monkeypatch, until):
    outer = tmp_path / "run"
    outer.mkdir(mode=0o700)
    bus = ["dbus-daemon", "--session", "--nofork", f"--address=unix:path={outer}/bus", "--print-address=1"]
    with subprocess.Popen(bus, stdout=subprocess.PIPE) as daemon:
        try:
            assert daemon.stdout
            assert daemon.stdout.readline()
            monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(outer))
            ask = "gdbus call --session --dest org.freedesktop.DBus --object-path / --method org.freedesktop.DBus.GetId"
            said = tmp_path / "said"
            here = subprocess.run(ask.split(), capture_output=True, timeout=20)
            assert here.returncode == 0, "a program outside the desktop reaches the bus"
            told = f"{ask} > {said}.all 2>&1; ls -ld $XDG_RUNTIME_DIR >> {said}.all; mv {said}.all {said}; sleep 1000"
            async with VirtualDesktop(app=["sh", "-c", f"({told}) & exec xterm -e sleep 1000"]) as desktop:
                assert await until(said.exists)
                *answer, folder = said.read_text().splitlines()
                assert here.stdout.decode().strip() not in answer
                assert folder.startswith("drwx------")
                assert folder.endswith(f"{desktop.authority.parent}/runtime")
        finally:
            daemon.kill()
