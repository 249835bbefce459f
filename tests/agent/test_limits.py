"""Guardrails that outlive the process: limits over retries, named states, events, shared budgets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from prefect import flow, task

from holo_tasks import InvalidUsage, LimitReached, Limits, agent_step, cost_guardrail, pursue, subgoal
from holo_tasks.agent import open_agent
from holo_tasks.core.limits.budget import Guard
from holo_tasks.run.prefect_edge import final_states
from holo_tasks.run.prefect_edge.final_states import LIMIT_EVENT
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.budgets import Budgets
from holo_tasks.safety.records.ledger import Ledger
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_events import payload_of
from tests.support.scripted_model import Answer, ScriptedModel, step
from tests.support.spending import balance

CLICK = step("click", element="OK button", x=500, y=500)
DONE = step("answer", content="done")

pytestmark = pytest.mark.usefixtures("prefect")


@subgoal(title="Press OK for {item}", key="{item}", effect=None)
@cost_guardrail(max_actions=3)
async def press(item: str) -> str:
    answer: str = await pursue("Press OK.")
    return answer


@subgoal
@cost_guardrail(max_cost_usd=0.006)
async def ask_often() -> str:
    answer: str = await pursue("Press OK.")
    return answer


def budgets(folder: Path) -> Budgets:
    return Budgets(store_at(folder / "holo"))


@pytest.mark.usefixtures("recorded")
async def test_a_flows_state_is_named_after_its_limit_and_emits_an_event(tmp_path: Path) -> None:
    @flow(name="guarded flow", persist_result=False)
    @cost_guardrail(max_cost_usd=0.005)
    async def nightly() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await pursue("Press OK.")

    with ScriptedModel([CLICK]) as model:
        state: Any = await nightly(return_state=True)  # type: ignore[call-arg]
    assert state.name == "Limit: max_cost_usd"
    assert state.is_failed()
    assert "has spent $0.0" in state.message
    with pytest.raises(LimitReached):
        await state.result(raise_on_failure=True)
    run_id = str(state.state_details.flow_run_id)
    payload = await payload_of(LIMIT_EVENT, run_id)
    assert payload["limit"] == "max_cost_usd"
    assert "has spent" in payload["message"]


async def test_a_sub_goals_state_is_named_after_its_limit(tmp_path: Path) -> None:
    names: list[str] = []

    async def around() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            state: Any = await press("I-1", return_state=True)  # type: ignore[call-arg]
            names.append(state.name)

    with ScriptedModel([CLICK]) as model:
        await around()
    assert names == ["Limit: max_actions"]


async def test_the_event_of_a_sub_goals_limit_names_the_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(final_states, "emit_event", lambda **event: told.append(event))
    monkeypatch.setattr(open_agent, "deployment_id", lambda: "d-1")  # as for a flow run of a deployment

    async def around() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await press("I-3")

    with ScriptedModel([CLICK]) as model, pytest.raises(LimitReached):
        await around()
    (event,) = told
    deployment = {"prefect.resource.id": "prefect.deployment.d-1", "prefect.resource.role": "deployment"}
    assert (event["event"], event["related"]) == (LIMIT_EVENT, [deployment])


async def test_a_limit_of_an_item_applies_over_re_runs(tmp_path: Path) -> None:
    desktop = PaintedDesktop()

    async def around() -> None:
        async with agent(model, desktop, tmp_path):
            await press("I-2")

    for _ in range(2):
        with ScriptedModel([CLICK]) as model, pytest.raises(LimitReached):
            await around()
    assert len(desktop.gestures) == 3
    Ledger(store_at(tmp_path / "holo")).free("I-2", not_done=False)
    with ScriptedModel([CLICK, DONE]) as model:
        await around()
    assert len(desktop.gestures) == 4


async def test_a_limit_of_a_flow_run_applies_over_its_retries(tmp_path: Path) -> None:
    tries: list[int] = []

    @flow(name="tried thrice", persist_result=False, retries=2, retry_delay_seconds=0)
    async def around() -> None:
        tries.append(1)
        async with agent(model, desktop, tmp_path):
            await ask_often()

    desktop = PaintedDesktop()
    with ScriptedModel([CLICK] * 3 + [Answer(status=401, body=b"{}")] + [CLICK]) as model, pytest.raises(LimitReached):
        await around()
    assert len(tries) == 3
    assert len(model.requests) > 5, "the second try continued after the first"
    billed = sum(1 for number in range(len(model.requests)) if number != 3)
    assert billed * (1000 * 0.25 + 50 * 1.8) <= 6_000


async def test_a_wrong_key_ends_a_guarded_flow_at_once(tmp_path: Path) -> None:
    tries: list[int] = []

    @flow(name="guarded, with a wrong key", persist_result=False, retries=2, retry_delay_seconds=0)
    @cost_guardrail(max_cost_usd=1.0)
    async def around() -> None:
        tries.append(1)
        async with agent(model, PaintedDesktop(), tmp_path):
            await pursue("Press OK.")

    with ScriptedModel([Answer(status=401, body=b"{}")]) as model:
        state: Any = await around(return_state=True)  # type: ignore[call-arg]
    assert len(tries) == 1
    assert (state.is_failed(), state.name) == (True, "Invalid")
    assert "API key" in state.message


async def test_a_limit_may_come_from_an_argument(tmp_path: Path) -> None:
    @flow(name="guarded by argument", persist_result=False)
    @cost_guardrail(max_cost_usd="{dollars}", max_actions="{actions}")
    async def nightly(dollars: float | str = 0.005, actions: int | None = None) -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await pursue("Press OK.")

    def name_of(state: Any) -> str:
        return str(state.name)

    with ScriptedModel([CLICK]) as model:
        assert name_of(await nightly(return_state=True)) == "Limit: max_cost_usd"  # type: ignore[call-arg]
        assert name_of(await nightly(5, 2, return_state=True)) == "Limit: max_actions"  # type: ignore[call-arg]
        for wrong in (-1, "a lot"):
            asked = len(model.requests)
            assert name_of(await nightly(wrong, return_state=True)) == "Invalid"  # type: ignore[call-arg]
            assert len(model.requests) == asked


async def test_prefect_knows_the_types_of_a_guarded_flow(tmp_path: Path) -> None:
    seen: list[object] = []

    @flow(name="guarded with types", persist_result=False)
    @cost_guardrail(max_actions=1)
    async def nightly(folder: Path, since: Limits | None = None) -> None:
        seen.append(folder)

    await nightly(str(tmp_path))  # type: ignore[arg-type]
    assert seen == [tmp_path]
    assert nightly.parameters.properties["folder"]["format"] == "path"


def test_a_guarded_flow_can_be_pickled() -> None:
    @subgoal(key="{item}", advisor="wise")
    @cost_guardrail(max_actions=1)
    async def work(item: str) -> str:
        return item

    @agent_step(acts=True)
    async def send(item: str) -> None: ...

    @flow
    @cost_guardrail(max_cost_usd="{dollars}")
    async def whole(dollars: float) -> str:
        await send("I-1")
        return await work("I-1")

    assert cloudpickle.dumps(whole)


def test_a_guardrail_without_effect_is_refused() -> None:
    guard = cost_guardrail(max_actions=1)

    async def agenerator() -> Any:
        yield 1

    def coroutine_in_disguise() -> Any:
        return asyncio.sleep(0)

    for wrong in (flow(coroutine_in_disguise), task(coroutine_in_disguise), press, agenerator):
        with pytest.raises(InvalidUsage, match="cost_guardrail"):
            guard(wrong)
    with pytest.raises(InvalidUsage, match="async def"):
        guard(coroutine_in_disguise)()


async def test_a_synchronous_inner_flow_is_named_after_its_limit() -> None:
    @flow(name="synchronous", persist_result=False)
    @cost_guardrail(max_actions=1)
    def inner() -> None:
        raise LimitReached("Too much.", limit="max_actions")

    @flow(name="around a synchronous one", persist_result=False)
    async def outer() -> str:
        state: Any = inner(return_state=True)  # type: ignore[call-arg]
        return str(state.name)

    assert await outer() == "Limit: max_actions"


async def test_a_deadline_during_an_action_is_named_after_its_scope(tmp_path: Path) -> None:
    class Late(PaintedDesktop):
        async def do(self, gesture: Any, **options: Any) -> Any:
            raise LimitReached("The deadline passed before the gesture was complete.", limit="deadline")

    @cost_guardrail(timeout_seconds=100)
    async def work() -> None:
        async with agent(model, Late(), tmp_path):
            await pursue("Press OK.")

    with ScriptedModel([CLICK]) as model, pytest.raises(LimitReached) as caught:
        await work()
    assert (caught.value.limit, caught.value.scope) == ("timeout_seconds", "‘work’")


async def test_calls_are_also_counted_outside_a_flow(tmp_path: Path) -> None:
    @cost_guardrail(max_calls_per_5_minutes=2)
    async def script() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await pursue("Press OK.")

    with ScriptedModel([CLICK]) as model:
        with pytest.raises(LimitReached) as caught:
            await script()
        assert (caught.value.limit, len(model.requests)) == ("max_calls_per_5_minutes", 2)


async def test_scopes_nest_and_all_ancestors_are_charged(tmp_path: Path) -> None:
    @subgoal
    @cost_guardrail(max_cost_usd=1.0, budget="inner of {name}")
    async def inner(name: str) -> str:
        answer: str = await pursue("Press OK.")
        return answer

    @flow(name="outer", persist_result=False)
    @cost_guardrail(max_cost_usd=1.0, budget="outer")
    async def outer() -> None:
        async with agent(model, PaintedDesktop(), tmp_path, limits=Limits(max_cost_usd=1.0), budget="the run"):
            await inner("a")
            await inner("b")

    with ScriptedModel([CLICK, DONE]) as model:
        await outer()
    kept = budgets(tmp_path)
    spent = [balance(kept, key).spent_micro for key in ("shared:inner of a", "shared:inner of b")]
    assert all(spent)
    assert balance(kept, "shared:outer").spent_micro == balance(kept, "the run").spent_micro == sum(spent)
    assert balance(kept, "shared:outer").held_micro == 0


async def test_a_stuck_agent_is_stopped_by_the_calls_of_five_minutes(tmp_path: Path) -> None:
    @subgoal
    @cost_guardrail(max_calls_per_5_minutes=4, budget="stuck")
    async def stuck() -> str:
        answer: str = await pursue("Press OK.")
        return answer

    async def around() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await stuck()

    with ScriptedModel([CLICK]) as model:
        with pytest.raises(LimitReached) as caught:
            await around()
        assert caught.value.limit == "max_calls_per_5_minutes"
        assert len(model.requests) == 4
        with pytest.raises(LimitReached):
            await around()
        assert len(model.requests) == 4


def test_calls_older_than_five_minutes_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, scope = budgets(tmp_path), Guard("s", Limits(max_calls_per_5_minutes=2), 0, key="s")
    clock = [1000.0]
    monkeypatch.setattr("holo_tasks.safety.database.store.time.monotonic", lambda: clock[0])
    for _ in range(2):
        kept.hold([scope], 0)
    with pytest.raises(LimitReached):
        kept.hold([scope], 0)
    clock[0] += 299.0
    with pytest.raises(LimitReached):
        kept.hold([scope], 0)
    clock[0] += 1.5
    kept.hold([scope], 0)


def test_an_unsettled_reservation_stays_held(tmp_path: Path) -> None:
    scope = Guard("s", Limits(max_cost_usd=0.001), 0, key="s")
    orphan = budgets(tmp_path).hold([scope], 600)
    again = budgets(tmp_path)
    with pytest.raises(LimitReached, match="are reserved"):
        again.hold([scope], 600)
    again.pay(orphan, 50)
    again.pay(orphan, 50)
    assert balance(again, "s").spent_micro == 50
    again.hold([scope], 600)
