"""`holo-tasks run --token` killed in the middle: nothing is repeated until a person has looked."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, related, until
from tests.support.scripted_model import Answer, ScriptedModel, step

CLICK = step("click", element="Count button", x=352, y=420)
DONE = step("answer", content="counted")
HANG = Answer("", delay_s=120)

pytestmark = pytest.mark.desktop


def clicks(cli: CommandLine) -> int:
    file = cli.home / "clicks"
    return int(file.read_text() or 0) if file.exists() else 0


def test_a_killed_run_is_handed_over_and_driven_again_by_a_person(cli: CommandLine, app: str) -> None:
    # The model's address is part of the command that is driven again.
    with ScriptedModel(lambda number, _: [CLICK, HANG, CLICK, DONE][number]) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--token", "I 7", "--json")
        arguments += ("--max-cost-usd", "0.5", "--base-url", model.base_url)
        running = cli.start(*arguments)
        until(lambda: len(model.requests) == 2)
        (row,) = json.loads(cli("runs", "--json").stdout)["runs"]
        assert (row["status"], row["title"], row["limit_usd"]) == ("running", "Count.", 0.5)
        assert running.signal(signal.SIGKILL).code == -signal.SIGKILL
        until(lambda: not related(str(cli.home)))
        assert clicks(cli) == 1

        ended = cli(*arguments)
        assert (ended.code, ended.told["status"], ended.told["steps"]) == (11, "needs_person", 0)
        assert "holo-tasks retry 'I 7'" in ended.complaint
        assert (clicks(cli), len(model.requests)) == (1, 2)

        (row,) = json.loads(cli("runs", "--json").stdout)["runs"]
        assert (row["status"], row["ended"], row["spent_usd"]) == ("interrupted", "", None)
        (item,) = json.loads(cli("runs", "--json").stdout)["items"]
        assert (item["token"], item["status"], item["trace"]) == ("I 7", "needs_person", row["trace"])
        assert "click ‘Count button’" in item["reason"]
        assert Path(item["trace"]).is_dir()
        text = cli("runs").stdout
        for part in ("interrupted", "$0.50", "I 7", "needs_person", "1 waiting for somebody"):
            assert part in text, text

        unsure = cli("retry", "I 7")
        assert (unsure.code, clicks(cli)) == (11, 1)

        again = cli("retry", "I 7", "--not-done")
        assert (again.code, again.told["answer"]) == (0, "counted")
        assert (clicks(cli), len(model.requests)) == (1, 4), "a new program counts from zero"
        told = json.loads(cli("runs", "--json").stdout)
        assert told["items"] == []
        assert [run["status"] for run in told["runs"]] == ["answered", "interrupted"]
        assert told["runs"][0]["spent_usd"] > 0
        assert told["runs"][0]["steps"] == 2

        third = cli(*arguments)
        assert (third.code, third.told["answer"], third.told["steps"]) == (0, "counted", 0)
        assert len(model.requests) == 4
    gone = cli("retry", "I 7")
    assert gone.code == 2
    assert "'I 7'" in gone.complaint


def test_what_a_person_has_seen_to_be_done_is_done(cli: CommandLine, app: str) -> None:
    with ScriptedModel([CLICK, HANG]) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--token", "I-8", "--json")
        arguments += ("--base-url", model.base_url)
        running = cli.start(*arguments)
        until(lambda: len(model.requests) == 2)
        running.signal(signal.SIGKILL)
        until(lambda: not related(str(cli.home)))
        assert cli(*arguments).code == 11
        said = cli("retry", "I-8", "--done", "one click")
        assert (said.code, said.stdout) == (0, "I-8 is finished: a person said so.\n")
        ended = cli(*arguments)
        assert (ended.code, ended.told["answer"], ended.told["steps"]) == (0, "one click", 0)
        assert (clicks(cli), len(model.requests)) == (1, 2)
    assert json.loads(cli("runs", "--json").stdout)["items"] == []


def test_an_item_that_is_not_on_the_list_is_refused(cli: CommandLine) -> None:
    ended = cli("retry", "I-9", "--not-done")
    assert ended.code == 2
    assert "no item 'I-9'" in ended.complaint
    assert "No run yet." in cli("runs").stdout
    assert cli("retry", "I-9", "--done", "x", "--not-done").code == 2
