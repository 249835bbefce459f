"""OCR of a cell in a drawn sheet: the one text that is new, and none in doubt."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.loop.services import FieldText
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.field_text import FieldReader

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
