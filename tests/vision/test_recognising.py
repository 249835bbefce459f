"""States are recognized with cheap marks first, without repeated checks and without guesses."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Picture, State, Text, Widget, Window
from holo_tasks.loop.screens import Screens
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.ocr_reader import Reader, Reading
from holo_tasks.vision.state_recognizer import ScreenRecognizer, needs_windows
from tests.support.elements import tree_of

SIZE = Size(480, 240)
CREST = Box(400, 10, 40, 30)


def drawn(*texts: tuple[int, int, str], crest: bool = False) -> Image.Image:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    draw = ImageDraw.Draw(image)
    for left, top, words in texts:
        draw.text((left, top), words, fill="black", font=ImageFont.load_default(size=20))
    if crest:
        draw.ellipse((CREST.left + 4, CREST.top + 4, CREST.right - 5, CREST.bottom - 5), fill="red", outline="black")
    return image


def frame_of(image: Image.Image, *windows: OnScreen) -> Frame:
    return Frame(image.tobytes(), SIZE, ":test", windows=windows)


def window(title: str, program: str = "/usr/bin/ledger", box: Box | None = None) -> OnScreen:
    return OnScreen(box or Box(0, 0, 400, 200), (Owner(program, title=title),), solid=True)


def picture(image: Image.Image, box: Box) -> Picture:
    buffer = io.BytesIO()
    image.crop((box.left, box.top, box.right, box.bottom)).save(buffer, "PNG")
    return Picture(buffer.getvalue())


class CountingReader(Reader):
    """Records the width of each picture that it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.widths: list[int] = []

    def read(self, picture: Image.Image) -> Reading:
        self.widths.append(picture.width)
        return super().read(picture)


@pytest.fixture(scope="module")
def engine() -> CountingReader:
    return CountingReader()


@pytest.fixture
def reader(engine: CountingReader) -> CountingReader:
    engine.widths.clear()
    return engine


class Oracle:
    """Answers questions from a list, and records them."""

    def __init__(self, **answers: bool) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def __call__(self, question: str, frame: Frame) -> bool:
        self.asked.append(question)
        return self._answers[question]


FORM = drawn((20, 20, "NEW ENTRY"), (20, 80, "Reference"), (20, 180, "Saved 12"))


async def test_a_state_refuted_by_a_cheap_mark_skips_the_expensive_ones(reader: CountingReader) -> None:
    oracle = Oracle(b=True)
    states = [
        State("a", Asked("a"), Text("NEW ENTRY"), Window("Other*")),
        State("b", Asked("b"), Window("Led*"), picture(drawn(crest=True), CREST)),
    ]
    found = await ScreenRecognizer(reader, oracle).recognize(frame_of(drawn(crest=True), window("Ledger")), states)
    assert found is states[1]
    assert oracle.asked == ["b"]
    assert reader.widths == []


async def test_questions_are_asked_in_order_until_the_first_yes(reader: CountingReader) -> None:
    oracle = Oracle(a=False, b=True, c=True)
    states = [State(name, Text("NEW ENTRY"), Asked(name)) for name in "abc"]
    states.insert(0, State("elsewhere", Text("MAIN MENU"), Asked("never")))
    found = await ScreenRecognizer(reader, oracle).recognize(frame_of(FORM), states)
    assert found is states[2]
    assert oracle.asked == ["a", "b"]


async def test_the_first_matching_state_wins_even_if_a_later_one_is_cheaper(reader: CountingReader) -> None:
    states = [State("dear", Text("NEW ENTRY")), State("cheap", Window("Ledger"))]
    assert await ScreenRecognizer(reader).recognize(frame_of(FORM, window("Ledger")), states) is states[0]


async def test_a_frame_is_checked_once(reader: CountingReader) -> None:
    oracle = Oracle(a=True)
    recognizer, state = ScreenRecognizer(reader, oracle), State("a", Text("NEW ENTRY"), Asked("a"))
    for _ in range(3):
        assert await recognizer.holds(frame_of(FORM), state)
    assert (len(reader.widths), oracle.asked) == (1, ["a"])
    assert not await recognizer.holds(frame_of(FORM, window("Ledger")), State("b", Window("Other")))
    assert await recognizer.holds(frame_of(FORM, window("Other")), State("b", Window("Other")))


async def test_the_cache_of_frames_is_bounded(reader: CountingReader) -> None:
    recognizer = ScreenRecognizer(reader)
    for shade in range(100):
        frame = frame_of(Image.new("RGB", (SIZE.width, SIZE.height), (shade, 0, 0)), window("Ledger"))
        assert await recognizer.holds(frame, State("a", Window("Ledger")))
    assert len(recognizer._frames) <= 32


async def test_texts_in_boxes_are_read_there_only(reader: CountingReader) -> None:
    top, bottom = Box(0, 10, 240, 40), Box(0, 170, 240, 40)
    states = [
        State("other", Text("Saved 13", bottom)),
        State("saved", Text("NEW ENTRY", top), Text("Saved 12", bottom)),
    ]
    assert await ScreenRecognizer(reader).recognize(frame_of(FORM), states) is states[1]
    assert SIZE.width not in reader.widths
    assert not await ScreenRecognizer(reader).holds(frame_of(FORM), State("a", Text("Saved 12", top)))


async def test_a_box_limits_a_text_and_a_box_off_the_screen_is_empty(reader: CountingReader) -> None:
    recognizer = ScreenRecognizer(reader)
    whole = State("whole", Text("NEW ENTRY"), Text("Saved 12", Box(0, 0, 480, 60)))
    assert not await recognizer.holds(frame_of(FORM), whole)
    assert reader.widths == [SIZE.width]
    assert not await recognizer.holds(frame_of(FORM), State("off", Text("NEW ENTRY", Box(900, 900, 50, 50))))


async def test_capitals_are_found_in_capitals_only_and_digits_exactly(reader: CountingReader) -> None:
    recognizer = ScreenRecognizer(reader)
    assert await recognizer.holds(frame_of(FORM), State("a", Text("Saved *"), Absent(Text("SAVED 12"))))
    assert not await recognizer.holds(frame_of(FORM), State("b", Text("Saved 13")))
    assert await recognizer.holds(frame_of(FORM), State("c", AnyOf(Text("MAIN MENU"), Text("NEW ENTRY"))))


async def test_a_covered_window_does_not_count() -> None:
    state = State("notice", Window("Notice"))
    hidden = frame_of(FORM, window("Notice", box=Box(10, 10, 50, 50)), window("Ledger"))
    assert not await ScreenRecognizer().holds(hidden, state)
    on_top = replace(hidden, windows=tuple(reversed(hidden.windows or ())))
    assert await ScreenRecognizer().holds(on_top, state)


async def test_an_unknown_program_makes_a_mark_and_its_absence_fail() -> None:
    recognizer, mark = ScreenRecognizer(), Window(program="ledger")
    assert await recognizer.holds(frame_of(FORM, window("any")), State("a", mark))
    assert not await recognizer.holds(frame_of(FORM, window("ledger", "/usr/bin/other")), State("a", mark))
    unknown = frame_of(FORM, window("any", ""))
    assert not await recognizer.holds(unknown, State("a", mark))
    assert not await recognizer.holds(unknown, State("b", Absent(mark)))


async def test_a_mark_that_cannot_be_checked_raises_an_error() -> None:
    without = Frame(FORM.tobytes(), SIZE, ":test")
    with pytest.raises(InvalidUsage, match="cannot say which windows"):
        await ScreenRecognizer().holds(without, State("a", Window("Ledger")))
    with pytest.raises(InvalidUsage, match="no model can be asked"):
        await ScreenRecognizer().holds(without, State("a", Asked("Is it?")))


@pytest.mark.parametrize(("marks", "needed"), [([Text("a")], False), ([Absent(AnyOf(Text("a"), Window("b")))], True)])
def test_windows_are_needed_for_a_window_mark(marks: list[Any], needed: bool) -> None:
    assert needs_windows(Screens([State("a", *marks)])) is needed


async def test_an_element_is_checked_again_when_the_tree_or_picture_changes(
    reader: CountingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not checked again while both are unchanged. An element that the picture contradicts does not count."""
    line, bare = Box(16, 16, 200, 30), Box(16, 150, 200, 30)
    frame, state = frame_of(drawn((20, 20, "Ledger"))), State("ledger", Widget("label", "Ledger"))
    trees = [tree_of(("label", "Ledger", box)) for box in (line, bare)]
    told, held, at_once = list[ElementTree](), list[Box](), ElementCheck.at_once

    def counted(self: ElementCheck, frame: Frame, tree: ElementTree, element: Element, also: str = "") -> str | None:
        held.append(element.box)
        return at_once(self, frame, tree, element, also)

    async def elements() -> ElementTree:
        return replace(told[-1], took_ms=len(told))

    monkeypatch.setattr(ElementCheck, "at_once", counted)
    recognizer = ScreenRecognizer(reader, elements=elements)
    for tree, holds in ((trees[0], True), (trees[0], True), (trees[1], False), (trees[0], True)):
        told.append(tree)
        assert await recognizer.holds(frame, state) is holds
    assert held == [line, bare, line]
    again = frame_of(drawn((20, 20, "Other")))
    assert not await recognizer.holds(again, state)
