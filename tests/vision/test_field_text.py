"""OCR of a cell in a drawn sheet: the one text that is new, and none in doubt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.typed_text import TypedText
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.loop.services import FieldText
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.field_text import FieldReader
from tests.support.element_trees import element

pytestmark = pytest.mark.skipif(not can_read(), reason="needs OCR, the extra rehearsal")
SHEET, ROW = Box(10, 40, 280, 150), 20


def sheet(*cells: str, current: int, title: str = "") -> Frame:
    """Return a screen with a sheet of one column."""
    picture = Image.new("RGB", (300, 200), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((10, 10), title, fill="black", font=ImageFont.load_default(15))
    for row, text in enumerate(cells):
        draw.text((14, 42 + ROW * row), text, fill="black", font=ImageFont.load_default(15))
    draw.rectangle((10, 40 + ROW * current, 130, 40 + ROW * (current + 1)), outline="black", width=2)
    return Frame(picture.tobytes(), Size(300, 200), display=":0")


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (sheet("Apple", "Berlin", current=2, title="A3"), FieldText("Berlin", True, False)),
        (sheet("Apple", "", current=2, title="A3"), None),
        (sheet("Apple", "Berlin", "Munich", current=2), None),  # another cell changed as well
        (sheet("Orange", "Berlin", "Munich", "Hamburg", current=4), None),  # as after a scroll
    ],
)
async def test_the_new_text_of_a_cell_is_read_and_no_other(after: Frame, found: FieldText | None) -> None:
    before = sheet("Apple", "", current=1, title="A2")
    assert await FieldReader().cell(before, after, SHEET) == found


async def test_a_cell_that_held_a_text_before_is_known() -> None:
    before, after = sheet("Apple", "Rome", "x", current=1), sheet("Apple", "Berlin", "x", current=2)
    assert await FieldReader().cell(before, after, SHEET) == FieldText("Berlin", False, False)


SPIN = Box(60, 80, 86, 24)


def spin(text: str, *, selected: bool) -> Frame:
    """Return a screen with a small number or time field: its two arrows are in its box."""
    picture = Image.new("RGB", (300, 200), "#efefef")
    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = SPIN.left, SPIN.top, SPIN.right - 1, SPIN.bottom - 1
    draw.rounded_rectangle((left, top, right, bottom), 3, fill="white", outline="#3a7fb5")
    draw.line((right - 15, top, right - 15, bottom), fill="#b0b0b0")
    for y, turn in ((top + 7, -1), (top + 16, 1)):
        draw.polygon([(right - 11, y - turn * 2), (right - 4, y - turn * 2), (right - 8, y + turn * 2)], fill="#404040")
    if selected:
        draw.rectangle((left + 4, top + 4, left + 64, bottom - 4), fill="#308cc6")
    draw.text((left + 5, top + 5), text, fill="white" if selected else "black", font=ImageFont.load_default(14))
    return Frame(picture.tobytes(), Size(300, 200), display=":0")


@pytest.mark.parametrize(("shown", "is_shown"), [("03:04 AM", True), ("02:30 PM", False)])
async def test_a_selected_text_is_read_in_the_box_of_its_field(shown: str, is_shown: bool) -> None:
    """A field that did not take a text looks different if its old text is selected now."""
    before, after = spin("03:04 AM", selected=False), spin(shown, selected=True)

    async def redact(frame: Frame) -> Any:
        return SimpleNamespace(frame=frame)

    async def look() -> Frame:
        return after

    services: Any = SimpleNamespace(
        field_text=FieldReader(), redactor=SimpleNamespace(redact=redact), desktop=SimpleNamespace(look=look)
    )
    typed = ReadBack(target=element("spin button", "Time", SPIN))
    typed._told = TypedText("another", held="03:04 AM")
    screens: Any = [SimpleNamespace(redacted=frame) for frame in (before, after)]
    assert await typed._is_shown(services, *screens) is is_shown


def label(text: str, selected: int) -> Frame:
    """Return a screen with an unframed text that has the keyboard. ``selected`` is the width of the selection."""
    picture = Image.new("RGB", (300, 200), "#efefef")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((20, 80, 220, 104), fill="white", outline="#3a7fb5", width=2)
    draw.rectangle((22, 82, 22 + selected, 102), fill="#308cc6")
    draw.text((24, 84), text, fill="white" if selected else "black", font=ImageFont.load_default(16))
    return Frame(picture.tobytes(), Size(300, 200), display=":0")


async def test_the_end_of_a_selection_is_no_edge_of_a_field() -> None:
    seen = await FieldReader()(label("label", 44), label("changed for good", 0), None)
    assert seen is None or seen.text == "changed for good"
