"""A model call is charged when its bill arrives, whatever its reply is worth, and refused if it may cost too much."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, LimitReached, ModelFailed, TransientModelFault
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.limits.money import Usage, image_tokens
from holo_tasks.core.limits.overbilling import Overbilling
from holo_tasks.core.ports import Reply, ToolRequest
from holo_tasks.core.prompts.model import Request
from holo_tasks.core.prompts.transcript import Observed
from holo_tasks.loop.ask_model.predict import FAIR_OUTPUT_TOKENS, most_prompt_tokens, predict, prompt_tokens
from holo_tasks.loop.walk import Walk
from holo_tasks.models.profile import PriceTable
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, after_steps, as_model, shot, walk_of, wrote

PRICE = PriceTable(input=Decimal("0.30"), output=Decimal("2.00"), cached=Decimal("0.03"))
CLICK = wrote(step("click", element="OK", x=5, y=5))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def counter(client: MemoryModel, limits: Limits | None = None, **changes: Any) -> tuple[Walk, MemoryRecorder]:
    """Return a walk that has captured its first screen, with a model of known price."""
    recorder, clock = MemoryRecorder(), Clock()
    model = as_model(client, **{"price": PRICE, **changes})
    walk = walk_of(model, recorder=recorder, limits=limits, now_s=clock)
    walk.transcript = walk.transcript.extended(Observed(shot(0)))
    return walk, recorder


async def asked(walk: Walk, request: Request | None = None) -> Reply:
    made = request or walk.request()
    return await predict(walk.services.model, made, walk.call_account, attempt=1, purpose="step")


async def test_cached_tokens_have_their_own_price() -> None:
    usage = Usage(10_000, 100, cached_tokens=9_000)
    walk, recorder = counter(MemoryModel([wrote("x", usage=usage)]))
    await asked(walk)
    (reply,) = recorder.of("reply")
    assert walk.guard.spent_micro == reply.cost_micro_usd == 300 + 270 + 200
    assert (reply.cached_tokens, reply.estimated) == (9_000, False)


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        (Reply("x" * 3000, "stop", None), 1000),
        (Reply("", "stop", None, reasoning="x" * 3000), 1000),
        (Reply("", "tool_calls", None, tool_calls=(ToolRequest("1", "n" * 300, "x" * 2700),)), 1000),
        (Reply("x" * 300, "stop", None, reasoning="ä" * 150, tool_calls=(ToolRequest("1", "", "x" * 300),)), 300),
        (Reply("", "length", None), 4096),
        (Reply("", "stop", None), 1),
    ],
    ids=["content", "reasoning", "calls", "all", "cut off", "nothing"],
)
async def test_a_missing_bill_is_estimated_from_the_whole_reply_and_marked(reply: Reply, written: int) -> None:
    walk, recorder = counter(MemoryModel([reply]))
    request = walk.request()
    await asked(walk, request)
    (event,) = recorder.of("reply")
    assert event.estimated
    assert (event.prompt_tokens, event.completion_tokens) == (prompt_tokens(request), written)
    assert walk.guard.spent_micro == walk.services.model.price.of(Usage(prompt_tokens(request), written))  # type: ignore[union-attr]


async def test_the_rest_of_the_reservation_stays_held_without_a_bill() -> None:
    held: list[int] = []

    def script(number: int, body: Mapping[str, Any]) -> Reply:
        held.append(walk.guard.held_micro)
        return Reply(CLICK.content, "stop", None)

    walk, _ = counter(MemoryModel(script), Limits(max_cost_usd=1))
    await asked(walk)
    assert walk.guard.spent_micro > 0
    assert walk.guard.spent_micro + walk.guard.held_micro == held[0]


@pytest.mark.parametrize("dialect", ["structured", "tools"])
def test_a_prompt_is_estimated_from_all_of_its_parts(dialect: str) -> None:
    model = as_model(MemoryModel([]), dialect=dialect)

    def tokens(**fields: Any) -> int:
        steps = [a_step("write", content="x" * 3000).model_copy(update=fields)]
        return prompt_tokens(model.dialect.request(after_steps(steps)))

    bare = prompt_tokens(model.dialect.request(after_steps([a_step("write", content="")])))
    assert tokens() >= bare + 1000
    assert tokens(note="ä" * 1510) >= tokens() + 1000  # without it the JSON has `null`
    if dialect == "tools":
        assert tokens(reasoning="x" * 3000) >= tokens() + 1000
    one, two = (prompt_tokens(model.dialect.request(after_steps([a_step()] * count))) for count in (1, 2))
    assert two - one > image_tokens(64, 48)


@pytest.mark.parametrize("said", ["I will click now.", "", '{"a": 1}'])
async def test_an_unusable_reply_is_charged(said: str) -> None:
    walk, recorder = counter(MemoryModel([wrote(said)]))
    with pytest.raises(ModelFailed, match="corrected 3 times"):
        await walk.decide()
    assert walk.guard.spent_micro == 4 * 400
    assert [event.cost_micro_usd for event in recorder.of("reply")] == [400] * 4
    assert [event.attempt for event in recorder.of("request")] == [1, 2, 3, 4]


async def test_a_call_whose_worst_case_exceeds_the_budget_is_not_made() -> None:
    client = MemoryModel([CLICK])
    walk, recorder = counter(client, Limits(max_cost_usd=0.001))
    with pytest.raises(LimitReached) as caught:
        await asked(walk)
    assert caught.value.limit == "max_cost_usd"
    assert client.bodies == []
    assert (walk.guard.spent_micro, walk.guard.held_micro) == (0, 0)
    assert recorder.events == []


async def test_max_tokens_are_reduced_to_fit_the_budget() -> None:
    client = MemoryModel([CLICK])
    walk, _ = counter(client, Limits(max_cost_usd=0.01))
    prompt = walk.services.model.price.of(Usage(most_prompt_tokens(walk.request()), 0))  # type: ignore[union-attr]
    walk.guard.spent_micro = 10_000 - prompt - 2 * 300 - 1
    await asked(walk)
    assert client.bodies[0]["max_tokens"] == 300
    walk, _ = counter(client, Limits(max_cost_usd=0.01))
    walk.guard.spent_micro = 10_000 - prompt - 2 * 255
    with pytest.raises(LimitReached):
        await asked(walk)
    assert len(client.bodies) == 1


async def test_the_worst_case_is_reserved_during_a_call() -> None:
    held: list[int] = []

    def script(number: int, body: Mapping[str, Any]) -> Reply:
        held.append(walk.guard.held_micro)
        return CLICK

    walk, _ = counter(MemoryModel(script), Limits(max_cost_usd=1))
    await asked(walk)
    assert held[0] > 2 * 4096
    assert (walk.guard.held_micro, walk.guard.spent_micro) == (0, 400)


async def test_a_server_that_bills_more_than_estimated_is_remembered() -> None:
    dear = wrote("x", usage=Usage(100_000, 1))
    walk, _ = counter(MemoryModel([dear]), Limits(max_cost_usd=0.05))
    await asked(walk)
    with pytest.raises(LimitReached):
        await asked(walk)
    assert walk.guard.spent_micro == 30_002


async def test_a_server_that_exceeds_max_tokens_is_remembered() -> None:
    walk, _ = counter(MemoryModel([wrote("x", usage=Usage(10, 20_000))]), Limits(max_cost_usd=0.07))
    await asked(walk)
    with pytest.raises(LimitReached, match="has written more tokens than it was allowed, and may write 20000"):
        await asked(walk)
    assert walk.guard.spent_micro == 40_003


async def test_the_reservation_covers_expensive_cached_tokens() -> None:
    held: list[int] = []

    def script(number: int, body: Mapping[str, Any]) -> Reply:
        held.append(walk.guard.held_micro)
        return wrote("x", usage=Usage(tokens, 1, cached_tokens=tokens))

    dear = PriceTable(input=Decimal("0.30"), output=Decimal("0"), cached=Decimal("3.00"))
    walk, _ = counter(MemoryModel(script), Limits(max_cost_usd=1), price=dear)
    tokens = most_prompt_tokens(walk.request())
    await asked(walk)
    assert walk.guard.spent_micro == held[0] == 3 * tokens


async def test_consecutive_failures_leave_money_for_the_next_call() -> None:
    """The bill of a 503 is unknown, so its worst case stays reserved. A call asks for at most a quarter of the rest."""
    down = TransientModelFault("503", maybe_billed=True)
    client = MemoryModel([down, down, down, CLICK, CLICK])
    walk, _ = counter(client, Limits(max_cost_usd=0.03))
    for _ in range(3):
        with pytest.raises(TransientModelFault):
            await asked(walk)
    await asked(walk)
    lengths = [body["max_tokens"] for body in client.bodies]
    assert FAIR_OUTPUT_TOKENS <= lengths[0] <= 4096
    assert lengths == sorted(lengths, reverse=True)
    assert not walk.guard.in_doubt


async def test_a_failed_first_call_does_not_use_up_a_small_budget() -> None:
    down = TransientModelFault("503", maybe_billed=True)
    client = MemoryModel([down, down, CLICK])
    usual = PriceTable(input=Decimal("0.25"), output=Decimal("1.80"))
    walk, _ = counter(client, Limits(max_cost_usd=0.01), price=usual)
    for _ in range(2):
        with pytest.raises(TransientModelFault):
            await asked(walk)
    await asked(walk)
    assert client.bodies[0]["max_tokens"] >= FAIR_OUTPUT_TOKENS
    assert walk.guard.spent_micro > 0


async def test_the_error_mentions_money_held_by_failed_calls() -> None:
    walk, _ = counter(MemoryModel(lambda *_: TransientModelFault("503", maybe_billed=True)), Limits(max_cost_usd=0.01))
    for _ in range(2):
        with pytest.raises(TransientModelFault):
            await asked(walk)
    with pytest.raises(LimitReached, match="a failed call may be billed, so its highest possible cost is reserved"):
        await asked(walk)


async def test_a_reply_cut_off_to_save_money_gets_the_whole_rest() -> None:
    cut = Reply("x", "length", Usage(100, 100))
    client = MemoryModel([cut, CLICK])
    walk, _ = counter(client, Limits(max_cost_usd=0.011))
    await asked(walk)
    await asked(walk)
    lengths = [body["max_tokens"] for body in client.bodies]
    assert FAIR_OUTPUT_TOKENS <= lengths[0] < lengths[1]


@pytest.mark.parametrize(
    ("fault", "still_held"),
    [
        (TransientModelFault("503"), False),
        (TransientModelFault("timed out", maybe_billed=True), True),
        (InvalidUsage("401"), False),
        (ModelFailed("400"), False),
        (RuntimeError("a bug"), True),
    ],
    ids=lambda value: str(value),
)
async def test_money_that_may_still_be_billed_stays_reserved(fault: Exception, still_held: bool) -> None:
    walk, recorder = counter(MemoryModel([fault]), Limits(max_cost_usd=1))
    with pytest.raises(type(fault)):
        await asked(walk)
    assert walk.guard.spent_micro == 0
    assert (walk.guard.held_micro > 0) == still_held
    failed = [(event.reason, event.transient) for event in recorder.of("call_failed")]
    assert failed == ([] if isinstance(fault, RuntimeError) else [(str(fault), isinstance(fault, TransientModelFault))])


async def test_nothing_is_reserved_for_an_unsent_call() -> None:
    walk, recorder = counter(MemoryModel([CLICK]), Limits(max_cost_usd=1))

    async def full(event: object) -> None:
        raise InvalidUsage("The disk is full.")

    recorder.record = full  # type: ignore[method-assign,assignment]
    with pytest.raises(InvalidUsage, match="disk"):
        await asked(walk)
    assert (walk.guard.spent_micro, walk.guard.held_micro) == (0, 0)


async def test_calls_of_the_last_five_minutes_count() -> None:
    client = MemoryModel([CLICK])
    walk, _ = counter(client, Limits(max_calls_per_5_minutes=2))
    for _ in range(2):
        await asked(walk)
    with pytest.raises(LimitReached) as caught:
        await asked(walk)
    assert caught.value.limit == "max_calls_per_5_minutes"
    walk.services.now_s.now += 300  # type: ignore[attr-defined]
    await asked(walk)
    assert len(client.bodies) == 3


async def test_the_reservation_of_a_cancelled_call_stays() -> None:
    called = asyncio.Event()

    class Hung(MemoryModel):
        async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
            called.set()
            await asyncio.Event().wait()
            raise AssertionError

    walk, _ = counter(Hung([]), Limits(max_cost_usd=1))
    call = asyncio.create_task(asked(walk))
    await called.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert walk.guard.held_micro > 0


async def test_a_deadline_limits_the_call() -> None:
    client = MemoryModel([CLICK])
    walk, _ = counter(client, Limits(timeout_seconds=30), call_timeout_s=120.0)
    await asked(walk)
    walk.services.now_s.now += 10  # type: ignore[attr-defined]
    await asked(walk)
    assert client.timeouts_s == [30, 20]
    walk.services.now_s.now += 20  # type: ignore[attr-defined]
    with pytest.raises(LimitReached, match="ran out"):
        await asked(walk)
    assert len(client.bodies) == 2
    walk, _ = counter(client, call_timeout_s=7.0)
    await asked(walk)
    assert client.timeouts_s[-1] == 7


async def test_a_fault_after_the_deadline_is_reported_as_the_deadline() -> None:
    def late(number: int, body: Mapping[str, Any]) -> Exception:
        walk.services.now_s.now += 60  # type: ignore[attr-defined]
        return TransientModelFault("timed out", maybe_billed=True)

    walk, recorder = counter(MemoryModel(late), Limits(timeout_seconds=30, max_cost_usd=1))
    with pytest.raises(LimitReached) as caught:
        await asked(walk)
    assert caught.value.limit == "timeout_seconds"
    assert [event.reason for event in recorder.of("call_failed")] == ["timed out"]
    assert walk.guard.held_micro > 0


async def test_a_model_with_an_unknown_price_is_never_free() -> None:
    client = MemoryModel([CLICK])
    walk, recorder = counter(client, price=None)
    await asked(walk)
    assert walk.guard.total_micro is None
    assert recorder.of("reply")[0].cost_micro_usd is None
    inner = Guard("inner", Limits(max_cost_usd=1), 100.0, parent=walk.guard)
    walk.guard = inner
    with pytest.raises(InvalidUsage, match="price"):
        await asked(walk)
    assert len(client.bodies) == 1


@pytest.mark.parametrize(
    ("known", "affordable", "allowed"),
    [
        (Overbilling(), 1000, 1000),
        (Overbilling(completion=2.0), 1000, 500),
        (Overbilling(completion=2.0, longest=1500), 3000, 1500),
        (Overbilling(completion=2.0, longest=1500), 1000, 0),
    ],
)
def test_max_tokens_account_for_the_servers_known_excess(known: Overbilling, affordable: int, allowed: int) -> None:
    assert known.affordable_max_tokens(affordable) == allowed
    assert not allowed or known.most_completion(allowed) <= affordable
