"""When a playbook asks for windows to be arranged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Sight
from tests.support.read_runs import screen

TEXT = """
name: orders
goals:
  store:
    interruptions:
      tip: {screen: TIP, do: {hotkey: [escape]}}
    steps:
      - hotkey: [ctrl, down]
      - double_click: Order
        after: Record
      - answer: done
"""
LIST, TIP = screen((20, 20, "Order")), screen((20, 20, "TIP"))


class Arranges:
    """Notes the requests, and answers that a window was in the way."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def put_foreign_behind(self, *, covering: bool) -> bool:
        self.asked.append("covering" if covering else "keyboard")
        return True

    async def fit_window(self) -> bool:
        self.asked.append("fit")
        return True


def made(*history: Turn) -> PlaybookBrain:
    brain = PlaybookBrain(parse_playbook(TEXT), "store", {}, ScreenReader())
    brain._past = [*history]
    return brain


def turn(brain: PlaybookBrain, rule: str) -> Turn:
    action = next(each for each in brain.rules if each.id == rule).do[0]
    return Turn(action.kind, action.thought, {"tool_name": action.kind})


async def asked_for(brain: PlaybookBrain, sight: Sight) -> list[str]:
    """Return the requests of a step on a screen."""
    arranges, done = Arranges(), list[str]()

    async def note(*_: Any) -> None:
        done.append("look")

    async def decided(_: Any) -> tuple[Sight, Decision]:
        return sight, brain._without_needless_clicks(sight)

    brain._decided = decided  # type: ignore[method-assign]
    walk = SimpleNamespace(
        services=SimpleNamespace(arranges=arranges, now_s=lambda: 0.0),
        record=note,
        look=note,
        show=lambda: None,
        seen=None,
    )
    await brain._decided_in_view(walk)  # type: ignore[arg-type]
    assert bool(done) == bool(arranges.asked), "after that, the screen is looked at again"
    return arranges.asked


async def test_windows_are_arranged_only_where_it_may_help() -> None:
    assert await asked_for(made(), LIST) == ["keyboard"], "keys go to the window that has the keyboard"
    pressed = made()
    pressed._past = [turn(pressed, "step-1")]
    assert await asked_for(pressed, LIST) == [], "a press raises its window"
    assert await asked_for(pressed, screen((20, 20, "Other"))) == ["covering"], "the target may be hidden"
    assert await asked_for(made(), TIP) == [], "the playbook closes what it knows"
    waited = made()
    waits = [Turn("wait", "Wait.", {"tool_name": "wait"})] * 40
    waited._past = [turn(waited, "step-1"), turn(waited, "step-2"), *waits]
    assert await asked_for(waited, LIST) == ["covering", "fit"], "it would stop"
    decision = waited._without_needless_clicks(LIST)
    assert decision.step["tool_call"]["tool_name"] == "wait", "the program draws its window anew"
