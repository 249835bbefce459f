"""Test the kill switch on real flows: every way to use it, whichever part hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.kill.run_registry import running
from tests.support import warm
from tests.support.agent_process import ROOT, AgentProcess
from tests.support.command_line import CommandLine, related, until
from tests.support.inputs import Inputs
from tests.support.killing import WITHIN_S, kill
from tests.support.long import few
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import Answer, ScriptedModel, step

TEXT = step("write", content="Ab " * 2500)
COMMAND = "killed by `holo-tasks kill`"

pytestmark = pytest.mark.desktop


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def cli(home: Path, prefect_url: str) -> CommandLine:
    return CommandLine(home, prefect_url)


@pytest.fixture(scope="module")
def process(cli: CommandLine) -> Iterator[AgentProcess]:
    made = AgentProcess(cli.env)
    yield made
    made.close()


class Typing:
    """A flow whose agent types a long text in a sub-goal."""

    def __init__(self, cli: CommandLine, process: AgentProcess, model: ScriptedModel, folder: Path, **more: Any):
        self.cli, self.process, self.inputs = cli, process, Inputs(folder / "inputs")
        self.api = PrefectAPI(cli.env["PREFECT_API_URL"])
        self.pid = process.process.pid
        self.run = process.ask(model.base_url, self.inputs, **more)
        self.id, self.flow_run = self.run["run"], self.run["flow_run"]

    def stops(self, last_s: float) -> None:
        """Check that no event comes after ``last_s`` and that nothing is pressed.

        A desktop that confirms the stop too late is killed. The screen is then gone.
        """
        time.sleep(max(0.0, last_s + 1.0 - time.monotonic()))
        assert self.inputs.last_s() <= last_s
        assert until(lambda: not self.inputs.held() or not related(str(self.inputs.path)))

    @property
    def flow_runs(self) -> list[str]:
        """The flow runs of the agent, of its sub-goal, and of the parent, if there is one."""
        wanted = {"flow_runs": {"parent_flow_run_id": {"any_": [self.flow_run]}}}
        (beneath,) = self.api.post("/flow_runs/filter", wanted)
        return [beneath["id"], self.flow_run, *filter(None, [self.run.get("around")])]

    def ends(self, source: str, reason: str) -> None:
        """Check that the run ends as killed with a reason in its trace, and that its desktop has ended."""
        assert self.process.said() == {"ended": "killed", "reason": reason}
        closed_as_killed(self.run["trace"], source, reason)
        for id in self.flow_runs:
            state = self.api.flow_run(id)["state"]
            assert (state["type"], state["name"], state["message"]) == ("CANCELLED", "Killed", reason)
        assert until(lambda: not related(str(self.inputs.path)))


def closed_as_killed(trace: str, source: str, reason: str) -> None:
    events = [json.loads(line)["event"] for line in (Path(trace) / "events.jsonl").read_text().splitlines()]
    (seen,) = [event for event in events if event["kind"] == "kill"]
    assert (seen["source"], seen["reason"]) == (source, reason)
    assert (events[-1]["kind"], events[-1]["status"], events[-1]["reason"]) == ("run_closed", "killed", reason)


@pytest.fixture
def text() -> Iterator[ScriptedModel]:
    with ScriptedModel([TEXT]) as model:
        yield model


@pytest.fixture
def typing(cli: CommandLine, process: AgentProcess, text: ScriptedModel, tmp_path: Path) -> Typing:
    return Typing(cli, process, text, tmp_path)


def test_a_run_is_killed_by_its_id(typing: Typing) -> None:
    said, last_s = kill(typing.cli, "--run", typing.id, "--reason", "the fire alarm")
    assert (said.code, said.stdout) == (0, f"{typing.id}  stopped\n")
    typing.stops(last_s)
    typing.ends("command", f"{COMMAND}: the fire alarm")
    home = Path(typing.cli.env["HOLO_HOME"])
    assert list((home / "kill").iterdir()) == list((home / "running").iterdir()) == []


@pytest.mark.parametrize(
    "answer",
    [Answer(drop=True, delay_s=60), Answer(status=429, headers={"retry-after": "100"}, body=b"")],
    ids=["hangs", "wants a rest"],
)
def test_a_run_is_killed_while_it_waits_for_its_model(
    cli: CommandLine, process: AgentProcess, tmp_path: Path, answer: Answer
) -> None:
    with ScriptedModel([step("write", content="a" * 20), answer]) as model:
        typing = Typing(cli, process, model, tmp_path)
        until(lambda: len(model.requests) > 1)
        began_s = time.monotonic()
        assert cli("kill", "--all").stdout == f"{typing.id}  stopped\n"
        typing.ends("command", COMMAND)
        assert time.monotonic() - began_s < 15


def test_a_blocked_event_loop_does_not_delay_a_kill(
    cli: CommandLine, process: AgentProcess, text: ScriptedModel, tmp_path: Path
) -> None:
    typing = Typing(cli, process, text, tmp_path, block=[1.0, 8.0])
    time.sleep(1.5)
    said, last_s = kill(cli, "--all")
    assert said.code == 0
    typing.stops(last_s)
    typing.ends("command", COMMAND)


def test_a_suspended_process_sends_no_input_and_ends_when_resumed(typing: Typing) -> None:
    os.kill(typing.pid, signal.SIGSTOP)
    try:
        said, last_s = kill(typing.cli, "--run", typing.id)
        assert said.code == 0
        assert said.stdout.startswith(f"{typing.id}  input stopped; process {typing.pid} is suspended")
        typing.stops(last_s)
    finally:
        os.kill(typing.pid, signal.SIGCONT)
    typing.ends("command", COMMAND)


def test_a_hanging_desktop_process_is_killed(typing: Typing) -> None:
    (host,) = [pid for pid in children(typing.pid) if b"holo_tasks.desktop.session.host" in cmdline(pid)]
    os.kill(host, signal.SIGSTOP)
    said, last_s = kill(typing.cli, "--run", typing.id)
    assert (said.code, said.stdout) == (0, f"{typing.id}  stopped\n")
    typing.stops(last_s)
    typing.ends("command", COMMAND)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def cmdline(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@contextmanager
def variable(url: str, value: Any) -> Iterator[float]:
    api = PrefectAPI(url)
    api.post("/variables/", {"name": "holo_kill", "value": value})
    try:
        yield time.monotonic() + WITHIN_S
    finally:
        api.delete("/variables/name/holo_kill")


@pytest.mark.parametrize("how", few(["all", "run", "flow run in a list"]))
def test_a_prefect_variable_kills_only_the_named_runs(typing: Typing, how: str) -> None:
    with variable(typing.cli.env["PREFECT_API_URL"], ["someone-else", "nobody"]):
        time.sleep(2)
        assert time.monotonic() - typing.inputs.last_s() < 1
    value = {"all": "all", "run": typing.id, "flow run in a list": ["someone-else", typing.flow_run]}[how]
    with variable(typing.cli.env["PREFECT_API_URL"], value) as last_s:
        typing.stops(last_s)
        typing.ends("variable", "killed by the Prefect Variable holo_kill")


@pytest.mark.parametrize("kind", few(["CANCELLING", "CANCELLED"]))
def test_cancelling_the_flow_run_kills(typing: Typing, kind: str) -> None:
    typing.api.set_state(typing.flow_run, kind, force=kind == "CANCELLED")
    typing.stops(time.monotonic() + WITHIN_S)
    name = typing.api.flow_run(typing.flow_run)["name"]
    typing.ends("cancelled", f"killed by cancelling the flow run {name} in Prefect")


def test_cancelling_a_sub_goal_kills(typing: Typing) -> None:
    wanted = {"flow_runs": {"parent_flow_run_id": {"any_": [typing.flow_run]}}}
    (beneath,) = typing.api.post("/flow_runs/filter", wanted)
    typing.api.set_state(beneath["id"], "CANCELLING")
    typing.stops(time.monotonic() + WITHIN_S)
    typing.ends("cancelled", f"killed by cancelling the flow run {beneath['name']} in Prefect")


@pytest.mark.usefixtures("recorded")
def test_tasks_of_a_killed_run_neither_continue_nor_crash(
    cli: CommandLine, process: AgentProcess, text: ScriptedModel, tmp_path: Path
) -> None:
    typing = Typing(cli, process, text, tmp_path, around="task", tasks=True)
    wanted = {"task_runs": {"flow_run_id": {"any_": [typing.flow_run, typing.run["around"]]}}}
    assert cli("kill", "--run", typing.id).code == 0
    assert process.said() == {"ended": "killed", "reason": COMMAND}

    def ends() -> dict[str, str]:
        runs = typing.api.post("/task_runs/filter", wanted)
        return {run["name"].rpartition("-")[0] or run["name"]: run["state_name"] for run in runs}

    ours = ["a step of an agent", "a step with a key"]
    theirs = ["a task inside", "a task around", "a task around a task"]
    until(lambda: "Running" not in ends().values())  # Prefect records the final states of tasks with a delay
    assert {name: end for name, end in ends().items() if name in ours + theirs} == dict.fromkeys(
        ours + theirs, "Killed"
    )
    assert set(ends().values()) <= {"Killed", "Completed"}


@pytest.mark.parametrize("around", ["guarded", "beside another"])
def test_the_parent_flow_of_a_killed_run_ends_as_killed(
    cli: CommandLine, process: AgentProcess, text: ScriptedModel, tmp_path: Path, around: str
) -> None:
    """The run is killed by the id of its own flow run, which is not retried."""
    typing = Typing(cli, process, text, tmp_path, around=around, retries=2)
    assert len(typing.flow_runs) == 3
    assert cli("kill", "--run", typing.flow_run).stdout == f"{typing.id}  stopped\n"
    typing.ends("command", COMMAND)
    assert typing.api.flow_run(typing.flow_run)["run_count"] == 1


def test_a_parent_flow_may_continue_after_a_kill(
    cli: CommandLine, process: AgentProcess, text: ScriptedModel, tmp_path: Path
) -> None:
    typing = Typing(cli, process, text, tmp_path, around="goes on")
    assert cli("kill", "--run", typing.id).code == 0
    assert process.said() == {"ended": "answered"}
    *killed, around = [typing.api.flow_run(id)["state_name"] for id in typing.flow_runs]
    assert (killed, around) == (["Killed", "Killed"], "Completed")


def test_a_killed_script_ends_with_one_line(cli: CommandLine, text: ScriptedModel, tmp_path: Path) -> None:
    script = "import asyncio; from tests.support.typing_agent import typing; asyncio.run(typing({asked}))"
    inputs = Inputs(tmp_path / "inputs")
    asked = {"model": text.base_url, "inputs": str(inputs.path)}
    process = warm.ScriptPopen(
        [sys.executable, "-c", script.replace("{asked}", repr(asked))],
        env={**cli.env, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "flows" / "demo")])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: len(inputs.sent()) > 10)
    assert cli("kill", "--all", "--reason", "lunch").code == 0
    _, said = process.communicate()
    assert process.returncode == 1
    assert said.splitlines()[-1] == f"holo-tasks: killed: {COMMAND}: lunch"
    assert "Traceback" not in said


@pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGKILL]))
def test_a_terminated_process_sends_no_more_input(
    cli: CommandLine, text: ScriptedModel, tmp_path: Path, number: signal.Signals
) -> None:
    process = AgentProcess(cli.env)
    typing = Typing(cli, process, text, tmp_path)
    os.kill(typing.pid, number)
    typing.stops(time.monotonic() + WITHIN_S)
    process.end()
    assert until(lambda: not related(str(typing.inputs.path)))
    assert running(Path(cli.env["HOLO_HOME"])) == []
    if number == signal.SIGTERM:
        closed_as_killed(typing.run["trace"], "signal", "The run was stopped by SIGTERM.")
