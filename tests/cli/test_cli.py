"""`holo-tasks run` from outside: every way a run ends, on real screens, with a scripted model.

For each exit code one command is ``real``: it loads its modules as for a user. The one for code 0 needs no server. The
one for 11 is in `test_cli_retry`, 13 in `test_cli_kills`, 14 in `test_cli_doctor`, and 15 in `test_loaded_before`.
"""

from __future__ import annotations

import io
import json
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command_fixtures import command
from tests.support.command_line import EXECUTABLE, CommandLine, Ended, Running, takers, until
from tests.support.long import few
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import Answer, ScriptedModel, step

CLICK = step("click", element="the {Count} button ‘100 %’", x=390, y=450)
ANSWER = "zweiundvierzig – 🙂\nand a second line"
DONE = step("answer", content=ANSWER)
HANG = Answer("", delay_s=120)

pytestmark = pytest.mark.desktop

XServer = Callable[..., "subprocess.Popen[bytes]"]


class Runs:
    """Runs side by side, each with its own model: a start is mostly imports, and there are two cores."""

    def __init__(self, cli: CommandLine) -> None:
        self._cli = cli
        self._stack = ExitStack()
        self._running: dict[str, Running] = {}
        self.models: dict[str, ScriptedModel] = {}

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *exc: object) -> None:
        for running in self._running.values():
            running.process.kill()
        self._stack.close()

    def start(self, name: str, script: Any, *arguments: str, **options: Any) -> None:
        model = self.models[name] = self._stack.enter_context(ScriptedModel(script))
        goal = ("run", "Count.", "--json", "--base-url", model.base_url)
        self._running[name] = self._cli.start(*goal, *arguments, **options)

    def ends(self) -> dict[str, Ended]:
        return {name: running.end() for name, running in self._running.items()}


def events(ended: Ended) -> list[dict[str, Any]]:
    """Return the events of a run's trace, in order."""
    lines = (Path(ended.told["trace"]) / "events.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_stdout_contains_only_the_answer(cli: CommandLine, app: str) -> None:
    goal = "How many {clicks} are %s there?\n“Zoë” said: 'count' \\ 🙂"
    with ScriptedModel([CLICK, CLICK, DONE]) as model:
        options = ("--base-url", model.base_url, "--model", "home-made", "--size", "1000x700", "--allow", "act")
        ended = cli("run", goal, "--app", app, *options, "--json")
        plain = cli("run", "x" * 99_000, "--app", app, *options)
    assert (ended.code, plain.code) == (0, 0)
    assert plain.stdout == f"{ANSWER}\n"
    # The fourth step is a second answer: the goal names ‘Zoë’, whom the screen does not show.
    assert "answered after 4 steps" in ended.complaint
    unknown, begun, said, ended_as = plain.said
    assert unknown.startswith("holo-tasks: home-made has no profile (`holo-tasks models`)")
    assert ended_as.startswith("holo-tasks: answered after 1 step, cost unknown; trace: /")
    assert begun.startswith("holo-tasks: home-made is at work, for at most 50 steps; trace: /")
    assert said == "holo-tasks: step 1 of 50: answer; cost unknown"
    told = ended.told
    assert (told["status"], told["answer"], told["steps"]) == ("answered", plain.stdout.strip(), 4)
    assert told["cost_usd"] is None, "the price of this model is unknown"
    assert (cli.home / "clicks").read_text() == "2"
    assert goal in model.requests[0]["messages"][1]["content"]
    assert Image.open(io.BytesIO(model.images()[0])).size == (1000, 700)
    run = PrefectAPI(cli.env["PREFECT_API_URL"]).flow_run(told["flow_run_id"])
    assert (run["name"], run["state_type"]) == (" ".join(goal.split()), "COMPLETED"), "a name is one line"


@pytest.mark.parametrize("tools", few([(("click", "hotkey"),), (("write", "move_to"),)]))
def test_a_run_that_may_only_read_sends_no_input(
    cli: CommandLine, x_server: XServer, display: str, tools: tuple[str, ...]
) -> None:
    log = cli.home / "events"
    x_server(display, *command("events", log))
    until(lambda: log.exists() and "mapped" in log.read_text())

    def input_events() -> list[str]:
        """Return all events except mapped windows, which may recur when the display is captured."""
        return [line for line in log.read_text().splitlines() if "mapped" not in line]

    calls = {
        "click": {"element": "the canvas", "x": 400, "y": 400},
        "write": {"content": "hello", "press_enter": True},
        "move_to": {"element": "the canvas", "x": 300, "y": 300},
        "hotkey": {"keys": ["ctrl", "s"]},
    }
    with Runs(cli) as runs:
        for name in tools:
            # DISPLAY comes from the environment, as for any X program.
            runs.start(name, [step(name, **calls[name])], env={"DISPLAY": display}, real=name == tools[0])
        ends = runs.ends()
    for ended in ends.values():
        assert (ended.code, ended.told["status"], ended.told["steps"]) == (12, "refused", 1)
        assert "--allow act" in ended.complaint
        assert "action" not in [event["kind"] for event in events(ended)]
    assert input_events() == []


def test_a_limit_ends_a_run(cli: CommandLine, x_server: XServer, display: str) -> None:
    x_server(display)
    with Runs(cli) as runs:
        here, again = ("--display", display), {"PREFECT_FLOWS_DEFAULT_RETRIES": "2"}
        runs.start("steps", [CLICK, step("answer", content="one so far")], *here, "--allow", "act",
                   "--max-steps", "1", real=True, env=again)  # fmt: skip
        runs.start("cost", [DONE], *here, "--max-cost-usd", "0.0001")
        runs.start("time", [HANG], *here, "--timeout", "2")
        ends = runs.ends()
        requests = {name: len(model.requests) for name, model in runs.models.items()}
    assert {(ended.code, ended.told["status"]) for ended in ends.values()} == {(10, "limit")}
    assert {name: ended.told["answer"] for name, ended in ends.items()} == {
        "steps": "one so far",
        "cost": None,
        "time": None,
    }
    assert requests == {"steps": 2, "cost": 0, "time": 1}
    assert "--max-steps" in ends["steps"].complaint
    assert "2 s" in ends["time"].complaint
    assert events(ends["time"])[-1]["status"] == "limit"


def test_a_failing_model_ends_a_run(cli: CommandLine, x_server: XServer, display: str) -> None:
    x_server(display)
    with Runs(cli) as runs:
        here = ("--display", display)
        runs.start("person", [step("ask_human", question="What is\nthe {code}?")], *here)
        runs.start("overloaded", [Answer(status=500)], *here)
        runs.start("locked", [Answer(status=401)], *here)
        ends = runs.ends()
        asked = len(runs.models["overloaded"].requests)
    ended_as(ends, {"person": "needs_person", "overloaded": "model_failed", "locked": "invalid"})
    assert "What is the {code}?" in ends["person"].complaint
    assert asked == 5
    assert "HTTP 500" in ends["overloaded"].complaint
    assert "HOLO_API_KEY" in ends["locked"].complaint


@pytest.mark.long
def test_other_failing_models_end_a_run(cli: CommandLine, x_server: XServer, display: str) -> None:
    x_server(display)
    with Runs(cli) as runs:
        here = ("--display", display)
        runs.start("garbage", ["I would rather not."], *here)
        runs.start("echo", [Answer(status=400, body=b'{"error": {"message": "bad key k-3y"}}')], *here,
                   env={"HOLO_API_KEY": "k-3y"})  # fmt: skip
        runs.start("unreachable", [], *here, "--base-url", "http://127.0.0.1:9/v1")
        runs.start("unknown", [Answer(status=404)], *here, "--model", "nope")
        ends = runs.ends()
    ended_as(ends, {**dict.fromkeys(("garbage", "echo", "unreachable"), "model_failed"), "unknown": "invalid"})
    assert "k-3y" not in ends["echo"].stderr + str(events(ends["echo"]))
    assert "'nope'" in ends["unknown"].complaint


def ended_as(ends: dict[str, Ended], expected: dict[str, str]) -> None:
    """Check each run's status and exit code, and the status in its trace."""
    codes = {"needs_person": 11, "model_failed": 14, "invalid": 2}
    assert {name: ended.told["status"] for name, ended in ends.items()} == expected
    for ended in ends.values():
        assert ended.code == codes[ended.told["status"]]
        assert events(ended)[-1]["status"] == ended.told["status"]


def test_a_missing_screen_or_program_ends_a_run(cli: CommandLine, x_server: XServer, display: str) -> None:
    server = x_server(display)

    def pull_the_plug(number: int, body: dict[str, Any]) -> Any:
        server.kill()
        server.wait()
        Path(f"/tmp/.X{display[1:]}-lock").unlink(missing_ok=True)
        return step("wait", seconds=0.1)

    with Runs(cli) as runs:
        runs.start("gone", pull_the_plug, "--display", display)
        runs.start("none", [DONE], "--display", ":9898")
        runs.start("missing", [DONE], "--app", "/no/such-program")
        runs.start("quits", [DONE], "--app", "sh -c 'echo \"so long\"; exit 3'")
        ends = runs.ends()
    for ended in ends.values():
        assert (ended.code, ended.told["status"]) == (15, "desktop_failed")
    assert ":9898" in ends["none"].complaint
    assert "/no/such-program" in ends["missing"].complaint
    assert "so long" in ends["quits"].complaint
    assert events(ends["gone"])[-1]["status"] == "desktop_failed"
    assert ends["none"].told["trace"] is None


def test_a_run_needs_no_server_no_particular_folder_and_no_terminal(app: str, tmp_path: Path) -> None:
    folder = tmp_path / "my work"
    folder.mkdir()
    for name in ("queue", "secrets", "uvicorn"):
        (folder / f"{name}.py").write_text("raise SystemExit('not meant for you')")
    program = folder / "start {me}"
    program.write_text(f"#!/bin/sh\nexec {app}\n")
    program.chmod(0o755)
    alone = CommandLine(tmp_path, None)
    with ScriptedModel([CLICK, DONE]) as model:
        running = alone.start(
            *("run", "Count.", "--app", "'./start {me}'", "--allow", "act", "--base-url", model.base_url, "--json"),
            cwd=folder,
            # A proxy that is not meant for this machine.
            env={"http_proxy": "http://127.0.0.1:9"},
            by=("nohup",),
        )
        until(lambda: model.requests)
        ended = running.signal(signal.SIGHUP)
    assert (ended.code, ended.told["status"], ended.told["answer"]) == (0, "answered", ANSWER)
    assert "answered after 2 steps" in ended.complaint, "without Prefect's own messages"


def test_runs_share_a_home_and_a_borrowed_screen_and_survive_a_closed_output(
    cli: CommandLine, x_server: XServer, display: str
) -> None:
    """One run drives the screen, which has no window manager."""
    x_server(display, *command("counter", cli.home / "clicks"))
    yes, here = step("answer", content="yes"), ("--display", display, "--token")
    with Runs(cli) as runs:
        runs.start("one", [yes], *here, "one")
        runs.start("two", [step("click", element="Count", x=562, y=550), yes], *here, "two", "--allow", "act")
        ends = runs.ends()
    assert [ended.told["status"] for ended in ends.values()] == ["answered"] * 2
    assert (cli.home / "clicks").read_text() == "1"
    assert len({ended.told["trace"] for ended in ends.values()}) == 2
    # A repeated token returns its result at once, so this is quick.
    told = f"{EXECUTABLE} run Count. --display {display} --base-url http://127.0.0.1:9/v1 --token one"
    for listener, expected in {">&-": (0, ""), "2>&-": (0, "yes\n")}.items():
        ended = subprocess.run(["bash", "-c", f"{told} {listener}"], env=cli.env, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == expected, listener
        assert "Traceback" not in ended.stderr
    # Python's own behaviour at its end, with an unread pipe or a full disk.
    with takers() as (unread, full):
        for taker, code in ((unread, 0), (full, 2)):
            again = cli(*shlex.split(told)[1:], stdout=taker)
            assert again.code == code
            assert "Traceback" not in again.stderr
