"""A menu of a bar that OCR reads as one text is cut out as a picture. A text read in pieces is not new."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from holo_tasks.compiler.marks import is_on
from holo_tasks.compiler.pictures import Pictures, _caption_at
from holo_tasks.compiler.recording import Picture
from holo_tasks.compiler.targets import target_at
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


@pytest.mark.parametrize(
    ("pieces", "is_there"),
    [
        ((("Price", 20, 60), ("e list of the year", 70, 150)), True),
        ((("Price", 20, 60), ("list of the year", 80, 140)), True),
        ((("Price", 20, 60),), False),
        ((("Price", 20, 60), ("of the beans", 90, 110)), False),
    ],
)
def test_a_line_that_ocr_read_in_pieces_was_there_before(
    pieces: tuple[tuple[str, int, int], ...], is_there: bool
) -> None:
    size = Size(400, 300)
    before = Sight((Line("Price list of the year", Box(20, 20, 200, 16)),), size)
    after = Sight(tuple(Line(text, Box(left, 20, width, 16)) for text, left, width in pieces), size)
    assert is_on(before, after.lines[0], after) is is_there


def icons(line_at: int) -> Image.Image:
    """Return a picture of three icons, each of two strokes, and a line below them."""
    pixels = np.full((80, 400, 3), 220, dtype=np.uint8)
    for left in (20, 70, 120):
        for stroke in (left, left + 16):
            pixels[20:40, stroke : stroke + 11 : 2] = 0
    pixels[line_at] = 0
    return Image.fromarray(pixels)


@pytest.mark.parametrize(("line_at", "is_whole"), [(60, True), (44, False)])
def test_an_icon_that_nearly_touches_a_line_is_cut_out(tmp_path: Path, line_at: int, is_whole: bool) -> None:
    shown = Picture("0" * 64, Box(0, 0, 400, 80), Size(400, 80))
    cutter = Pictures(tmp_path, "work", {}, lambda picture: icons(line_at))
    drawings = cutter._drawings_at(shown, Point(75, 30), Sight((), Size(400, 80)))
    widths = [Image.open(BytesIO(data)).width for data in drawings]
    assert widths, "the icon has a picture"
    assert (widths[0] > 20) is is_whole, "its strokes belong together if nothing else is near"


@pytest.mark.parametrize(
    ("text", "is_described"),
    [
        ("PriorityLowNormalHigh", False),
        ("LowNormal", False),
        ("Low", True),
        ("Priority: Low", True),
        ("Low (seldom)", True),
        ("客户王伟", True),
        ("Main office", True),  # the M of another value is in it by chance
    ],
)
def test_an_option_that_ocr_joined_to_others_is_not_pressed_in_their_middle(text: str, *, is_described: bool) -> None:
    shown = Sight((Line(text, Box(195, 228, 229, 24)),), Size(800, 600))
    found = target_at(Point(290, 240), shown, {"priority": "Low", "client": "王伟", "size": "M"})
    assert (found is not None) is is_described, found


@pytest.mark.parametrize(("left", "label"), [(249, "State"), (243, None)])
def test_the_text_of_a_chooser_may_begin_a_little_left_of_it(left: int, label: str | None) -> None:
    lines = Line("State", Box(195, 201, 46, 26)), Line("open", Box(left, 202, 45, 26))
    sight = Sight(lines, Size(800, 600), colored_fields=(Box(254, 204, 162, 20),))
    found = target_at(Point(341, 213), sight, {}, typed=False, words="State")
    assert (found.field if found is not None else None) == label
