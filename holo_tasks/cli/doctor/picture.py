"""The picture that a model is asked about: one button with one word, where nobody would guess it to be."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.frame import Frame, RedactedFrame, Shot
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.models.encoding import ENCODERS

WORD = "WALNUT"
SIZE = Size(640, 400)
BUTTON = Box(380, 270, 220, 90)
"""Off the middle, which is what a model that sees nothing answers."""


def picture() -> Shot:
    """Draw the picture and encode it as a screen would be."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#e6e8ec")
    draw = ImageDraw.Draw(image)
    box = (BUTTON.left, BUTTON.top, BUTTON.right - 1, BUTTON.bottom - 1)
    draw.rounded_rectangle(box, radius=8, fill="#1f5fbf")
    middle = BUTTON.center
    draw.text((middle.x, middle.y), WORD, fill="white", font=ImageFont.load_default(44), anchor="mm")
    return ENCODERS["default"].encode(RedactedFrame(Frame(image.tobytes(), SIZE, display="doctor")))


def on_button(point: Point) -> bool:
    """Say whether a click there would press the button."""
    return BUTTON.left <= point.x < BUTTON.right and BUTTON.top <= point.y < BUTTON.bottom
