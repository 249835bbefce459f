"""Test that `holo-tasks run` can be stopped from outside: input stops, the trace has the reason, nothing is left."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import signal
import termios
import time
from pathlib import Path

import pytest

from tests.support.command_fixtures import command
from tests.support.command_line import CommandLine, Ended, related, until
from tests.support.long import few
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import Answer, ScriptedModel, step

HANG = Answer("", delay_s=120)

pytestmark = pytest.mark.desktop


@pytest.fixture(autouse=True)
def _as_users_start_it(cli: CommandLine) -> None:
    cli.real = True


def closed_as_killed(ended: Ended) -> None:
    """Check that a stopped run left a closed trace with the reason."""
    assert (ended.code, ended.told["status"]) == (13, "killed")
    assert "stopped" in ended.complaint
    lines = (Path(ended.told["trace"]) / "events.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])["event"]
    assert (last["kind"], last["status"]) == ("run_closed", "killed")
    assert last["reason"]


@pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGINT]))
@pytest.mark.long
def test_a_hanging_model_does_not_delay_a_kill(cli: CommandLine, app: str, number: signal.Signals) -> None:
    with ScriptedModel([HANG]) as model:
        running = cli.start("run", "Go.", "--app", app, "--base-url", model.base_url, "--json")
        until(lambda: model.requests)
        assert any("Xvfb" in line for line in related(str(cli.home))), "otherwise this test checks the wrong text"
        ended = running.signal(number)
    closed_as_killed(ended)
    assert until(lambda: not related(str(cli.home)))
    run = PrefectAPI(cli.env["PREFECT_API_URL"]).flow_run(ended.told["flow_run_id"])
    assert (run["state_type"], run["state_name"]) == ("CANCELLED", "Killed")


@pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGINT]))
def test_typing_stops_in_the_middle_of_a_text(cli: CommandLine, number: signal.Signals) -> None:
    # The tests of `doctor` send SIGTERM to a command that is started as users start it.
    log = cli.home / "events"
    letters = 8_000
    with ScriptedModel([step("write", content="ab" * (letters // 2))]) as model:
        app = shlex.join(command("events", log))
        options = ("--app", app, "--allow", "act", "--base-url", model.base_url, "--json")
        running = cli.start("run", "Go.", *options, real=False)
        until(lambda: log.exists() and log.read_text().count('"key"') > 20)
        ended = running.signal(number)
    closed_as_killed(ended)
    written = log.read_text().count('"key"')
    assert 20 < written < letters
    time.sleep(0.3)
    assert log.read_text().count('"key"') == written
    assert until(lambda: not related(str(cli.home)))


@pytest.mark.long
def test_ctrl_c_reaches_all_processes_and_the_run_is_closed(cli: CommandLine, tmp_path: Path, app: str) -> None:
    # A terminal sends SIGINT to its whole process group, including our Prefect server.
    alone = CommandLine(tmp_path, None)
    alone.real = True
    with ScriptedModel([HANG]) as model:
        options = ("--base-url", model.base_url, "--json")
        running = alone.start("run", "Go.", "--app", app, *options, start_new_session=True)
        until(lambda: model.requests)
        os.killpg(running.process.pid, signal.SIGINT)
        ended = running.end()
    closed_as_killed(ended)
    assert until(lambda: not related(str(tmp_path)))


def in_a_terminal() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, which ignores SIGHUP
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)


def test_a_run_whose_terminal_closes_ends_cleanly(cli: CommandLine, app: str) -> None:
    terminal, theirs = pty.openpty()
    with ScriptedModel([step("click", element="Count button", x=352, y=420), HANG]) as model:
        options = ("--app", app, "--allow", "act", "--token", "I-1", "--base-url", model.base_url)
        running = cli.start(
            "run",
            "Go.",
            *options,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=in_a_terminal,
        )
        os.close(theirs)
        until(lambda: len(model.requests) == 2)
        os.close(terminal)
        assert running.end().code == 13
    listed = json.loads(cli("runs", "--json", real=False).stdout)
    (run,), (item,) = listed["runs"], listed["items"]
    assert (run["status"], item["token"], item["status"]) == ("killed", "I-1", "killed")
    assert run["reason"] == "The run was stopped by SIGHUP."
    told = PrefectAPI(cli.env["PREFECT_API_URL"]).flow_run(run["flow_run_id"])
    assert (told["state_type"], told["state_name"]) == ("CANCELLED", "Killed")
    assert until(lambda: not related(str(cli.home)))


def test_a_waiting_run_is_stopped(cli: CommandLine) -> None:
    app = shlex.join(["sh", "-c", "sleep 60", str(cli.home)])  # the run starts when a window appears
    running = cli.start("run", "Go.", "--app", app, "--base-url", "http://127.0.0.1:9/v1", "--json", real=False)
    until(lambda: related("Xvfb") and any(str(cli.home) in line for line in related("HOLO_DESKTOP=")))
    ended = running.signal(signal.SIGTERM)
    assert (ended.code, ended.told["status"], ended.told["trace"]) == (13, "killed", None)
    assert "stopped" in ended.complaint
    assert until(lambda: not related(str(cli.home)))


@pytest.mark.parametrize(("command", "real"), [(("run", "", "--app", "true"), False), (("kill",), True)])
def test_a_broken_stderr_does_not_change_the_exit_code(cli: CommandLine, command: tuple[str, ...], real: bool) -> None:
    with Path("/dev/full").open("w") as full:
        assert cli(*command, stderr=full, real=real).code == 2
