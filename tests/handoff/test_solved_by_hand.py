"""Test that a person solves a CAPTCHA-like gate over the live view, and that their input is recorded nowhere."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from nasty_clerk import Clerk
from prefect import flow

from holo_tasks import SubgoalOptions, pursue
from holo_tasks.core.screen.frame import Frame
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from tests.support.agents import agent, events
from tests.support.scripted_model import ScriptedModel, step
from tests.support.viewer import Person

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect")]

CANARY = "Kiebitz-4711"
"""Typed and deleted by the person: the text is on the screen only while they hold it."""
BACKSPACE, RETURN = 0xFF08, 0xFF0D


class Watched(VirtualDesktop):
    """Desktop that counts how often the agent looks."""

    looks = 0

    async def look(self, *, after_action: bool = False) -> Frame:
        self.looks += 1
        return await super().look(after_action=after_action)


async def test_a_persons_input_over_the_live_view_is_not_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    handoffs, program = Handoffs(store_at(tmp_path / "holo")), tmp_path / "program"
    program.mkdir()
    said = [step("ask_human", question="What is the word?"), step("answer", content="filed")]

    @flow(name="solved by hand", persist_result=False)
    async def work() -> tuple[str, str]:
        async with agent(model, desktop, tmp_path) as run:
            goal = "File the entry that is filled in."
            return run.trace, await pursue(goal, options=SubgoalOptions(layers=("model", "person")), max_steps=5)

    async def by_hand(handoff: Handoff) -> None:
        (word, *_) = clerk.plan.words
        at = clerk.state()["widgets"]["word"]
        looks, logged = desktop.looks, len(caplog.records)
        async with Person.at(handoff.live) as person:
            await person.click(at[0] + 20, at[1] + at[3] // 2)
            await person.type(CANARY)
            await clerk.until(lambda state: state["values"]["word"] == CANARY, "what the person types")
            for _ in CANARY:
                await person.press(BACKSPACE)
            await person.type(word)
            await person.press(RETURN)
            await clerk.at("filed")
        assert desktop.looks == looks, "the agent must not look meanwhile"
        assert not [each for each in caplog.records[logged:] if each.name.startswith("holo_tasks")]
        handoffs.answer(handoff.id, "done", by="ada")

    async with Watched() as desktop:
        clerk = Clerk(desktop, program, "puzzle", 0, "")
        try:
            await clerk.open_form()
            await clerk.fill_carefully()
            await clerk.click("submit")
            await clerk.at("gate")
            with ScriptedModel(said) as model:
                running = asyncio.ensure_future(work())
                while not (waiting := handoffs.waiting()):
                    await asyncio.sleep(0.05)
                    assert not running.done(), running
                await by_hand(waiting[0])
                trace, answer = await running
        finally:
            clerk.kill()

    assert answer == "filed"
    assert clerk.store.filed_once(clerk.entry)
    before, after = model.images()
    assert before != after, "a fresh frame is taken"
    recorded = events(trace)
    (at,) = [number for number, event in enumerate(recorded) if event.kind == "handoff" and event.handoff]
    assert recorded[at + 1].kind == "taken_back", "nothing is recorded in between"
    kept = {
        str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and program not in path.parents
    }
    assert {"events.jsonl", "holo.db"} <= {Path(path).name for path in kept}
    kept["the log"] = caplog.text.encode()
    kept["what the model was sent"] = str(model.requests).encode()
    for typed in (CANARY, clerk.plan.words[0]):
        assert not [place for place, data in kept.items() if typed.encode() in data]
