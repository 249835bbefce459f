"""The test picture for the model: one button with one word, at a place that is hard to guess."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.models.encoding import ENCODERS

WORD = "WALNUT"
SIZE = Size(640, 400)
BUTTON = Box(380, 270, 220, 90)
"""Not in the middle, because a model that sees no picture answers with the middle."""


def picture() -> Shot:
    """Draw the picture and encode it like a screenshot."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#e6e8ec")
    draw = ImageDraw.Draw(image)
    box = (BUTTON.left, BUTTON.top, BUTTON.right - 1, BUTTON.bottom - 1)
    draw.rounded_rectangle(box, radius=8, fill="#1f5fbf")
    middle = BUTTON.center
    draw.text((middle.x, middle.y), WORD, fill="white", font=ImageFont.load_default(44), anchor="mm")
    return ENCODERS["default"].encode(RedactedFrame(Frame(image.tobytes(), SIZE, display="doctor")))


def on_button(point: Point) -> bool:
    """Return whether a point is on the button."""
    return BUTTON.left <= point.x < BUTTON.right and BUTTON.top <= point.y < BUTTON.bottom
