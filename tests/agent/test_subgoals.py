"""Sub-goals as Prefect runs: names, fresh histories, tokens, budgets, and actions that are never repeated."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterParentFlowRunId,
    TaskRunFilter,
    TaskRunFilterFlowRunId,
)
from pydantic import BaseModel

from holo_tasks import (
    InvalidUsage,
    LimitReached,
    Limits,
    ModelFailed,
    NeedsPerson,
    PolicyRefused,
    agent_step,
    cost_guardrail,
    is_done,
    progress,
    pursue,
    subgoal,
)
from holo_tasks.core.errors import TokenConflict, TransientModelFault
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey
from tests.support.agents import agent, events, in_a_flow
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import Answer, ScriptedModel, step

CLICK = step("click", element="OK button", x=500, y=500)
DONE = step("answer", content="done")

pytestmark = pytest.mark.usefixtures("prefect")


class Total(BaseModel):
    amount: int


@subgoal(title="Read {item}", key="{item}")
async def read_total(item: str, hint: str = "") -> Total:
    total: Total = await pursue(f"Read the total of {item}. {hint}", returns=Total)
    return total


@subgoal
async def press_ok(times: int) -> str:
    answer: str = await pursue("Press OK.")
    return answer


@pytest.mark.usefixtures("recorded")
async def test_a_sub_goals_runs_and_steps_have_readable_names_in_prefect(tmp_path: Path) -> None:
    with ScriptedModel([CLICK, step("answer", content='{"amount": 7}')]) as model:

        async def work() -> tuple[Total, str]:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                with progress(4):
                    return await read_total("R-1"), run.flow_run_id

        total, parent = await in_a_flow(work)
    assert total == Total(amount=7)
    async with get_client() as client:
        (child,) = await client.read_flow_runs(
            flow_run_filter=FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[parent]))
        )
        assert child.name == "Read R-1"
        names: list[str] = []
        for _ in range(50):  # task runs reach the server as events, a moment later
            runs = await client.read_task_runs(
                task_run_filter=TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[child.id]))
            )
            names = sorted(run.name for run in runs)
            if len(names) == 3:
                break
            await asyncio.sleep(0.1)
    assert names == ["1 · click ‘OK button’", "1 · decide", "2 · decide"]
    assert "Progress: step 1 of 4: Read R-1" in model.requests[0]["messages"][1]["content"]


async def test_each_sub_goal_starts_with_an_empty_history(tmp_path: Path) -> None:
    with ScriptedModel([CLICK, DONE, DONE]) as model:

        async def work() -> None:
            async with agent(model, PaintedDesktop(), tmp_path):
                await press_ok(1)
                await press_ok(2)

        await work()
    assert [len(request["messages"]) for request in model.requests] == [3, 6, 3]


async def test_a_finished_token_costs_no_call_and_no_input(tmp_path: Path) -> None:
    desktop = PaintedDesktop()
    with ScriptedModel([CLICK, step("answer", content='{"amount": 7}')]) as model:

        async def work() -> tuple[bool, Total, bool]:
            async with agent(model, desktop, tmp_path):
                before = is_done(read_total, "R-1")
                return before, await read_total("R-1"), is_done(read_total, "R-1")

        first = await work()
        calls, inputs = len(model.requests), len(desktop.gestures)
        second = await work()
    assert first == (False, Total(amount=7), True)
    assert second == (True, Total(amount=7), True)
    assert (len(model.requests), len(desktop.gestures)) == (calls, inputs) == (2, 1)


async def test_a_token_with_other_inputs_is_refused(tmp_path: Path) -> None:
    with ScriptedModel([step("answer", content='{"amount": 7}')]) as model:

        async def work() -> None:
            async with agent(model, PaintedDesktop(), tmp_path):
                await read_total("R-1")
                with pytest.raises(TokenConflict):
                    await read_total("R-1", hint="look twice")

        await work()
    assert len(model.requests) == 1


async def test_only_the_inputs_that_count_make_a_conflict(tmp_path: Path) -> None:
    @subgoal(key="{item}", inputs=["item"])
    async def read_it(item: str, earlier: str | None) -> str:
        answer: str = await pursue(f"Read {item}.")
        return answer

    with ScriptedModel([DONE]) as model:

        async def work() -> list[str]:
            async with agent(model, PaintedDesktop(), tmp_path):
                return [await read_it("R-1", "R-0"), await read_it("R-1", None)]

        answers = await work()
    assert answers == ["done", "done"]
    assert len(model.requests) == 1


async def test_an_unfinished_token_is_worked_on_again(tmp_path: Path) -> None:
    with ScriptedModel([*["babble"] * 4, step("answer", content='{"amount": 7}')]) as model:

        async def work() -> Total:
            async with agent(model, PaintedDesktop(), tmp_path):
                with pytest.raises(ModelFailed):
                    await read_total("R-1")
                return await read_total("R-1")

        total = await work()
    assert total == Total(amount=7)


async def test_an_answer_of_the_wrong_shape_is_sent_back(tmp_path: Path) -> None:
    with ScriptedModel([step("answer", content="seven"), step("answer", content='{"amount": 7}')]) as model:

        async def work() -> Total:
            async with agent(model, PaintedDesktop(), tmp_path):
                return await read_total("R-1")

        total = await work()
        assert total == Total(amount=7)
        told = model.requests[1]["messages"][-2]["content"]
        assert told.startswith('<error tool="answer">')
    with ScriptedModel([step("answer", content="seven")]) as model, pytest.raises(ModelFailed, match="‘seven’"):
        await _read_once(model, tmp_path / "b")
    assert len(model.requests) == 4


async def _read_once(model: ScriptedModel, folder: Path) -> Total:
    async with agent(model, PaintedDesktop(), folder):
        return await read_total("R-2")


@pytest.mark.parametrize(
    ("script", "options", "error"),
    [
        ([CLICK], {"allow": "read"}, PolicyRefused),
        pytest.param(
            [step("move_to", element="OK", x=1, y=1)], {"allow": "read"}, PolicyRefused, marks=pytest.mark.long
        ),
        ([step("ask_human", question="Please solve the captcha.")], {}, NeedsPerson),
        (["I think I should click the button."], {}, ModelFailed),
        ([step("click", element="OK", x=1001, y=1)], {}, ModelFailed),
        ([Answer("", finish_reason="length")], {}, ModelFailed),
        pytest.param([Answer(None)], {}, ModelFailed, marks=pytest.mark.long),
        ([Answer(status=401, body=b"{}")], {}, InvalidUsage),
        ([Answer(status=404, body=b"{}")], {}, InvalidUsage),
        ([Answer(status=400, body=b'{"error": {"message": "tools: [] is rejected"}}')], {}, ModelFailed),
    ],
)
async def test_failures_raise_a_typed_error_without_input(
    tmp_path: Path, script: list[Any], options: dict[str, Any], error: type[Exception]
) -> None:
    desktop = PaintedDesktop()

    async def work() -> None:
        async with agent(model, desktop, tmp_path, **options):
            await press_ok(1)

    with ScriptedModel(script) as model, pytest.raises(error):
        await work()
    assert desktop.gestures == []
    assert len(model.requests) <= 4


async def test_a_wrong_coordinate_is_corrected_once_and_the_correction_is_not_replayed(tmp_path: Path) -> None:
    wrong = step("click", element="OK", x=1001, y=1)
    desktop = PaintedDesktop()
    with ScriptedModel([wrong, CLICK, DONE]) as model:

        async def work() -> None:
            async with agent(model, desktop, tmp_path):
                await press_ok(1)

        await work()
    assert desktop.gestures == [Click(desktop.gestures[0].at)]  # type: ignore[union-attr]
    corrected, after = model.requests[1]["messages"], model.requests[2]["messages"]
    assert any('<error tool="click">' in str(message["content"]) for message in corrected)
    assert not any("<error" in str(message["content"]) for message in after)
    assert "1001" not in str([message for message in after if message["role"] == "assistant"])


async def test_transient_faults_are_retried_by_prefect(tmp_path: Path) -> None:
    faults = [
        Answer(status=503, body=b"{}"),
        Answer(drop=True),
        Answer(status=429, headers={"retry-after": "0.2"}, body=b"{}"),
    ]
    with ScriptedModel([*faults, DONE]) as model:

        async def work() -> str:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                return await press_ok(1) + " " + run.trace

        answer = await work()
    assert answer.startswith("done ")
    assert len(model.requests) == 4
    kinds = [event.kind for event in events(answer.removeprefix("done "))]
    assert kinds.count("call_failed") == 3


async def test_an_impossible_gesture_is_reported_to_the_model(tmp_path: Path) -> None:
    def refuse(gesture: Gesture) -> None:
        if isinstance(gesture, Hotkey):
            raise InvalidUsage("There is no key named 'hyper'.")

    with ScriptedModel([step("hotkey", keys=["hyper"]), DONE]) as model:

        async def work() -> str:
            async with agent(model, PaintedDesktop(refuse), tmp_path):
                return await press_ok(1)

        answer = await work()
    assert answer == "done"
    assert '<error tool="hotkey">\nThere is no key' in model.requests[1]["messages"][-2]["content"]


async def test_the_model_learns_that_the_screen_did_not_change(tmp_path: Path) -> None:
    with ScriptedModel([CLICK, DONE]) as model:

        async def work() -> None:
            async with agent(model, PaintedDesktop(frozen=True), tmp_path):
                await press_ok(1)

        await work()
    assert "The screen did not change." in model.requests[1]["messages"][-2]["content"]


async def test_limits_stop_the_work_and_are_named(tmp_path: Path) -> None:
    @subgoal
    @cost_guardrail(max_actions=2)
    async def few_actions() -> str:
        answer: str = await pursue("Click for ever.")
        return answer

    @subgoal
    @cost_guardrail(max_cost_usd=0.02)
    async def little_money() -> str:
        answer: str = await pursue("Click for ever.")
        return answer

    @subgoal
    @cost_guardrail(timeout_seconds=0.7)
    async def little_time() -> str:
        answer: str = await pursue("Think for ever.")
        return answer

    desktop = PaintedDesktop()

    def dear(number: int, body: dict[str, Any]) -> Answer:
        """Bills ten times the estimate for the prompt, and every token that it may write."""
        return Answer(json.dumps(CLICK), usage={"prompt_tokens": 20_000, "completion_tokens": body["max_tokens"]})

    for work, script, limit in (
        (few_actions, [CLICK], "max_actions"),
        (little_money, dear, "max_cost_usd"),
        (little_time, [Answer("{}", delay_s=3)], "timeout_seconds"),
    ):
        with ScriptedModel(script) as model:
            spent: list[int] = []

            async def around(model: ScriptedModel = model, work: Any = work, spent: list[int] = spent) -> None:
                async with agent(model, desktop, tmp_path) as run:
                    try:
                        await work()
                    finally:
                        spent.append(run.guard.spent_micro)

            started = time.monotonic()
            with pytest.raises(LimitReached) as caught:
                await around()
            assert caught.value.limit == limit
            assert spent[0] <= 20_000 or limit != "max_cost_usd"
            assert time.monotonic() - started < 30
    assert len([g for g in desktop.gestures if isinstance(g, Click)]) >= 2


async def test_at_the_step_limit_the_model_is_asked_for_a_final_answer(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> Any:
        return CLICK if number < 2 else step("answer", content="half done")

    with ScriptedModel(script) as model:

        async def work() -> None:
            async with agent(model, PaintedDesktop(), tmp_path, max_steps=2):
                await press_ok(1)

        with pytest.raises(LimitReached) as caught:
            await work()
    assert caught.value.partial_answer == "half done"
    assert "raise max_steps (on the command line --max-steps)" in str(caught.value)
    last = model.requests[-1]
    names = str(last["structured_outputs"]["json"])
    assert "'answer'" in names
    assert "'click'" not in names


async def test_a_model_without_a_price_is_refused_under_a_budget(tmp_path: Path) -> None:
    from holo_tasks.models.profile import profile_for

    with ScriptedModel([DONE]) as model:

        async def work() -> None:
            async with agent(
                model, PaintedDesktop(), tmp_path, profile=profile_for("nobody-knows"), limits=Limits(max_cost_usd=1)
            ):
                await press_ok(1)

        with pytest.raises(InvalidUsage, match="price"):
            await work()
    assert model.requests == []


async def test_missing_usage_is_charged_by_estimate_and_marked(tmp_path: Path) -> None:
    with ScriptedModel([Answer(json.dumps(DONE), no_usage=True)]) as model:

        async def work() -> tuple[int, str]:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                await press_ok(1)
                return run.guard.spent_micro, run.trace

        spent, trace = await work()
    assert spent > 0
    assert [event.estimated for event in events(trace) if event.kind == "reply"] == [True]


async def test_the_timeline_is_published_on_the_sub_goal(tmp_path: Path, prefect_url: str) -> None:
    with ScriptedModel([CLICK, DONE]) as model:

        async def work() -> str:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                await press_ok(1)
                return run.run_id

        run_id = await work()
    wanted = {"artifacts": {"key": {"any_": [f"timeline-{run_id}-1"]}}}
    (artifact,) = PrefectAPI(prefect_url).post("/artifacts/filter", wanted)
    assert artifact["type"] == "markdown"
    assert "data:image/jpeg;base64," in artifact["data"]


async def test_every_picture_on_the_wire_is_in_the_trace(tmp_path: Path) -> None:
    with ScriptedModel([CLICK, CLICK, CLICK, CLICK, DONE]) as model:

        async def work() -> str:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                await press_ok(1)
                return run.trace

        trace = await work()
    kept = {path.stem: path.read_bytes() for path in (Path(trace) / "frames").iterdir()}
    for image in model.images():
        assert kept[hashlib.sha256(image).hexdigest()] == image
    assert max(str(request["messages"]).count("data:image") for request in model.requests) == 3
    kinds = [event.kind for event in events(trace)]
    assert kinds[0] == "run_opened"
    assert kinds[-1] == "run_closed"
    assert kinds.index("frame") < kinds.index("request") < kinds.index("reply") < kinds.index("decision")


async def test_a_step_that_acts_is_never_retried_and_one_that_asks_is(tmp_path: Path) -> None:
    tries: list[str] = []

    @agent_step(acts=True, title="press {what}")
    async def press(what: str) -> None:
        tries.append(what)
        raise TransientModelFault("the line dropped")

    @agent_step(acts=False, title="ask {what}")
    async def ask(what: str) -> str:
        tries.append(what)
        if tries.count(what) < 2:
            raise TransientModelFault("the line dropped", retry_after_s=0.01)
        return what

    async def work() -> str:
        with pytest.raises(TransientModelFault):
            await press("OK")
        return await ask("me")

    answer = await in_a_flow(work)
    assert answer == "me"
    assert tries == ["OK", "me", "me"]


async def test_the_same_step_twice_runs_twice(tmp_path: Path) -> None:
    """Prefect's default cache would skip the second one."""
    ran: list[int] = []

    @agent_step(acts=True)
    async def press() -> int:
        ran.append(1)
        return len(ran)

    async def work() -> list[int]:
        return [await press(), await press()]

    assert await in_a_flow(work) == [1, 2]
