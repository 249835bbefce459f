"""Temporary Prefect servers of other rooms have loaded before what they load; all else of them is as ever."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from holo_tasks.prefect_server import temporary
from holo_tasks.prefect_server.temporary import TemporaryServer
from tests.support import forked, warm
from tests.support.command_line import until

STARTED = """
import os, sys, time
from holo_tasks.prefect_server.temporary import TemporaryServer
server = TemporaryServer(os.environ, blocks=False)
print(server._process.pid, flush=True)
time.sleep(600)
"""


@contextmanager
def running(home: Path, how: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[TemporaryServer]:
    monkeypatch.setattr(temporary, "subprocess", how)
    server = TemporaryServer({**os.environ, "PREFECT_HOME": str(home)}, blocks=False)
    try:
        server.wait()
        yield server
    finally:
        server.stop()


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


def test_its_process_is_one_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    was = forked.watch(monkeypatch)
    seen = []
    for number, how in enumerate((warm.Starting(warm.ServerPopen), subprocess)):
        home = tmp_path / str(number)
        with running(home, how, monkeypatch) as server:
            login = (*server.login.split(":"),)
            assert httpx.get(f"{server.url}/admin/version").status_code == 401
            kept = httpx.get(f"{server.url}/admin/settings", auth=login).json()
            assert kept["home"] == str(home)
            body = {"name": "seen"}
            assert httpx.post(f"{server.url}/flows/", json=body, auth=login).status_code == 201
            seen.append(told_by_kernel(server._process.pid))
        with sqlite3.connect(home / "prefect.db") as database:
            assert database.execute("SELECT name FROM flow").fetchall() == [("seen",)]
    assert len(was) == 1
    assert seen[0] == seen[1]
    assert seen[0]["parent"]


def test_it_ends_with_what_started_it(tmp_path: Path) -> None:
    environ = {**os.environ, "PREFECT_HOME": str(tmp_path)}
    with warm.ScriptPopen([sys.executable, "-c", STARTED], env=environ, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        server = Path("/proc", starter.stdout.readline().strip())
        until(lambda: b"prefect_server.process" in (server / "cmdline").read_bytes())
        starter.send_signal(signal.SIGKILL)
    until(lambda: not server.exists() or "Z (zombie)" in (server / "status").read_text())


def test_one_whose_services_are_to_work_more_often_is_started_as_ever() -> None:
    command = [sys.executable, "-P", "-m", "holo_tasks.prefect_server.process", "3"]
    start = object.__new__(warm.ServerPopen)
    assert start._takes(command, os.environ)
    assert start._takes(command, {**os.environ, "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0"})
    assert not start._takes(command, {**os.environ, "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": "1"})
    assert not start._takes([*command[:3], "another"], os.environ)
