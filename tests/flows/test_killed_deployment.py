"""A deployment run that was killed ends as killed, not as crashed."""

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
    """List the processes that work for a served flow, except the serving process."""
    return [one for one in related(str(served.home)) if "served_goal" not in one and "resource_tracker" not in one]


def test_a_killed_deployment_run_reports_the_kill(server: str, tmp_path: Path) -> None:
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
            # The serving process has seen the end of the run's process, and does not change the state.
            served.until(lambda: not _others(served))
            state = served.flow_run(flow_run)["state"]
    assert (state["name"], state["message"]) == ("Killed", "killed by `holo-tasks kill`: lunch")
    assert "Traceback" not in served.log, served.log
    assert "Crash" not in served.log, served.log
