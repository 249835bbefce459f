"""Every virtual desktop has its own message bus: its programs reach no other bus, and the bus ends with the desktop."""

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
from holo_tasks.accessibility.connection import DAEMON, DAEMON_PATH
from holo_tasks.core.ports import ReportsElements
from holo_tasks.desktop import VirtualDesktop, processes
from holo_tasks.machine.proc import process, status_of
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON
from tests.support.command_line import until
from tests.support.own_bus import own_bus

OUTER = "org.example.TheirKeyring"


@pytest.fixture
def outer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A person's session bus, which programs find by the environment and by XDG_RUNTIME_DIR."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    with own_bus(runtime) as started:
        assert started.process is not None, started.unavailable_reason
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", started.address)
        yield started.address


@pytest.mark.desktop
async def test_a_program_cannot_reach_the_person_s_session_bus(outer, tmp_path, form) -> None:
    form("gtk3")  # skips without GTK 3
    theirs = await MessageBus(bus_address=outer).connect()
    await theirs.request_name(OUTER)
    file, of_theirs = tmp_path / "told", tmp_path / "told-of-theirs"

    def command(told: Path) -> list[str]:
        return [DEBIAN_PYTHON, str(APPS / "probe_bus.py"), str(told), OUTER]

    # The same program with the person's environment, as a control.
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
        assert isinstance(desktop, ReportsElements)
    assert processes.processes_of_desktop(mark, -1) == []
    if seen is not None:
        await asyncio.to_thread(until, lambda: whole(of_theirs) or seen.poll() is not None)  # it may have no display
        assert (whole(of_theirs) or {"owned": True})["owned"] is True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(seen.pid, signal.SIGTERM)
        seen.wait()
    theirs.disconnect()


def whole(told: Path) -> dict[str, object] | None:
    """Return a program's report once the file is complete."""
    try:
        return json.loads(told.read_text())
    except (OSError, ValueError):
        return None


@pytest.mark.desktop
async def test_without_dbus_the_tree_names_the_package_and_the_desktop_still_works(monkeypatch, tmp_path) -> None:
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


UID, ANOTHER, UNKNOWN = 65534, 1, 64321


@pytest.mark.desktop
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's programs")
@pytest.mark.parametrize("network", ["host", "none"])
async def test_a_program_of_another_user_reports_its_elements(form, network) -> None:
    """Test with and without an isolated network."""
    closed = {} if network == "host" else {"network": network}
    async with VirtualDesktop(app=form("gtk3"), run_as=str(UID), **closed) as desktop:
        tree = await desktop.elements()
        assert tree.complete, tree.why_not
        (save,) = tree.find("button", "Save")
        assert status("Uid", save.pid) == str(UID)
        place = Path("/tmp") / f"{desktop.authority.parent.name}-bus"
        env = Path(f"/proc/{save.pid}/environ").read_text()
        assert f"DBUS_SESSION_BUS_ADDRESS=unix:path={place}/bus" in env.split("\0")
        (registry,) = [pid for pid in processes.descendants(desktop.pid) if "registryd" in command_of(pid)]
        assert status("Uid", registry) == str(UID)
        assert status("CapEff", registry) == "0" * 16
        assert str(desktop.authority.parent) not in Path(f"/proc/{registry}/environ").read_text()
        mark = desktop.authority.parent.name
    assert not place.exists()
    assert processes.processes_of_desktop(mark, -1) == []


@pytest.mark.desktop
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's programs")
async def test_a_user_without_an_account_has_no_accessibility_tree() -> None:
    async with VirtualDesktop(app="xterm -e sleep 1000", run_as=str(UNKNOWN)) as desktop:
        tree = await desktop.elements()
        assert tree.elements == ()
        assert f"make an entry for user {UNKNOWN}" in tree.why_not


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as three users")
def test_only_its_two_users_can_connect_to_a_bus(tmp_path) -> None:
    place = Path(tempfile.mkdtemp(prefix="holo-bus-")) / "bus"
    place.parent.chmod(0o755)
    with own_bus(tmp_path, other_user=bus.OtherBusUser(UID, UID, place)) as started:
        assert started.process is not None, started.unavailable_reason
        assert comes_in(started.address, os.geteuid()) == comes_in(theirs(started), UID) == ""
        assert "Permission denied" in comes_in(theirs(started), ANOTHER)
        assert "Permission denied" in comes_in(theirs(started), ANOTHER, group=UID)
        assert "Permission denied" in comes_in(started.address, UID)
        assert "AccessDenied" in comes_in(theirs(started), UID, "UpdateActivationEnvironment", "dict:string:string:A,B")
        # Access to the socket does not help either.
        place.chmod(0o755)
        (place / "bus").chmod(0o666)
        assert comes_in(theirs(started), UID) == ""
        assert comes_in(theirs(started), ANOTHER) != ""
        assert place.stat().st_uid == os.geteuid(), "else its user could put another socket there"
    shutil.rmtree(place.parent)


def theirs(started: bus.Bus) -> str:
    return started.environment()["DBUS_SESSION_BUS_ADDRESS"]


def comes_in(address: str, uid: int, member: str = "ListNames", *arguments: str, group: int | None = None) -> str:
    """Call a method of a bus as another user of this machine; return the error text."""
    who = ["setpriv", f"--reuid={uid}", f"--regid={uid if group is None else group}", "--clear-groups"]
    where = ["dbus-send", f"--bus={address}", "--print-reply", f"--dest={DAEMON}", DAEMON_PATH, f"{DAEMON}.{member}"]
    done = subprocess.run([*who, *where, *arguments], cwd="/", capture_output=True, text=True, timeout=60)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr


def status(word: str, pid: int) -> str:
    return status_of(process(pid))[word].split()[0]


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def test_a_path_too_long_for_a_socket_is_reported(tmp_path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    found = bus.launch(folder, os.environ, subprocess.Popen)
    assert found.process is None
    assert "too long for a socket" in found.unavailable_reason
    assert found.environment() == {}


def test_a_bus_works_in_a_folder_with_special_characters() -> None:
    with tempfile.TemporaryDirectory() as short:
        folder = Path(short) / "a b,c;d=<&%é"
        folder.mkdir()
        with own_bus(folder) as found:
            assert found.process is not None, (folder / "bus.log").read_text()
            assert (folder / "bus").is_socket()


OFF = "--disable-features="


@pytest.mark.parametrize(
    ("command", "place", "told"),
    [
        ("chromium --app=x", 0, f"chromium {bus.PUBLISH_PAGES_OPTION} {OFF}BackForwardCache --app=x"),
        (f"chromium {OFF}A,B x", 0, f"chromium {bus.PUBLISH_PAGES_OPTION} {OFF}A,B,BackForwardCache x"),
        (f"chromium {OFF}A {OFF}B", 0, f"chromium {bus.PUBLISH_PAGES_OPTION} {OFF}A {OFF}B,BackForwardCache"),
        ("env A=b orders page", 2, f"env A=b orders {bus.PUBLISH_PAGES_OPTION} {OFF}BackForwardCache page"),
    ],
)
def test_chromium_browsers_get_the_flag_that_exposes_web_pages(command, place, told) -> None:
    assert " ".join(bus.with_accessibility(command.split(), place)) == told
    assert " ".join(bus.with_accessibility(told.split(), place)) == told
