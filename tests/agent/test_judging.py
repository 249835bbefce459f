"""A question of judgement goes to the named model, with its own endpoint, price and budget."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from holo_tasks import InvalidUsage, LimitReached, Limits, ModelFailed, cost_guardrail, judge, pursue, subgoal
from holo_tasks.agent.judge import shows
from holo_tasks.core.errors import TransientModelFault
from holo_tasks.core.input.gestures import Hotkey
from holo_tasks.core.screen.geometry import Box
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run import Run, current_guard
from tests.support.agents import agent, events, in_a_flow
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import Answer, ScriptedModel, step
from tests.support.shots import pictures_in

pytestmark = pytest.mark.usefixtures("prefect")

DONE = step("answer", content="done")
YES = {"reason": "The totals are equal.", "verdict": True}
PRICE = {"input": Decimal(4), "output": Decimal(20)}
COST = 4 * 1000 + 20 * 50
Work = Callable[[], Awaitable[Any]]


class Court:
    """A clerk model for the screen, and a wise model at another endpoint for questions."""

    def __init__(self, wise: Sequence[Any] | Callable[..., Any], folder: Path, **price: Any) -> None:
        self.clerk, self.wise = ScriptedModel([DONE]), ScriptedModel(wise)
        self.folder = folder
        self.profile = profile_for("wise", **({"price": PRICE} | price))
        self.run: Run

    @asynccontextmanager
    async def session(self, names: Sequence[str] = ("wise",), **options: Any) -> AsyncIterator[Run]:
        with self.clerk, self.wise:
            endpoint = ModelEndpoint(self.wise.base_url, None)
            advisors = {name: model_at(endpoint, self.profile) for name in names}
            try:
                async with agent(self.clerk, PaintedDesktop(), self.folder, advisors=advisors, **options) as self.run:
                    yield self.run
            finally:
                await endpoint.close()

    async def hear(self, work: Work, names: Sequence[str] = ("wise",), **options: Any) -> Any:
        """Do some work with an open agent."""
        async with self.session(names, **options):
            return await work()

    def text(self, number: int = -1) -> str:
        return str(self.wise.requests[number]["messages"][0]["content"][-1]["text"])


async def test_the_advisor_is_asked_at_its_endpoint_and_billed_at_its_price(tmp_path: Path) -> None:
    spent: list[int] = []

    @subgoal(advisor="wise")
    async def settle(case: str) -> bool:
        await pursue("Look at it.")
        verdict: bool = await judge("Are they equal?", returns=bool, facts={"left": Decimal("1.50"), "right": "1,50"})
        spent.append(current_guard().spent_micro)  # type: ignore[union-attr]
        return verdict

    court = Court([YES], tmp_path)
    assert await in_a_flow(lambda: court.hear(lambda: settle("A"), names=("other", "wise"))) is True
    clerks = 250 + 90
    assert spent == [clerks + COST]
    assert court.run.guard.spent_micro == clerks + COST
    assert (len(court.clerk.requests), len(court.wise.requests)) == (1, 1)
    assert court.wise.requests[0]["model"] == "wise"
    for told in ("Are they equal?", '"left": "1.50"', '"right": "1,50"', '"verdict"'):
        assert told in court.text()
    told = events(court.run.trace)
    (asked,) = [event for event in told if event.kind == "request" and event.purpose == "judge"]
    assert (asked.model, asked.endpoint) == ("wise", f"{court.wise.base_url}/")
    (verdict,) = [event for event in told if event.kind == "judgement"]
    assert (verdict.model, verdict.answer, verdict.reason) == ("wise", "true", "The totals are equal.")
    assert [event.cost_micro_usd for event in told if event.kind == "reply"] == [clerks, COST]
    (frame,) = [event for event in told if event.kind == "frame" and event.sha256 == asked.shots[0]][-1:]
    assert (Path(court.run.trace) / "frames" / f"{frame.sha256}.jpg").exists()
    assert told[-1].cost_micro_usd == clerks + COST  # type: ignore[union-attr]


@pytest.mark.parametrize(("names", "wanted", "asked"), [(("a", "b"), "b", 1), (("a",), None, 1), ((), None, 0)])
async def test_without_a_name_the_only_advisor_or_the_agents_model_is_asked(
    tmp_path: Path, names: tuple[str, ...], wanted: str | None, asked: int
) -> None:
    court = Court([YES], tmp_path)
    court.clerk = ScriptedModel([YES])
    assert await court.hear(lambda: judge("Equal?", returns=bool, advisor=wanted), names=names)
    assert (len(court.wise.requests), len(court.clerk.requests)) == (asked, 1 - asked)


async def test_an_unknown_advisor_is_refused_by_name(tmp_path: Path) -> None:
    @subgoal(advisor="nobody")
    async def settle() -> str:
        return str(await judge("Equal?"))

    for work in (lambda: judge("Equal?", advisor="nobody"), settle):
        court = Court([YES], tmp_path)
        with pytest.raises(InvalidUsage, match="'nobody'; the agent was opened with: wise"):
            await court.hear(work)
        assert court.wise.requests == []
    with pytest.raises(InvalidUsage, match="empty"):
        await Court([YES], tmp_path).hear(lambda: judge("  "))


async def test_a_question_contains_the_screen_a_region_or_no_picture(tmp_path: Path) -> None:
    court = Court([YES], tmp_path)

    async def work() -> None:
        await judge("Equal?", returns=bool)
        await judge("Equal?", returns=bool, region=Box(10, 10, 100, 40))
        await judge("Equal?", returns=bool, look=False)

    await court.hear(work)
    assert [len(pictures_in(body)) for body in court.wise.requests] == [1, 1, 0]
    told = events(court.run.trace)
    assert [event.region for event in told if event.kind == "frame"] == [[], [10, 10, 100, 40]]
    assert [len(event.shots) for event in told if event.kind == "request"] == [1, 1, 0]


async def test_a_question_about_a_frame_sends_that_frame(tmp_path: Path) -> None:
    court = Court([YES], tmp_path)

    async def work() -> bool:
        before = await court.run.desktop.look()
        await court.run.desktop.do(Hotkey(("escape",)))
        assert (await court.run.desktop.look()).digest != before.digest
        held = await shows("Is a list shown?", before)
        (frame,) = [event for event in events(court.run.trace) if event.kind == "frame"]
        assert frame.frame_digest == before.digest
        return held

    assert await court.hear(work) is True
    assert "Is a list shown?" in court.text()


async def test_a_budget_for_one_question_is_reserved_before_it_is_asked(tmp_path: Path) -> None:
    court = Court([YES], tmp_path)

    async def work() -> None:
        with pytest.raises(LimitReached, match="Are they equal") as caught:
            await judge("Are they equal?", returns=bool, max_cost_usd=0.0001)
        assert caught.value.limit == "max_cost_usd"
        assert await judge("Are they equal?", returns=bool, max_cost_usd=0.2)

    await court.hear(work)
    assert len(court.wise.requests) == 1
    assert (court.run.guard.spent_micro, court.run.guard.held_micro) == (COST, 0)


async def test_outer_guardrails_apply_to_a_question(tmp_path: Path) -> None:
    @cost_guardrail(max_cost_usd=0.0001)
    async def cheaply() -> Any:
        return await judge("Equal?", returns=bool)

    for work, options in ((cheaply, {}), (lambda: judge("Equal?"), {"limits": Limits(max_cost_usd=0.0001)})):
        court = Court([YES], tmp_path)
        with pytest.raises(LimitReached):
            await court.hear(work, **options)
        assert court.wise.requests == []


async def test_an_advisor_without_a_price_is_refused_under_a_cost_limit(tmp_path: Path) -> None:
    @cost_guardrail(max_cost_usd=5)
    async def limited() -> Any:
        return await judge("Equal?")

    for work, options in (
        (limited, {}),
        (lambda: judge("Equal?", max_cost_usd=5), {}),
        (lambda: judge("Equal?"), {"limits": Limits(max_cost_usd=5)}),
    ):
        court = Court([YES], tmp_path, price=None)
        with pytest.raises(InvalidUsage, match="price of wise"):
            await court.hear(work, **options)
        assert court.wise.requests == []
    court = Court([YES], tmp_path, price=None)
    await court.hear(lambda: judge("Equal?", returns=bool))
    assert court.run.guard.total_micro is None


WRONG = [
    {"reason": "r", "verdict": "maybe"},
    {"reason": "r"},
    {"verdict": "yes"},
    {"reason": "r", "verdict": "yes", "\ud800": 1},
    {"reason": "\ud800", "verdict": "yes"},
    "yes",
    Answer(None),
    Answer(json.dumps({"reason": "r", "verdict": "yes"}), finish_reason="length"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: ascii(getattr(value, "content", value)))
async def test_a_verdict_of_a_wrong_type_is_sent_back(tmp_path: Path, wrong: Any) -> None:
    court = Court([wrong, {"reason": "r", "verdict": "yes"}], tmp_path)
    assert await court.hear(lambda: judge("Paid?", returns=Literal["yes", "no"])) == "yes"
    assert len(court.wise.requests) == 2
    assert len(court.text(1)) > len(court.text(0))
    assert court.run.guard.spent_micro == 2 * COST


async def test_the_fourth_verdict_of_a_wrong_type_fails_the_question(tmp_path: Path) -> None:
    court = Court([WRONG[0]], tmp_path)
    with pytest.raises(ModelFailed, match=r"corrected 3 times.*verdict"):
        await court.hear(lambda: judge("Paid?", returns=Literal["yes", "no"]))
    assert len(court.wise.requests) == 4
    assert [event.kind for event in events(court.run.trace)].count("correction") == 4


async def test_a_transient_fault_is_retried(tmp_path: Path) -> None:
    court = Court([Answer(status=503, body=b"{}"), Answer(drop=True), YES], tmp_path)
    assert await court.hear(lambda: judge("Equal?", returns=bool))
    assert len(court.wise.requests) == 3
    court = Court([Answer(status=429, headers={"retry-after": "600"}, body=b"{}")], tmp_path)
    with pytest.raises(TransientModelFault):
        await court.hear(lambda: judge("Equal?", returns=bool))
    assert len(court.wise.requests) == 1, "such a long delay is not awaited"


async def test_faults_in_between_do_not_add_corrections_of_a_verdict(tmp_path: Path) -> None:
    court = Court([WRONG[0], Answer(status=503, body=b"{}"), WRONG[0], YES], tmp_path)
    with pytest.raises(ModelFailed, match="corrected 1 time:"):
        await court.hear(lambda: judge("Equal?", returns=bool), max_corrections=1)
    assert len(court.wise.requests) == 3


async def test_a_strict_type_is_parsed_from_json(tmp_path: Path) -> None:
    class Invoice(BaseModel):
        model_config = ConfigDict(strict=True)

        due: date
        total: Decimal
        places: tuple[int, ...]

    court = Court([{"reason": "r", "verdict": {"due": "2024-02-01", "total": "1.50", "places": [1, 2]}}], tmp_path)
    found = await court.hear(lambda: judge("What is due?", returns=Invoice))
    assert found == Invoice(due=date(2024, 2, 1), total=Decimal("1.50"), places=(1, 2))
    assert len(court.wise.requests) == 1


async def test_the_time_for_a_question_covers_its_retries(tmp_path: Path) -> None:
    """Five attempts with the full time each would take five times as long."""
    court = Court([Answer(status=503, body=b"{}")], tmp_path)
    with pytest.raises(LimitReached) as caught:
        await court.hear(lambda: judge("Equal?", returns=bool, timeout_seconds=1.5))
    assert caught.value.limit == "timeout_seconds"
    assert 1 <= len(court.wise.requests) <= 3
