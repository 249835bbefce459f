"""`holo-tasks run --playbook`: steps of a playbook need no model; the model continues if the playbook does not fit."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from holo_tasks.core.events import SubgoalOpened
from tests.support.agents import events
from tests.support.command_line import CommandLine, InProcess
from tests.support.scripted_model import ScriptedModel, step

PLAYBOOK = r"""
name: counting
goals:
  press:
    params: {who: text}
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--set", "who=me"), "add --playbook FILE.yaml"),
        (("--playbook-only",), "add --playbook FILE.yaml"),
        (("--heal", "apply"), "add --playbook FILE.yaml"),
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
