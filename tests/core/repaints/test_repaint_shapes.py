"""A clock keeps its shape from one time to the next, and loses it if a name appears. The letters are really drawn."""

from __future__ import annotations

import random

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.repaints.repaint_rhythm import TILE, RepaintingArea
from holo_tasks.core.repaints.repaint_shapes import MOST, OFTEN, PlaceShapes, ShapeChanges, have_different_shapes
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.recheck import Sighting, Strip, WindowStack

SIZE = Size(400, 120)
PLACE = Box(80, 40, 240, 40)


def shown(words: str, size: int = 15, *, dark: bool = False) -> Image.Image:
    ink, ground = (255, 30) if dark else (0, 255)
    picture = Image.new("L", (PLACE.width, PLACE.height), ground)
    ImageDraw.Draw(picture).text((4, 4), words, font=ImageFont.truetype("DejaVuSans.ttf", size), fill=ink)
    return picture


def seen(words: str) -> Sighting:
    picture = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    picture.paste(shown(words).convert("RGB"), (PLACE.left, PLACE.top))
    return Sighting(Strip(SIZE, picture.tobytes("raw", "BGRX"), 0), WindowStack())


def time_of_day(second: int) -> str:
    return f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"


@pytest.mark.parametrize("size", [12, 15, 24])
@pytest.mark.parametrize("dark", [False, True])
def test_all_times_of_day_have_a_similar_shape(size: int, dark: bool) -> None:
    chance = random.Random(size)
    for second in [chance.randrange(86_400) for _ in range(40)]:
        now, later = (shown(time_of_day(second + by), size, dark=dark) for by in (0, 1))
        assert not have_different_shapes(now, later), time_of_day(second)


@pytest.mark.parametrize("words", ["Lisbon", "TX-4711", "Bob", "", "12:00:00 Berlin"])
def test_a_name_has_another_shape_than_a_time(words: str) -> None:
    assert have_different_shapes(shown("09:41:07"), shown(words))


def test_a_blank_place_keeps_its_shape() -> None:
    assert not have_different_shapes(shown(""), shown(""))


def test_a_place_with_a_new_shape_must_repaint_once_more() -> None:
    doubts, box = ShapeChanges(seen("09:41:07")), PLACE.grown(TILE)
    like, first = RepaintingArea(box, last_s=1.0), RepaintingArea(box, last_s=2.0)
    assert doubts.with_same_shape(seen("09:41:08"), [like]) == (like,)
    assert doubts.with_same_shape(seen("Lisbon"), [first]) == ()
    assert doubts.with_same_shape(seen("Lisbon"), [first]) == ()
    later = RepaintingArea(box, last_s=3.0)
    assert doubts.with_same_shape(seen("Lisbon"), [later]) == (later,)


@pytest.mark.parametrize(
    "area", [RepaintingArea(PLACE.grown(TILE), swift=True), RepaintingArea(PLACE.grown(TILE), varied=True)]
)
def test_fast_places_and_banners_have_no_shape(area: RepaintingArea) -> None:
    assert ShapeChanges(seen("09:41:07")).with_same_shape(seen("Lisbon"), [area]) == (area,)


def test_a_place_outside_the_captured_rows_is_not_judged() -> None:
    area = RepaintingArea(Box(0, 0, 40, 24))
    whole = seen("")
    below = Sighting(Strip(SIZE, whole.pixels.bgrx[4 * SIZE.width * 60 :], 60), whole.windows)
    assert ShapeChanges(whole).with_same_shape(below, [area]) == (area,)


def test_a_banner_is_recognized_by_its_changing_shapes() -> None:
    shapes, clock = PlaceShapes(), Box(0, 0, 72, 16)
    for number in range(OFTEN + 1):
        assert not shapes.vary(PLACE)
        shapes.note(PLACE, shown("Buy now" if number % 2 else "Only today"))
        shapes.note(clock, shown(time_of_day(number)))
    assert shapes.vary(PLACE.grown(TILE))
    assert not shapes.vary(clock)
    shapes.forget()
    assert not shapes.vary(PLACE)


def test_the_number_of_remembered_places_is_limited() -> None:
    shapes = PlaceShapes()
    for number in range(3 * MOST):
        shapes.note(Box(8 * number, 0, 8, 8), shown("x"))
    assert len(shapes._known) <= MOST
