"""Typical mistakes of new users raise an error with one clear sentence at the place of the mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect.exceptions import TerminationSignal

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_blocks.loading import load_block
from holo_tasks import InvalidUsage, cost_guardrail, subgoal
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.cli import commands
from holo_tasks.cli.handoff import resume
from holo_tasks.cli.settings import check_text
from holo_tasks.run.run_options import RunOptions
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.records.handoffs import Handoffs


@pytest.mark.parametrize("said", ["yes", "Act", "", True, ["act"]])
def test_allow_is_read_or_act(said: Any) -> None:
    with pytest.raises(InvalidUsage, match='"read" or "act", not'):
        Rules().under(said)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("image_quality", "best", "image_quality= is one of .*, not 'best'"),
        ("max_steps", 0, "max_steps must be from 1 to 10000, not 0"),
        ("max_corrections", 99, "max_corrections must be"),
        ("allow", "Act", '"read" or "act", not'),
    ],
)
def test_an_invalid_option_of_a_run_is_named(option: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidUsage, match=words):
        RunOptions(**{option: value})


def test_a_moved_option_is_refused_with_its_new_place() -> None:
    nothing: Any = None
    terms = dict.fromkeys(("desktop", "endpoint", "profile", "destination"), nothing)
    with pytest.raises(InvalidUsage, match=r"no argument limits= any more: write options=RunOptions\(limits=…\)"):
        open_agent(title="", **terms, limits=nothing)


def plain(name: str) -> str:
    return name


async def awaited(name: str) -> str:
    return name


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: subgoal(plain), "@subgoal goes on an async function: make 'plain' `async def`"),
        (lambda: subgoal(title="pay {nope}")(awaited), "title of 'awaited' names {nope}, and the function has no such"),
        (lambda: subgoal(key="{nope.id}")(awaited), "key of 'awaited' names {nope}"),
        (lambda: subgoal(title="pay {name")(awaited), "title of 'awaited' is not a valid format string"),
        (lambda: cost_guardrail(awaited), "guards nothing without a limit"),
        (lambda: cost_guardrail(), "guards nothing without a limit"),
        (lambda: cost_guardrail(max_cost_usd="{most}")(awaited), "max_cost_usd of 'awaited' names {most}"),
        (lambda: cost_guardrail(max_actions=1, budget="{day}")(awaited), "budget of 'awaited' names {day}"),
    ],
)
def test_a_decorator_refuses_mistakes_at_declaration(declare: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidUsage) as raised:
        declare()
    assert words in str(raised.value)


def test_an_agent_in_a_synchronous_flow_raises_an_error_with_the_remedy(tmp_path: Path) -> None:
    blocks = {
        "model": HoloModel(base_url="http://127.0.0.1:9/v1"),
        "desktop": HoloDesktop(app="true"),
        "audit": AuditBucket(local_folder=str(tmp_path)),
    }
    with (
        pytest.raises(InvalidUsage, match="async with holo_agent"),
        holo_agent(title="", **blocks),  # type: ignore[attr-defined]
    ):
        pass


async def test_an_unregistered_block_type_raises_an_error_with_the_command(prefect: str) -> None:
    with pytest.raises(InvalidUsage, match="Run `prefect block register -m holo_blocks`"):
        await load_block(HoloModel, "nobody")


@pytest.mark.parametrize("error", [TerminationSignal(15), asyncio.CancelledError(), KeyboardInterrupt()])
def test_a_stopped_command_ends_with_one_line(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(given: list[str]) -> int:
        raise error

    monkeypatch.setattr(commands, "carry_out", stopped)
    assert commands.exit_code(["run", "Look."]) == 13
    assert capsys.readouterr().err == "holo-tasks: killed: The command was stopped from outside.\n"


def test_an_answer_to_a_suspended_run_without_its_api_names_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    monkeypatch.setattr("holo_tasks.cli.handoff.configured_api_url", lambda environ: None)
    handoffs = Handoffs(store_at(tmp_path))
    url = "http://me:word@prefect.example/api"
    asked = handoffs.open(
        "Go?", ("done",), run_id="R-1", timeout_s=60, flow_run_id="F", api_url=url, suspended=("a", "b")
    )
    with pytest.raises(InvalidUsage, match=r"and try again: export PREFECT_API_URL=http://prefect\.example/api"):
        resume(asked.id)


def test_a_text_with_encoding_errors_names_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
    with pytest.raises(InvalidUsage, match=r"locale says ascii: set LC_ALL=C\.UTF-8"):
        check_text("goal", "gr\udcfc\udcdfe")
