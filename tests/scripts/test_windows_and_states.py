"""Rules of a playbook on windows and program states, and their behavior where these are unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.input.gestures import Gesture, Hotkey
from holo_tasks.loop.screens import Screens
from holo_tasks.scripts.playbook import BadPlaybook, parse_playbook
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.values import fits_title
from tests.support.coloured_program import ColouredProgram, Colours, state
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripts import done
from tests.support.shots import MemoryModel, as_model, walk_of

WRITTEN = """
name: program
goals:
  file-it:
    params: {{order: text}}
    rules:
      - {{id: opened, after: file, do: [{{answer: filed, thought: It is filed.}}]}}
      - id: file
        once: true
        patience: 4
        pause: 0.01
        do: [{{hotkey: [f5], thought: File it., then: {then}}}]
"""
SCREENS = Screens([state("menu"), state("filed"), state("form")], closed=False)


class Program(ColouredProgram):
    """Files an order some frames later, in a window named after the order."""

    def __init__(self, comes: str = "filed", title: str = "Order 4711", late: int = 2) -> None:
        super().__init__("menu")
        self.tells_windows = False
        self._comes, self._title, self._late = comes, title, late

    async def look(self, *, after_action: bool = False) -> Any:
        if any(isinstance(gesture, Hotkey) for gesture in self.gestures):
            self._late -= 1
            if self._late < 0:
                self.screen, self.popups = self._comes, [self._title]
        frame = await super().look(after_action=after_action)
        return frame if self.tells_windows else replace(frame, windows=None)


async def followed(then: str, program: PaintedDesktop, screens: Screens | None = SCREENS) -> str:
    script = Script(parse_playbook(WRITTEN.format(then=then)), "file-it", order="4711")
    walk = walk_of(as_model(MemoryModel([])), desktop=program)
    return await done(walk, script.brain(Colours(), screens))


def keys(program: PaintedDesktop) -> list[Gesture]:
    return [gesture for gesture in program.gestures if isinstance(gesture, Hotkey)]


@pytest.mark.parametrize(
    "then", ["{state: filed}", '{window: "Order {order}"}', '[{state: filed}, {window: "*{order}"}]']
)
async def test_a_late_effect_is_awaited_and_no_action_is_repeated(then: str) -> None:
    program = Program()
    assert await followed(then, program) == "filed"
    assert len(keys(program)) == 1
    assert program.screen == "filed", "the effect must not show earlier"


@pytest.mark.parametrize(
    ("then", "program", "said"),
    [
        ("{state: filed}", Program(comes="form"), "the state ‘filed’"),
        ('{window: "Order {order}"}', Program(title="Order 47110"), "the window ‘Order {order}’"),
    ],
)
async def test_a_missing_effect_is_named_and_there_is_no_answer(then: str, program: Program, said: str) -> None:
    with pytest.raises(GaveUp) as error:
        await followed(then, program)
    assert said in str(error.value)
    assert len(keys(program)) == 1


async def test_a_state_is_ignored_where_program_states_are_unknown() -> None:
    assert await followed("{state: filed}", Program(comes="form"), None) == "filed"


LOOKING = """
name: program
goals:
  file-it:
    params: {{order: text}}
    rules:
      - {{id: filed, after: file, do: [{{answer: filed, thought: It is filed.}}]}}
      - {{id: stop, screen: {{window: "Delete*"}}, do: [{{ask_human: It asks., thought: It asks.}}]}}
      - {{id: file, once: true, {asked}, do: [{{hotkey: [f5], thought: File it.}}]}}
"""


@pytest.mark.parametrize("asked", ['not: {window: "Delete*"}', "once: true"])
async def test_no_action_happens_before_the_windows_are_known(asked: str) -> None:
    """The first frame has no list of windows, because no rule has requested it yet."""
    program = Program()
    program.popups = ["Delete everything?"]
    script = Script(parse_playbook(LOOKING.format(asked=asked.replace("once: true", "max: 1"))), order="4711")
    with pytest.raises(GaveUp, match="It asks"):
        await done(walk_of(as_model(MemoryModel([])), desktop=program), script.brain())
    assert program.gestures == []


@pytest.mark.parametrize("asked", ["not: {state: menu}", "any_of: [{state: filed}, {state: menu}]"])
async def test_an_unknown_state_neither_blocks_nor_permits_a_rule(asked: str) -> None:
    program = Program(comes="menu")
    script = Script(parse_playbook(LOOKING.format(asked=asked)), order="4711")
    walk = walk_of(as_model(MemoryModel([])), desktop=program)
    assert await done(walk, script.brain(Colours())) == "filed"
    assert len(keys(program)) == 1


async def test_an_undeclared_state_is_an_error_before_any_action() -> None:
    program = Program()
    with pytest.raises(
        InvalidUsage, match=r"asks for the state 'filled', which the screens do not declare. Their states: menu"
    ):
        await followed("{state: filled}", program)
    assert program.gestures == []
    with pytest.raises(BadPlaybook, match=r"asks for the state 'filled', which is not under screens:"):
        parse_playbook(WRITTEN.format(then="{state: filled}") + "screens: {states: {filed: FILED}}\n")


async def test_a_window_condition_is_refused_where_windows_are_unknown() -> None:
    with pytest.raises(InvalidUsage, match="the windows on this screen are not known"):
        await followed('{window: "Order {order}"}', PaintedDesktop())


@pytest.mark.parametrize(
    ("pattern", "title", "fits"),
    [
        ("Order {order}", "order 4*1 ", True),
        ("Order {order}", "Order 4711", False),  # an inserted value is matched literally
        ("*{order}*", "Orders: 4*1, filed", True),
        ("Order *", "An order 1", False),
        ("Order (copy)", "Order (copy)", True),
    ],
)
def test_a_title_is_a_pattern_with_literal_values(pattern: str, title: str, fits: bool) -> None:
    assert fits_title(pattern, {"order": "4*1"}, title) is fits
