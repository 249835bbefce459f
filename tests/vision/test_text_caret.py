"""A text cursor behind a field's text is removed; a letter that looks like a cursor stays."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.ocr_reader import shared_reader
from holo_tasks.vision.text_caret import less_its_last, without_caret
from tests.support.long import few

TEXTS = ("gate", "AB-1207", "12.50", "model", "apple pie")
LOOKS = {
    f"{size} {paper}": (size, ink, paper)
    for size in (13, 17, 22)
    for ink, paper in (("black", "white"), ("#eeeeee", "#222222"))
}
FIELD = Box(40, 40, 240, 34)


SEEN = Box(FIELD.left, FIELD.top + 4, 200, FIELD.height - 8)


def picture(
    text: str, look: str, *, caret: bool, font: str | Path = "DejaVuSans.ttf", smooth: bool = True
) -> Image.Image:
    """Return a screen with a field drawn as by Tk, whose cursor reaches from the font's top to its bottom."""
    size, ink, paper = LOOKS.get(look) or (int(look), "black", "white")
    font = ImageFont.truetype(str(font), size)
    ascent, descent = font.getmetrics()
    screen = Image.new("RGB", (400, 120), "#d9d9d9")
    draw = ImageDraw.Draw(screen)
    draw.fontmode = "L" if smooth else "1"
    draw.rectangle((FIELD.left, FIELD.top, FIELD.right, FIELD.bottom), paper, "#606060")
    left, top = FIELD.left + 5, FIELD.top + (FIELD.height - ascent - descent) // 2
    draw.text((left, top), text, ink, font)
    if caret:
        at = left + round(draw.textlength(text, font))
        draw.rectangle((at, top, at + 1, top + ascent + descent - 1), ink)
    return screen


def read(screen: Image.Image) -> list[str]:
    return [line.text for line in shared_reader().read(screen).sight.lines]


@pytest.mark.parametrize("look", LOOKS)
def test_a_text_with_a_cursor_reads_as_without_it(look: str) -> None:
    for text in TEXTS:
        assert read(picture(text, look, caret=True)) == read(picture(text, look, caret=False))


def test_without_the_removal_a_cursor_is_read_as_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.vision.ocr_reader.without_caret", lambda *told: None)
    monkeypatch.setattr(shared_reader(), "_pictures", OrderedDict())
    found = [read(picture(text, look, caret=True)) != [text] for look in LOOKS for text in TEXTS]
    assert sum(found) > len(found) // 10


NO_CURSOR = (
    *("gel", "ill", "hall", "bowl", "l", "1", "pill", "gl", "Item 11", "Al", "ql", "I", "PO-1041", "JOB-31", "INV-P1"),
    *("Q1", "Part I", "Paul", "API", "GI", "YI", "seq I", "-1", "'l", "JAPAN 1", "apt 1041", "page 1", "no 1", "Gpl"),
)
FONTS = sorted(Path("/usr/share/fonts").rglob("*.ttf"))[::2]


@pytest.mark.parametrize("font", few(FONTS, len(FONTS) // 2), ids=lambda path: path.stem)
def test_a_letter_that_looks_like_a_cursor_stays(font: Path) -> None:
    for size in (9, 13, 15, 24):
        for text in NO_CURSOR:
            for smooth in (True, False):
                screen = picture(text, str(size), caret=False, font=font, smooth=smooth)
                assert without_caret(np.asarray(screen), text, SEEN, FIELD) is None, (text, size, smooth)


def test_the_new_reading_must_lack_the_last_character_only() -> None:
    assert less_its_last("AB-12071", "AB-1207")
    assert less_its_last("apple pie |", "apple pie")
    assert not any(less_its_last(*pair) for pair in (("Paid", "Paic"), ("seq", "sec"), ("-1", "-"), ("gate", "gate")))


def test_a_wide_bar_or_a_bar_without_text_is_not_a_cursor() -> None:
    look = next(iter(LOOKS))
    wide, alone = picture("gate", look, caret=True), picture("", look, caret=True)
    bar = Box(FIELD.left + 60, FIELD.top + 4, 6, 24)
    ImageDraw.Draw(wide).rectangle((bar.left, bar.top, bar.right, bar.bottom), "black")
    for screen in (wide, alone):
        assert without_caret(np.asarray(screen), "gatel", FIELD, FIELD) is None
