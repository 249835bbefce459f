"""Hooks of a flow get steps, limits, hand-offs and items, and never delay or stop the run."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import (
    GaveUp,
    HandOff,
    HandOffOpened,
    Hooks,
    InvalidUsage,
    ItemFinished,
    LimitHit,
    LimitReached,
    Limits,
    StepTaken,
    hand_over,
    pursue,
    step,
    subgoal,
)
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from tests.support import scripted_model
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

CLICK = scripted_model.step("click", element="OK button", x=500, y=500)
DONE = scripted_model.step("answer", content="done")

pytestmark = pytest.mark.usefixtures("prefect")


@subgoal(key="{item}", title="Press {item}", effect=None, limits=Limits(max_actions=2))
async def press(item: str) -> str:
    return str(await pursue("Press OK."))


@step(key="{item}")
async def send(item: str) -> str:
    return "sent"


class Heard:
    """Hooks that record their values."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    @property
    def hooks(self) -> Hooks:
        return Hooks(self.told.append, self.told.append, self.told.append, self.told.append)

    def of(self, kind: type) -> list[Any]:
        return [value for value in self.told if isinstance(value, kind)]


async def test_hooks_get_steps_limits_and_items(tmp_path: Path) -> None:
    heard = Heard()

    @flow(name="subscribed", persist_result=False)
    async def around() -> None:
        async with agent(model, PaintedDesktop(), tmp_path, hooks=heard.hooks):
            await press("I-1")
            await send("S-1")
            await press("I-2")

    with ScriptedModel([CLICK, DONE, CLICK]) as model, pytest.raises(LimitReached):
        await around()
    first, answer, *_ = heard.of(StepTaken)
    assert (first.subgoal, first.number, first.tool, first.outcome) == (1, 1, "click", "elsewhere")
    assert first.action == "click ‘OK button’"
    assert (answer.number, answer.tool, answer.outcome) == (2, "answer", "")
    (hit,) = heard.of(LimitHit)
    assert (hit.limit, hit.scope) == ("max_actions", "‘press’")
    assert "‘press’" in hit.message
    done, sent, failed = heard.of(ItemFinished)
    assert done == ItemFinished("I-1", "Press I-1", "answered", "", "model")
    assert (sent.key, sent.status, sent.layer) == ("S-1", "answered", "")
    assert (failed.key, failed.status, failed.layer) == ("I-2", "limit", "")
    assert failed.reason == hit.message


async def test_a_hook_gets_a_hand_off_before_its_answer(tmp_path: Path) -> None:
    heard: list[HandOffOpened] = []
    handoffs = Handoffs(store_at(tmp_path / "holo"))

    async def answer(opened: HandOffOpened) -> None:
        heard.append(opened)
        await asyncio.to_thread(handoffs.answer, opened.id, "yes", note="", by="ada")

    @flow(name="asking", persist_result=False)
    async def around() -> str:
        async with agent(model, PaintedDesktop(), tmp_path, handoff=HandOff(60), hooks=Hooks(on_handoff=answer)):
            return (await hand_over("Go on?", choices=("yes", "no"))).by

    with ScriptedModel([DONE]) as model:
        assert await around() == "ada"
    (opened,) = heard
    assert (opened.question, opened.choices) == ("Go on?", ("yes", "no"))


async def test_failing_hooks_are_logged_once_and_the_run_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(taken: StepTaken) -> None:
        raise GaveUp("I am a hook, with a secret: hunter2-canary.")

    async def broken_too(ended: ItemFinished) -> None:
        await asyncio.sleep(0)
        raise asyncio.InvalidStateError("So am I.")

    @flow(name="broken hooks", persist_result=False)
    async def around() -> str:
        hooks = Hooks(on_step=broken, on_item=broken_too)
        secrets = {"pin": Secret("pin", "hunter2-canary")}
        async with agent(model, PaintedDesktop(), tmp_path, hooks=hooks, secrets=secrets):
            return await press("I-3")

    with ScriptedModel([CLICK, DONE]) as model, caplog.at_level(logging.WARNING, "holo_tasks"):
        assert await around() == "done"
    said = [record.getMessage() for record in caplog.records if "The hook" in record.getMessage()]
    assert [line.partition(" failed (")[0] for line in said] == ["The hook on_step", "The hook on_item"]
    assert "canary" not in str(said)


def test_a_hook_must_be_a_function() -> None:
    with pytest.raises(InvalidUsage, match="on_step= is a function that takes one value, not 'print'"):
        Hooks(on_step="print")  # type: ignore[arg-type]
