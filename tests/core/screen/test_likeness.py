"""Changes that a press makes around a point differ from changes that make it another control."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps

from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.core.screen.likeness import (
    JOINED,
    LUMP,
    differs,
    has_letter_sized_shape,
    mask_at_least,
    may_be_same_target,
)

AT = Point(280, 220)
Extra = Callable[[ImageDraw.ImageDraw], Any]


@dataclass(frozen=True)
class Painted:
    size: Size
    bgrx: bytes
    top: int = 0


def button(
    text: str,
    fg: str = "black",
    bg: str = "#d9d9d9",
    *,
    shift: int = 0,
    wide: int = 160,
    tall: int = 40,
    size: int = 13,
) -> Painted:
    image = Image.new("RGBA", (640, 480), "#d9d9d9")
    draw = ImageDraw.Draw(image)
    draw.rectangle((200, 200, 200 + wide, 200 + tall), fill=bg, outline="#828282")
    middle = (200 + wide // 2 + shift, 200 + tall // 2 + shift)
    draw.text(middle, text, fill=fg, font=ImageFont.load_default(size), anchor="mm")
    return Painted(Size(640, 480), image.tobytes("raw", "BGRA"))


def drawn(on: Painted, extra: Extra) -> Painted:
    image = Image.frombuffer("RGBA", (640, 480), on.bgrx, "raw", "BGRA", 0, 1).copy()
    extra(ImageDraw.Draw(image))
    return Painted(on.size, image.tobytes("raw", "BGRA"))


@pytest.mark.parametrize("size", [10, 13, 20])
@pytest.mark.parametrize("colours", [{}, {"fg": "white", "bg": "#4a6984"}])
def test_other_letters_differ_in_any_colors(size: int, colours: dict[str, str]) -> None:
    for one, other in (("Next", "Delete all"), ("Next", "Save"), ("OK", "No"), ("Open", "Close"), ("", "Delete")):
        assert differs(button(one, size=size), button(other, size=size, **colours), AT)
        assert differs(button(other, size=size, **colours), button(one, size=size), AT)


@pytest.mark.parametrize("size", [10, 13, 20])
@pytest.mark.parametrize(
    "looks", [{}, {"fg": "white", "bg": "#4a6984"}, {"bg": "#c3c3c3"}, {"shift": 1}, {"fg": "yellow", "bg": "#222222"}]
)
def test_the_same_letters_do_not_differ(looks: dict[str, Any], size: int) -> None:
    assert not differs(button("Next", size=size), button("Next", size=size, **looks), AT)


@pytest.mark.parametrize(
    "extra",
    [
        lambda draw: draw.line((282, 210, 282, 230), fill="black", width=2),
        lambda draw: draw.rectangle((203, 203, 357, 237), outline="blue", width=2),
        lambda draw: [draw.point((x, y), fill="black") for x in range(204, 356, 2) for y in (204, 236)],
    ],
    ids=["caret", "ring", "dots"],
)
@pytest.mark.parametrize("text", ["Next", ""])
def test_a_caret_and_a_focus_ring_make_no_difference(text: str, extra: Extra) -> None:
    assert not differs(button(text), drawn(button(text), extra), AT)


@pytest.mark.parametrize(
    ("at", "sides"), [(Point(590, 222), {"wide": 400}), (Point(220, 440), {"wide": 300, "tall": 250})]
)
def test_a_button_is_recognized_by_its_text_far_from_the_point(at: Point, sides: dict[str, int]) -> None:
    assert differs(button("Next", **sides), button("Delete", **sides), at)
    assert not differs(button("Next", **sides), button("Next", fg="white", bg="navy", **sides), at)
    assert not differs(button("Next", **sides), button("Delete", **sides), at, near=True)


def test_content_beyond_the_border_of_a_control_does_not_count() -> None:
    beside: Extra = lambda draw: draw.text((370, 214), "4711", fill="black", font=ImageFont.load_default(13))  # noqa: E731
    assert not differs(button("Next"), drawn(button("Next"), beside), Point(350, 220))


def test_points_are_close_if_their_surroundings_overlap() -> None:
    assert may_be_same_target(AT, Point(AT.x + 90, AT.y + 20))
    assert not may_be_same_target(AT, Point(AT.x, AT.y + 30))


def test_a_letter_sized_shape_is_a_lump_in_the_joined_mask():
    chance, found = random.Random(42), 0
    for _ in range(300):
        mask = Image.new("L", (chance.randint(1, 90), chance.randint(1, 50)))
        draw = ImageDraw.Draw(mask)
        for _ in range(chance.randint(0, 12)):
            x, y = chance.randint(0, mask.width), chance.randint(0, mask.height)
            if chance.random() < 0.5:
                draw.line((x, y, x + chance.randint(-9, 9), y + chance.randint(-9, 9)), fill=255)
            else:
                draw.rectangle((x, y, x + chance.randint(0, 9), y + chance.randint(0, 7)), fill=255)
        joined = mask_at_least(ImageOps.expand(mask, 2 * LUMP).filter(ImageFilter.BoxBlur(JOINED)), 1)
        lump = mask_at_least(joined.filter(ImageFilter.BoxBlur(LUMP)), 255).getbbox() is not None
        assert has_letter_sized_shape(mask) is lump
        found += lump
    assert 50 < found < 250
