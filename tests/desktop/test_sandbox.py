"""A sandboxed program has no way out that is tried here, is driven like any other, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop, processes
from holo_tasks.desktop.sandbox import cgroup_limits
from tests.support.long import few
from tests.support.sandboxes import needs_walls

pytestmark = needs_walls
PROBE = Path(__file__).parent.parent / "apps" / "probe_walls.py"
FORM = PROBE.with_name("form_gtk3.py")
ON_THE_BUS = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
STARTS, MANY = 2, 1000
SYSTEM_PYTHON = "/usr/bin/python3"
FAILS = f"""#!{SYSTEM_PYTHON}
import os, sys
told = os.read(int(sys.argv[2]), 1_000_000).split(bytes(1))
if "WORDS".startswith("late"):
    os.write(int(told[told.index(b"--info-fd") + 1]), b'{{"child-pid": %d}}' % os.getpid())
sys.exit("WORDS".removeprefix("late "))
"""
"""A bubblewrap that fails, at once or after it has reported the first process inside."""
OPEN_OUTSIDE = {
    *("loopback", "abstract socket", "session bus", "other desktop", "other desktop, abstract", "its cookie"),
    *("environment of another", "shared memory", "evidence", "kill", "granted to read, written"),
}
"""Actions that any process of this user may do outside a sandbox."""


@pytest.fixture
def answering() -> Iterator[Any]:
    """Listens at an address, and answers each connection with the received data and a word."""
    listening: list[tuple[socket.socket, threading.Thread]] = []

    def serve(made: socket.socket) -> None:
        while True:
            try:
                taken, _ = made.accept()
            except OSError:
                return
            with taken, contextlib.suppress(OSError):
                taken.sendall(b"outside heard " + taken.recv(100))

    def begin(family: int, address: Any) -> Any:
        made = socket.socket(family)
        made.bind(address)
        made.listen()
        serving = threading.Thread(target=serve, args=[made], daemon=True)
        listening.append((made, serving))
        serving.start()
        return made.getsockname()

    yield begin
    for each, serving in listening:
        each.shutdown(socket.SHUT_RDWR)  # closing alone would not end a pending accept
        each.close()
        serving.join(60)
        assert not serving.is_alive()


@pytest.fixture
def sleeper() -> Iterator[int]:
    """The id of a process outside the desktop."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def segment() -> Iterator[int]:
    """The id of a System V shared memory segment, open to processes of this user."""
    libc = ctypes.CDLL(None)
    found = libc.shmget(0, 4096, 0o1600)
    yield found
    libc.shmctl(found, 0, None)


def app_that_tries(results: Path, ways: dict[str, Any], then: str = "exec xterm -e sleep 1000") -> list[str]:
    return ["sh", "-c", f'"$@"; {then}', "sh", SYSTEM_PYTHON, str(PROBE), str(results), json.dumps(ways)]


async def test_no_way_out_of_the_sandbox_is_open(answering, sleeper, segment, tmp_path, monkeypatch, x_client, until):
    home, holo, out, only_read = (tmp_path / name for name in ("home", "holo", "out", "read"))
    for folder in (home, holo, out, only_read):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOLO_HOME", str(holo))
    (holo / "holo.db").write_text("private")
    (only_read / "price").write_text("given")
    _, port = answering(socket.AF_INET, ("127.0.0.1", 0))
    answering(socket.AF_UNIX, "\0" + str(tmp_path))
    answering(socket.AF_UNIX, str(tmp_path / "bus"))
    environ = f"/proc/{os.getpid()}/environ"
    async with VirtualDesktop() as other:
        ways = {
            "loopback": ["connects", "AF_INET", ["127.0.0.1", port]],
            "public address": ["connects", "AF_INET", ["192.0.2.1", 80]],
            "public address, IPv6": ["connects", "AF_INET6", ["2001:db8::1", 80]],
            "abstract socket": ["connects", "AF_UNIX", "\0" + str(tmp_path)],
            "session bus": ["connects", "AF_UNIX", str(tmp_path / "bus")],
            "other desktop": ["connects", "AF_UNIX", f"/tmp/.X11-unix/X{other.display[1:]}"],
            "other desktop, abstract": ["connects", "AF_UNIX", f"\0/tmp/.X11-unix/X{other.display[1:]}"],
            "its cookie": ["reads", str(other.authority)],
            "machine it is a guest of": ["connects", "AF_VSOCK", [2, 1024]],
            "environment of another": ["reads", environ],
            "kill": ["kills", sleeper],
            "trace": ["traces", sleeper],
            "shared memory": ["attaches", segment],
            "keys of the session": ["calls", {"x86_64": 250, "aarch64": 219}[os.uname().machine]],
            "sockets without a call": ["calls", 425],
            "evidence": ["reads", str(holo / "holo.db")],
            "evidence, written": ["writes", str(holo / "holo.db")],
            "passwords": ["reads", "/etc/shadow"],
            "granted to read, written": ["writes", str(only_read / "price")],
            "system, written": ["writes", "/usr/bin/written"],
            "settings, written": ["writes", "/etc/written"],
            "root, written": ["writes", "/written"],
            "variables of the bus's service": [
                *("runs", *ON_THE_BUS, "org.freedesktop.DBus.UpdateActivationEnvironment"),
                "dict:string:string:LD_PRELOAD,/x",
            ],
        }
        open_ways = {
            "home": ["lists", str(home)],
            "home, written": ["writes", str(home / "written")],
            "temporary": ["lists", "/tmp/.X11-unix"],
            "granted": ["reads", str(only_read / "price")],
            "granted, written": ["writes", str(out / "written")],
            "bus": ["runs", *ON_THE_BUS, "org.freedesktop.DBus.GetId"],
            "kernel": ["kernel"],
            "status": ["status"],
            "numbers": ["lists", "/proc"],
        }
        app = app_that_tries(out / "results", ways | open_ways)
        folders = {str(out): "write", str(only_read): "read"}
        async with VirtualDesktop(app=app, network="none", folders=folders) as desktop:
            found = json.loads((out / "results").read_text())
            assert {name: told for name, told in found.items() if name in ways and "refused" not in told} == {}
            assert found["home"] == ["Downloads"]
            assert found["temporary"] == [f"X{desktop.display[1:]}"]
            assert (found["granted"], found["granted, written"]) == ("given", "written")
            assert "string" in found["bus"]
            assert found["kernel"] == []
            status = found["status"]
            assert int(status["CapEff"], 16) in (0, 0x40), "the only permitted capability is root's CAP_SETGID"
            assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
            assert len([number for number in found["numbers"] if number.isdigit()]) < 8
            assert "MIT-SHM" not in x_client(desktop, "xdpyinfo", "-queryExtensions")
        # The same attempts succeed outside the sandbox.
        outside = {name: way for name, way in ways.items() if name in OPEN_OUTSIDE}
        assert outside.keys() == OPEN_OUTSIDE
        subprocess.run([SYSTEM_PYTHON, str(PROBE), str(out / "outside"), json.dumps(outside)], check=True)
        told = json.loads((out / "outside").read_text())
        assert {name: came for name, came in told.items() if "refused" in came} == {}
        assert not (home / "written").exists()
        assert (holo / "holo.db").read_text() == "private"
        assert (out / "written").read_text() == "written"


async def test_a_granted_host_is_reachable_and_its_neighbor_is_not(answering, tmp_path):
    _, port = answering(socket.AF_INET, ("127.0.0.1", 0))
    _, neighbor = answering(socket.AF_INET, ("127.0.0.1", 0))
    name = socket.gethostname()
    ways = {
        "granted": ["fetches", "127.0.0.1", port],
        "granted, by name": ["fetches", "localhost", port],
        "nobody there": ["fetches", "unknown.invalid", 443],
        "neighbor": ["fetches", "127.0.0.1", neighbor],
        "same port elsewhere": ["fetches", "127.0.0.2", port],
        "lists": ["reads", "/etc/hosts"],
        "other name": ["fetches", name, 9],
    }
    network = [f"127.0.0.1:{port}", "unknown.invalid:443", "192.0.2.7:80"]
    app = app_that_tries(tmp_path / "results", ways)
    async with VirtualDesktop(app=app, network=network, folders={str(tmp_path): "write"}) as desktop:
        found = json.loads((tmp_path / "results").read_text())
        assert found.pop("granted") == found.pop("granted, by name") == "outside heard ask"
        assert found.pop("lists").startswith("127.0.0.1 localhost")
        assert {way: told for way, told in found.items() if "refused" not in told} == {}
        folder = desktop.authority.parent.name
    assert processes.processes_of_desktop(folder, -1) == [], "what forwards ends, too"


async def test_a_sandboxed_program_is_driven_and_identified_like_any_other(until, tmp_path):
    wait = f"head -n 1 > {tmp_path}/typed; sleep 1000"
    app = ["xterm", "-e", "sh", "-c", wait]
    async with VirtualDesktop(
        app=app, network="none", folders={str(tmp_path): "write"}, secrets={"pw": "Kranich-9"}
    ) as desktop:
        frame = await desktop.look()
        (window,) = await desktop.windows()
        owner = await desktop.owner_at(window.box.center)
        assert owner.executable == str(Path("/usr/bin/xterm").resolve())
        assert owner.pid == window.pid
        assert Path(f"/proc/{owner.pid}/comm").read_text() == "xterm\n"
        assert frame.settled
        await desktop.do(Click(window.box.center))
        await desktop.do(Write("{{secret:pw}}", press_enter=True))
        assert await until(lambda: (tmp_path / "typed").exists() and (tmp_path / "typed").read_text())
        assert (tmp_path / "typed").read_text() == "Kranich-9\n"


async def test_a_sandboxed_programs_elements_and_script_are_identified():
    app = [SYSTEM_PYTHON, os.path.relpath(FORM)]
    async with VirtualDesktop(app=app, network="none") as desktop:
        tree, until_s = await desktop.elements(), time.monotonic() + 60
        while not tree.elements and time.monotonic() < until_s:
            tree = await desktop.elements()
        (window,) = await desktop.windows()
        assert {each.pid for each in tree.applications} == {window.pid}
        assert all(each.box is not None for each in tree.elements if each.name == "Save")
        assert (await desktop.owner_at(window.box.center)).script == str(FORM)


async def test_a_script_inside_the_sandbox_is_not_taken_for_the_one_at_the_same_path_outside(tmp_path, until):
    honest, other = tmp_path / "honest.py", PROBE.with_name("probe_form.py")
    honest.write_text("")
    words = f"cp $0 {honest}; exec {SYSTEM_PYTHON} {honest} /tmp/x"
    app = ["sh", "-c", f"mkdir -p {tmp_path}; {words}", str(other)]
    async with VirtualDesktop(app=app, network="none", env={"HOME": str(tmp_path)}) as desktop:
        (window,) = await desktop.windows()
        owner = await desktop.owner_at(window.box.center)
        assert owner.executable == str(Path(SYSTEM_PYTHON).resolve())
        assert owner.script == ""


async def test_a_launcher_may_leave_its_work_to_another_process():
    async with VirtualDesktop(app=["sh", "-c", "(sleep 0.3; exec xterm -e sleep 1000) &"], network="none") as desktop:
        assert (await desktop.owner_at(Point(640, 400))).name == shutil.which("xterm")


def left(desktop: VirtualDesktop, folder: Path, inside: list[int]) -> list[str]:
    """List the remaining files and processes of a desktop."""
    places = [folder, Path(f"/tmp/.X11-unix/X{desktop.display[1:]}"), Path(f"/tmp/.X{desktop.display[1:]}-lock")]
    return [str(each) for each in (*places, *(Path(f"/proc/{pid}") for pid in inside)) if each.exists()]


def hides_there(pid: int) -> bool:
    with contextlib.suppress(OSError):  # the process has just ended
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00100000\x00"
    return False


async def started_and_ended(until: Any, *, by_force: bool) -> None:
    hides = "env -i setsid -f sleep 100000"
    app = ["sh", "-c", f"{hides}; dd if=/dev/zero of=/dev/shm/left bs=1k count=1; exec xterm -e sleep 1000"]
    desktop = await VirtualDesktop.start(app=app, network=["localhost:9"])
    folder = desktop.authority.parent
    inside = processes.descendants(desktop.pid)
    assert any(map(hides_there, inside))
    if by_force:
        os.kill(desktop.pid, signal.SIGKILL)
    await desktop.close()
    await until(lambda: not left(desktop, folder, inside))
    assert left(desktop, folder, inside) == []


async def test_a_sandboxed_desktop_leaves_nothing_behind(until):
    for number in range(STARTS):
        await started_and_ended(until, by_force=number == 0)
    assert not Path("/dev/shm/left").exists()


@pytest.mark.long
async def test_a_thousand_sandboxed_desktops_leave_nothing_behind(until):
    ours = f"holo-desktop-{os.getpid()}-"

    def count() -> tuple[int, ...]:
        gc.collect()
        networks = set()
        for each in Path("/proc").glob("[0-9]*/ns/net"):
            with contextlib.suppress(OSError):  # the process has just ended
                networks.add(each.stat().st_ino)
        told = Path("/proc/net/unix").read_text().count(ours), Path("/proc/sysvipc/shm").read_text().count("\n")
        folders = Path(tempfile.gettempdir()).glob(f"{ours}*"), Path("/proc/self/fd").iterdir()
        return len(networks), *told, *(len(list(each)) for each in folders)

    await started_and_ended(until, by_force=False)
    before = count()
    for number in range(MANY):
        await started_and_ended(until, by_force=number % 10 == 9)
    await until(lambda: all(now <= then for now, then in zip(count(), before, strict=True)))
    assert all(now <= then for now, then in zip(count(), before, strict=True)), (before, count())


@pytest.mark.parametrize(
    ("words", "network", "said"),
    few(
        [
            (
                "bwrap: No permissions to create new namespace",
                "none",
                "does not let bubblewrap run the program",
            ),
            (
                "late bwrap: Can't bind /x: Permission denied",
                "localhost:9",
                "sandbox: Can't bind /x: Permission denied",
            ),
            ("late bwrap: setting up uid map: Permission denied", "none", "does not let bubblewrap run the program"),
            (
                "bwrap: Can't find source path /x",
                "none",
                "run the program in a sandbox: Can't find source path /x",
            ),
        ],
        2,
    ),
)
async def test_no_program_is_started_if_bubblewrap_fails(words, network, said, tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text(FAILS.replace("WORDS", words))
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(DesktopFailed, match=said):
        await VirtualDesktop.start(app="xterm", network=network)


async def test_a_missing_program_is_reported():
    with pytest.raises(DesktopFailed, match="'no-such-program' was not found"):
        await VirtualDesktop.start(app="no-such-program", network="none")


@pytest.mark.skipif(os.geteuid() != 0, reason="to start a program as another user takes root")
async def test_a_sandboxed_program_may_run_as_another_user():
    app = ["xterm", "-e", "sh", "-c", "sleep 1000"]
    async with VirtualDesktop(app=app, env={"SHELL": "/bin/sh"}, network="none", run_as="65534") as desktop:
        (window,) = await desktop.windows()
        assert (await desktop.owner_at(window.box.center)).name == shutil.which("xterm")
        assert Path(f"/proc/{window.pid}/status").read_text().partition("Uid:\t")[2].split()[:2] == ["65534", "65534"]


async def test_a_sandboxed_program_cannot_exceed_its_memory_limit(tmp_path, until):
    takes = f"import os; open('{tmp_path}/began', 'w'); held = bytes(os.urandom(1)) * 200_000_000; print(len(held))"
    app = ["sh", "-c", f'xterm -e sleep 1000 & {SYSTEM_PYTHON} -c "{takes}"; echo $? > {tmp_path}/ended; wait']
    limits = {"memory_mb": 100, "cpus": 2.0}
    try:
        desktop = await VirtualDesktop.start(app=app, network="none", folders={str(tmp_path): "write"}, **limits)
    except DesktopFailed as error:
        if "cannot be limited here" not in str(error):
            raise
        pytest.skip(str(error))
    name = desktop.authority.parent.name
    try:
        assert await until(lambda: (tmp_path / "ended").exists() and (tmp_path / "ended").read_text().strip())
        assert (tmp_path / "ended").read_text() == f"{128 + signal.SIGKILL}\n"
        assert (tmp_path / "began").exists()
    finally:
        await desktop.close()
    groups = [
        tree.group_above(control) for tree in cgroup_limits._trees(cgroup_limits.OURS) for control in ("memory", "cpu")
    ]
    assert not any((group / name).exists() for group in groups if group is not None)
