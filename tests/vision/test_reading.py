"""Read drawn pictures with the real OCR engine."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.ocr_reader import Reader, _fields

TEXTS = {
    "TRANSACTION DETAIL": (40, 20),
    "Reference": (40, 90),
    "TX-10482": (240, 90),
    "Amount": (40, 140),
    "1,284.50": (240, 140),
    "Merchant": (40, 190),
    "Blue Line Taxi": (240, 190),
    "Flags on file: 0": (40, 260),
    "Save flag": (60, 340),
    "Cancel": (300, 340),
}


def drawn(
    texts: dict[str, tuple[int, int]],
    *,
    at: tuple[int, int] = (0, 0),
    size: tuple[int, int] = (640, 400),
    font: int = 20,
) -> Image.Image:
    picture = Image.new("RGB", size, "#c3c3c3")
    draw = ImageDraw.Draw(picture)
    for text, (left, top) in texts.items():
        draw.text((left + at[0], top + at[1]), text, fill="black", font=ImageFont.load_default(font))
    return picture


@pytest.fixture(scope="module")
def reader() -> Reader:
    """Return one reader for all tests, because the tests are about its cache."""
    return Reader()


@pytest.mark.parametrize("font", [16, 20, 26])
def test_reads_every_text_at_its_place(reader: Reader, font: int) -> None:
    sight = reader.read(drawn(TEXTS, font=font)).sight
    assert {line.text for line in sight.lines} >= set(TEXTS)
    for text, (left, top) in TEXTS.items():
        (line,) = sight.find(text)
        assert abs(line.box.left - left) <= 8, text
        assert line.box.top <= top + font // 2 <= line.box.bottom, text
    assert sight.right_of("Amount") == "1,284.50"


def test_only_the_changed_part_is_read(reader: Reader) -> None:
    before = reader.read(drawn(TEXTS))
    changed = {**TEXTS, "Flags on file: 1 (Wrong amount)": (40, 260)}
    del changed["Flags on file: 0"]
    after = reader.read(drawn(changed))
    assert (before.how, after.how) == ("remembered", "changes")
    texts = {line.text for line in after.sight.lines}
    assert "Flags on file: 0" not in texts
    assert texts >= set(changed)


def test_reading_changes_equals_reading_the_whole_picture(reader: Reader) -> None:
    pictures = [
        drawn(TEXTS),
        drawn({**TEXTS, "Please wait": (300, 300)}),
        drawn({"FLAG SAVED": (40, 20), "Flag 1001 saved": (40, 90), "OK": (60, 340)}),
        drawn(TEXTS, at=(3, 2)),
    ]
    for picture in pictures:
        fresh = Reader()
        whole, step_by_step = fresh.read(picture), reader.read(picture)
        assert [x.text for x in step_by_step.sight.lines] == [x.text for x in whole.sight.lines]


def test_jpeg_traces_are_not_changes(reader: Reader) -> None:
    def jpeg(picture: Image.Image) -> Image.Image:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=85)
        return Image.open(buffer)

    texts = {text: place for text, place in TEXTS.items() if text != "Cancel"}
    reader.read(jpeg(drawn(texts, at=(1, 1))))
    pieces = len(reader._ocr._pieces)
    after = reader.read(jpeg(drawn({**texts, "Leave": (300, 340)}, at=(1, 1))))
    assert after.how == "changes"
    assert len(reader._ocr._pieces) - pieces <= 2
    assert "Leave" in {line.text for line in after.sight.lines}


def test_a_picture_without_text_has_no_lines(reader: Reader) -> None:
    assert reader.read(Image.new("RGB", (320, 200), "navy")).sight.lines == ()
    assert reader.read(Image.new("RGB", (7, 5), "navy")).sight.lines == ()


def test_white_boxes_are_fields(reader: Reader) -> None:
    picture = drawn({"User": (40, 60), "Note": (40, 120)})
    draw = ImageDraw.Draw(picture)
    for box in ((150, 55, 400, 85), (150, 115, 400, 200), (500, 60, 512, 72)):
        draw.rectangle(box, fill="white", outline="black")
    draw.text((160, 120), "some words already", fill="black", font=ImageFont.load_default(18))
    sight = reader.read(picture).sight
    assert len(sight.fields) == 2
    user, note = sight.field_at("User"), sight.field_at("Note")
    assert user is not None
    assert note is not None
    assert (user.center.y, note.center.x) == (70, 275)


@pytest.mark.parametrize("place", [(0, 0, 720, 420), (20, 20, 700, 400)], ids=["a page", "a dialog"])
def test_a_white_page_is_not_a_field_but_its_inputs_are(reader: Reader, place: tuple[int, int, int, int]) -> None:
    picture = Image.new("RGB", (720, 420), "#506070")
    draw = ImageDraw.Draw(picture)
    draw.rectangle(place, fill="white")
    for top, label, text in ((78, "User", ""), (118, "Note", "already there")):
        draw.rectangle((190, top, 410, top + 26), "white", "#808080")
        draw.text((60, top + 4), label, "black", ImageFont.load_default(18))
        draw.text((196, top + 4), text, "black", ImageFont.load_default(18))
    sight = reader.read(picture).sight
    found = [sight.field_at("User"), sight.field_at("Note")]
    assert [box and (box.width < 225, box.center.y) for box in found] == [(True, 91), (True, 131)]
    assert len((*sight.fields, *sight.colored_fields)) == 2


def test_importing_loads_no_engine() -> None:
    found = importlib.util.find_spec("holo_tasks.vision.ocr_reader")
    assert found is not None
    assert found.origin is not None
    top = [line for line in Path(found.origin).read_text().splitlines() if line.startswith(("import", "from"))]
    assert not [line for line in top if "rapidocr" in line or "numpy" in line or "cv2" in line]


@pytest.mark.parametrize(("buttons", "left"), [((70, 100, 130), 162), ((), 48)], ids=["buttons", "a light margin"])
def test_a_text_area_is_a_field_without_the_buttons_that_touch_it(buttons: tuple[int, ...], left: int) -> None:
    picture = Image.new("RGB", (800, 300), "#d9d9d9")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((160, 60, 700, 240), "white", "black", width=2)
    draw.line((48, 66, 158, 66), "white")  # a light edge up to the area
    for top in buttons:
        draw.rectangle((48, top, 158, top + 27), "#d9d9d9", "#828282")
        draw.line((48, top + 27, 48, top, 158, top), "white")
        draw.text((103, top + 14), "Rescan", "black", ImageFont.load_default(14), anchor="mm")
    light, others = _fields(np.asarray(picture))
    around = [box.left for box in (*light, *others) if box.encloses(Box(300, 100, 9, 9))]
    assert around == [left], (light, others)
