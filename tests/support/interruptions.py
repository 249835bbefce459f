"""Shared by tests of the journal: consecutive runs on the same desktop and the same local state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import Effect, pursue, subgoal
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.gestures import Gesture
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Item, Items
from holo_tasks.safety.records.ledger import Intent, Ledger
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="OK button", x=500, y=500)
DONE = step("answer", content="done")
SEEN = step("answer", content="seen")
BABBLE = "I think I should click the button."


class Cut(DesktopFailed):
    """The desktop was lost in the middle of a gesture."""


def cut_off(gesture: Gesture) -> None:
    raise Cut("The desktop went away.")


class World:
    """A desktop, local state and a model per run. Counts the model calls and gestures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.desktop = PaintedDesktop()
        self.calls = 0

    async def run(self, work: Callable[[], Any], script: list[Any], **options: Any) -> Any:
        """Run some work on the same desktop; return its result.

        Runs in a flow of its own only on request or with retries, because starting and ending a flow takes Prefect as
        long as a whole sub-goal.
        """

        async def around() -> Any:
            async with agent(model, self.desktop, self.folder, **options):
                return await work()

        tried: Any = around
        retries = options.pop("retries", 0)
        if options.pop("in_flow", bool(retries)):
            tried = flow(name="test flow", persist_result=False, retries=retries, retry_delay_seconds=0)(around)
        with ScriptedModel(script) as model:
            try:
                return await tried()
            finally:
                self.calls += len(model.requests)

    async def interrupted(self, work: Callable[[], Any]) -> None:
        """Leave an interrupted attempt: an intent in the journal without an outcome."""
        self.desktop._on_gesture = cut_off
        with pytest.raises(DesktopFailed):
            await self.run(work, [CLICK])
        self.desktop._on_gesture = None
        self.calls = 0
        assert self.desktop.gestures == []

    @property
    def cost(self) -> tuple[int, int]:
        """Return the number of model calls since the interruption, and of all gestures."""
        return self.calls, len(self.desktop.gestures)

    @property
    def items(self) -> list[Item]:
        return Items(store_at(self.folder / "holo")).all()

    def intents(self, token: str) -> tuple[Intent, ...]:
        return Ledger(store_at(self.folder / "holo")).intents(token)


def pressing(found: Any = None, **options: Any) -> Callable[..., Any]:
    """Return a sub-goal that presses OK. Its probe, if there is one, returns ``found``."""
    probes = []

    async def probe(item: str) -> Any:
        probes.append(item)
        return found

    @subgoal(key="{item}", **({"effect": Effect(probe=probe)} if found is not None else {}), **options)
    async def press(item: str) -> str:
        answer: str = await pursue("Press OK.")
        return answer

    press.probes = probes  # type: ignore[attr-defined]
    return press
