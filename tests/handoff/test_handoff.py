"""Test hand-offs in flows on a real Prefect server: both ways to answer, and no answer at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task

from holo_tasks import (
    Answer,
    HandOff,
    InvalidUsage,
    LimitReached,
    Limits,
    NeedsPerson,
    PolicyRefused,
    Rules,
    cost_guardrail,
    current_run,
    hand_over,
    pursue,
    subgoal,
)
from holo_tasks.agent.cost_guardrail import before_deadline
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from tests.support.agents import agent, agents, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.prefect_events import payload_of
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")


class HeldDesktop(PaintedDesktop):
    """Desktop that records when the agent was blocked."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    async def hold(self) -> None:
        self.told.append("hold")

    async def release(self) -> None:
        self.told.append("release")

    @property
    def held(self) -> bool:
        return self.told[-1:] == ["hold"]

    async def look(self, *, after_action: bool = False) -> Frame:
        assert not self.held, "the agent must not look at the screen while a person holds it"
        return await super().look(after_action=after_action)


class Stage:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.prefect, self.desktop = folder, PrefectAPI(url), HeldDesktop()
        self.handoffs = Handoffs(store_at(folder / "holo"))
        self.trace = ""
        self.flow_run = ""
        self.model = ScriptedModel([step("ask_human", question="Solve the captcha."), step("answer", content="filed")])

    def flow(self, work: Callable[[], Awaitable[Any]], **options: Any) -> Awaitable[Any]:
        """Start a flow with an agent around ``work``."""

        @flow(name="handing over", persist_result=False)
        async def around() -> Any:
            with self.model:
                async with agent(self.model, self.desktop, self.folder, **options) as run:
                    self.trace, self.flow_run = run.trace, run.flow_run_id
                    return await work()

        return asyncio.ensure_future(around())

    async def waiting(self) -> Handoff:
        """Wait until a person is asked, and return the hand-off."""
        for _ in range(600):
            if found := self.handoffs.waiting():
                return found[0]
            await asyncio.sleep(0.05)
        raise AssertionError("nobody was asked")

    async def state(self, kind: str) -> dict[str, Any]:
        """Wait until the flow run is in a state of a type, with its form if it is paused."""
        for _ in range(600):
            found: dict[str, Any] = self.prefect.flow_run(self.flow_run)
            if found["state"]["type"] == kind and (kind != "PAUSED" or self.prefect.has_form(found)):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(found["state"])

    def resume(self, **said: Any) -> dict[str, Any]:
        """Submit Prefect's form."""
        told: dict[str, Any] = self.prefect.post(f"/flow_runs/{self.flow_run}/resume", {"run_input": said})
        return told


@pytest.fixture
def stage(tmp_path: Path, prefect: str) -> Stage:
    return Stage(tmp_path, prefect)


async def test_an_answer_in_prefects_form_counts_and_a_later_command_fails(stage: Stage) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha.", choices=("done", "give up")))
    handoff = await stage.waiting()
    paused = await stage.state("PAUSED")
    assert handoff.id in paused["state"]["message"]
    assert stage.resume(choice="whatever")["status"] == "REJECT"
    assert stage.resume(choice="done", note="x" * 5000)["status"] == "ACCEPT"
    assert await running == Answer("done", "x" * 4000, "somebody in Prefect's pages")
    await stage.state("COMPLETED")
    assert stage.desktop.told == ["hold", "release"]
    with pytest.raises(InvalidUsage, match="was answered already: ‘done’ by somebody"):
        stage.handoffs.answer(handoff.id, "done", by="ada")
    told = [event for event in events(stage.trace) if event.kind in ("handoff", "taken_back")]
    assert [event.handoff for event in told] == [handoff.id, handoff.id]  # type: ignore[union-attr]


async def test_an_answer_from_a_shell_resumes_the_paused_flow_run(stage: Stage) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha."))
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    stage.handoffs.answer(handoff.id, "try again", note="all done", by="ada")
    assert await running == Answer("try again", "all done", "ada")
    await stage.state("COMPLETED")
    assert stage.resume(choice="done")["status"] == "ABORT"


@pytest.mark.usefixtures("recorded")
async def test_the_prefect_event_has_the_question_but_no_link(stage: Stage) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha.", choices=("yes", "no")), key="I-1")
    handoff = await stage.waiting()
    stage.handoffs.answer(handoff.id, "yes", by="ada")
    await running
    assert await payload_of("holo.handoff.opened", stage.flow_run) == {
        "handoff": handoff.id,
        "question": "Solve the captcha.",
        "choices": ["yes", "no"],
        "expires_at": handoff.expires_at,
        "command": f"holo-tasks handoff resume {handoff.id} --choice yes, or --choice no",
        "token": "I-1",
    }


async def test_no_answer_in_time_raises_needs_person_and_ends_the_pause(stage: Stage) -> None:
    async def work() -> str:
        with pytest.raises(NeedsPerson, match=r"Hand-off ....-.... was not answered within 2 s: Solve it"):
            await hand_over("Solve it", timeout_seconds=2)
        return "went on"

    running = stage.flow(work)
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    assert await running == "went on"
    await stage.state("COMPLETED")
    assert stage.handoffs.find(handoff.id).state == "expired"
    assert stage.desktop.told == ["hold", "release"]
    with pytest.raises(InvalidUsage, match="was not answered in time"):
        stage.handoffs.answer(handoff.id, "done", by="ada")


async def test_cancelling_the_paused_flow_run_kills_the_run(stage: Stage) -> None:
    running = stage.flow(lambda: hand_over("Solve it"))
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    stage.prefect.set_state(stage.flow_run, "CANCELLING")
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stage.handoffs.find(handoff.id).state == "killed"
    assert stage.desktop.told == ["hold"]
    assert [event.status for event in events(stage.trace) if event.kind == "run_closed"] == ["killed"]


async def test_guardrail_clocks_stop_while_a_person_has_the_screen(
    stage: Stage,
) -> None:
    @subgoal
    @cost_guardrail(timeout_seconds=4)
    async def slow() -> None:
        await hand_over("Solve it")
        await asyncio.sleep(60)

    limits = Limits(timeout_seconds=6)
    running = stage.flow(lambda: before_deadline(current_run().guard, slow()), limits=limits)
    handoff = await stage.waiting()
    await asyncio.sleep(7)
    stage.handoffs.answer(handoff.id, "done", by="ada")
    with pytest.raises(LimitReached, match="‘slow’ ran out of its 4 s"):
        await running
    assert [event.choice for event in events(stage.trace) if event.kind == "taken_back"] == ["done"]


async def test_an_answer_is_for_one_attempt_only(stage: Stage) -> None:
    first = stage.flow(lambda: hand_over("Solve it"))
    handoff = await stage.waiting()
    stage.handoffs.answer(handoff.id, "done", by="ada")
    await first
    stage.model = ScriptedModel([])
    second = stage.flow(lambda: hand_over("Solve it", timeout_seconds=3))
    again = await stage.waiting()
    assert again.id != handoff.id
    with pytest.raises(NeedsPerson):
        await second


async def test_the_model_continues_with_the_persons_answer(stage: Stage) -> None:
    running = stage.flow(lambda: pursue("File the entry."), handoff=True)
    handoff = await stage.waiting()
    stage.desktop.gestures.append(Click(Point(1, 1)))  # typed by the person, so it is visible
    stage.handoffs.answer(handoff.id, "done", note="It was a bus.", by="ada")
    assert await running == "filed"
    told = str(stage.model.requests[1]["messages"])
    assert "A person has had the screen, and answers: done. They say: It was a bus." in told
    before, again, after = stage.model.images()
    assert before == again != after, "the model is shown the screen as the person left it"


@pytest.mark.parametrize("handoff", [False, True])
async def test_work_ends_without_an_answer_or_when_the_person_gives_up(stage: Stage, handoff: bool) -> None:
    running = stage.flow(lambda: pursue("File the entry."), handoff=handoff)
    if handoff:
        stage.handoffs.answer((await stage.waiting()).id, "give up", note="no captcha solver here", by="ada")
    with pytest.raises(NeedsPerson, match="ada gave up: no captcha" if handoff else "needs a person: Solve"):
        await running
    assert len([event for event in events(stage.trace) if event.kind == "handoff"]) == 1


CLICK = step("click", element="OK button", x=500, y=500)
CONFIRM = Rules.model_validate({"trust": "act", "confirm": [{"kinds": ["click"]}]})


@pytest.mark.parametrize("choice", ["approve", "refuse"])
async def test_an_action_waits_for_its_own_approval(stage: Stage, choice: str) -> None:
    def flow_() -> Awaitable[Any]:
        stage.model = ScriptedModel([CLICK, step("answer", content="clicked")])
        return stage.flow(lambda: pursue("Press OK."), handoff=HandOff(20), rules=CONFIRM, allow=None, key="T-1")

    running = flow_()
    asked = await stage.waiting()
    assert asked.choices == ("approve", "refuse")
    assert stage.desktop.gestures == []
    stage.handoffs.answer(asked.id, choice, by="ada")
    if choice == "approve":
        assert await running == "clicked"
    else:
        with pytest.raises(PolicyRefused, match="ada said no"):
            await running
    assert len(stage.desktop.gestures) == (choice == "approve")

    stage.desktop.gestures.clear()  # an identical screen
    running = flow_()
    again = await stage.waiting()
    assert again.id != asked.id
    stage.handoffs.answer(again.id, "refuse", by="bob")
    with pytest.raises(PolicyRefused, match="bob said no"):
        await running
    assert stage.desktop.gestures == []


async def test_an_approval_is_valid_for_its_screen_only(stage: Stage) -> None:
    stage.model = ScriptedModel([CLICK])
    running = stage.flow(lambda: pursue("Press OK."), handoff=True, rules=CONFIRM, allow=None)
    asked = await stage.waiting()
    stage.desktop.gestures.append(Click(Point(1, 1)))  # the person changed the screen first
    stage.handoffs.answer(asked.id, "approve", by="ada")
    with pytest.raises(PolicyRefused, match="No person has approved this action on the present screen"):
        await running
    assert len(stage.desktop.gestures) == 1


async def test_an_unused_approval_is_not_valid_for_a_later_attempt(stage: Stage) -> None:
    stage.model = ScriptedModel([CLICK, CLICK])

    async def twice() -> None:
        with pytest.raises(PolicyRefused, match="No person has approved"):
            await pursue("Press OK.")
        stage.desktop.gestures.clear()  # the same screen as at the approval
        await pursue("Press OK.")

    running = stage.flow(twice, handoff=True, rules=CONFIRM, allow=None)
    asked = await stage.waiting()
    stage.desktop.gestures.append(Click(Point(1, 1)))
    stage.handoffs.answer(asked.id, "approve", by="ada")
    stage.handoffs.answer((await stage.waiting()).id, "refuse", by="bob")
    with pytest.raises(PolicyRefused, match="bob said no"):
        await running
    assert stage.desktop.gestures == []


async def test_without_a_flow_the_answer_comes_from_a_shell(stage: Stage) -> None:
    async def work() -> Answer:
        with stage.model:
            async with agent(stage.model, stage.desktop, stage.folder):
                return await hand_over("Solve it", choices=["yes"])

    running = asyncio.ensure_future(work())
    stage.handoffs.answer((await stage.waiting()).id, "yes", by="ada")
    assert await running == Answer("yes", "", "ada")


async def test_two_desktops_of_one_flow_can_wait_concurrently(stage: Stage) -> None:
    @subgoal
    async def ask(which: str) -> str:
        async with agent(stage.model, HeldDesktop(), stage.folder / which):
            return (await hand_over(which)).note

    @flow(persist_result=False)
    async def both() -> list[str]:
        with stage.model:
            async with agent(stage.model, stage.desktop, stage.folder):
                return list(await asyncio.gather(ask("a"), ask("b")))

    running = asyncio.ensure_future(both())
    for which in ("a", "b"):
        handoffs = Handoffs(store_at(stage.folder / which / "holo"))
        while not handoffs.waiting():
            await asyncio.sleep(0.05)
        handoffs.answer(handoffs.waiting()[0].id, "done", note=which, by="ada")
    assert await running == ["a", "b"]


async def test_with_several_desktops_only_the_item_waits(stage: Stage) -> None:
    @subgoal(key="{which}", effect=None)
    async def ask(which: str) -> str:
        return (await hand_over(f"Solve {which}.", suspend=True)).note if which == "b" else "nobody was asked"

    async def start() -> HeldDesktop:
        return HeldDesktop()

    @flow(persist_result=False)
    async def whole() -> dict[str, str]:
        with stage.model:
            async with agents(stage.model, start, stage.folder, desktops=2) as opened:
                stage.flow_run = opened.run.flow_run_id
                return {one.item: one.result async for one in opened.map(ask, ["a", "b", "c"])}

    running = asyncio.ensure_future(whole())
    handoff = await stage.waiting()
    around, waiting = (
        stage.flow_run,
        {"state": {"type": {"any_": ["PAUSED"]}}, "parent_task_run_id": {"is_null_": False}},
    )
    for _ in range(600):
        paused: Any = stage.prefect.post("/flow_runs/filter", {"flow_runs": waiting})
        if found := [run["id"] for run in paused if handoff.id in run["state"]["message"]]:
            break
        await asyncio.sleep(0.05)
    await stage.state("RUNNING")
    assert found != [around]
    stage.flow_run = found[0]
    await stage.state("PAUSED")
    assert stage.resume(choice="done", note="by hand")["status"] == "ACCEPT"
    assert await running == {"a": "nobody was asked", "b": "by hand", "c": "nobody was asked"}
    stage.flow_run = around
    await stage.state("COMPLETED")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"question": " "}, "The question is empty"),
        ({"choices": ()}, "one or more different choices"),
        ({"choices": ("a", "a")}, "one or more different choices"),
        ({"timeout_seconds": 0}, "above 0"),
        ({"timeout_seconds": float("nan")}, "above 0"),
    ],
)
async def test_unanswerable_questions_are_rejected(stage: Stage, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidUsage, match=reason):
        await stage.flow(lambda: hand_over(**{"question": "Solve it", **arguments}))
    assert stage.desktop.told == []


async def ask_suspending() -> Answer:
    return await hand_over("Go on?", choices=("yes",), suspend=True)


@pytest.mark.parametrize(
    ("deployment", "ask", "why"),
    [
        ("", ask_suspending, "it is not a run of a deployment"),
        ("d-1", task(ask_suspending), "the question comes from inside a task"),
        ("d-1", ask_suspending, "its desktop cannot be rebuilt"),
    ],
    ids=["no deployment", "in a task", "somebody else's display"],
)
async def test_a_run_that_cannot_be_suspended_waits_and_logs_the_reason(
    stage: Stage, caplog: pytest.LogCaptureFixture, deployment: str, ask: Callable[[], Awaitable[Answer]], why: str
) -> None:
    async def work() -> Answer:
        current_run().deployment_id = deployment
        return await ask()

    flow = stage.flow(work)
    handoff = await stage.waiting()
    assert not handoff.suspended
    stage.handoffs.answer(handoff.id, "yes", by="ada")
    assert (await flow).choice == "yes"
    assert f"The run waits and is not suspended: {why}" in caplog.text


async def test_a_question_of_a_sub_goal_is_logged_in_both_flow_runs(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    @subgoal
    async def asks() -> str:
        return (await hand_over("Solve it")).choice

    with caplog.at_level("WARNING"):
        running = stage.flow(asks)
        handoff = await stage.waiting()
        stage.handoffs.answer(handoff.id, "done", by="ada")
        assert await running == "done"
    said = [record for record in caplog.records if record.getMessage().startswith("A person is needed: Solve it")]
    assert len({record.flow_run_id for record in said}) == 2  # type: ignore[attr-defined]
    (paused,) = [record for record in said if record.flow_run_id == stage.flow_run]  # type: ignore[attr-defined]
    assert "Resume)" in paused.getMessage()
    (inside,) = [record for record in said if record is not paused]
    assert "on the page of the parent run" in inside.getMessage()
