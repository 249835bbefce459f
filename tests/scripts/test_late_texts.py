"""A text that a slow program shows late counts as typed, and a text that never arrives does not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import EDITABLE, SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.late_texts import NOT_TYPED
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Line, Sight

STEPS = "{name: x, goals: {store: {steps: [{click: 'URL:'}, {write: {text: 'file:north'}}, {click: Ok}, {answer: y}]}}}"
CHANGED = "The screen changed where you were about to type: it looks different there. Nothing was done."


def screen(*more: tuple[str, int], focused: str | None = None) -> Sight:
    shown = (Line("URL:", Box(20, 40, 40, 18)), Line("Ok", Box(20, 200, 30, 18)))
    lines = (*shown, *(Line(text, Box(100, top, 120, 18)) for text, top in more))
    if focused is None:
        return Sight(lines, Size(1000, 1000))
    states = frozenset({SHOWING, "focused"})
    element = Element(0, "text field", "", states, Box(90, 38, 200, 22), -1, "db", 1, focused)
    return Sight(lines, Size(1000, 1000), elements=ElementTree((element,)))


def typed_in_vain(before: Sight, *, withheld: bool, steps: str = STEPS) -> PlaybookBrain:
    """Return a playbook that has typed a text in vain. It may have been stopped at the second try."""
    brain = PlaybookBrain(parse_playbook(steps), "store", {}, ScreenReader())
    for told in ("", NOT_TYPED, *([CHANGED] if withheld else [])):
        decision = brain._without_needless_clicks(before)
        call = dict(decision.step["tool_call"])
        brain._late_texts.aim(before, brain._past)
        brain._past.append(Turn(call["tool_name"], decision.step["thought"], call, told, failed=bool(told)))
    return brain


def next_call(brain: PlaybookBrain, sight: Sight) -> tuple[str, str]:
    call = brain._without_needless_clicks(sight).step["tool_call"]
    return call["tool_name"], call.get("element", call.get("content", ""))


@pytest.mark.parametrize("withheld", [False, True])
@pytest.mark.parametrize("late", [screen(("file:north", 41)), screen(focused="file:north")])
def test_a_text_that_is_shown_late_is_not_typed_again(late: Sight, withheld: bool) -> None:
    brain = typed_in_vain(screen(("mem:.", 41)), withheld=withheld)
    assert next_call(brain, late) == ("click", "Ok")


@pytest.mark.parametrize(
    "sight",
    [
        screen(("mem:.", 41)),
        screen(("file:north", 141)),
        screen(("file:south", 41)),
        screen(("file:north", 41), focused="mem:."),
    ],
    ids=["nothing", "in another row", "another text", "another field has the keyboard"],
)
def test_a_text_that_did_not_arrive_is_typed_again(sight: Sight) -> None:
    brain = typed_in_vain(screen(("mem:.", 41)), withheld=False)
    assert next_call(brain, sight) == ("write", "file:north")


STEPS_BY_KEYS = (
    "{name: x, goals: {store: {steps: [{hotkey: [down]}, {write: {text: 'file:north'}}, {click: Ok}, {answer: y}]}}}"
)


@pytest.mark.parametrize(
    ("now", "call"),
    [
        (screen(("file:north", 141)), ("click", "Ok")),
        (screen(("file:north", 41), ("file:north", 141)), ("click", "Ok")),
        (screen(("file:north", 41)), ("write", "file:north")),
    ],
    ids=["new", "one more", "as before"],
)
def test_a_text_that_a_sheet_shows_late_is_not_typed_again(now: Sight, call: tuple[str, str]) -> None:
    before = screen(*([("file:north", 41)] if call[0] == "write" or len(now.lines) > 3 else []))
    assert next_call(typed_in_vain(before, withheld=False, steps=STEPS_BY_KEYS), now) == call


def test_a_short_text_in_a_sheet_has_to_be_equal() -> None:
    steps = STEPS_BY_KEYS.replace("file:north", "12")
    for late, call in (("12", ("click", "Ok")), ("120", ("write", "12"))):
        assert next_call(typed_in_vain(screen(), withheld=False, steps=steps), screen((late, 141))) == call


def test_the_texts_of_a_screen_of_elements_are_read_when_they_are_asked_for() -> None:
    class Recorded(ScreenReader):
        def _read(self, seen: Any, region: Box | None) -> Sight:
            reads.append(seen)
            return screen(("file:north", 41))

    reads: list[Any] = []
    whole, picture = SimpleNamespace(area=Size(1000, 1000), region=None), SimpleNamespace(rgb=b"")
    seen = SimpleNamespace(shot=whole, frame=picture, redacted=picture)
    walk: Any = SimpleNamespace(seen=seen)
    unread = Sight((), Size(1000, 1000))
    found = Recorded().with_texts(unread, walk)
    assert not reads
    assert "file:north" in [line.text for line in found.lines]
    assert reads == [seen]
    assert Recorded().with_texts(screen(), walk) == screen()


def test_the_playbook_waits_once_before_it_types_again() -> None:
    brain = typed_in_vain(screen(), withheld=False)
    wait = brain._late_texts.wait(brain._past)
    assert wait is not None
    assert wait["tool_call"]["tool_name"] == "wait"
    assert brain._late_texts.wait(brain._past) is None
    seen = typed_in_vain(screen(), withheld=False)
    seen._past[-1] = replace(seen._past[-1], failed=False)
    assert seen._late_texts.wait(seen._past) is None


def form(focused: str, *, top: int = 38, **values: str) -> Sight:
    """Return a form with one field in each row. The field ``focused`` has the keyboard."""
    fields = []
    for number, (name, value) in enumerate(values.items()):
        states = frozenset({SHOWING, EDITABLE, *(["focused"] if name == focused else [])})
        box = Box(90, top + 42 * number, 200, 22)
        fields.append(Element(number, "text field", name, states, box, -1, "db", 1, value))
    return replace(screen(), elements=ElementTree(tuple(fields)))


@pytest.mark.parametrize(
    ("before", "now", "call"),
    [
        (form("low", low="file:north", high=""), form("low", low="file:north", high=""), ("write", "file:north")),
        (form("high", low="file:north", high=""), form("low", low="file:north", high=""), ("write", "file:north")),
        (screen(("file:north", 41)), form("low", low="file:north", high=""), ("write", "file:north")),
        (screen(), form("new", old="", new="file:north"), ("click", "Ok")),
        (form("low", low="", high="file:north"), form("low", low="file:north", high="file:north"), ("click", "Ok")),
        (form("low", low="mem:.", high=""), form("low", low="file:north", high=""), ("click", "Ok")),
        (form("low", low=""), form("low", top=70, low="file:north"), ("click", "Ok")),
        (form("low", low="file:north"), form("low", top=70, low="file:north"), ("write", "file:north")),
    ],
    ids=[
        "another field",
        "moved to another field",
        "shown before",
        "no tree before",
        "both",
        "replaced",
        "moved",
        "same",
    ],
)
def test_only_a_field_that_did_not_hold_the_text_has_taken_it(before: Sight, now: Sight, call: tuple[str, str]) -> None:
    assert next_call(typed_in_vain(before, withheld=False), now) == call


def test_a_text_that_was_there_before_is_no_sign_that_it_arrived() -> None:
    shown = screen(("file:north", 41))
    assert next_call(typed_in_vain(shown, withheld=False), shown) == ("write", "file:north")
    moved = replace(shown, lines=(*shown.lines, Line("12:30", Box(300, 41, 60, 18))))
    assert next_call(typed_in_vain(shown, withheld=True), moved)[0] == "ask_human"
