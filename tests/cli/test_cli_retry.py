"""A killed `holo-tasks run --token`: no action is repeated until a person has checked the effect."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest

from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.approvals import Approvals
from holo_tasks.safety.records.budgets import Budgets, item_key
from holo_tasks.safety.records.items import ITEMS, Items, NestedItems
from holo_tasks.safety.records.ledger import Ledger
from tests.support.command_line import CommandLine, InProcess, related, until
from tests.support.scripted_model import Answer, ScriptedModel, step
from tests.support.spending import balance

CLICK = step("click", element="Count button", x=352, y=420)
DONE = step("answer", content="counted")
HANG = Answer("", delay_s=120)

pytestmark = pytest.mark.desktop


def clicks(cli: CommandLine) -> int:
    file = cli.home / "clicks"
    return int(file.read_text() or 0) if file.exists() else 0


def test_a_killed_run_is_handed_over_and_run_again_by_a_person(cli: CommandLine, app: str) -> None:
    # The model's address is part of the command that is run again.
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
        for part in ("interrupted", "$0.50", "I 7", "needs_person", "1 waiting to be worked on"):
            assert part in text, text

        unsure = cli("retry", "I 7", real=True)
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


@pytest.mark.long
def test_an_item_that_a_person_declares_done_is_done(cli: CommandLine, app: str) -> None:
    with ScriptedModel([CLICK, HANG]) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--token", "I-8", "--json")
        arguments += ("--base-url", model.base_url)
        running = cli.start(*arguments)
        until(lambda: len(model.requests) == 2)
        running.signal(signal.SIGKILL)
        until(lambda: not related(str(cli.home)))
        assert cli(*arguments).code == 11
        said = cli("retry", "I-8", "--done", "one click")
        assert (said.code, said.stdout) == (0, "A person marked I-8 as finished.\n")
        ended = cli(*arguments)
        assert (ended.code, ended.told["answer"], ended.told["steps"]) == (0, "one click", 0)
        assert (clicks(cli), len(model.requests)) == (1, 2)
    assert json.loads(cli("runs", "--json").stdout)["items"] == []


def listed(cli: CommandLine, token: str = "INV", goal_of_item: str = "file flag", **how: object) -> Store:
    """Put an item on the list that reached a limit after a click."""
    store = store_at(cli.home / "holo")
    status, reason = "limit", "spent \x1b]0;all\x07\x1b[31m \u202eit"
    Items(store).file(
        token,
        goal_of_item,
        status=status,
        reason=reason,
        trace="trace",
        flow_run_id=str(uuid4()),
        how={"kind": "flow", "goal": goal_of_item, **how},
    )
    with Ledger(store).claim(token, goal_of_item) as claim:
        Ledger(store).intend(claim, "click", "frame")
    Budgets(store).act([LIMIT])
    return store


LIMIT = Guard("a limit", Limits(max_actions=9), 0, key=item_key("INV", "file flag/press"))
RUN = {"kind": "run", "arguments": ["run", "Count."], "inputs": "i"}


@pytest.mark.parametrize("how", [{"deployment_id": str(uuid4())}, RUN])
def test_no_state_changes_while_prefect_is_unreachable(cli: CommandLine, how: dict[str, object]) -> None:
    store = listed(cli, **how)
    ended = cli("retry", "INV", "--not-done", env={"PREFECT_API_URL": "http://127.0.0.1:9/api"})
    assert ended.code == 16
    assert "No Prefect API answers" in ended.complaint
    assert len(Ledger(store).intents("INV")) == balance(Budgets(store), LIMIT.key).actions == 1


def test_a_refused_flow_run_is_reported_in_one_line(cli: CommandLine) -> None:
    class Failing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            healthy = self.path == "/api/health"
            self.send_response(200 if healthy else 401)
            self.end_headers()
            self.wfile.write(b"true" if healthy else b"{}")

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    store = listed(cli, deployment_id=str(uuid4()))
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ended = cli("retry", "INV", env={"PREFECT_API_URL": f"http://127.0.0.1:{server.server_port}/api"})
        server.shutdown()
    assert ended.code == 2
    assert "did not take a run of 'INV'" in ended.complaint
    assert balance(Budgets(store), LIMIT.key).actions == 1


def test_a_missing_deployment_is_reported_in_one_line(cli: CommandLine) -> None:
    store = listed(cli, deployment_id=str(uuid4()))
    ended = cli("retry", "INV")
    assert ended.code == 2
    assert "run its flow by hand" in ended.complaint
    assert balance(Budgets(store), LIMIT.key).actions == 1


def test_an_item_in_progress_gets_no_second_budget(here: InProcess) -> None:
    store = listed(here)
    with Ledger(store).claim("INV", "another goal of it"):
        for how in ((), ("--not-done",)):
            ended = here("retry", "INV", *how)
            assert ended.code == 2
            assert "'INV' is being worked on by another run" in ended.complaint
    assert len(Ledger(store).intents("INV")) == balance(Budgets(store), LIMIT.key).actions == 1
    assert here("retry", "INV").code == 0
    assert balance(Budgets(store), LIMIT.key).actions == 0


def test_a_long_list_is_shortened(here: InProcess) -> None:
    store = store_at(here.home / "holo")
    with store.transaction() as db:
        row = {"goal": "g", "status": "limit", "reason": "r", "trace": "", "flow_run_id": "", "how": "{}"}
        rows = [{"token": f"I-{n:05}", "at": f"2026-01-01T{n:06}", "attempts": 1, **row} for n in range(1_000)]
        db.execute(ITEMS.insert(), rows)
    ended = here("retry", "NOPE")
    assert ended.code == 2
    assert "990 older ones and 'I-00990', " in ended.complaint
    assert len(ended.complaint) < 400
    for last, lines in (((), 20), (("--last", "3"), 3)):
        text = here("runs", *last).stdout
        assert text.count("I-") == lines
        assert "I-00999" in text
        assert f"and {1_000 - lines} older ones" in text
    assert len(json.loads(here("runs", "--json", "--last", "3").stdout)["items"]) == 1_000


def test_an_item_gets_a_fresh_budget_and_others_keep_theirs(here: InProcess) -> None:
    store = listed(here)
    other = replace(LIMIT, key=item_key("INV:2024", "file flag/press"))
    Budgets(store).act([other])
    ended = here("retry", "INV", "--not-done")
    assert (ended.code, ended.stderr) == (0, "")
    assert "run its flow" in ended.stdout
    assert Ledger(store).intents("INV") == ()
    assert balance(Budgets(store), LIMIT.key).actions == 0
    assert balance(Budgets(store), other.key).actions == 1


FLAG = {"type": "object", "properties": {"flag": {"type": "integer"}}, "required": ["flag"]}


def test_a_result_from_a_person_must_match_the_schema_of_the_sub_goal(here: InProcess) -> None:
    store = listed(here, goal="file flag", inputs="i", returns=FLAG)
    for wrong, said in (("seven", "is not JSON"), ('{"flag": "x"}', "not of type 'integer'"), ("7", "'object'")):
        refused = here("retry", "INV", "--done", wrong)
        assert refused.code == 2
        assert said in refused.complaint
        assert "‘file flag’" in refused.complaint
    ended = here("retry", "INV", "--done", '{"flag": 7}')
    assert (ended.code, ended.stdout) == (0, "A person marked INV as finished.\n")
    found = Ledger(store).find("INV", "file flag", "i")
    assert found is not None
    assert (json.loads(found.result), found.trace) == ({"flag": 7}, "trace")
    assert Items(store).all() == []


def test_of_nested_sub_goals_the_failed_one_is_finished(here: InProcess) -> None:
    store = listed(here, goal="file flag", inputs="i", returns=FLAG)
    outer = {"kind": "flow", "goal": "audit", "inputs": "o", "returns": {}}
    Items(store).file(
        "INV",
        "audit",
        status="limit",
        reason="spent",
        trace="",
        flow_run_id="",
        how=outer,
        within=NestedItems(failed="file flag"),
    )
    ended = here("retry", "INV", "--done", '{"flag": 7}')
    assert ended.code == 0
    assert ended.stdout.startswith("A person marked ‘file flag’ as finished. INV is free to be worked on again")
    assert Ledger(store).find("INV", "file flag", "i") is not None
    assert Ledger(store).find("INV", "audit", "o") is None
    assert [(item.token, item.goal) for item in Items(store).all()] == [("INV", "audit")]


def test_of_two_goals_on_one_item_the_named_one_is_retried(here: InProcess) -> None:
    store = listed(here, goal="file flag", inputs="i", returns=FLAG)
    listed(here, goal_of_item="pay", goal="pay", inputs="p", returns={})
    shown = here("runs").stdout
    assert "2 waiting" in shown
    for part in ("--goal GOAL", "file flag", "pay"):
        assert part in shown
    assert [item["goal"] for item in json.loads(here("runs", "--json").stdout)["items"]] == ["file flag", "pay"]
    for how in ((), ("--not-done",), ("--done", "7"), ("--not-done", "--goal", "fly")):
        refused = here("retry", "INV", *how)
        assert refused.code == 2
        assert "'file flag', 'pay'" in refused.complaint
    assert len(Ledger(store).intents("INV")) == 2
    freed = here("retry", "INV", "--goal", "pay", "--not-done")
    assert (freed.code, freed.stderr) == (0, "")
    assert len(Ledger(store).intents("INV", "file flag")) == 1, "the effect of that one is unchecked"
    assert Ledger(store).intents("INV", "pay") == ()
    assert here("retry", "INV", "--goal", "file flag", "--done", '{"flag": 7}').code == 0
    assert [item.goal for item in Items(store).all()] == ["pay"]
    assert here("retry", "INV").code == 0


def test_done_is_refused_without_the_flows_inputs(here: InProcess) -> None:
    store = listed(here)
    ended = here("retry", "INV", "--done", "x")
    assert ended.code == 2
    assert "--not-done" in ended.complaint
    assert len(Items(store).all()) == 1


def test_control_characters_in_a_reason_are_not_printed(here: InProcess) -> None:
    listed(here)
    shown = here("runs").stdout
    assert "spent" in shown
    assert all(character.isprintable() for character in shown.replace("\n", ""))


def test_a_name_with_invalid_utf_8_is_refused(here: InProcess) -> None:
    number = Approvals(store_at(here.home / "holo")).request("run", "token T", "action", "frame", "To click")
    ended = here("approve", str(number), "--by", os.fsdecode(b"ad\xff"))
    assert ended.code == 2
    assert "not valid UTF-8" in ended.complaint


def test_an_item_that_is_not_on_the_list_is_refused(here: InProcess) -> None:
    ended = here("retry", "I-9", "--not-done")
    assert ended.code == 2
    assert "no item 'I-9'" in ended.complaint
    assert "No run yet." in here("runs").stdout
    assert here("retry", "I-9", "--done", "x", "--not-done").code == 2
