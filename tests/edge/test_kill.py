"""The kill switch, on real processes: each way to use it, and whatever may hang meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from holo_tasks.prefect_server import TemporaryServer
from holo_tasks.running import Running, running
from tests.support.command_line import CommandLine, Ended, related, until
from tests.support.command_line import Running as Command
from tests.support.inputs import Inputs, witnessed
from tests.support.scripted_model import Answer, ScriptedModel, step

HANG = Answer("", delay_s=300)
TEXT = step("write", content="Ab " * 2500)
AGENT = Path(__file__).parent.parent / "support" / "typing_agent.py"

pytestmark = pytest.mark.desktop


class Agent:
    """`holo-tasks run` at work."""

    def __init__(self, cli: CommandLine, model: ScriptedModel, name: str = "inputs", *more: str) -> None:
        self.cli, self.inputs = cli, Inputs(cli.home / name)
        app = shlex.join(witnessed(self.inputs.path))
        options = ("--app", app, "--allow", "act", "--base-url", model.base_url, "--json", *more)
        self.command: Command = cli.start("run", "Type.", *options)

    def under_way(self, inputs: int = 50) -> Agent:
        until(lambda: len(self.inputs.sent()) >= inputs)
        return self

    @property
    def run(self) -> Running:
        return next(run for run in running(Path(self.cli.env["HOLO_HOME"])) if run.pid == self.command.process.pid)

    def stopped_since(self, asked_s: float) -> None:
        """Hold that input has stopped within a second, and that nothing is pressed."""
        time.sleep(max(0.0, asked_s + 2.0 - time.monotonic()))
        assert self.inputs.last_s() <= asked_s + 1.0
        assert self.inputs.held() == set()

    def ends(self, source: str, reason: str) -> Ended:
        """Hold that the run ends as killed, that its trace says why, and that nothing of its desktop is left."""
        ended = self.command.end()
        assert (ended.code, ended.told["status"]) == (13, "killed")
        assert reason in ended.complaint
        closed_as_killed(ended.told["trace"], source, reason)
        assert until(lambda: not related(str(self.inputs.path)))
        return ended


def closed_as_killed(trace: str, source: str, reason: str) -> None:
    events = [json.loads(line)["event"] for line in (Path(trace) / "events.jsonl").read_text().splitlines()]
    (seen,) = [event for event in events if event["kind"] == "kill"]
    assert (seen["source"], seen["reason"]) == (source, reason)
    assert (events[-1]["kind"], events[-1]["status"], events[-1]["reason"]) == ("run_closed", "killed", reason)


@pytest.fixture
def typing(cli: CommandLine) -> Iterator[Agent]:
    """An agent in the middle of a long text."""
    with ScriptedModel([TEXT]) as model:
        yield Agent(cli, model).under_way()


@pytest.fixture
def hung(cli: CommandLine) -> Iterator[Agent]:
    """An agent whose model does not answer any more."""
    with ScriptedModel([step("write", content="a"), HANG]) as model:
        agent = Agent(cli, model)
        until(lambda: len(model.requests) > 1)
        yield agent


def test_a_run_is_killed_by_its_id(typing: Agent) -> None:
    run = typing.run
    asked_s = time.monotonic()
    said = typing.cli("kill", "--run", run.run_id, "--reason", "the fire alarm")
    assert (said.code, said.stdout.split()) == (0, [run.run_id, "stopped"])
    typing.stopped_since(asked_s)
    typing.ends("command", "killed by `holo-tasks kill`: the fire alarm")
    home = Path(typing.cli.env["HOLO_HOME"])
    assert list((home / "kill").iterdir()) == list((home / "running").iterdir()) == []


def test_all_runs_are_killed_whatever_they_are_doing(cli: CommandLine) -> None:
    with ScriptedModel([TEXT]) as model, ScriptedModel([HANG]) as hanging:
        one, other = Agent(cli, model, "one"), Agent(cli, hanging, "other")
        one.under_way()
        until(lambda: hanging.requests)
        asked_s = time.monotonic()
        said = cli("kill", "--all")
        assert said.code == 0
        assert sorted(line.split()[1] for line in said.stdout.splitlines()) == ["stopped", "stopped"]
        one.stopped_since(asked_s)
        for agent in (one, other):
            agent.ends("command", "killed by `holo-tasks kill`")
        # Who begins later is not meant.
        with ScriptedModel([step("answer", content="done")]) as answering:
            app = shlex.join(witnessed(cli.home / "later"))
            assert cli("run", "Go.", "--app", app, "--base-url", answering.base_url, "--json").code == 0


def test_a_run_is_killed_by_its_flow_runs_id(hung: Agent) -> None:
    said = hung.cli("kill", "--run", hung.run.flow_run_id)
    assert (said.code, said.stdout.split()[1]) == (0, "stopped")
    hung.ends("command", "killed by `holo-tasks kill`")


def test_a_run_that_is_still_starting_is_meant_by_all(cli: CommandLine, app: str) -> None:
    with ScriptedModel([step("click_desktop", element="it", x=500, y=500)]) as model:
        running = cli.start("run", "Go.", "--app", app, "--allow", "act", "--base-url", model.base_url, "--json")
        until(lambda: related("Xvfb") and any(str(cli.home) in line for line in related("HOLO_DESKTOP=")))
        assert cli("kill", "--all").code == 0
        ended = running.end()
    assert (ended.code, ended.told["status"], ended.told["steps"]) == (13, "killed", 0)
    assert model.requests == []


def test_it_must_be_said_which_run_is_meant(cli: CommandLine) -> None:
    assert cli("kill").code == 2
    assert "--run ID, or --all" in cli("kill").complaint
    unknown = cli("kill", "--run", "20260101-000000-nobody")
    assert (unknown.code, unknown.stdout) == (2, "")
    assert "No run 20260101-000000-nobody is under way here; no run is." in unknown.complaint
    none = cli("kill", "--all")
    assert (none.code, none.stdout) == (0, "no run is under way\n")


def test_an_unknown_id_is_answered_with_the_runs_there_are(hung: Agent) -> None:
    said = hung.cli("kill", "--run", "20260101-000000-nobody")
    assert said.code == 2
    assert f"under way: {hung.run.run_id}." in said.complaint
    hung.command.signal(signal.SIGTERM)


def test_a_stopped_process_sends_nothing_more_and_ends_when_it_goes_on(typing: Agent) -> None:
    pid, run = typing.command.process.pid, typing.run
    os.kill(pid, signal.SIGSTOP)
    asked_s = time.monotonic()
    said = typing.cli("kill", "--run", run.run_id)
    assert said.code == 0
    assert said.stdout.startswith(f"{run.run_id}  input stopped; process {pid} is suspended")
    typing.stopped_since(asked_s)
    os.kill(pid, signal.SIGCONT)
    typing.ends("command", "killed by `holo-tasks kill`")


def test_a_run_of_a_killed_process_is_not_under_way(typing: Agent) -> None:
    typing.command.process.kill()
    killed_s = time.monotonic()
    typing.stopped_since(killed_s)
    assert typing.cli("kill", "--all").stdout == "no run is under way\n"
    assert until(lambda: not related(str(typing.inputs.path)))


@contextmanager
def variable(url: str, value: Any) -> Iterator[None]:
    httpx.post(f"{url}/variables/", json={"name": "holo_kill", "value": value}).raise_for_status()
    try:
        yield
    finally:
        httpx.delete(f"{url}/variables/name/holo_kill")


@pytest.mark.parametrize("how", ["all", "run", "flow run in a list"])
def test_a_prefect_variable_kills(typing: Agent, how: str) -> None:
    run = typing.run
    value = {"all": "all", "run": run.run_id, "flow run in a list": ["someone-else", run.flow_run_id]}[how]
    asked_s = time.monotonic()
    with variable(typing.cli.env["PREFECT_API_URL"], value):
        typing.stopped_since(asked_s)
        typing.ends("prefect", "killed by the Prefect Variable holo_kill")


@pytest.mark.parametrize("kind", ["CANCELLING", "CANCELLED"])
def test_cancelling_the_flow_run_kills(typing: Agent, kind: str) -> None:
    url, run = typing.cli.env["PREFECT_API_URL"], typing.run
    asked_s = time.monotonic()
    state = {"state": {"type": kind}, "force": kind == "CANCELLED"}
    httpx.post(f"{url}/flow_runs/{run.flow_run_id}/set_state", json=state).raise_for_status()
    typing.stopped_since(asked_s)
    typing.ends("prefect", "killed by cancelling the flow run Type. in Prefect")
    found = httpx.get(f"{url}/flow_runs/{run.flow_run_id}").json()
    assert found["state_type"] == "CANCELLED"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_text(typing: Agent, number: signal.Signals) -> None:
    asked_s = time.monotonic()
    typing.command.process.send_signal(number)
    typing.stopped_since(asked_s)
    typing.ends("signal", f"The run was stopped by {number.name}.")


@pytest.fixture
def own_server(cli: CommandLine) -> Iterator[TemporaryServer]:
    """A Prefect server that may come to harm."""
    server = TemporaryServer(os.environ)
    cli.env["PREFECT_API_URL"] = server.wait()
    yield server
    server._process.kill()
    server._process.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_without_prefect_a_run_is_killed_all_the_same(
    own_server: TemporaryServer, cli: CommandLine, number: signal.Signals
) -> None:
    with ScriptedModel([TEXT]) as model:
        agent = Agent(cli, model).under_way()
        run = agent.run
        os.kill(own_server._process.pid, number)
        time.sleep(0.5)
        asked_s = time.monotonic()
        assert cli("kill", "--run", run.run_id).code == 0
        agent.stopped_since(asked_s)
        agent.ends("command", "killed by `holo-tasks kill`")


def test_a_run_whose_prefect_server_dies_says_how_it_ended_and_leaves(
    own_server: TemporaryServer, cli: CommandLine
) -> None:
    pause = step("wait", seconds=1)
    with ScriptedModel([pause, pause, pause, step("answer", content="done")]) as model:
        app = shlex.join(witnessed(cli.home / "inputs"))
        running = cli.start("run", "Go.", "--app", app, "--base-url", model.base_url, "--json")
        until(lambda: len(model.requests) == 2)
        own_server._process.kill()
        until(lambda: len(model.requests) == 4)
        answered_s = time.monotonic()
        ended = running.end()
    assert time.monotonic() - answered_s < 20  # of Prefect's own retries there are minutes
    assert (ended.code, ended.told["status"], ended.told["answer"]) == (0, "answered", "done")
    assert ended.complaint.startswith("holo-tasks: answered")


class Flow:
    """A flow with a sub-goal, in a process of its own."""

    def __init__(self, cli: CommandLine, model: ScriptedModel, **asked: Any) -> None:
        self.inputs = Inputs(cli.home / "inputs")
        root = str(AGENT.parent.parent.parent)
        env = {**cli.env, "PYTHONPATH": os.pathsep.join([root, f"{root}/tests/apps"])}
        self.process = subprocess.Popen(
            [sys.executable, str(AGENT)],
            env={**env, "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"model": model.base_url, "inputs": str(self.inputs.path), **asked}) + "\n")
        self.process.stdin.flush()
        self.run = self.said()
        until(lambda: len(self.inputs.sent()) > 50)

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    stopped_since = Agent.stopped_since

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def text() -> Iterator[ScriptedModel]:
    with ScriptedModel([TEXT]) as model:
        yield model


def test_a_blocked_event_loop_holds_up_no_kill(cli: CommandLine, text: ScriptedModel) -> None:
    flow = Flow(cli, text, block=[1.0, 8.0])
    time.sleep(1.5)
    before = len(flow.inputs.sent())
    asked_s = time.monotonic()
    said = cli("kill", "--all")
    assert before > 50
    assert said.code == 0
    flow.stopped_since(asked_s)
    ended = flow.said()
    assert (ended["ended"], ended["reason"]) == ("killed", "killed by `holo-tasks kill`")
    closed_as_killed(flow.run["trace"], "command", "killed by `holo-tasks kill`")
    flow.end()


def test_a_killed_flow_is_not_tried_again(cli: CommandLine, text: ScriptedModel) -> None:
    flow = Flow(cli, text)  # it has a retry left
    assert cli("kill", "--run", flow.run["run"]).code == 0
    assert flow.said()["ended"] == "killed"
    found = httpx.get(f"{cli.env['PREFECT_API_URL']}/flow_runs/{flow.run['flow_run']}").json()
    assert found["run_count"] == 1
    flow.end()


def test_cancelling_a_sub_goal_in_prefect_kills(cli: CommandLine, text: ScriptedModel) -> None:
    flow = Flow(cli, text)
    url = cli.env["PREFECT_API_URL"]
    wanted = {"flow_runs": {"parent_flow_run_id": {"any_": [flow.run["flow_run"]]}}}
    (beneath,) = httpx.post(f"{url}/flow_runs/filter", json=wanted).json()
    asked_s = time.monotonic()
    httpx.post(f"{url}/flow_runs/{beneath['id']}/set_state", json={"state": {"type": "CANCELLING"}}).raise_for_status()
    flow.stopped_since(asked_s)
    assert flow.said()["ended"] == "killed"
    flow.end()


def test_a_flow_that_gets_sigterm_stops_its_input_and_closes_its_trace(cli: CommandLine, text: ScriptedModel) -> None:
    flow = Flow(cli, text)
    asked_s = time.monotonic()
    flow.process.terminate()
    flow.stopped_since(asked_s)
    flow.process.wait(30)
    closed_as_killed(flow.run["trace"], "signal", "The run was stopped by SIGTERM.")
    assert until(lambda: not related(str(flow.inputs.path)))
