"""Temporary Prefect servers of other test folders have preloaded modules; `test_own_server` compares both kinds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support import warm
from tests.support.command_line import until

STARTED = """
import os, sys, time
from holo_tasks.prefect_server.temporary import TemporaryServer
server = TemporaryServer(os.environ, blocks=False)
print(server._process.pid, flush=True)
time.sleep(600)
"""


def test_the_server_ends_with_its_parent(tmp_path: Path) -> None:
    environ = {**os.environ, "PREFECT_HOME": str(tmp_path)}
    with warm.ScriptPopen([sys.executable, "-c", STARTED], env=environ, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        server = Path("/proc", starter.stdout.readline().strip())
        until(lambda: b"prefect_server.process" in (server / "cmdline").read_bytes())
        starter.send_signal(signal.SIGKILL)
    until(lambda: not server.exists() or "Z (zombie)" in (server / "status").read_text())


def test_a_server_with_other_service_settings_is_started_normally() -> None:
    command = [sys.executable, "-P", "-m", "holo_tasks.prefect_server.process", "3"]
    start = object.__new__(warm.ServerPopen)
    assert start._takes(command, os.environ)
    assert start._takes(command, {**os.environ, "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0"})
    assert not start._takes(command, {**os.environ, "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": "1"})
    assert not start._takes([*command[:3], "another"], os.environ)
