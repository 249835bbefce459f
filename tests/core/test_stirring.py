"""What moves by itself is left out of a comparison, but never what says what a press is for: on made-up pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.recheck import Aim, Arrangement, Pane, Sighting, moved, rows
from holo_tasks.core.stirring import TILE, Stirring, calmed, things

SIZE = Size(640, 320)
WINDOW = Arrangement((Pane(1, Box(0, 0, 640, 320)),), 1)
TARGET = Point(300, 100)
CLICKED, TYPED = Aim((TARGET,)), Aim(clicked=TARGET)
BUTTON = (265, 88, 335, 112)


@dataclass(frozen=True)
class Drawn:
    """A picture in memory."""

    size: Size
    bgrx: bytes
    top: int = 0


Draw = Callable[[ImageDraw.ImageDraw], None]


def screen(*parts: Draw) -> Sighting:
    picture = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    pencil = ImageDraw.Draw(picture)
    for part in parts:
        part(pencil)
    return Sighting(Drawn(SIZE, picture.tobytes("raw", "BGRX")), WINDOW)


def strip(seen: Sighting) -> Sighting:
    """Return what is looked at right before input: only the rows that matter."""
    first, last = rows(seen.windows, SIZE, CLICKED)
    line = 4 * SIZE.width
    return Sighting(Drawn(SIZE, bytes(seen.pixels.bgrx[first * line : last * line]), first), seen.windows)


def button(y: int = 100) -> Draw:
    def draw(pencil: ImageDraw.ImageDraw) -> None:
        pencil.rectangle((265, y - 12, 335, y + 12), fill="#dddddd", outline="black")
        pencil.text((286, y - 6), "Open", fill="black")

    return draw


def text(words: str, x: int, y: int = 100) -> Draw:
    return lambda pencil: pencil.text((x, y - 6), words, fill="black")


def stirring(*boxes: Box) -> Stirring:
    return Stirring(
        frozenset(
            (x, y)
            for box in boxes
            for x in range(box.left // TILE, -(-box.right // TILE))
            for y in range(box.top // TILE, -(-box.bottom // TILE))
        )
    )


def refused(before: Sighting, now: Sighting, where: Aim, *boxes: Box) -> str:
    looked = strip(now) if where is CLICKED else now
    return moved(before, calmed(before, looked, where, stirring(*boxes)), where)


def around(x: int, y: int = 100, width: int = 16) -> Box:
    return Box(x, y - 6, width, 12)


@pytest.mark.parametrize("where", [CLICKED, TYPED])
def test_a_clock_in_the_row_of_a_button_is_left_out_only_if_it_was_seen_to_tick(where: Aim) -> None:
    before, now = (screen(button(), text(f"12:03:1{n}", 500)) for n in (4, 5))
    assert moved(before, now, where)
    assert refused(before, now, where, around(540)) == ""
    assert refused(before, now, where, around(540), around(540, y=10), around(300, y=310)) == ""
    assert refused(before, now, where, around(540, y=200)) != ""


def test_a_minute_that_changes_with_the_second_is_left_out_with_it() -> None:
    before, now = (screen(button(), text(words, 500)) for words in ("12:03:59", "12:04:00"))
    assert refused(before, now, CLICKED, around(536)) == ""


def test_a_clock_hides_nothing_that_changes_elsewhere_in_the_row() -> None:
    before, now = (screen(button(), text(f"TX-10{n}", 60), text(f"12:03:1{n % 10}", 500)) for n in (40, 39))
    assert refused(before, now, CLICKED, around(540)) == "its row looks different"


def test_what_is_right_below_a_button_is_left_out_and_what_is_in_it_is_not() -> None:
    below = [screen(button(), text(f"12:03:1{n}", 270, y=120)) for n in (4, 5)]
    assert moved(*below, CLICKED) == "it looks different there"
    assert refused(*below, CLICKED, around(300, y=122)) == ""
    inside = [screen(button(), text(f"{n}", 316)) for n in (4, 5)]
    assert refused(*inside, CLICKED, around(312)) == "it looks different there"
    bare = [screen(text("Open", 286), text(f"12:03:1{n}", 270, y=118)) for n in (4, 5)]
    assert refused(*bare, CLICKED, around(300, y=120)) == "it looks different there"


@pytest.mark.parametrize("x", [90, 180])
def test_words_next_to_a_button_are_its_name_though_they_tick(x: int) -> None:
    before, now = (screen(button(), text(f"Order 1{n}", x)) for n in (4, 5))
    assert refused(before, now, CLICKED, around(x + 40)) == "its row looks different"


def test_words_behind_others_or_across_the_border_of_a_pane_are_not_its_name() -> None:
    between = [screen(button(), text("Name:", 200), text(f"Order 1{n}", 90)) for n in (4, 5)]
    assert refused(*between, CLICKED, around(128)) == ""

    def border(pencil: ImageDraw.ImageDraw) -> None:
        pencil.rectangle((0, 0, 200, 320), fill="#888888")

    across = [screen(border, button(), text(f"Order 1{n}", 100)) for n in (4, 5)]
    assert refused(*across, CLICKED, around(138)) == ""


def test_a_cell_of_a_list_is_never_left_out_however_far_it_is() -> None:
    tops = (40, 70, 100, 130)

    def listed(number: int) -> Sighting:
        cells = [text(f"1{number + n}", 600, y) for n, y in enumerate(tops)]
        return screen(*map(button, tops), *cells, *(text("open", 200, y) for y in tops))

    assert refused(listed(1), listed(2), CLICKED, *(around(600, y) for y in tops)) == "its row looks different"
    alone = [screen(*map(button, tops), text(f"1{n}", 600), *(text("open", 200, y) for y in tops)) for n in (1, 2)]
    assert refused(*alone, CLICKED, around(600)) == ""


def test_a_video_around_a_button_is_left_out_and_one_under_the_pointer_is_not() -> None:
    def film(colour: str) -> Draw:
        return lambda pencil: pencil.rectangle((200, 40, 399, 159), fill=colour)

    over_it = [screen(film(colour), button()) for colour in ("red", "blue")]
    assert refused(*over_it, CLICKED, Box(200, 40, 200, 120)) == ""
    under = [screen(film(colour)) for colour in ("red", "blue")]
    assert refused(*under, CLICKED, Box(200, 40, 200, 120)) == "it looks different there"


def test_tiles_with_more_than_one_between_are_of_different_things() -> None:
    found = sorted(map(sorted, things(frozenset({(1, 1), (3, 1), (6, 1), (6, 2)}))))
    assert found == [[(1, 1), (3, 1)], [(6, 1), (6, 2)]]


def test_a_page_that_keeps_being_drawn_anew_hides_no_row_of_its_list() -> None:
    tops = (40, 70, 100, 130)

    def listed(number: int) -> Sighting:
        return screen(*map(button, tops), *(text(f"TX-10{number + n}", 20, y) for n, y in enumerate(tops)))

    assert refused(listed(41), listed(40), CLICKED, Box(0, 0, 640, 320)) == "its row looks different"
    alone = [screen(button(), text(f"Order 1{n}", 90)) for n in (4, 5)]
    assert refused(*alone, CLICKED, Box(0, 0, 640, 320)) == "its row looks different"
