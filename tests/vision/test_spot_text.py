"""The words for a field contradict a button's caption only if pixels show both the button and the labelled field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.spot_text import SpotText
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

FONT = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 15)
SIZE = Size(800, 500)
GROUND, PAPER, RAISED, INK, LINE = (236, 236, 236), (255, 255, 255), (217, 217, 217), (0, 0, 0), (110, 110, 110)
AMOUNT, REASON, DELETE = Box(200, 60, 240, 30), Box(200, 110, 240, 30), Box(200, 300, 110, 34)


@dataclass(frozen=True)
class Area:
    """A field or a button. Its text begins on the left, or is in the middle."""

    box: Box
    text: str = ""
    paper: tuple[int, int, int] = PAPER
    in_middle: bool = False
    label: str = ""
    label_above: bool = False


def button(box: Box, text: str, **how: Any) -> Area:
    return Area(box, text, **{"paper": RAISED, "in_middle": True, **how})


FORM = (Area(AMOUNT, "12.50", label="Amount:"), Area(REASON, label="Reason"))


def screen(*areas: Area) -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), GROUND)
    draw = ImageDraw.Draw(image)
    for each in areas:
        box = each.box
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=LINE, fill=each.paper)
        at, anchor = ((box.center.x, box.center.y), "mm") if each.in_middle else ((box.left + 5, box.center.y), "lm")
        draw.text(at, each.text, fill=INK, font=FONT, anchor=anchor)
        if each.label_above:
            draw.text((box.left, box.top - 12), each.label, fill=INK, font=FONT, anchor="lm")
        elif each.label:
            draw.text((box.left - 20, box.center.y), each.label, fill=INK, font=FONT, anchor="rm")
    return Frame(image.tobytes(), SIZE, ":0")


class Painted(PaintedDesktop):
    """A desktop that shows one picture, of a program without an accessibility tree."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self._frame = frame

    async def look(self, *, after_action: bool = False) -> Frame:
        return self._frame


async def reasons(words: str, at: Point, *areas: Area) -> list[str]:
    """Return why a click was withheld; an empty list if it was made."""
    recorder, desktop = MemoryRecorder(), Painted(screen(*areas))
    point = {"x": round((at.x + 0.5) * 1000 / SIZE.width), "y": round((at.y + 0.5) * 1000 / SIZE.height)}
    calls = [step("click", element=words, **point), step("answer", content="done")]
    walk = walk_of(as_model(MemoryModel([wrote(call) for call in calls])), desktop=desktop, recorder=recorder)
    walk.services = replace(walk.services, spots=SpotText())
    await work(walk)
    assert len(desktop.gestures) == len(recorder.of("action"))
    withheld = [event.reason for event in recorder.of("correction")]
    assert len(withheld) + len(desktop.gestures) == 1
    return withheld


@pytest.mark.parametrize(
    "words", ["Reason field", "the field Reason", "the 'Reason' input field", "Reason text box above the buttons"]
)
async def test_a_point_on_a_button_is_not_the_named_field(words: str) -> None:
    (reason,) = await reasons(words, DELETE.center, *FORM, button(DELETE, "Delete"))
    assert reason.startswith("You named ‘Reason’; the point is on ‘Delete’. ‘Reason’ is at (")


ENTRY = replace(FORM[1], label="")
PASSED: dict[str, tuple[str, Point, tuple[Area, ...]]] = {
    "the named field": ("Amount field", AMOUNT.center, FORM),
    "the empty named field": ("Reason field", REASON.center, FORM),
    "words without a field": ("Reason", DELETE.center, (*FORM, button(DELETE, "Delete"))),
    "a field that no text names": ("Note field", DELETE.center, (*FORM, button(DELETE, "Delete"))),
    "another language": ("Grund field", DELETE.center, (*FORM, button(DELETE, "Delete"))),
    "a place": ("the field below Reason", DELETE.center, (*FORM, button(DELETE, "Delete"))),
    "a button of that name": ("Reason field", DELETE.center, (*FORM, button(DELETE, "Reason code"))),
    "one of several choosers beside a label that a field has as well": (
        "Reason field",
        Point(420, 317),
        (*FORM, button(DELETE, "Duplicate", label="Reason"), button(Box(340, 300, 150, 34), "Wrong amount")),
    ),
    "a chooser below a label that a field has as well": (
        "Kind field",
        Point(205, 185),
        (FORM[0], Area(Box(270, 140, 240, 30), label="Kind"), button(Box(150, 170, 110, 30), "Duplicate")),
    ),
    "a chooser with its text on the left": (
        "Reason field",
        DELETE.center,
        (*FORM, replace(button(DELETE, "Duplicate"), in_middle=False)),
    ),
    "a field with a text in the middle": (
        "Reason field",
        DELETE.center,
        (*FORM, button(DELETE, "Duplicate", paper=PAPER)),
    ),
    "a part of the named field": (
        "Reason field",
        Point(475, 125),
        (*FORM, button(Box(442, 110, 66, 30), "Pick")),
    ),
    "a number": ("Reason field", DELETE.center, (*FORM, button(DELETE, "12.50"))),
}


@pytest.mark.parametrize("case", PASSED)
async def test_a_point_that_may_be_on_the_named_field_is_clicked(case: str) -> None:
    words, at, areas = PASSED[case]
    assert await reasons(words, at, *areas) == []
