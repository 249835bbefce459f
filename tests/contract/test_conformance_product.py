"""The product's own client breaks no rule of the contract, over real HTTP, in every dialect and under every fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from holo_tasks.contract.rulebook import Dialect
from holo_tasks.core.errors import InvalidUsage, LimitReached, ModelFailed, TransientModelFault, UnusableReply
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.loop.ask_model.ask import Question, ask
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.walk import Walk
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from tests.support.conformance import ConformanceServer, Script
from tests.support.faults import ALL_FAULTS, Fault, cases
from tests.support.painted_desktop import PaintedDesktop
from tests.support.shots import as_model, shot, walk_of
from tests.support.terms import terms_of

MODELS: list[tuple[str, Dialect]] = [
    ("holo3-1-35b-a3b", "structured"),
    ("holo3-1-35b-a3b", "tools"),
    ("holo4-35b-a3b", "tools"),
    ("holotron-12b", "holotron"),
]
PLAIN: dict[Dialect, str] = {"structured": "holo3-1-35b-a3b", "tools": "holo3-1-35b-a3b", "holotron": "holotron-12b"}
FAULTS = [fault for dialect in PLAIN for fault in ALL_FAULTS[dialect].values()]
SCRIPT: list[dict[str, Any]] = [
    {"tool": "click", "element": "File", "x": 100, "y": 20, "note": "A note."},
    {"tool": "click", "element": "Save", "x": 500, "y": 250, "button": "right"},
    {"tool": "scroll", "element": "List", "x": 500, "y": 250, "direction": "down", "scroll_size": 5},
    {"tool": "move_to", "element": "OK", "x": 0, "y": 1000, "thought": "Done soon."},
    {"tool": "answer", "content": "saved"},
]
POINT = {
    "type": "object",
    "properties": {axis: {"type": "integer", "minimum": 0, "maximum": 1000} for axis in "xy"},
    "required": ["x", "y"],
    "additionalProperties": False,
}
PATIENCE_S = 1.5


@asynccontextmanager
async def served(
    name: str,
    dialect: Dialect,
    faults: dict[int, str] | None = None,
    script: Script = SCRIPT,
    latency_s: float = 0,
    **changes: Any,
) -> AsyncIterator[tuple[ConformanceServer, Model]]:
    """Serve a model and return the product's view of the model; changes go to the view's profile."""
    hangs = "hung" in (faults or {}).values()
    profile = profile_for(name, call_timeout_s=PATIENCE_S if hangs else 60, **changes)
    spoken = profile.dialects[0] if dialect == "localize" else dialect
    with ConformanceServer(script, terms_of(profile, dialect, "a key"), faults, latency_s=latency_s) as server:
        endpoint = ModelEndpoint(server.base_url, SecretStr("a key"))
        try:
            yield server, as_model(endpoint, profile, spoken)  # type: ignore[arg-type]
        finally:
            await endpoint.close()


async def decide(walk: Walk, final: bool) -> Step:
    """Retry after a transient fault, as the product's callers do."""
    while True:
        try:
            return await walk.decide(answer_only=final)
        except TransientModelFault as fault:
            await asyncio.sleep(min(0.05, fault.retry_after_s or 0))


async def work(model: Model, task: str = "Save the file.", steps: int = 40) -> str:
    walk = walk_of(model, transcript=Transcript(task))
    done = await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=steps)
    return done.text


@pytest.mark.parametrize(("name", "dialect"), MODELS)
async def test_a_conversation_keeps_the_contract(name: str, dialect: Dialect) -> None:
    async with served(name, dialect) as (server, model):
        assert await work(model) == "saved"
    assert len(server.requests) == len(SCRIPT)


@pytest.mark.parametrize("fault", cases(FAULTS))
async def test_the_product_handles_a_fault_by_its_declared_sequel(fault: Fault) -> None:
    async with served(PLAIN[fault.dialect], fault.dialect, {0: fault.name, 2: fault.name}) as (server, model):
        if fault.sequel == "terminal":
            with pytest.raises((ModelFailed, InvalidUsage)):
                await work(model)
        else:
            assert await work(model) == "saved"
    assert server.injected == [fault.name] * (1 if fault.sequel == "terminal" else 2)


@pytest.mark.parametrize(("name", "dialect"), MODELS)
async def test_the_last_call_keeps_the_contract(name: str, dialect: Dialect) -> None:
    async with served(name, dialect) as (_, model):
        with pytest.raises(LimitReached):
            await work(model, steps=3)


@pytest.mark.parametrize(("name", "dialect"), MODELS[:3])
async def test_long_wandering_keeps_the_contract(name: str, dialect: Dialect) -> None:
    wandering = [*({**SCRIPT[n % 2], "note": f"Fact {n}. " * 60} for n in range(25)), SCRIPT[-1]]
    changes = {"context_tokens": 12_000, "tool_suffix": "_desktop"}
    async with served(name, dialect, {9: "prose", 20: "status500"}, wandering, **changes) as (server, model):
        assert await work(model) == "saved"
    assert "Earlier steps left out: " in str(server.requests[-1])


@pytest.mark.parametrize(("name", "dialect"), MODELS)
async def test_going_in_circles_keeps_the_contract(name: str, dialect: Dialect) -> None:
    scroll = {"tool": "scroll", "element": "List", "x": 500, "y": 250, "direction": "down", "scroll_size": 5}
    circles = [*(scroll for _ in range(14)), SCRIPT[-1]]
    async with served(name, dialect, script=circles) as (_, model):
        walk = walk_of(model, desktop=PaintedDesktop(frozen=True), transcript=Transcript("Save the file."))
        await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=40)


@pytest.mark.parametrize("fault", ALL_FAULTS["localize"].values(), ids=ALL_FAULTS["localize"])
async def test_a_question_keeps_the_contract(fault: Fault) -> None:
    async with served("holo3-1-35b-a3b", "localize", {1: fault.name}, [{"x": 5, "y": 6}]) as (server, model):
        till = walk_of(model).call_account
        for number in range(3):
            question = Question("locate", "Where is the button?", [shot(number)], POINT)
            while True:
                try:
                    assert await ask(model, question, till, _point) == (5, 6)
                except TransientModelFault:
                    continue
                except (ModelFailed, InvalidUsage):
                    assert fault.sequel == "terminal"
                break
    assert server.injected == [fault.name]


async def test_many_conversations_share_connections() -> None:
    async with served("holo3-1-35b-a3b", "structured", latency_s=0.05) as (server, model):
        assert await asyncio.gather(*(work(model, f"Save file {n}.") for n in range(12))) == ["saved"] * 12
    assert server.most_in_flight > 3
    assert server.connections <= 12


def _point(value: dict[str, Any]) -> tuple[int, int]:
    if set(value) != {"x", "y"} or not all(type(v) is int and 0 <= v <= 1000 for v in value.values()):
        raise UnusableReply("no point", correction="Give x and y from 0 to 1000.")
    return value["x"], value["y"]
