"""Test `holo-tasks kill`, and how `holo-tasks run` ends when it is killed or when Prefect dies."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holo_tasks.cli import kill as kill_command
from holo_tasks.core.errors import InvalidUsage, StoreLost
from holo_tasks.kill.run_registry import Running, running
from holo_tasks.kill.sources import DatabaseSource
from holo_tasks.prefect_server.temporary import TemporaryServer
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.kill_requests import Kills
from tests.kill.test_kill import COMMAND, TEXT, closed_as_killed
from tests.support.command_line import CommandLine, InProcess, related, until
from tests.support.inputs import Inputs, witnessed
from tests.support.killing import kill
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.desktop


class Agent:
    """A `holo-tasks run` process in the middle of its work."""

    def __init__(self, cli: CommandLine, model: ScriptedModel, name: str = "inputs") -> None:
        self.inputs = Inputs(cli.home / name)
        app = shlex.join(witnessed(self.inputs.path))
        options = ("--app", app, "--allow", "act", "--base-url", model.base_url, "--json")
        self.command = cli.start("run", "Type.", *options)

    def stops(self, last_s: float) -> None:
        time.sleep(max(0.0, last_s + 1.0 - time.monotonic()))
        assert self.inputs.last_s() <= last_s
        # A desktop that confirms the stop too late is killed. The screen is then gone.
        assert until(lambda: not self.inputs.held() or not related(str(self.inputs.path)))

    def ends(self) -> None:
        ended = self.command.end()
        assert (ended.code, ended.told["status"]) == (13, "killed")
        assert COMMAND in ended.complaint
        closed_as_killed(ended.told["trace"], "command", COMMAND)
        assert until(lambda: not related(str(self.inputs.path)))


def test_kill_all_stops_current_runs_and_no_later_ones(cli: CommandLine) -> None:
    with ScriptedModel([TEXT]) as model:
        agents = [Agent(cli, model, name) for name in ("one", "other")]
        until(lambda: all(len(agent.inputs.sent()) > 50 for agent in agents))
        said, last_s = kill(cli, "--all")
        assert said.code == 0
        assert [line.split()[1] for line in said.stdout.splitlines()] == ["stopped", "stopped"]
        for agent in agents:
            agent.stops(last_s)
            agent.ends()
    with ScriptedModel([step("answer", content="done")]) as model:
        app = shlex.join(witnessed(cli.home / "later"))
        assert cli("run", "Go.", "--app", app, "--base-url", model.base_url, "--json").code == 0


def test_kill_all_includes_a_starting_run(cli: CommandLine, app: str) -> None:
    with ScriptedModel([TEXT]) as model:
        command = cli.start("run", "Go.", "--app", app, "--allow", "act", "--base-url", model.base_url, "--json")
        until(lambda: related("Xvfb") and any(str(cli.home) in line for line in related("HOLO_DESKTOP=")))
        assert cli("kill", "--all").code == 0
        ended = command.end()
    assert (ended.code, ended.told["status"], ended.told["steps"]) == (13, "killed", 0)
    assert model.requests == []


def test_a_run_must_be_named(here: InProcess) -> None:
    assert here("kill").code == 2
    assert "--run ID, or --all" in here("kill").complaint
    unknown = here("kill", "--run", "20260101-000000-nobody")
    assert (unknown.code, unknown.stdout) == (2, "")
    assert "No run 20260101-000000-nobody is under way here; no run is." in unknown.complaint
    none = here("kill", "--all")
    assert (none.code, none.stdout) == (0, "no run is under way\n")
    empty = here("kill", "--run", "")
    assert (empty.code, empty.stdout) == (2, "")
    assert "--run is empty" in empty.complaint


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_id_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: str) -> None:
    kills = Kills(store_at(tmp_path))
    monkeypatch.setattr(kill_command, "_shared_requests", lambda home: kills)
    monkeypatch.setattr(kill_command, "PATIENCE_S", 0.0)
    with pytest.raises(InvalidUsage, match="--run is empty"):
        kill_command.kill(tmp_path, empty, "")
    assert kills.find_request("any run", [], 0.0) is None
    kill_command.kill(tmp_path, None, "")
    assert kills.find_request("any run", [], 0.0), "otherwise this test checks the wrong text"


@pytest.mark.parametrize("run_id", [None, "far"])
def test_stopped_runs_are_reported_though_the_database_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str | None
) -> None:
    def answers(self: Kills, kill_id: int) -> dict[str, str]:
        if asked:
            raise StoreLost("The database cannot be used.")
        asked.append(kill_id)
        return {"near": "host"} if run_id is None else {}

    asked: list[int] = []
    monkeypatch.setattr(kill_command, "_shared_requests", lambda home: Kills(store_at(tmp_path)))
    monkeypatch.setattr(Kills, "answers", answers)
    found = kill_command.kill(tmp_path, run_id, "")
    assert found.lines == (("near  input stopped on host",) if run_id is None else ())
    (doubt,) = found.doubts
    assert "The database cannot be used." in doubt


@pytest.mark.parametrize("name", ["own", "flow", "part"])
def test_a_run_on_another_machine_is_found_by_any_of_its_ids(tmp_path: Path, name: str) -> None:
    kills = Kills(store_at(tmp_path))
    source = DatabaseSource(kills, Running.here("own", "Go.", "", "flow"))
    kills.ask("other", "not this one")
    assert source.look(["part"]) == ""
    asked = kills.ask(name, "enough")
    assert source.look(["part"]).endswith("on another machine: enough")
    source.answer()
    assert list(kills.answers(asked)) == ["own"]


@pytest.fixture
def own_server(cli: CommandLine) -> Iterator[TemporaryServer]:
    """A Prefect server of its own, which the test may damage."""
    server = TemporaryServer(os.environ, blocks=False, login=os.environ["PREFECT_API_AUTH_STRING"])
    cli.env["PREFECT_API_URL"] = server.wait()
    yield server
    server._process.kill()
    server._process.wait()


@pytest.mark.long
def test_a_run_without_prefect_can_be_killed(own_server: TemporaryServer, cli: CommandLine) -> None:
    with ScriptedModel([TEXT]) as model:
        agent = Agent(cli, model)
        until(lambda: len(agent.inputs.sent()) > 50)
        (run,) = running(Path(cli.env["HOLO_HOME"]))
        assert run.pid == agent.command.process.pid
        os.kill(own_server._process.pid, signal.SIGKILL)
        unknown = cli("kill", "--run", "20260101-000000-nobody")
        assert unknown.code == 2
        assert f"under way: {run.run_id}." in unknown.complaint
        said, last_s = kill(cli, "--run", run.run_id)
        assert said.code == 0
        agent.stops(last_s)
        agent.ends()


@pytest.mark.parametrize("number", few([signal.SIGKILL, signal.SIGSTOP]))
def test_a_run_whose_prefect_server_dies_reports_its_end_and_exits(
    own_server: TemporaryServer, cli: CommandLine, number: signal.Signals
) -> None:
    pause = step("wait", seconds=0.2)
    with ScriptedModel([pause, pause, pause, step("answer", content="done")]) as model:
        app = shlex.join(witnessed(cli.home / "inputs"))
        command = cli.start("run", "Go.", "--app", app, "--base-url", model.base_url, "--json")
        until(lambda: len(model.requests) == 2)
        os.kill(own_server._process.pid, number)
        until(lambda: len(model.requests) == 4)
        answered_s = time.monotonic()
        ended = command.end()
    assert time.monotonic() - answered_s < 20  # Prefect's own client retries for minutes
    assert (ended.code, ended.told["status"], ended.told["answer"]) == (0, "answered", "done")
    assert ended.complaint.startswith("holo-tasks: answered")
    assert until(lambda: not related(str(cli.home / "inputs")))


def test_a_borrowed_display_is_left_unchanged(cli: CommandLine, x_server, display: str) -> None:
    inputs = Inputs(cli.home / "inputs")
    server = x_server(display, *witnessed(inputs.path))
    with ScriptedModel([TEXT]) as model:
        options = ("--display", display, "--allow", "act", "--base-url", model.base_url, "--json")
        command = cli.start("run", "Type.", *options, env={"XAUTHORITY": "/dev/null"})
        command.until(lambda: len(inputs.sent()) > 50)
        said, last_s = kill(cli, "--all")
        assert said.code == 0
        assert until(lambda: not inputs.held())
        time.sleep(1)
        assert inputs.last_s() <= last_s
        assert command.end().told["status"] == "killed"
    assert server.poll() is None
