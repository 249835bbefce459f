"""A model's bad replies and its server's bad answers, over real HTTP: the survivable ones, and their cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holo_tasks import InvalidUsage, LimitReached, Limits, ModelFailed, cost_guardrail, pursue, subgoal
from holo_tasks.run.run import Run
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import Answer, ScriptedModel, step

PRICE_MICRO = 340  # price of a scripted model's reply
DONE = step("answer", content="done")
FENCED = "Here it is:\n```json\n{}\n```\nShall I go on?"
EMPTY = Answer(body=b"")

pytestmark = pytest.mark.usefixtures("prefect")


def click(number: int) -> dict[str, Any]:
    return step("click", element=f"button {number}", x=500, y=500)


@subgoal
async def press_all() -> str:
    answer: str = await pursue("Press them all.")
    return answer


async def worked(model: ScriptedModel, folder: Path, work: Any = press_all, **options: Any) -> tuple[str, Run]:
    """Do the work with an agent; return the answer and the run."""
    async with agent(model, PaintedDesktop(), folder, **options) as run:
        return await work(), run


def reasons(run: Run, kind: str) -> list[str]:
    return [event.reason for event in events(run.trace) if event.kind == kind]  # type: ignore[union-attr]


async def test_a_run_survives_several_bad_replies_at_one_step(tmp_path: Path) -> None:
    bad = [
        FENCED,
        Answer(status=500, body=b"{}"),
        Answer(body=b"\x00\x1b[31m garbage"),
        Answer(status=429, headers={"retry-after": "0.1"}, body=b"{}"),
        Answer(""),
        EMPTY,
    ]
    with ScriptedModel([click(1), click(2), click(3), *bad, *map(click, range(4, 8)), DONE]) as model:
        answer, run = await worked(model, tmp_path, max_steps=8)
    assert (answer, run.steps) == ("done", 8)
    faults = reasons(run, "call_failed")
    for said, part in zip(faults, ("HTTP 500", "not JSON (‘", "HTTP 429", "an empty answer"), strict=True):
        assert part in said
    assert all(said.isprintable() for said in faults)
    assert len(reasons(run, "correction")) == 2
    assert "<error" in str(model.requests[-5]["messages"]), "the correction is still sent after the faults"
    assert run.guard.spent_micro == 10 * PRICE_MICRO, "eight steps and two corrected replies"
    assert run.guard.held_micro > 0, "a server may have worked before a 500 or an invalid answer"


@pytest.mark.parametrize("last", ["Garbage.", ""])
async def test_a_model_is_corrected_three_times_at_each_step(tmp_path: Path, last: str) -> None:
    wrong_tool = step("teleport", to="the end")
    bad = [FENCED, wrong_tool, last]
    with ScriptedModel([*bad, click(1), *bad, click(2), *bad, DONE]) as model:
        _, run = await worked(model, tmp_path, limits=Limits(max_cost_usd=0.5))
    assert (run.steps, len(model.requests)) == (3, 12)
    assert run.guard.spent_micro == 12 * PRICE_MICRO


async def test_the_last_reply_is_quoted_in_printable_characters(tmp_path: Path) -> None:
    came = "I press \x1b[2Jthe\nbutton. \u202e" + "Really. " * 200
    desktop_folder = tmp_path / "a"
    with ScriptedModel([came]) as model, pytest.raises(ModelFailed, match="button") as caught:
        await worked(model, desktop_folder)
    assert len(model.requests) == 4
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800
    with ScriptedModel([came]) as model, pytest.raises(ModelFailed, match="no usable step: "):
        await worked(model, tmp_path / "b", max_corrections=0)
    assert len(model.requests) == 1


async def test_an_invalid_number_of_corrections_is_refused(tmp_path: Path) -> None:
    for value in (-1, 21, True, 1.5):
        with ScriptedModel([DONE]) as model, pytest.raises(InvalidUsage, match="max_corrections"):
            await worked(model, tmp_path, max_corrections=value)


async def test_a_correction_beyond_a_limit_is_not_requested(tmp_path: Path) -> None:
    dear = Answer("Garbage.", usage={"prompt_tokens": 20_000, "completion_tokens": 50})
    for limits, limit in (
        (Limits(max_calls_per_5_minutes=2), "max_calls_per_5_minutes"),
        (Limits(max_cost_usd=0.02), "max_cost_usd"),
    ):
        with ScriptedModel([dear]) as model, pytest.raises(LimitReached) as caught:
            await worked(model, tmp_path / limit, limits=limits)
        assert caught.value.limit == limit
        assert 0 < len(model.requests) <= 3


async def test_a_retry_delay_does_not_exceed_the_deadline(tmp_path: Path) -> None:
    @subgoal
    @cost_guardrail(timeout_seconds=1.2)
    async def hurried() -> str:
        answer: str = await pursue("Press them all.")
        return answer

    with ScriptedModel([EMPTY]) as model, pytest.raises(LimitReached) as caught:
        await worked(model, tmp_path, hurried)
    assert caught.value.limit == "timeout_seconds"
    assert len(model.requests) <= 3
