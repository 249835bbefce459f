"""A temporary Prefect server in a fresh home, as for users. It is started once for all tests of this module."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from holo_tasks.prefect_server import temporary
from holo_tasks.prefect_server.temporary import TemporaryServer
from tests.prefect_server.test_first_start import stored
from tests.support import forked, warm


@dataclass(frozen=True)
class Own:
    """A started server, its home, and whether its database existed before it answered."""

    server: TemporaryServer
    home: Path
    made: bool


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    home = tmp_path_factory.mktemp("own") / "a" / "home"
    environ = {"PATH": os.environ["PATH"], "PREFECT_HOME": str(home)}
    environ |= {"PREFECT_API_AUTH_STRING": "me:Kranich", "PREFECT_SERVER_API_AUTH_STRING": "me:Kranich"}
    before = os.umask(0o000)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(temporary, "subprocess", subprocess)
            server = TemporaryServer(environ, blocks=False)
        made = (home / "prefect.db").exists()
        server.wait()
    finally:
        os.umask(before)
    try:
        yield Own(server, home, made)
    finally:
        server.stop()


@stored
def test_a_fresh_home_has_a_ready_database(own: Own) -> None:
    assert own.made
    with closing(sqlite3.connect(own.home / "prefect.db")) as database:
        assert database.execute("SELECT count(*) FROM block_type").fetchone() == (0,)


def test_the_login_is_random_and_not_visible_to_other_processes(own: Own) -> None:
    process = Path(f"/proc/{own.server._process.pid}")
    shown = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    assert len(own.server.login) >= 32
    assert own.server.login.encode() not in shown
    assert b"Kranich" not in shown
    version = f"{own.server.url}/admin/version"
    assert httpx.get(version).status_code == 401
    assert httpx.get(version, auth=("me", "Kranich")).status_code == 401
    assert httpx.get(version, auth=(*own.server.login.split(":"),)).status_code == 200
    made = [own.home.parent, *own.home.parent.rglob("*")]
    wide = {str(path): oct(path.stat().st_mode) for path in made if path.stat().st_mode & 0o077}
    assert {path.name for path in made} >= {"home", "prefect.db", ".holo-ready"}
    assert not wide


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "127.0.0.1,localhost,::1"),
        ({"no_proxy": "example.org,localhost"}, "example.org,localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "*"}, "*"),
    ],
)
def test_whoever_enters_a_server_reaches_it_without_a_proxy(own: Own, before: dict[str, str], after: str) -> None:
    environ = dict(before)
    for _ in range(2):
        own.server.enter(environ)
        assert environ["no_proxy"] == environ["NO_PROXY"] == after
    assert environ["PREFECT_API_URL"] == own.server.url


def test_a_preloaded_server_is_an_equal_process(own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other test folders start temporary Prefect servers in this way. Everything else about them is the same."""
    was = forked.watch(monkeypatch)
    monkeypatch.setattr(temporary, "subprocess", warm.Starting(warm.ServerPopen))
    server = TemporaryServer({**os.environ, "PREFECT_HOME": str(tmp_path)}, blocks=False)
    try:
        server.wait()
        seen = [seen_of(server, tmp_path), seen_of(own.server, own.home)]
    finally:
        server.stop()
    for home in (tmp_path, own.home):
        with closing(sqlite3.connect(home / "prefect.db")) as database:
            assert database.execute("SELECT name FROM flow").fetchall() == [("seen",)]
    assert len(was) == 1
    assert seen[0] == seen[1]
    assert seen[0]["parent"]


def seen_of(server: TemporaryServer, home: Path) -> dict[str, Any]:
    """Let a server write something; return the kernel's view of its process."""
    login = (*server.login.split(":"),)
    assert httpx.get(f"{server.url}/admin/version").status_code == 401
    kept = httpx.get(f"{server.url}/admin/settings", auth=login).json()
    assert kept["home"] == str(home)
    assert httpx.post(f"{server.url}/flows/", json={"name": "seen"}, auth=login).status_code == 201
    return told_by_kernel(server._process.pid)


def told_by_kernel(pid: int) -> dict[str, Any]:
    entry = Path("/proc", str(pid))
    after_name = (entry / "stat").read_bytes().rpartition(b")")[2].split()
    limits = (entry / "limits").read_text().splitlines()
    return {
        "arguments": [one for one in (entry / "cmdline").read_bytes().split(b"\0") if not one.isdigit()],
        "name": (entry / "comm").read_text(),
        "parent": after_name[1] == str(os.getpid()).encode(),
        "session": after_name[3] == str(pid).encode(),
        "folder": (entry / "cwd").readlink(),
        "owner": entry.stat().st_uid,
        "core": [line for line in limits if "core" in line],
        "streams": [(entry / "fd" / str(number)).readlink().name for number in (1, 2)],
    }
