"""A popup of a real program on a real display is recognized by its text and cleared, and the work continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nasty_clerk import APPS, Clerk, seed_of

from holo_tasks.desktop import VirtualDesktop
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.script import Script, screens_of
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of

PLAYBOOK = APPS / "nasty.playbook.yaml"


async def no_sign_on() -> None:
    """Do nothing: no session expires here."""


@pytest.mark.desktop
async def test_a_late_tip_is_closed_once_and_the_entry_is_filed_once(tmp_path: Path) -> None:
    desktop = await VirtualDesktop.start()
    desktop.tells_windows = True
    clerk = Clerk(desktop, tmp_path, "popups", seed_of("popups", "aside"), "", "--delay", "0.3")
    try:
        await clerk.at("menu")
        entry, recorder, recognizer = clerk.entry, MemoryRecorder(), ScreenRecognizer()
        screens, model = screens_of(PLAYBOOK, {"sign-on": no_sign_on}), as_model(MemoryModel([]))
        script = Script(PLAYBOOK, "file", reference=entry.reference, amount=entry.amount, reason=entry.reason)
        brain = script.brain(recognizer, screens)

        async def perform(do: Any, what: str, meanwhile: Screens) -> Any:
            return await done(walk_of(model, desktop=desktop), do.brain(recognizer, screens))

        guide = Guide(screens, before="menu", after=("filed",))
        found = await pursue(
            Executor(walk_of(model, desktop=desktop, recorder=recorder), Walk.act, "script", recognizer, perform),
            read=str,
            decide=lambda walk, final: brain.decide(walk),
            max_steps=40,
            guide=guide,
        )
        assert found.text == "filed"
        assert clerk.store.filed_once(entry)
        assert [(event.name, event.times) for event in recorder.of("interruption")] == [("tip", 1)]
        seen = dict.fromkeys(event.state for event in recorder.of("state"))
        assert next(iter(seen)) == "menu"
        assert list(seen)[-1] == "filed"
        assert not [event for event in recorder.of("verdict") if event.outcome == "wrong_state"]
    finally:
        clerk.kill()
        await desktop.close()
