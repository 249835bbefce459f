"""Rows of text that are read without text detection, and everything that is left to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.ocr import Ocr
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.plain_rows import PlainRows, parts_around, plain_rows

FONT = ImageFont.truetype("DejaVuSans.ttf", 15)
GREY, WHITE = (220, 220, 220), (255, 255, 255)


def page(*texts: tuple[str, int, int], ink: Any = "black", frame: Box | None = None) -> Image.Image:
    """Draw texts at places on a grey page, and a field with an edge."""
    picture = Image.new("RGB", (420, 120), GREY)
    draw = ImageDraw.Draw(picture)
    if frame is not None:
        draw.rectangle((frame.left, frame.top, frame.right - 1, frame.bottom - 1), WHITE, "#606060", 2)
    for text, left, top in texts:
        draw.text((left, top), text, ink, FONT)
    return picture


def rows_of(picture: Image.Image) -> tuple[list[Box], list[Box]]:
    found = plain_rows(np.asarray(picture))
    return [row.box for row in found.rows], [*found.others]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Return the sizes of the parts that text detection looked at."""
    sizes: list[tuple[int, ...]] = []
    find = Ocr.find

    def counted(self: Ocr, part: Any) -> list[Box]:
        sizes.append(part.shape[:2])
        return find(self, part)

    monkeypatch.setattr(Ocr, "find", counted)
    return sizes


def test_rows_on_even_ground_are_read_without_text_detection(searched: list[tuple[int, ...]]) -> None:
    frame = Box(150, 54, 200, 32)
    picture = page(("Order number", 20, 20), ("Kite Supplies", 160, 20), ("AB-1207", 164, 60), frame=frame)
    lines = Reader().read(picture).sight.lines
    assert [line.text for line in lines] == ["Order number", "Kite Supplies", "AB-1207"]
    assert not searched
    for line, left in zip(lines, (20, 160, 164), strict=True):
        assert 0 <= left - line.box.left <= 8  # the box is as large as that of text detection


def test_pale_text_is_ink_as_well() -> None:
    rows, others = rows_of(page(("Unavailable", 20, 20), ink=(205, 205, 205)))
    assert len(rows) == 1
    assert not others


@pytest.mark.parametrize(
    ("picture", "why"),
    [
        (page(("Order", 20, 20), ("EF-5050", 75, 20)), "a gap between that of words and that of columns"),
        (page(("Order", 20, 20), ("number", 20, 31)), "two rows without space between them"),
        (page(("Order", 20, -5)), "a text that may go on above the part"),
        (page(("Order", 385, 20)), "a text that may go on behind the part"),
        (page(("AB-1207|", 20, 20)), "a text cursor behind a text"),
    ],
    ids=lambda given: given.replace(" ", "-") if isinstance(given, str) else "",
)
def test_what_may_be_read_wrongly_is_left_to_text_detection(picture: Image.Image, why: str) -> None:
    rows, others = rows_of(picture)
    assert not rows, why
    assert others


def test_an_uncertain_row_is_left_to_text_detection(searched: list[tuple[int, ...]]) -> None:
    picture = page()
    draw = ImageDraw.Draw(picture)
    draw.line((30, 30, 46, 46), "black", 3)
    draw.line((30, 46, 46, 30), "black", 3)
    Reader().read(picture)
    assert searched


def test_nothing_that_is_drawn_is_left_out() -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        picture = page()
        draw = ImageDraw.Draw(picture)
        for left, top, width, height in rng.integers((0, 0, 1, 1), (400, 100, 90, 50), (12, 4)).tolist():
            color = tuple(rng.integers(0, 255, 3).tolist())
            draw.rectangle((left, top, left + width, top + height), None if width % 2 else color, color)
        rows, others = rows_of(picture)
        pixels = np.asarray(picture)
        drawn = (np.abs(pixels[:-1].astype(int) - pixels[1:]).max(axis=2) > 8)[1:-1, 1:-1]
        covered = np.zeros(drawn.shape, bool)
        for box in (*rows, *others):
            covered[max(0, box.top - 2) : box.bottom + 1, max(0, box.left - 2) : box.right + 1] = True
        # The edges of empty areas are drawn too, and hold no text.
        assert (drawn & ~covered).mean() < 0.05


def test_large_parts_are_searched_at_once_if_that_takes_less_time() -> None:
    whole = Box(0, 0, 600, 400)
    assert parts_around([Box(10, 10, 20, 10)], whole) == [Box(0, 0, 52, 47)]
    assert parts_around([], whole) == []
    assert parts_around([Box(10, top, 560, 20) for top in (10, 150, 300)], whole) == [whole]


@pytest.mark.parametrize(
    ("second", "gap", "read"),
    [
        ("TX-10716", 20, ["Reference", "TX-10716"]),
        ("TX-10716", 10, ["Reference TX-10716"]),
        (":", 20, ["Reference :"]),
    ],
    ids=["label and value", "words", "sign"],
)
def test_texts_with_a_wide_gap_are_apart_if_text_detection_joins_them(
    second: str, gap: int, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Text detection joined such a label and its value in a small part of the picture, and not in the whole picture.
    width = round(FONT.getlength("Reference"))
    picture = page(("Reference", 20, 20), (second, 20 + width + gap, 20))
    joined = Box(13, 14, width + gap + round(FONT.getlength(second)) + 14, 28)
    monkeypatch.setattr("holo_tasks.vision.ocr_reader.plain_rows", lambda part: PlainRows(others=(joined,)))
    monkeypatch.setattr(Ocr, "find", lambda self, part: [joined])
    lines = Reader().read_piece(np.ascontiguousarray(np.asarray(picture)))
    assert [line.text.replace(" :", ":") for line in lines] == [text.replace(" :", ":") for text in read]
    if len(lines) == 2:
        assert lines[1].box.left == pytest.approx(20 + width + gap, abs=8)
