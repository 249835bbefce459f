"""A deployment's run that was killed ends as that, and not as a fault of the machine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.support.command_fixtures import command
from tests.support.command_line import CommandLine, related, until
from tests.support.scripted_model import Answer, ScriptedModel
from tests.support.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


def _others(served: Served) -> list[str]:
    """List what works for a served flow besides the process that serves it."""
    return [one for one in related(str(served.home)) if "served_goal" not in one and "resource_tracker" not in one]


def test_a_deployments_run_that_was_killed_says_so(server: str, tmp_path: Path) -> None:
    told = {"name": "killed", "app": shlex.join(command("counter", tmp_path / "clicks")), "folder": str(tmp_path)}
    with ScriptedModel([Answer("", delay_s=120)]) as model:
        arguments = json.dumps({**told, "base_url": model.base_url})
        script = Path(__file__).with_name("served_goal.py")
        with Served(server, script, arguments, folder=tmp_path, loaded=False) as served:
            blocks = dict.fromkeys(("model", "desktop", "audit"), "killed")
            flow_run = served.start("Run a goal/goal", {"goal": "Look.", **blocks})
            served.until(lambda: model.requests)
            cli = CommandLine(tmp_path, server)
            assert cli("kill", "--all", "--reason", "lunch", env={"HOLO_HOME": str(served.home)}).code == 0
            until(lambda: served.state(flow_run) == "CANCELLED")
            # Who started the process has seen it end, and says nothing else of the run.
            served.until(lambda: not _others(served))
            state = served.flow_run(flow_run)["state"]
    assert (state["name"], state["message"]) == ("Killed", "killed by `holo-tasks kill`: lunch")
    assert "Traceback" not in served.log, served.log
    assert "Crash" not in served.log, served.log
