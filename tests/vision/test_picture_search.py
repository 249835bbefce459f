"""A picture is found at its exact place; similar pictures and ambiguous places are not."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.template_match import place_of, places_of, reference

WIDTH, HEIGHT = 90, 28
BLUE, GREY = "#3070c0", "#b0b0b0"


def screen(*buttons: tuple[int, int, str, str]) -> Image.Image:
    image = Image.new("RGB", (640, 400), "#f0f0f0")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=14)
    for row in range(20):
        draw.text((8, 4 + 20 * row), f"line {row} of a text that is not looked for", fill="black", font=font)
    for left, top, words, colour in buttons:
        draw.rectangle((left, top, left + WIDTH - 1, top + HEIGHT - 1), fill=colour, outline="black")
        draw.text((left + 24, top + 5), words, fill="white", font=font)
    return image


def cut(image: Image.Image, box: Box) -> bytes:
    buffer = io.BytesIO()
    image.crop((box.left, box.top, box.right, box.bottom)).save(buffer, "PNG")
    return buffer.getvalue()


def found(image: Image.Image, png: bytes) -> list[Box]:
    return [place.box for place in places_of(np.asarray(image), reference(png))]


SAVE = Box(400, 100, WIDTH, HEIGHT)
PNG = cut(screen((400, 100, "Save", BLUE)), SAVE)


@settings(max_examples=15)
@given(st.integers(0, 640 - WIDTH), st.integers(0, 400 - HEIGHT))
def test_a_picture_is_found_to_the_pixel(left: int, top: int) -> None:
    assert found(screen((left, top, "Save", BLUE)), PNG) == [Box(left, top, WIDTH, HEIGHT)]


def test_a_little_noise_does_not_prevent_a_match() -> None:
    pixels: Any = np.asarray(screen((300, 200, "Save", BLUE))).astype(int)
    noise = np.random.default_rng(1).integers(-6, 7, pixels.shape)
    noisy = Image.fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))
    assert found(noisy, PNG) == [Box(300, 200, WIDTH, HEIGHT)]


def icon(*shapes: tuple[tuple[int, int, int, int], str], mark: str = "#20a030") -> Image.Image:
    """Return a tool bar with a pale sheet that has a small mark and thin lines in colors."""
    image = Image.new("RGB", (320, 80), "#efefef")
    draw = ImageDraw.Draw(image)
    draw.rectangle((104, 28, 126, 52), fill="#e8e8e4", outline="#d8d4d0")
    for row in range(32, 50, 4):
        draw.line((107, row, 123, row), fill=("#ff9090", "#90a0ff")[row // 4 % 2])
    draw.rectangle((114, 42, 119, 46), fill=mark)
    for line, colour in shapes:
        draw.line(line, fill=colour, width=3)
    return image


def of_recording(image: Image.Image) -> bytes:
    """Return the icon after it was cut out of a picture that a recording holds."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return cut(Image.open(buffer), Box(98, 24, 35, 34))


def test_an_icon_that_was_recorded_is_found_on_the_screen() -> None:
    assert found(icon(), of_recording(icon())) == [Box(98, 24, 35, 34)]


@pytest.mark.parametrize(
    "other",
    [
        icon(((104, 36, 126, 36), "#404040")),
        icon(((106, 49, 112, 49), "#20a030")),
        icon(mark="#c02030"),
    ],
    ids=["another line", "another small line", "a red mark"],
)
def test_an_icon_with_another_detail_or_another_color_is_another_picture(other: Image.Image) -> None:
    assert found(other, of_recording(icon())) == []


@pytest.mark.parametrize(("words", "colour"), [("Send", BLUE), ("Save", GREY), ("", BLUE), ("5ave", BLUE)])
def test_another_word_or_another_colour_is_another_picture(words: str, colour: str) -> None:
    assert found(screen((300, 200, words, colour)), PNG) == []


def test_two_equally_good_places_are_ambiguous() -> None:
    twice = np.asarray(screen((300, 200, "Save", BLUE), (300, 300, "Save", BLUE)))
    places = places_of(twice, reference(PNG))
    assert len(places) == 2
    assert place_of(places) is None


def test_a_picture_larger_than_the_screen_is_not_on_it() -> None:
    assert places_of(np.asarray(screen())[:20], reference(PNG)) == []


def test_a_large_picture_is_found() -> None:
    image = screen((300, 200, "Save", BLUE))
    assert found(image, cut(image, Box(100, 50, 400, 300))) == [Box(100, 50, 400, 300)]


def png_of(image: Image.Image, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("png", "said"),
    [
        (png_of(Image.new("RGB", (40, 20), "white")), "about one color"),
        (png_of(Image.new("RGB", (5, 40), "white")), "5x40 pixels"),
        (png_of(Image.new("RGBA", (40, 20), (0, 0, 0, 0))), "transparent"),
        (png_of(Image.new("RGB", (40, 20), "white"), "JPEG"), "not a PNG"),
        (PNG[:60], "not a PNG"),
    ],
)
def test_a_picture_without_contrast_is_refused(png: bytes, said: str) -> None:
    with pytest.raises(InvalidUsage, match=said):
        reference(png)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match=r"logo\.png cannot be read: No such file"):
        reference(tmp_path / "logo.png")
