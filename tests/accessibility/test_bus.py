"""A message bus of its own for every virtual desktop: programs reach no other one, and it goes with the desktop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from dbus_fast.aio import MessageBus

from holo_tasks.accessibility import bus
from holo_tasks.core.ports import TellsElements
from holo_tasks.desktop import VirtualDesktop, processes
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON
from tests.support.command_line import until
from tests.support.own_bus import own_bus

OUTER = "org.example.TheirKeyring"


@pytest.fixture
def outer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A person's own bus, where programs find it by the environment and by XDG_RUNTIME_DIR."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    with own_bus(runtime) as started:
        assert started.process is not None, started.why_not
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", started.address)
        yield started.address


@pytest.mark.desktop
async def test_a_program_sees_nothing_of_the_person_s_bus(outer, tmp_path, form) -> None:
    form("gtk3")  # or it is skipped
    theirs = await MessageBus(bus_address=outer).connect()
    await theirs.request_name(OUTER)
    file, of_theirs = tmp_path / "told", tmp_path / "told-of-theirs"

    def command(told: Path) -> list[str]:
        return [DEBIAN_PYTHON, str(APPS / "probe_bus.py"), str(told), OUTER]

    # What the program would see with the person's environment, to know that this is a test of anything.
    in_theirs = ["xvfb-run", "-a", *command(of_theirs)]
    seen = subprocess.Popen(in_theirs, start_new_session=True) if shutil.which("xvfb-run") else None
    async with VirtualDesktop(app=command(file)) as desktop:
        told = json.loads(file.read_text())
        assert told["owned"] is False
        assert set(told["activatable"]) <= {"org.freedesktop.DBus", bus.REGISTRY}
        assert all("not provided by any" in said for said in told["started"].values())
        assert told["address"] != outer
        assert str(desktop.authority.parent) in told["address"]
        mark = desktop.authority.parent.name
        assert isinstance(desktop, TellsElements)
    assert processes.belonging(mark, -1) == []
    if seen is not None:
        await asyncio.to_thread(until, lambda: whole(of_theirs) or seen.poll() is not None)  # it may get no display
        assert (whole(of_theirs) or {"owned": True})["owned"] is True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(seen.pid, signal.SIGTERM)
        seen.wait()
    theirs.disconnect()


def whole(told: Path) -> dict[str, object] | None:
    """Return what a program has told, once all of it is there."""
    try:
        return json.loads(told.read_text())
    except (OSError, ValueError):
        return None


@pytest.mark.desktop
async def test_without_the_package_there_is_a_sentence_and_vision(monkeypatch, tmp_path) -> None:
    for program in ("Xvfb", "openbox", "xkbcomp", "sh", "xterm"):
        found = shutil.which(program)
        assert found
        (tmp_path / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with VirtualDesktop(app="xterm") as desktop:
        tree = await desktop.elements()
        assert tree.elements == ()
        assert tree.why_not == "There is no dbus-daemon here: apt-get install dbus at-spi2-core"
        assert (await desktop.look()).settled


@pytest.mark.desktop
@pytest.mark.skipif(os.geteuid() != 0, reason="another user's programs are started by root")
async def test_a_program_of_another_user_does_without(form) -> None:
    async with VirtualDesktop(app=form("gtk3"), run_as="65534") as desktop:
        tree = await desktop.elements()
        assert not tree.complete
        assert "run_as" in tree.why_not


def test_a_path_that_is_too_long_for_a_socket_is_said(tmp_path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    found = bus.launch(folder, os.environ, lambda: None)
    assert found.process is None
    assert "too long for a socket" in found.why_not
    assert found.environment() == {}


def test_a_folder_may_be_called_anything() -> None:
    with tempfile.TemporaryDirectory() as short:
        folder = Path(short) / "a b,c;d=<&%é"
        folder.mkdir()
        with own_bus(folder) as found:
            assert found.process is not None, (folder / "bus.log").read_text()
            assert (folder / "bus").is_socket()


@pytest.mark.parametrize(
    ("command", "tells"),
    [
        ("chromium --app=x", True),
        ("/usr/bin/google-chrome-stable", True),
        ("/opt/electron main.js", True),
        ("firefox", False),
        ("python3 chromium", False),
    ],
)
def test_a_browser_made_of_chromium_is_told_to_tell_of_its_pages(command, tells) -> None:
    told = bus.telling(command.split())
    assert (bus.TELLS_IF_FORCED in told) == tells
    assert [each for each in told if each != bus.TELLS_IF_FORCED] == command.split()
    assert bus.telling(told) == told
