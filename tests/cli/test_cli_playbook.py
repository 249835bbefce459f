"""`holo-tasks run --playbook`: steps of a playbook need no model; the model continues if the playbook does not fit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from holo_tasks.audit import Destination
from holo_tasks.cli.mcp.replies import status_of
from holo_tasks.cli.parser import command_line
from holo_tasks.cli.run_command import run as command
from holo_tasks.cli.run_command.earlier_replay import (
    begin_this_replay,
    digest_of_replay,
    earlier_replay,
    keep_this_replay,
    refused,
)
from holo_tasks.cli.run_command.run import _replay, run_command
from holo_tasks.cli.run_command.settings import Outcome, Replay, Settings
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import SubgoalOpened
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run_options import RunOptions
from holo_tasks.scripts.playbook import Again, Playbook, parse_playbook
from holo_tasks.scripts.script import Script
from tests.support.agents import events
from tests.support.command_line import CommandLine, InProcess
from tests.support.scripted_model import ScriptedModel, step

PLAYBOOK = r"""
name: counting
goals:
  press:
    params: {who: text}
    again: refuse
    rules:
      - id: answer
        screen: [Count]
        done: press
        read: {count: {line: '(\d+)', as: int}}
        do:
          - answer: "{who}: {count}"
            thought: The button was pressed; reading the count.
      - id: press
        screen: [Count]
        once: true
        do:
          - click: Count
            thought: Press the button.
  other:
    rules:
      - id: other
        screen: [A screen that never comes]
        do:
          - answer: never
            thought: It has come.
"""
NOBODY = ("--base-url", "http://127.0.0.1:9/v1")


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    path = tmp_path / "counting.yaml"
    path.write_text(PLAYBOOK, encoding="utf-8")
    return path


@pytest.mark.desktop
@pytest.mark.slow
def test_a_playbook_finishes_the_goal_without_a_model(
    cli: CommandLine, app: str, playbook: Path, tmp_path: Path
) -> None:
    given = ("--playbook", f"{playbook}#press", "--set", "who=Zoë")
    env = {"HAI_API_KEY": None, "HOLO_BASE_URL": None}
    ended = cli("run", "Press it.", *given, "--playbook-only", "--app", app, "--allow", "act", "--json", env=env)
    assert (ended.code, ended.told["status"], ended.told["answer"]) == (0, "answered", "Zoë: 1"), ended.complaint
    assert (ended.told["layer"], ended.told["model_calls"], ended.told["cost_usd"]) == ("playbook", 0, 0.0)
    assert (tmp_path / "clicks").read_text() == "1"
    (opened,) = (event for event in events(ended.told["trace"]) if isinstance(event, SubgoalOpened))
    assert opened.playbook == f"press {hashlib.sha256(playbook.read_bytes()).hexdigest()}"
    again = cli("run", "Press it.", *given, "--playbook-only", "--app", app, "--allow", "act", "--json", env=env)
    assert (again.code, again.told["status"], again.told["trace"]) == (11, "needs_person", ended.told["trace"])
    assert "was done with the same values" in again.complaint
    assert (tmp_path / "clicks").read_text() == "1"


@pytest.mark.desktop
@pytest.mark.slow
def test_an_unmatched_screen_is_left_to_the_model_or_ends_the_run(cli: CommandLine, app: str, playbook: Path) -> None:
    other = ("run", "Press it.", "--playbook", f"{playbook}#other", "--app", app, "--allow", "act", "--json")
    with ScriptedModel([step("answer", content="by the model")]) as model:
        alone = cli.start(*other, "--playbook-only", *NOBODY)  # each waits for a while before it gives up
        ended = cli(*other, "--base-url", model.base_url)
    assert (ended.told["answer"], ended.told["layer"], ended.told["model_calls"]) == ("by the model", "model", 1)
    ended = alone.end()
    assert (ended.code, ended.told["status"], ended.told["layer"]) == (11, "needs_person", None)
    assert "has no rule of goal 'other' for this screen" in ended.complaint


def of_replay(home: Path, again: Again | None, app: str = "xterm", key: str = "", **more: Any) -> Settings:
    values = {"who": "Zoë", **more.pop("values", {})}
    replay = Replay(
        Script(counted(), "press", who="Zoë"), values, False, again, digest_of_replay("c#press", values, app)
    )
    return Settings(
        "Press it.",
        "http://127.0.0.1:9/v1",
        profile_for("rehearsal"),
        Destination.parse(str(home / "runs")),
        home=home,
        options=RunOptions(key=key),
        playbook=replace(replay, **more),
    )


def counted() -> Playbook:
    return parse_playbook(PLAYBOOK)


def refusal(settings: Settings) -> Outcome | None:
    """Return the outcome that ends a command before its run, because its values were done before."""
    found = earlier_replay(settings)
    return None if found is None or settings.playbook is None else refused(settings.playbook, found)


ANSWERED = Outcome("answered", 0, "1", 2, 0, "the trace", None)


def test_the_same_values_are_refused_the_second_time_unless_the_user_wants_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = of_replay(tmp_path, "refuse")
    assert earlier_replay(first) is None
    keep_this_replay(first, replace(ANSWERED, status="needs_person", exit_code=11))
    assert earlier_replay(first) is None, "a run that did not answer is not done"
    begin_this_replay(first)
    keep_this_replay(first, replace(ANSWERED, status="needs_person", exit_code=11, may_have_stored=True))
    assert "handed over, and the item may be there" in getattr(refusal(of_replay(tmp_path, "refuse")), "message", "")
    keep_this_replay(first, ANSWERED)
    second = refusal(of_replay(tmp_path, "refuse"))
    assert second is not None
    assert (second.exit_code, second.trace) == (11, "the trace")
    assert "--again" in second.message
    assert json.loads(second.to_json(replayed=True))["done_before"]["trace"] == "the trace"
    assert not capsys.readouterr().err
    assert refusal(of_replay(tmp_path, "refuse", repeats=True)) is None
    assert "does them again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "steps", "is_told"),
    [
        pytest.param("", 0, True, id="its process was killed"),
        pytest.param("killed", 3, True, id="it was stopped after an action"),
        pytest.param("killed", 0, False, id="it was stopped before its first action"),
        pytest.param("desktop_failed", 3, True, id="its program died after an action"),
        pytest.param("refused", 3, True, id="a rule refused a step after an action"),
        pytest.param("refused", 1, False, id="a rule refused its first step"),
        pytest.param("needs_person", 3, False, id="a person was told where it stopped"),
        pytest.param("answered", 3, False, id="it answered"),
    ],
)
def test_a_replay_that_was_interrupted_is_not_done_again_without_notice(
    tmp_path: Path, status: Any, steps: int, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have stored the item before it could answer."""
    first = of_replay(tmp_path, "refuse")
    begin_this_replay(first)
    if status:
        keep_this_replay(first, replace(ANSWERED, status=status, steps=steps))
    second = refusal(of_replay(tmp_path, "refuse"))
    assert ("was interrupted" in (second.message if second else "")) is is_told
    if is_told:
        assert second is not None
        assert (second.exit_code, second.trace) == (11, None)
        assert "is still running" in second.message, "it may run in another terminal"
        assert json.loads(second.to_json(replayed=True))["done_before"]["time"]
    assert refusal(of_replay(tmp_path, "tell")) is None
    assert ("was interrupted" in capsys.readouterr().err) is is_told
    keep_this_replay(first, ANSWERED)
    assert "was done" in (getattr(refusal(of_replay(tmp_path, "refuse")), "message", "")), "the last end counts"


def test_a_run_without_a_step_does_not_forget_the_interrupted_one_before(tmp_path: Path) -> None:
    first = of_replay(tmp_path, "refuse")
    begin_this_replay(first)
    before = earlier_replay(first)
    begin_this_replay(first)
    keep_this_replay(first, replace(ANSWERED, status="killed", steps=0), before)
    assert "was interrupted" in getattr(refusal(of_replay(tmp_path, "refuse")), "message", "")
    keep_this_replay(first, replace(ANSWERED, status="needs_person", steps=2), before)
    assert refusal(of_replay(tmp_path, "refuse")) is None, "a person was told where it stopped"


@pytest.mark.parametrize("begins", [True, False], ids=["lost after its begin", "not taken"])
async def test_a_run_that_prefect_s_server_lost_may_have_entered_the_item(
    tmp_path: Path, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect's server may fail while a goal is worked on. A run that it did not take has done nothing."""
    from holo_tasks.cli.run_command import flow  # not at import: Prefect reads its settings then

    async def work(*_: object) -> Outcome:
        raise httpx.UnsupportedProtocol("lost")

    async def begin(body: Any, *_: object) -> None:
        if not begins:
            raise httpx.UnsupportedProtocol("not taken")
        await body.fn("Press it.")

    async def none_noted(*_: object, **__: object) -> list[str]:
        return []

    async def known(begun: Any, *_: object) -> None:
        await begun

    changes = {"_claimed": work, "begun_flow_run": begin, "report_noted": none_noted, "await_known_result": known}
    for name, changed in {**changes, "attempt": lambda: "1"}.items():
        monkeypatch.setattr(flow, name, changed)
    desktop: Any = None
    with pytest.raises(InvalidUsage):
        await flow.run_goal(of_replay(tmp_path, "refuse"), desktop)
    assert (refusal(of_replay(tmp_path, "refuse")) is not None) is begins


@pytest.mark.parametrize(
    "other",
    [
        {"values": {"who": "Zoe"}},
        {"app": "xterm -e vi"},
        {"key": "Z-1"},
        {"again": None},
    ],
)
def test_other_values_another_program_a_key_and_a_playbook_that_does_no_harm_are_not_refused(
    tmp_path: Path, other: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    keep_this_replay(of_replay(tmp_path, "refuse"), ANSWERED)
    assert earlier_replay(of_replay(tmp_path, **{"again": "refuse", **other})) is None
    assert not capsys.readouterr().err


def test_values_that_may_rightly_come_again_are_only_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert refusal(of_replay(tmp_path, "tell")) is None
        keep_this_replay(of_replay(tmp_path, "tell"), ANSWERED)
    assert capsys.readouterr().err.count("was done with the same values") == 1


def test_an_answer_names_the_earlier_replay_of_its_values_also_to_a_client(
    playbook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_settings", lambda options: of_replay(tmp_path, "tell"))
    monkeypatch.setattr(command, "_run_async", lambda *_: answered())
    monkeypatch.setattr("holo_tasks.prefect_server.temporary.configured_api_url", lambda *_: "http://127.0.0.1:9/api")
    monkeypatch.setattr("holo_tasks.prefect_server.temporary.require_server", lambda url: None)
    arguments = ["run", "Go.", *NOBODY, "--playbook", f"{playbook}#press", "--set", "who=me", "--app", "xterm"]
    told = []
    for _ in range(2):
        assert run_command(command_line().parse_args([*arguments, "--json"])) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["done_before"] is None
    assert told[1]["done_before"]["trace"] == "the trace"
    begun: Any = SimpleNamespace(alive=False, run_id="one", was_stopped=False, progress={}, said="")
    replies = [status_of(SimpleNamespace(**vars(begun), outcome=outcome), tmp_path) for outcome in told]  # type: ignore[arg-type]
    assert [reply.get("done_before") for reply in replies] == [None, told[1]["done_before"]]


async def answered() -> Outcome:
    return ANSWERED


def test_a_relative_file_of_another_folder_is_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ("homebank {}", "homebank --file={}", "env FILE={} homebank", "sh -c 'homebank {};exit'")
    found, same = [], []
    for name in ("may", "june"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "book.xhb").touch()
        monkeypatch.chdir(tmp_path / name)
        found += [digest_of_replay("c#press", {}, way.format("book.xhb")) for way in ways]
        same += [digest_of_replay("c#press", {}, way.format(tmp_path / "may" / "book.xhb")) for way in ways]
        same += [digest_of_replay("c#press", {}, "homebank")]
    assert len({*found}) == len(found)
    assert len({*same}) == len(same) / 2, "the folder makes no difference to a program without a relative path"
    assert {*found[: len(ways)]} <= {*same}


@pytest.mark.parametrize(("given", "is_same"), [((), True), (("--set", "who=me"), True), (("--set", "who=I"), False)])
def test_a_default_is_the_same_value_if_it_is_given(tmp_path: Path, given: tuple[str, ...], is_same: bool) -> None:
    file = tmp_path / "counting.yaml"
    file.write_text(PLAYBOOK.replace("again:", "values: {who: me}\n    again:"), encoding="utf-8")

    def digest(*given: str) -> str:
        replay = _replay(command_line().parse_args(["run", "Go.", "--playbook", f"{file}#press", *given]))
        assert replay is not None
        return replay.digest

    assert (digest(*given) == digest("--set", "who=me")) is is_same


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--set", "who=me"), "add --playbook FILE.yaml"),
        (("--playbook-only",), "add --playbook FILE.yaml"),
        (("--heal", "apply"), "add --playbook FILE.yaml"),
        (("--again",), "add --playbook FILE.yaml"),
        (("--playbook", "{}#press"), "who: is not given"),
        (("--playbook", "{}#press", "--set", "who"), "--set takes NAME=VALUE"),
        (("--playbook", "{}", "--set", "who=me"), "has no goal ''; it has: press, other"),
        (("--playbook", "{}#none"), "has no goal 'none'"),
        (("--playbook", "/nowhere.yaml"), "cannot read the playbook /nowhere.yaml"),
    ],
)
def test_an_invalid_playbook_is_refused_before_any_program_starts(
    here: InProcess, playbook: Path, given: tuple[str, ...], said: str
) -> None:
    arguments = [word.format(playbook) for word in given]
    ended = here("run", "Go.", *NOBODY, "--app", "xterm", "--json", *arguments)
    assert (ended.code, ended.told["status"]) == (2, "invalid")
    assert ("layer" in ended.told) == ("--playbook" in given)
    assert said in ended.complaint


def test_a_missing_value_is_reported_before_a_server_or_program_starts(playbook: Path) -> None:
    with pytest.raises(InvalidUsage, match="who: is not given"):
        _replay(command_line().parse_args(["run", "Go.", "--playbook", f"{playbook}#press"]))
