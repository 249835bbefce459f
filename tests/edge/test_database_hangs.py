"""`holo-tasks run` on a shared database that hangs: input stops, the run ends in time, and says what happened."""

from __future__ import annotations

import time

import pytest

from tests.support.command_line import CommandLine, until
from tests.support.postgres import Postgres
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="Count button", x=352, y=420)

pytestmark = [pytest.mark.desktop, pytest.mark.long]


def clicks(cli: CommandLine) -> int:
    file = cli.home / "clicks"
    return int(file.read_text() or 0) if file.exists() else 0


def test_a_run_ends_and_says_so_and_a_kill_sees_it_meanwhile(cli: CommandLine, app: str, postgres: Postgres) -> None:
    shared = {"HOLO_DATABASE_URL": postgres.new_database()}
    with ScriptedModel([CLICK] * 40) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--token", "T-1", "--json")
        arguments += ("--max-cost-usd", "0.5", "--base-url", model.base_url)
        running = cli.start(*arguments, env=shared)
        until(lambda: clicks(cli) >= 2)
        with postgres.frozen():
            began = time.monotonic()
            killed = cli("kill", "--all", env=shared)
            assert "stopped" in killed.stdout
            assert "Other machines were not told" in killed.stderr
            assert "has not answered for" in killed.stderr
            stopped = clicks(cli)
            ended = running.end()
            assert time.monotonic() - began < 60
        assert clicks(cli) == stopped
    assert ended.code == 13


def test_a_run_that_nobody_kills_names_the_database(cli: CommandLine, app: str, postgres: Postgres) -> None:
    shared = {"HOLO_DATABASE_URL": postgres.new_database()}
    with ScriptedModel([CLICK] * 40) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--token", "T-1", "--json")
        running = cli.start(*arguments, "--base-url", model.base_url, env=shared)
        until(lambda: clicks(cli) >= 2)
        with postgres.frozen():
            began = time.monotonic()
            ended = running.end()
            assert time.monotonic() - began < 60
            before = clicks(cli)
    assert "has not answered for" in ended.complaint
    assert "taken over" not in ended.complaint
    with ScriptedModel([CLICK] * 40) as model:
        again = cli(*arguments, "--base-url", model.base_url, env=shared)
        assert (again.code, len(model.requests)) == (11, 0)
    assert clicks(cli) == before
