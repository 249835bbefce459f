"""Approvals by the command line: rules from a file, an action that waits for approval, and the approval."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_fixtures import command
from tests.support.command_line import CommandLine, InProcess
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="the Count button", x=350, y=400)
DONE = step("answer", content="counted")

pytestmark = pytest.mark.desktop


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.toml"
    file.write_text(
        f'trust = "act"\nactions = ["click"]\nprograms = ["{command("counter")[1]}"]\n'
        '[[confirm]]\ntext = "count"\nkinds = ["click"]\n'
    )
    return file


def test_an_action_that_waits_for_approval_is_done_after_it(
    cli: CommandLine, here: InProcess, app: str, rules: Path
) -> None:
    clicks = cli.home / "clicks"
    with ScriptedModel(lambda number, body: DONE if "Done: click" in str(body["messages"]) else CLICK) as model:
        options = ("--app", app, "--base-url", model.base_url, "--rules", str(rules), "--token", "T-1", "--json")
        waiting = cli("run", "Count once.", *options)
        assert (waiting.code, waiting.told["status"]) == (11, "needs_person")
        assert "say yes with `holo-tasks approve 1`, then run it again" in waiting.complaint
        assert not clicks.exists()

        listed = here("approve")
        assert (listed.code, listed.stderr) == (0, "")
        assert listed.stdout.startswith("1: To click ‘the Count button’ at (448, 320) in ")
        assert "probe_counter.py needs a person's yes (confirm: text count; kinds click)" in listed.stdout
        assert "for token T-1" in listed.stdout
        assert waiting.told["trace"] in listed.stdout

        assert (here("approve", "2").code, here("approve", "one").code) == (2, 2)
        yes = here("approve", "1", "--by", "ada")
        assert (yes.code, yes.stderr) == (0, "")
        assert here("approve", "1", "--by", "bob").complaint == (
            "holo-tasks: invalid: Approval 1 was answered already by ada; `holo-tasks approve` lists the open requests."
        )
        assert here("approve").complaint == "holo-tasks: no action waits for an approval"

        assert cli("run", "Count once.", *options).told["answer"] == "counted"
        assert clicks.read_text() == "1"
        asked = len(model.requests)
        assert cli("run", "Count once.", *options).told["answer"] == "counted"  # the token is finished
        assert len(model.requests) == asked
        assert clicks.read_text() == "1"


@pytest.mark.long
def test_actions_before_an_approval_are_not_repeated_automatically(cli: CommandLine, app: str, rules: Path) -> None:
    first = step("click", element="the window", x=350, y=250)
    replies = {0: first, 1: CLICK, 2: DONE}
    with ScriptedModel(lambda number, body: replies[str(body["messages"]).count("Done: click")]) as model:
        options = ("--app", app, "--base-url", model.base_url, "--rules", str(rules), "--token", "T-1", "--json")
        assert cli("run", "Count once.", *options).code == 11
        yes = cli("approve", "1")
        assert "Actions done before it: 1." in yes.stdout
        again = cli("run", "Count once.", *options)
        assert again.code == 11
        assert "Nothing was repeated" in again.complaint
        assert not (cli.home / "clicks").exists()
        retried = cli("retry", "T-1", "--not-done")
        assert retried.code == 0
        assert (cli.home / "clicks").read_text() == "1"


@pytest.mark.long
def test_another_item_needs_its_own_approval(cli: CommandLine, app: str, rules: Path) -> None:
    with ScriptedModel([CLICK]) as model:
        options = ("--app", app, "--base-url", model.base_url, "--rules", str(rules), "--json", "--token")
        assert cli("run", "Count.", *options, "T-1").code == 11
        assert cli("approve", "1").code == 0
        other = cli("run", "Count.", *options, "T-2")
        assert other.code == 11
        assert "approve 2" in other.complaint
        assert not (cli.home / "clicks").exists()


@pytest.mark.parametrize(
    ("content", "allow", "code"),
    few(
        [('trust = "act"', "read", 12), ("colour = 1", "act", 2), ('trust = "read"', "act", 12), ("", "act", 0)],
        first=2,
    ),
)
def test_the_stricter_of_rules_file_and_option_applies(
    cli: CommandLine, app: str, tmp_path: Path, content: str, allow: str, code: int
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(content)
    with ScriptedModel([CLICK, DONE]) as model:
        options = ("--app", app, "--base-url", model.base_url, "--rules", str(file), "--allow", allow, "--json")
        ended = cli("run", "Count.", *options)
    assert ended.code == code
    said = {12: "this run is read-only", 0: "answered after 2 steps", 2: "colour"}[code]
    assert said in ended.complaint
