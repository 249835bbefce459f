"""All conversations leave a failing endpoint alone at once, and one probe finds out whether it is back."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, TransientModelFault
from holo_tasks.core.ports import Reply
from holo_tasks.models import breaker as breakers
from holo_tasks.models import client
from holo_tasks.models.breaker import FAILURES, LONGEST_REST_S, REST_S, Breaker
from holo_tasks.models.client import ModelEndpoint
from tests.support.scripted_model import Answer, ScriptedModel

BODY = {"model": "m", "messages": [], "max_tokens": 100}
DOWN = TransientModelFault("503")


class Clock:
    """A clock that advances only during sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        monkeypatch.setattr(breakers.asyncio, "sleep", self.sleep)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def broken(clock: Clock, failures: int = FAILURES) -> Breaker:
    breaker = Breaker("http://x", clock)
    for _ in range(failures):
        breaker.failed(DOWN, probe=False)
    return breaker


async def test_five_consecutive_failures_open_the_breaker(clock: Clock) -> None:
    breaker = broken(clock, FAILURES - 1)
    assert not await breaker.admit(1)
    breaker.succeeded()
    for _ in range(FAILURES - 1):
        breaker.failed(DOWN, probe=False)
        assert not await breaker.admit(1)
    assert clock.slept == []
    breaker.failed(DOWN, probe=False)
    assert await breaker.admit(100)
    assert clock.slept == [REST_S]


async def test_one_probe_at_a_time_when_half_open(clock: Clock) -> None:
    breaker = broken(clock)
    clock.now += REST_S
    assert await breaker.admit(0)
    for _ in range(3):
        with pytest.raises(TransientModelFault):
            await breaker.admit(1)
    breaker.succeeded()
    assert not await breaker.admit(0)
    assert not await breaker.admit(0)


async def test_the_rest_doubles_with_each_failed_probe_up_to_a_minute(clock: Clock) -> None:
    breaker = broken(clock)
    for _ in range(7):
        assert await breaker.admit(1000)
        breaker.failed(DOWN, probe=True)
    assert clock.slept == [5, 10, 20, 40, 60, 60, 60]
    assert LONGEST_REST_S == 60
    assert await breaker.admit(1000)
    breaker.succeeded()
    for _ in range(FAILURES):
        breaker.failed(DOWN, probe=False)
    assert await breaker.admit(1000)
    assert clock.slept[-1] == REST_S, "after a success it begins anew"


async def test_earlier_calls_do_not_extend_the_rest(clock: Clock) -> None:
    breaker = broken(clock, 4 * FAILURES)
    assert await breaker.admit(1000)
    assert clock.slept == [REST_S]


async def test_late_calls_do_not_admit_a_second_probe(clock: Clock) -> None:
    breaker = broken(clock)
    assert await breaker.admit(1000)
    breaker.failed(DOWN, probe=False)
    breaker.gave_up(probe=False)
    with pytest.raises(TransientModelFault):
        await breaker.admit(1)


async def test_a_cancelled_probe_admits_the_next_one(clock: Clock) -> None:
    breaker = broken(clock)
    assert await breaker.admit(1000)
    breaker.gave_up(probe=True)
    assert await breaker.admit(0)


async def test_a_rest_longer_than_the_patience_is_a_transient_fault(clock: Clock) -> None:
    breaker = broken(clock)
    with pytest.raises(TransientModelFault, match="http://x") as caught:
        await breaker.admit(REST_S - 1)
    assert caught.value.retry_after_s == REST_S
    assert not caught.value.maybe_billed
    assert (clock.slept, breaker.failures) == ([], FAILURES)


@pytest.mark.parametrize("failures", [0, FAILURES])
async def test_retry_after_holds_back_all_conversations(clock: Clock, failures: int) -> None:
    breaker = broken(clock, failures)
    breaker.failed(TransientModelFault("429", retry_after_s=30), probe=False)
    breaker.failed(TransientModelFault("429", retry_after_s=2), probe=False)
    for _ in range(2):
        with pytest.raises(TransientModelFault) as caught:
            await breaker.admit(29)
        assert caught.value.retry_after_s == 30
    breaker.succeeded()
    with pytest.raises(TransientModelFault):
        await breaker.admit(29)
    assert not await breaker.admit(31)
    assert clock.slept == [30]


async def test_a_zero_retry_after_counts_as_a_failure(clock: Clock) -> None:
    breaker = Breaker("http://x", clock)
    for _ in range(FAILURES):
        breaker.failed(TransientModelFault("503", retry_after_s=0.0), probe=False)
    with pytest.raises(TransientModelFault):
        await breaker.admit(1)


class Busy:
    """A server that is down for its first requests. It records its highest concurrency after the first burst."""

    def __init__(self, down: int, burst: int, fault: Answer | None = None) -> None:
        self._down, self._burst = down, burst
        self._fault = fault or Answer(status=503, body=b"{}")
        self._gate = threading.Barrier(burst)
        self.model = ScriptedModel(self._serve)

    def _serve(self, number: int, body: dict[str, Any]) -> Answer:
        if number < self._burst:
            self._gate.wait(20)
        return self._fault if number < self._down else Answer("fine")


async def converse(endpoint: ModelEndpoint) -> Reply:
    """Retry until there is a reply, as Prefect does."""
    while True:
        try:
            return await endpoint.complete(BODY, timeout_s=20)
        except TransientModelFault:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("down", [10, 13])
async def test_ten_conversations_do_not_flood_a_server_that_is_down(down: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten requests are out when the server goes down.

    After that, one at a time probes, and all continue after the first reply.
    """
    monkeypatch.setattr(breakers, "REST_S", 0.05)
    busy = Busy(down, 10)
    with busy.model as model:
        endpoint = ModelEndpoint(model.base_url, None)
        endpoint._breaker._rest_s = 0.05
        replies = await asyncio.gather(*(converse(endpoint) for _ in range(10)))
        await endpoint.close()
    assert [reply.content for reply in replies] == ["fine"] * 10
    assert len(model.requests) == down + 10


async def test_five_failures_among_ten_conversations_cost_five_more_requests() -> None:
    busy = Busy(5, 10)
    with busy.model as model:
        endpoint = ModelEndpoint(model.base_url, None)
        await asyncio.gather(*(converse(endpoint) for _ in range(10)))
        await endpoint.close()
    assert len(model.requests) == 15


async def test_retry_after_over_http_holds_back_other_conversations() -> None:
    limit = Answer(status=429, headers={"retry-after": "30"}, body=b"{}")
    with ScriptedModel([limit, Answer("fine")]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        for _ in range(3):
            with pytest.raises(TransientModelFault) as caught:
                await endpoint.complete(BODY, timeout_s=5)
            assert caught.value.retry_after_s == pytest.approx(30, abs=5)
        await endpoint.close()
    assert len(model.requests) == 1


async def test_a_rest_that_leaves_too_little_time_is_an_error() -> None:
    with ScriptedModel([Answer("fine")]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        breaker = endpoint._breaker
        breaker.failures, breaker.open_until_s = FAILURES, breaker.now_s() + 30
        with pytest.raises(TransientModelFault) as caught:
            await endpoint.complete(BODY, timeout_s=40)
        assert caught.value.retry_after_s == pytest.approx(30, abs=5)
        assert (caught.value.maybe_billed, breaker.failures, model.requests) == (False, FAILURES, [])
        breaker.open_until_s = breaker.now_s() + 0.2
        assert (await endpoint.complete(BODY, timeout_s=20)).content == "fine"
        await endpoint.close()


@pytest.mark.parametrize(("fair_s", "failures"), [(20.0, 0), (0.05, FAILURES)])
async def test_a_short_time_out_does_not_count_as_a_failure(
    fair_s: float, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FAIR_TIMEOUT_S", fair_s)
    with ScriptedModel([Answer("late", delay_s=2)]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        for _ in range(FAILURES):
            with pytest.raises(TransientModelFault, match=r"did not answer|timed out") as caught:
                await endpoint.complete(BODY, timeout_s=0.1)
            assert caught.value.maybe_billed
        await endpoint.close()
    assert endpoint._breaker.failures == failures


async def test_a_short_time_out_of_a_probe_admits_the_next_one() -> None:
    with ScriptedModel([Answer("late", delay_s=2), Answer("fine")]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        endpoint._breaker.failures = FAILURES
        with pytest.raises(TransientModelFault):
            await endpoint.complete(BODY, timeout_s=0.3)
        assert (await endpoint.complete(BODY, timeout_s=4)).content == "fine"
        await endpoint.close()


async def test_a_refusal_closes_the_breaker_and_a_cancelled_probe_frees_it(clock: Clock) -> None:
    with ScriptedModel(lambda number, body: Answer(status=401, body=b"{}")) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        for _ in range(FAILURES + 2):
            with pytest.raises(InvalidUsage):
                await endpoint.complete(BODY, timeout_s=5)
        await endpoint.close()
    assert endpoint._breaker.failures == 0
    assert len(model.requests) == FAILURES + 2


async def test_a_probe_cancelled_during_the_call_frees_the_breaker() -> None:
    arrived = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> Answer:
        arrived.set()
        return Answer("fine", delay_s=1.0 if number == 0 else 0)

    with ScriptedModel(hang) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        endpoint._breaker.failures = FAILURES
        probe = asyncio.create_task(endpoint.complete(BODY, timeout_s=20))
        await asyncio.to_thread(arrived.wait, 20)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        reply = await endpoint.complete(BODY, timeout_s=20)
        await endpoint.close()
    assert reply.content == "fine"
