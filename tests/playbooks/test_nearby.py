"""What is written on a control is found, however wide the control is and whatever stands beside it."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.playbooks.nearby import ScreenText, can_read

FONT = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 15)
BUTTONS = {"Cancel": Box(300, 500, 110, 34), "Submit": Box(470, 500, 110, 34), "Delete account": Box(100, 300, 600, 40)}


@pytest.fixture(scope="module")
def text() -> ScreenText:
    return ScreenText()


def form() -> Frame:
    image = Image.new("RGB", (900, 640), (236, 236, 236))
    draw = ImageDraw.Draw(image)
    for label, box in BUTTONS.items():
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(90, 90, 90), fill=(250, 250, 250))
        draw.text((box.center.x, box.center.y), label, fill="black", font=FONT, anchor="mm")
    draw.rectangle((100, 100, 116, 116), outline="black", fill="white")
    draw.text((124, 108), "Pay at once", fill="black", font=FONT, anchor="lm")
    return Frame(image.tobytes(), Size(900, 640), ":0")


@pytest.mark.parametrize(
    ("at", "there", "elsewhere"),
    [
        (Point(525, 517), "Submit", "Cancel"),
        (Point(472, 503), "Submit", "Delete"),
        (Point(340, 517), "Cancel", "Submit"),
        (Point(110, 335), "Delete account", "Pay"),  # the far end of a wide button
        (Point(695, 305), "Delete account", "Cancel"),
        (Point(108, 108), "Pay", "Delete"),  # the label beside a check box
    ],
)
async def test_the_text_of_what_is_at_a_point(text: ScreenText, at: Point, there: str, elsewhere: str) -> None:
    found = await text(form(), at)
    assert there in found
    assert elsewhere not in found


async def test_nothing_is_written_where_nothing_is(text: ScreenText) -> None:
    assert (await text(form(), Point(800, 620))).strip() == ""
    assert (await text(form(), Point(899, 639))).strip() == ""


async def test_all_that_a_window_shows(text: ScreenText) -> None:
    found = await text(form(), Box(0, 0, 900, 640))
    assert all(label in found for label in BUTTONS)
    assert "Submit" not in await text(form(), Box(0, 0, 900, 480))
    assert "Submit" in await text(form(), Box(400, 450, 5000, 5000))  # a window that hangs over the edge


def test_it_is_known_whether_anything_can_read() -> None:
    assert can_read()
