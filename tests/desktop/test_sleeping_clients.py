"""A program that is done is not watched any longer; one that will draw again is, whatever will wake it."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import Settle, VirtualDesktop, processes
from holo_tasks.desktop.programs import sleeping_clients
from holo_tasks.desktop.programs.sleeping_clients import WAITS, SleepDetector
from holo_tasks.desktop.readiness.process_tree import parent_pid

APPS = Path(__file__).parent.parent / "apps"
GTK = "/usr/bin/python3"
GREEN = (0, 255, 0)
SPOT = Point(150, 300)
SMALL = Size(680, 480)
LATER_S = 0.25
WATCHED = Settle(quiet_s=1.0)
"""Late repaints come long before the end of this watch, however busy the machine is."""
ENDLESS = Settle(quiet_s=60, first_change_s=60, cap_s=10)
"""With these settings, a screen is only settled if its programs are known to be done."""

SLEEP_NS = 10_000_000_000
QUIET = Settle(quiet_s=0.12)


@pytest.fixture
def tells() -> None:
    """Skip if the kernel does not report sleeping processes, or not those of others."""
    if not WAITS:
        pytest.skip("the calls of this machine are not known")
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            for name in ("syscall", "schedstat", "mem"):
                os.close(os.open(f"/proc/{child.pid}/task/{child.pid}/{name}", os.O_RDONLY))
        except OSError as error:
            pytest.skip(f"this kernel does not say what another process waits for: {error}")
        finally:
            child.kill()


async def after_click(app, settle):
    async with VirtualDesktop(size=SMALL, app=app, settle=settle) as desktop:
        await desktop.do(Click(SPOT))
        return await desktop.look(after_action=True)


@pytest.mark.parametrize("means", ["after", "thread", "child", "alarm", "timer"])
async def test_a_late_repaint_is_awaited(probe, color, means):
    frame = await after_click(probe("later", means, LATER_S), WATCHED)
    assert frame.settled
    assert color(frame, SPOT) == GREEN


async def test_a_servers_answer_is_awaited(probe, color):
    async def answer(reader, writer):
        await reader.read(1)
        await asyncio.sleep(LATER_S)
        writer.write(b".")

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        frame = await after_click(probe("later", "server", server.sockets[0].getsockname()[1]), WATCHED)
    assert frame.settled
    assert color(frame, SPOT) == GREEN


@pytest.fixture
def gtk():
    """Returns a function that builds the command line of the GTK window that draws twice."""
    return lambda *arguments: [GTK, str(APPS / "probe_later_gtk.py"), *map(str, arguments)]


@pytest.mark.parametrize("means", ["timer", "process"])
async def test_a_late_repaint_of_a_message_bus_client_is_awaited(gtk, color, means):
    frame = await after_click(gtk(means, round(1000 * LATER_S)), WATCHED)
    assert frame.settled
    assert color(frame, SPOT) == GREEN


@pytest.mark.usefixtures("tells")
async def test_a_message_bus_client_counts_as_asleep_unless_a_stranger_is_on_the_bus(gtk):
    async with VirtualDesktop(size=SMALL, app=gtk("once", 0), settle=QUIET) as desktop:
        program = next(pid for pid in processes.descendants(os.getpid()) if "probe_later_gtk.py" in command_of(pid))
        told = Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        bus = next(each for each in told if each.startswith(b"DBUS_SESSION_BUS_ADDRESS=")).decode()
        assert await sleeps(desktop, times=40)
        # The next press is delayed to avoid a double click. A timer of the toolkit is shorter than that delay.
        assert await sleeps(desktop, times=40)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(bus.partition("path=")[2].partition(",")[0])
            assert not await sleeps(desktop, times=8)


async def sleeps(desktop, times):
    """Return whether, after one of some clicks, the capture comes earlier than the usual quiet time."""
    for _ in range(times):
        await desktop.do(Click(SPOT))
        frame = await desktop.look(after_action=True)
        if frame.settled and 0 < frame.quiet_ns < QUIET.quiet_s * 1e9:
            return True
    return False


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")


@pytest.mark.usefixtures("tells")
async def test_no_further_change_is_awaited_from_a_sleeping_program(probe, color):
    frame = await after_click(probe("later", "once", 0), ENDLESS)
    assert frame.settled
    assert color(frame, SPOT) == GREEN


@pytest.mark.usefixtures("tells")
async def test_no_first_change_is_awaited_from_a_program_that_has_read_the_click(probe):
    assert (await after_click(probe("later", "nothing", 0), ENDLESS)).settled


@pytest.mark.usefixtures("tells")
async def test_a_timer_is_awaited_only_within_the_usual_quiet_time(probe, color):
    frame = await after_click(probe("later", "after", 600), Settle(quiet_s=60, cap_s=10))
    assert frame.settled
    assert color(frame, SPOT) != GREEN


@pytest.mark.usefixtures("tells")
def test_runs_noted_before_an_input_tell_when_a_thread_fell_asleep(monkeypatch):
    """Without the note, the time-out of a new sleep would be counted from the check before."""
    code = "import select, sys\nprint(flush=True)\nfor line in sys.stdin:\n select.select([], [], [], 0.2)\n"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        subprocess.Popen(["sleep", "60"]) as server,
        subprocess.Popen([sys.executable, "-c", code], **pipes) as program,
    ):
        assert program.stdout.readline() == b"\n", "it has started"
        connected = Counter({os.getpid(): 1, program.pid: 0})
        monkeypatch.setattr(sleeping_clients, "clients", lambda link: connected)

        def wake(pid, thread, since_ns=None):
            return since_ns + SLEEP_NS if pid == program.pid else math.inf

        monkeypatch.setattr(sleeping_clients, "_earliest_wake", wake)
        detector = SleepDetector(None, server.pid)
        # This process may have started others, which do not sleep.
        detector._tree = SimpleNamespace(pids=lambda: [server.pid, program.pid])
        while detector.look() is None:  # it does not yet wait for a line
            time.sleep(0.01)
        time.sleep(0.3)
        noted_ns = time.monotonic_ns()
        detector.note_runs()
        runs = sleeping_clients._run_counts(program.pid)
        program.stdin.write(b"\n")
        program.stdin.flush()
        while sleeping_clients._run_counts(program.pid) == runs:
            time.sleep(0.01)
        while (found := detector.look()) is None:  # it has not yet fallen asleep again
            time.sleep(0.01)
        assert noted_ns + SLEEP_NS <= found.until_ns <= time.monotonic_ns() + SLEEP_NS
        server.kill()
        program.kill()


async def test_a_client_from_elsewhere_may_draw_at_any_time(probe, x_client):
    hurried = Settle(quiet_s=60, first_change_s=60, cap_s=1)
    async with VirtualDesktop(size=SMALL, app=probe("later", "once", 0), settle=hurried) as desktop:
        guest = await asyncio.create_subprocess_exec(
            *probe("later", "once", 0),
            env={**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)},
        )
        try:
            for _ in range(600):
                if len(await desktop.windows()) == 2:
                    break
                await asyncio.sleep(0.05)
            await desktop.do(Click(SPOT))
            assert not (await desktop.look(after_action=True)).settled
        finally:
            guest.kill()
            await guest.wait()


NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"\\xfc\\x0b\\rTgid:\\t1", 0, 0, 0)
print("named", flush=True)
sys.stdin.read()
"""


def test_a_process_name_that_is_not_utf8_hides_no_process():
    command = [sys.executable, "-c", NAMED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert b"\xfc\x0b\rTgid:\t1" in Path(f"/proc/{child.pid}/stat").read_bytes()
        assert child.pid in processes.descendants(os.getpid())
        assert processes.ancestry(child.pid)[:2] == [child.pid, os.getpid()]
        assert child.pid in processes.processes_of_desktop("none", os.getsid(0))
        assert parent_pid(child.pid) == os.getpid()
        child.stdin.close()
