"""The options of a sandboxed desktop, and bubblewrap's arguments for it, without starting a program."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.network import Grant, granted_hosts
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.sandbox import bubblewrap, syscalls, visible_files
from holo_tasks.desktop.sandbox.cgroup_limits import ResourceLimits, clear, put
from holo_tasks.desktop.sandbox.folders import folders_to_grant
from holo_tasks.desktop.sandbox.start import Sandbox, _addresses
from holo_tasks.desktop.sandbox.visible_files import Place


@pytest.mark.parametrize(
    ("network", "hosts"),
    [
        ("host", None),
        ("none", ()),
        ([], ()),
        ("Portal.example:443, 10.1.2.3:80", (("portal.example", 443), ("10.1.2.3", 80))),
        (["a:1", "a:1", "a:2"], (("a", 1), ("a", 2))),
    ],
)
def test_a_network_is_the_machines_or_none_or_a_list_of_hosts(network, hosts):
    found = granted_hosts(network)
    assert (found and tuple((grant.host, grant.port) for grant in found)) == hosts


@pytest.mark.parametrize(
    "network",
    [
        *("", "off", "portal.example", ":443", "portal.example:0", "portal.example:65536", "portal.example:http"),
        *("https://portal.example:443", "*.example:443", "0.0.0.0:80", "127.1:80", "::1:80", "[::1]:80", "a b:1"),
        *(["none"], [443], 443, None, {"a:1": 1}, [f"host{number}:1" for number in range(101)], "none,a:1", "host,"),
    ],
)
def test_an_invalid_network_is_refused(network):
    with pytest.raises(InvalidUsage, match="network"):
        granted_hosts(network)


def test_a_host_is_named_as_it_was_given():
    assert str(Grant.of("Portal.Example:443")) == "portal.example:443"
    assert Grant.of("localhost:80").address == "127.0.0.1"
    assert Grant.of("portal.example:80").address == ""


def test_hosts_with_the_same_port_have_separate_addresses():
    hosts = granted_hosts(["a.example:443", "a.example:80", "b.example:443", "10.1.2.3:443", "localhost:443"])
    addresses = _addresses(hosts or ())
    assert addresses == {
        "a.example": "127.1.0.1",
        "b.example": "127.1.0.2",
        "10.1.2.3": "10.1.2.3",
        "localhost": "127.0.0.1",
    }
    found = visible_files.lookups({host: addresses[host] for host in ("a.example", "b.example")})
    assert found[Path("/etc/hosts")] == "127.0.0.1 localhost\n127.1.0.1 a.example\n127.1.0.2 b.example\n"
    assert [line for line in found[Path("/etc/nsswitch.conf")].splitlines() if "hosts" in line] == ["hosts: files dns"]


def test_granted_folders_may_not_contain_the_agents_data(tmp_path, monkeypatch):
    holo, data = tmp_path / "holo", tmp_path / "data"
    for folder in (holo, data):
        folder.mkdir()
    (tmp_path / "link").symlink_to(data)
    (tmp_path / "holo-desktop-1-x").mkdir()
    monkeypatch.setenv("HOLO_HOME", str(holo))
    assert folders_to_grant({str(data): "read"}) == {str(data): "read"}
    assert folders_to_grant({str(tmp_path / "link"): "write"}) == {str(data): "write", str(tmp_path / "link"): "write"}
    refused = [holo, tmp_path, tmp_path / "holo-desktop-1-x", "/", "/tmp", "/run", "/proc", "/dev", "/dev/shm", "/sys"]
    for folder in refused:
        with pytest.raises(InvalidUsage, match="cannot be granted"):
            folders_to_grant({str(folder): "read"})
    for folder in ("data", str(data / "none"), __file__):
        with pytest.raises(InvalidUsage, match="is not a folder"):
            folders_to_grant({folder: "read"})
    with pytest.raises(InvalidUsage, match="'read' or 'write', not 'rw'"):
        folders_to_grant({str(data): "rw"})  # type: ignore[dict-item]


def test_sandbox_options_without_a_sandbox_are_refused_before_the_start(monkeypatch, tmp_path):
    with pytest.raises(InvalidUsage, match="starts none"):
        VirtualDesktop(network="none")
    with pytest.raises(InvalidUsage, match="runs without a sandbox"):
        VirtualDesktop(app="xterm", folders={"/usr": "read"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DesktopFailed, match="apt-get install bubblewrap"):
        VirtualDesktop(app="xterm", network="none")
    VirtualDesktop(app="xterm")
    monkeypatch.setattr(syscalls.platform, "machine", lambda: "riscv64")
    with pytest.raises(DesktopFailed, match="not for riscv64"):
        syscalls.filter_program()


def place(home: str) -> Path:
    env = {"HOME": home, "XDG_RUNTIME_DIR": "/tmp/d/runtime", "XAUTHORITY": "/tmp/d/Xauthority"}
    return Place.of(env, Path("/"), [], Path("/tmp/d/files")).home


@pytest.mark.parametrize("home", ["", "/", "/tmp", "/usr/sbin", "/run/x", "relative", "/proc/1/root"])
def test_a_home_that_belongs_to_no_person_is_private_to_the_program(home):
    assert place(home) == Path("/tmp/home")
    assert place("/home/me") == Path("/home/me")


def test_the_environment_names_no_unreachable_folders_and_proxies():
    env = {"XDG_RUNTIME_DIR": "/tmp/d/r", "XAUTHORITY": "/tmp/d/x", "HOME": "/", "HOLO_HOME": "/h", "TMPDIR": "/t"}
    env |= {"https_proxy": "http://p:1", "HTTP_PROXY": "http://p:1", "LANG": "C"}
    walls = Sandbox((), {}, Place.of(env, Path("/"), [], Path("/tmp/d/files")), False, ResourceLimits(), "d")
    kept = walls.environment(env, ["HTTP_PROXY"])
    assert kept.keys() == {"XDG_RUNTIME_DIR", "XAUTHORITY", "HOME", "HTTP_PROXY", "LANG", "QT_X11_NO_MITSHM"}
    assert kept["HOME"] == "/tmp/home"


def test_granted_folders_and_mounts_inside_them_come_in_this_order():
    env = {"HOME": "/home/me", "XDG_RUNTIME_DIR": "/tmp/d/runtime", "XAUTHORITY": "/tmp/d/Xauthority"}
    own = Place.of(env, Path("/work"), [Path("/tmp/.X11-unix/X7")], Path("/tmp/d/files"))
    words = visible_files.view(own, {"/home": "read", "/home/me/data": "write"}, [Path("/home/x/file")], {})
    told = " ".join(words)
    assert "--ro-bind /home /home" in told
    order = [
        told.index(each) for each in ("--tmpfs /tmp", "bind /home /home", "--tmpfs /home/me", "--bind /home/me/data")
    ]
    assert order == sorted(order)
    assert "/home/x/file" not in told, "it is in a granted folder"
    assert told.endswith("--remount-ro / --chdir /work")


def test_files_named_in_a_command_are_visible_unless_they_are_the_agents(tmp_path, monkeypatch):
    program, holo = tmp_path / "portal", tmp_path / "holo"
    holo.mkdir()
    for file in (program, tmp_path / "data.csv", holo / "holo.db"):
        file.touch()
    program.chmod(0o755)
    monkeypatch.setenv("HOLO_HOME", str(holo))
    command = ["./portal", "data.csv", "holo/holo.db", "x" * 5000, "no\0file", ""]
    assert visible_files.named_files(command, os.environ["PATH"], tmp_path) == [program, tmp_path / "data.csv"]
    assert visible_files.named_files(["sh"], os.environ["PATH"], tmp_path) == [Path(visible_files.shutil.which("sh"))]


def test_files_that_other_users_may_not_read_are_hidden(tmp_path):
    for name, mode in (("open", 0o644), ("shut", 0o640)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "keys").mkdir(mode=0o750)
    (tmp_path / "keys" / "key").touch()
    assert list(visible_files._closed_to_others(tmp_path)) == [tmp_path / "keys", tmp_path / "shut"]
    assert not Path("/etc/shadow").stat().st_mode & stat.S_IROTH
    assert "/etc/shadow" in list(visible_files._system())


@pytest.mark.parametrize("given", [{"memory_mb": -1}, {"memory_mb": 8}, {"cpus": -0.5}, {"cpus": float("nan")}])
def test_an_invalid_limit_is_refused(given):
    with pytest.raises(InvalidUsage, match="no limit, or"):
        VirtualDesktop(app="xterm", network="none", **given)
    with pytest.raises(InvalidUsage, match="runs without a sandbox"):
        VirtualDesktop(app="xterm", memory_mb=100)


def one_tree(folder: Path, controls: str) -> Path:
    """Make a control-group tree as a systemd unit sees it, which may divide the group above its own."""
    ours = folder / "tree" / "unit" / "agent"
    ours.mkdir(parents=True)
    (ours / "cgroup.subtree_control").write_text("")
    for file, text in (("cgroup.subtree_control", controls), ("cgroup.procs", "")):
        (ours.parent / file).write_text(text)
    (folder / "cgroup").write_text("0::/unit/agent\n")
    (folder / "mountinfo").write_text(
        f"30 23 0:27 / {folder}/tree rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    return ours.parent


def test_limits_apply_to_a_new_group_beside_ours(tmp_path):
    above = one_tree(tmp_path, "cpu memory pids")
    (above / "d").mkdir()
    for file in ("memory.max", "memory.swap.max", "cpu.max"):
        (above / "d" / file).touch()
    put(7, ResourceLimits(64, 0.5), "d", tmp_path)
    told = {file.name: file.read_text() for file in (above / "d").iterdir()}
    assert told == {"memory.max": "67108864", "memory.swap.max": "0", "cpu.max": "50000 100000", "cgroup.procs": "7"}


def test_a_limit_without_a_divisible_group_is_an_error(tmp_path):
    above = one_tree(tmp_path, "cpu")
    with pytest.raises(
        DesktopFailed, match=r"memory \(memory_mb\) cannot be limited here: this user may not create control groups"
    ):
        put(7, ResourceLimits(memory_mb=64), "d", tmp_path)
    with pytest.raises(DesktopFailed, match="Delegate=yes"):
        put(7, ResourceLimits(cpus=1), "d", tmp_path / "nothing")
    assert not (above / "d").exists()
    clear("d", tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bwrap: No permissions to create new namespace", "does not let bubblewrap run the program in a sandbox"),
        ("bwrap: setting up uid map: Permission denied", "does not let bubblewrap run the program in a sandbox"),
        (
            "bwrap: Can't bind /x: Permission denied",
            "in a sandbox: Can't bind /x: Permission denied",
        ),
        ("bwrap: Can't find source path /x", "cannot run the program in a sandbox: Can't find source path /x"),
        ("", "cannot run the program in a sandbox: it says nothing"),
    ],
)
def test_bubblewraps_errors_are_explained_with_a_remedy(words, said):
    assert said in bubblewrap.failure_reason(words)
