"""A menu of a bar that OCR reads as one text is cut out as a picture."""

from __future__ import annotations

import numpy as np

from holo_tasks.compiler.pictures import _caption_at
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.screen_text import Line, Sight

WORDS = ((20, 50), (66, 92), (110, 160))
"""Left and right ends of three drawn captions, in pixels."""


def bar() -> np.ndarray:
    pixels = np.full((60, 200, 3), 220, dtype=np.uint8)
    for left, right in WORDS:
        pixels[14:26, left:right:3] = 0  # letters, with gaps between them
    return pixels


def sight(text: str) -> Sight:
    return Sight((Line(text, Box(18, 10, 146, 20)),), Size(200, 60))


def test_the_caption_at_the_point_is_cut_out() -> None:
    found = _caption_at(bar(), Point(78, 20), sight("File Edit Format"))
    assert found is not None
    assert (found.left, found.top, found.height) == (66, 10, 20)
    assert found.right <= 92


def test_a_point_between_captions_and_a_single_text_have_no_caption() -> None:
    assert _caption_at(bar(), Point(58, 20), sight("File Edit Format")) is None
    assert _caption_at(bar(), Point(78, 20), sight("Open the list")) is None
