"""A character that was a command is separate from the text after it; a slowly typed text is one text."""

from __future__ import annotations

from PIL import Image

from holo_tasks.audit.recorder import now
from holo_tasks.by_hand import command_keys
from holo_tasks.by_hand.command_keys import without_pauses
from holo_tasks.by_hand.step_collector import HandStep, InputStart, RecordedScreen
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Gesture, Hotkey, Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(400, 100)
TEXT = Write("03/16/2027", press_enter=True)


def screen() -> RecordedScreen:
    return RecordedScreen.of(Frame(Image.new("RGB", (400, 100)).tobytes(), SIZE, ":0"), ElementTree(), 0, now())


def joined(monkeypatch, shown: str, *gestures: Gesture, values: tuple[str, ...] = ()) -> list[Gesture]:
    sight = Sight((Line(shown, Box(10, 10, 200, 20)),), SIZE)
    monkeypatch.setattr(command_keys, "read", lambda *_: sight)
    steps = [HandStep(n, act, InputStart(0.0, now(), 0, screen(), False)) for n, act in enumerate(gestures, 1)]
    return [step.gesture for step in without_pauses(steps, screen(), Reader(), values)]


def test_a_command_is_a_key_of_its_own(monkeypatch) -> None:
    command = [Hotkey(("g",)), TEXT]
    assert joined(monkeypatch, "nothing", Write("g"), TEXT, values=("03/16/2027",)) == command
    assert joined(monkeypatch, "Date: 03/16/2027", Write("g"), TEXT) == command
    assert joined(monkeypatch, "Date: 03/16/2027", Write("G"), TEXT) == [Write("G"), TEXT]


def test_a_slowly_typed_text_is_one_text(monkeypatch) -> None:
    whole = [Write("120.50", press_enter=True)]
    rest = Write("20.50", press_enter=True)
    assert joined(monkeypatch, "Amount: 120.50", Write("1"), rest) == whole
    assert joined(monkeypatch, "nothing", Write("1"), rest) == whole
    assert joined(monkeypatch, "nothing", Write("1"), rest, values=("120.50", "20.50")) == whole
    assert joined(monkeypatch, "nothing", Write("y")) == [Write("y")]
