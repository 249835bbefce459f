"""Other programs of the same user cannot read the memory of processes with keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination
from holo_tasks.desktop.processes import descendants
from holo_tasks.machine.home import holo_home
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from tests.support.command_line import CommandLine, until
from tests.support.painted_desktop import PaintedDesktop
from tests.support.reading import PLAIN, can_be_read
from tests.support.scripted_model import Answer, ScriptedModel

OURS = {"holo-tasks", "holo_tasks.desktop.session.host", "holo_tasks.prefect_server.process"}


@pytest.mark.desktop
def test_command_desktop_process_and_temporary_server_are_unreadable(cli: CommandLine) -> None:
    with ScriptedModel([Answer("", delay_s=120)]) as model:
        command = ("run", "Go.", "--json", "--base-url", model.base_url, "--app", "xterm")
        running = cli.start(*command, env={"PREFECT_API_URL": None}, by=PLAIN)
        try:
            found = until(lambda: by_name(running.process.pid, {*OURS, "xterm", "openbox"}))
            for name in OURS:
                until(lambda one=found[name]: not can_be_read(one))
            assert can_be_read(found["openbox"]), "a control for this test's method"
        finally:
            running.signal(signal.SIGTERM)


def test_the_keymap_process_of_a_borrowed_display_is_unreadable() -> None:
    command = [*PLAIN, sys.executable, "-P", "-m", "holo_tasks.desktop.session.restore_keymap", ":98765"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as mender:
        until(lambda: not can_be_read(mender.pid))
        assert mender.poll() is None


async def test_an_agent_protects_its_process_and_reuses_its_memory(
    monkeypatch: pytest.MonkeyPatch, prefect: str
) -> None:
    done: list[str] = []
    for name in ("close_process", "reuse"):
        monkeypatch.setattr(f"holo_tasks.agent.open_agent.{name}", lambda name=name: done.append(name))
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", None)
    terms = {"desktop": PaintedDesktop(), "endpoint": endpoint, "profile": profile_for("holo3-1-35b-a3b")}
    async with open_agent(title="t", destination=Destination.parse(str(holo_home() / "runs")), **terms):  # type: ignore[arg-type]
        assert sorted(done) == ["close_process", "reuse"]
    await endpoint.close()


def by_name(pid: int, names: set[str]) -> dict[str, int]:
    """Return a process and its descendants by name, once all these names have been started."""
    found = {}
    for each in (pid, *descendants(pid)):
        try:
            words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        for word in words:
            if (name := os.fsdecode(word).rpartition("/")[2]) in names:
                found.setdefault(name, each)
    return found if set(found) == names else {}
