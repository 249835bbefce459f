"""A line that OCR joined of several options is split at the circles between them, and never at a letter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.joined_words import pieces_of
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Line, Sight

WORDS = ("Book", "Continuous", "Web Page")
SIZE = Size(360, 60)


def options(*, frame: bool = False, first: bool = True) -> tuple[Image.Image, Line]:
    """Return a row of options, with three pixels around each circle, and its line as OCR reads it."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#c0c0c0")
    draw, font, left = ImageDraw.Draw(image), ImageFont.load_default(size=14), 60
    for word in WORDS:
        if word != WORDS[0] or first:
            draw.ellipse((left, 22, left + 13, 35), outline="#505050", fill="white")
            left += 16
        draw.text((left, 20), word, fill="black", font=font)
        left += int(draw.textlength(word, font=font)) + 3
        if frame and word == WORDS[0]:
            for x in range(57, left, 2):
                draw.point([(x, 18), (x, 40)], fill="black")
    return image, Line("BookContinuousWeb Page", Box(57, 18, left - 54, 23))


def pieces(image: Image.Image, line: Line) -> list[str]:
    return [piece.text for piece in pieces_of(np.asarray(image), line)]


@pytest.mark.parametrize("frame", [False, True], ids=["plain", "with the frame of the focus"])
def test_options_are_split_at_circles_without_a_gap(frame: bool) -> None:
    image, line = options(frame=frame)
    assert pieces(image, line) == list(WORDS)


def test_an_option_is_found_with_its_circle() -> None:
    image, line = options()
    seen = with_pictures(Sight((line,), SIZE), image)
    places = [find(Target(text=word), {}, seen) for word in WORDS]
    assert all(one.right <= other.left for one, other in pairwise(places))
    assert places[0].left == 60


def test_a_first_circle_is_found_before_the_line() -> None:
    image, line = options()
    late = Line(line.text, Box(75, line.box.top, line.box.right - 75, line.box.height))
    assert pieces_of(np.asarray(image), late)[0].box.left == 60


def test_circles_after_the_texts_belong_to_no_option() -> None:
    image, line = options(first=False)
    found = pieces_of(np.asarray(image), line)
    assert [piece.text for piece in found] == list(WORDS)
    assert found[0].box.right < found[1].box.left - 13


@pytest.mark.parametrize("text", ["ContinuousWeb Page", "BookContinuousWebPages", "BookOContinuousWeb Page"])
def test_texts_with_other_letters_than_the_line_are_not_its_pieces(text: str) -> None:
    image, line = options()
    assert pieces(image, Line(text, line.box)) == []


@pytest.mark.parametrize("text", ["LOGO DEMO", "ROOM 100 OOO", "Order DOB", "Doc"])
def test_a_letter_is_not_a_circle(text: str) -> None:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black", font=ImageFont.load_default(size=18))
    assert pieces(image, Line(text, Box(16, 16, 12 * len(text) + 20, 30))) == []
