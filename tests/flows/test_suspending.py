"""A deployment run that suspends for a person, and starts again from the top after the answer."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from holo_tasks.safety.records.items import Items
from tests.flows.served_suspending import ACCOUNT, LOOK
from tests.support import warm
from tests.support.agents import events
from tests.support.command_line import EXECUTABLE, related
from tests.support.scripted_model import ScriptedModel, step
from tests.support.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.desktop]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    def answer(number: int, body: dict[str, Any]) -> dict[str, Any]:
        return step("answer", content=str(body["messages"][1]["content"]).splitlines()[0])

    with ScriptedModel(answer) as model:
        yield model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the process that serves for all tests of this module."""
    return tmp_path_factory.mktemp("suspending")


@pytest.fixture(scope="module")
def served(server: str, folder: Path, model: ScriptedModel) -> Iterator[Served]:
    told = {"base_url": model.base_url, "folder": str(folder), "broken": str(folder / "broken")}
    with Served(server, HERE / "served_suspending.py", json.dumps(told), folder=folder) as served:
        yield served


def waiting(served: Served, flow_run: str) -> Handoff:
    """Wait until the run is suspended and its process has ended; return its hand-off."""
    served.until(lambda: served.flow_run(flow_run)["state"]["name"] == "Suspended")
    served.until(lambda: not [one for one in related(str(served.home)) if "holo_tasks.desktop" in one])
    (found,) = Handoffs(store_at(served.home)).waiting()
    assert found.suspended
    assert not found.lost
    return found


def resume(served: Served, asked: Handoff) -> subprocess.CompletedProcess[str]:
    """Answer from a shell."""
    command = [str(EXECUTABLE), "handoff", "resume", asked.id, "--choice", "travel", "--note", "a taxi", "--by", "ada"]
    env = {**os.environ, "HOLO_HOME": str(served.home), "PREFECT_API_URL": served.url}
    return warm.run_script(command, by=warm.Popen, env=env, timeout=120)


def test_no_process_runs_during_a_suspension_and_answers_last_but_not_for_a_retry(
    served: Served, model: ScriptedModel, folder: Path
) -> None:
    (folder / "broken").touch()
    flow_run = served.start("suspending/suspending", {})

    asked = waiting(served, flow_run)
    assert (asked.question, asked.token) == (LOOK, "")
    served.post(f"/flow_runs/{flow_run}/resume", {"run_input": {"choice": "yes", "note": "I asked."}})

    asked = waiting(served, flow_run)
    assert (asked.question, asked.token) == (ACCOUNT, "A-2")
    (item,) = Items(store_at(served.home)).all()
    assert (item.token, item.status) == ("A-2", "needs_person")
    assert ACCOUNT in item.reason
    said = resume(served, asked)
    assert (said.returncode, said.stderr) == (0, "")
    assert "begins again" in said.stdout

    served.until(lambda: served.state(flow_run) == "FAILED")
    assert Items(store_at(served.home)).all() == []
    again = resume(served, asked)
    assert again.returncode == 2
    assert "was answered already" in again.stderr
    sentence = "File A-2 for travel; ada said a taxi."
    assert json.loads((folder / "ended").read_text()) == [
        "File A-1.", "yes", "somebody in Prefect's pages", sentence,
    ]  # fmt: skip
    goals = [str(request["messages"][1]["content"]).splitlines()[0] for request in model.requests]
    assert goals == ["File A-1.", sentence], "finished work must not be repeated"
    traces = sorted((folder / "runs").iterdir())
    ends = [("needs_person", LOOK), ("needs_person", ACCOUNT), ("answered", "")]
    for trace, (status, reason) in zip(traces, ends, strict=True):
        (closed,) = [event for event in events(str(trace)) if event.kind == "run_closed"]
        assert closed.status == status
        assert reason in closed.reason

    # A retry is an attempt without an answer, so it asks again for earlier permissions.
    (folder / "broken").unlink()
    served.post(f"/flow_runs/{flow_run}/set_state", {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}})
    asked = waiting(served, flow_run)
    assert asked.question == LOOK
    served.post(f"/flow_runs/{flow_run}/resume", {"run_input": {"choice": "no"}})
    served.until(lambda: served.state(flow_run) == "COMPLETED")
    assert json.loads((folder / "ended").read_text())[1] == "no"
    assert len(model.requests) == 2


def test_flows_nested_around_a_suspended_question_are_suspended_in_prefect(served: Served) -> None:
    """The last test of this module, because it leaves its question unanswered."""
    flow_run = served.start("suspending/suspending", {"look": False, "within": True})
    waiting(served, flow_run)
    around, states = flow_run, []
    for _ in range(2):
        below = {"flow_runs": {"parent_flow_run_id": {"any_": [around]}}}
        (run,) = served.post("/flow_runs/filter", below)
        around = run["id"]
        states.append(run["state"]["name"])
    assert states == ["Suspended", "Suspended"]
