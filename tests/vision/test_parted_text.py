"""A label and the text of its field are two texts, although OCR reads one text over the edge of the field."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.parted_text import parted
from holo_tasks.vision.screen_text import Line

FIELD = Box(122, 20, 200, 24)
OVER = Line("Room: Elm|", Box(64, 18, 95, 30), 0.9)


def read(box: Box) -> tuple[str, float]:
    return ("Room:", 0.99) if box.left < FIELD.left else ("Elm", 0.99)


def form(text: str) -> Image.Image:
    """Return a form as FLTK draws it, with the label close to its field."""
    screen = Image.new("RGB", (420, 120), "#c0c0c0")
    draw, font = ImageDraw.Draw(screen), ImageFont.truetype("DejaVuSans.ttf", 14)
    draw.rectangle((FIELD.left - 2, FIELD.top - 2, FIELD.right + 1, FIELD.bottom + 1), "#606060")
    draw.rectangle((FIELD.left, FIELD.top, FIELD.right - 1, FIELD.bottom - 1), "white")
    draw.text((FIELD.left - 3 - draw.textlength("Room:", font), 22), "Room:", "black", font)
    draw.text((FIELD.left + 2, 22), text, "black", font)
    return screen


@pytest.mark.parametrize("text", ["Elm", "Oak 2", ""])
def test_label_and_text_are_apart(text: str) -> None:
    seen = Reader().read(form(text)).sight
    assert [line.text for line in seen.lines] == ["Room:", *([text] if text else [])]
    assert seen.field_at("Room:") == FIELD


def test_text_over_an_edge_is_parted() -> None:
    label, text = parted(OVER, lambda: ((FIELD,), ()), read, 0.6)
    assert (label.text, text.text) == ("Room:", "Elm")
    assert label.box.right <= FIELD.left < text.box.left


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        pytest.param(OVER, (), id="no field"),
        pytest.param(OVER, (Box(60, 18, 260, 30),), id="all of it in the field"),
        pytest.param(OVER, (FIELD, Box(130, 20, 190, 24)), id="two edges"),
        pytest.param(Line("Room: Elm", Box(64, 60, 95, 30), 0.9), (FIELD,), id="another row"),
        pytest.param(Line("Order A-17 was saved.", Box(64, 18, 95, 30), 0.9), (FIELD,), id="a sentence"),
    ],
)
def test_other_texts_stay_whole(line: Line, fields: tuple[Box, ...]) -> None:
    assert list(parted(line, lambda: (fields,), read, 0.6)) == [line]


def test_text_stays_whole_if_its_label_is_not_certain() -> None:
    assert list(parted(OVER, lambda: ((FIELD,),), lambda box: ("R", 0.3), 0.6)) == [OVER]
