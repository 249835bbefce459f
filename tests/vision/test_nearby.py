"""The text of a control is read however wide the control is, and without its neighbors' texts."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.run.rules import screen_text_rules
from holo_tasks.run.rules.screen_text_rules import unread_text_warning
from holo_tasks.safety.policy import Rules
from holo_tasks.vision.control_text import ScreenText, can_read

FONT = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 15)
BUTTONS = {"Cancel": Box(300, 500, 110, 34), "Submit": Box(470, 500, 110, 34), "Delete account": Box(100, 300, 600, 40)}


@pytest.fixture(scope="module")
def text() -> ScreenText:
    return ScreenText()


def form() -> Frame:
    image = Image.new("RGB", (900, 640), (236, 236, 236))
    draw = ImageDraw.Draw(image)
    for label, box in BUTTONS.items():
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(90, 90, 90), fill=(250, 250, 250))
        draw.text((box.center.x, box.center.y), label, fill="black", font=FONT, anchor="mm")
    draw.rectangle((100, 100, 116, 116), outline="black", fill="white")
    draw.text((124, 108), "Pay at once", fill="black", font=FONT, anchor="lm")
    return Frame(image.tobytes(), Size(900, 640), ":0")


@pytest.mark.parametrize(
    ("at", "there", "elsewhere"),
    [
        (Point(525, 517), "Submit", "Cancel"),
        (Point(472, 503), "Submit", "Delete"),
        (Point(340, 517), "Cancel", "Submit"),
        (Point(110, 335), "Delete account", "Pay"),  # the far end of a wide button
        (Point(695, 305), "Delete account", "Cancel"),
        (Point(108, 108), "Pay", "Delete"),  # the label of a check box
    ],
)
async def test_the_text_of_the_control_at_a_point_is_read(
    text: ScreenText, at: Point, there: str, elsewhere: str
) -> None:
    found = await text(form(), at)
    assert there in found
    assert elsewhere not in found


BIG = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 60)


def pressed(box: Box, written: str, *, font: Any = FONT, paper: Any = (250, 250, 250)) -> Frame:
    """Draw one button of any size on a screen with a heading."""
    image = Image.new("RGB", (1280, 800), (236, 236, 236))
    draw = ImageDraw.Draw(image)
    draw.text((20, 20), "Harmless form", fill="black", font=FONT)
    draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(90, 90, 90), fill=paper)
    draw.multiline_text((box.center.x, box.center.y), written, fill="black", font=font, anchor="mm", align="center")
    return Frame(image.tobytes(), Size(1280, 800), ":0")


WIDE, HIGH = Box(5, 200, 1270, 90), Box(50, 100, 700, 600)


@pytest.mark.parametrize(
    ("box", "font"),
    [
        pytest.param(WIDE, FONT, id="wide-small"),
        pytest.param(HIGH, FONT, id="high-small"),
        pytest.param(HIGH, BIG, id="high-big"),
        pytest.param(WIDE, BIG, id="wide-big", marks=pytest.mark.long),
    ],
)
async def test_a_control_is_read_as_a_whole_wherever_it_is_pressed(text: ScreenText, font: Any, box: Box) -> None:
    frame = pressed(box, "Submit payment", font=font)
    for at in (
        Point(box.left + 5, box.top + 5),
        Point(box.right - 6, box.bottom - 6),
        Point(box.left + 5, box.center.y),
    ):
        for read in (text, text.on_target):
            found = await read(frame, at)
            assert "Submit payment" in found
            assert "Harmless" not in found


async def test_a_background_with_controls_is_not_a_control(text: ScreenText) -> None:
    frame = pressed(Box(300, 300, 400, 300), "")
    image = Image.frombytes("RGB", (1280, 800), frame.rgb)
    draw = ImageDraw.Draw(image)
    for top in (320, 540):
        draw.rectangle((320, top, 440, top + 34), outline=(90, 90, 90), fill=(220, 220, 220))
    draw.text((380, 557), "Submit", fill="black", font=FONT, anchor="mm")
    frame = Frame(image.tobytes(), frame.size, ":0")
    assert (await text(frame, Point(600, 450))).strip() == ""
    assert (await text(frame, Point(600, 557))).strip() == ""
    assert "Submit" in await text(frame, Point(330, 545))


@pytest.mark.parametrize("outlined", [True, False])
async def test_the_text_of_a_button_on_a_small_panel_is_not_read_elsewhere_on_it(
    text: ScreenText, outlined: bool
) -> None:
    panel, button = Box(300, 300, 160, 140), Box(330, 400, 60, 24)
    image = Image.frombytes("RGB", (1280, 800), pressed(panel, "").rgb)
    draw = ImageDraw.Draw(image)
    if outlined:
        draw.rectangle(
            (button.left, button.top, button.right - 1, button.bottom - 1), outline=(90, 90, 90), fill="#ddd"
        )
    draw.text((button.center.x, button.center.y), "Submit", fill="black", font=FONT, anchor="mm")
    frame = Frame(image.tobytes(), Size(1280, 800), ":0")
    # Without an outline of its own, the text is that of the panel, which may be a large button.
    assert (await text.on_target(frame, Point(340, 330))).strip() == ("" if outlined else "Submit")
    assert (await text.on_target(frame, button.center)).strip() == "Submit"
    assert "Submit" in await text(frame, Point(340, 330))  # a rule about texts asks rather too often


async def test_a_large_button_inside_its_frame_is_read_also_on_the_frame(text: ScreenText) -> None:
    image = Image.frombytes("RGB", (1280, 800), pressed(Box(300, 300, 200, 120), "").rgb)
    draw = ImageDraw.Draw(image)
    draw.rectangle((312, 312, 487, 407), outline=(90, 90, 90), fill="#ddd")
    draw.text((400, 360), "Submit payment", fill="black", font=FONT, anchor="mm")
    assert "Submit payment" in await text.on_target(Frame(image.tobytes(), Size(1280, 800), ":0"), Point(306, 360))


@pytest.mark.parametrize(("lines", "whole"), [(6, True), (25, False)])
async def test_only_the_lines_near_a_point_of_a_page_are_read(text: ScreenText, lines: int, whole: bool) -> None:
    frame = pressed(Box(50, 100, 900, 600), "")
    image = Image.frombytes("RGB", (1280, 800), frame.rgb)
    written = "\n".join(["Submit payment", *["a line of some words,"] * lines])
    ImageDraw.Draw(image).multiline_text((60, 110), written, fill="black", font=FONT)
    frame = Frame(image.tobytes(), frame.size, ":0")
    for read in (text, text.on_target):
        assert ("Submit" in await read(frame, Point(800, 600))) == whole
        assert "Submit" in await read(frame, Point(800, 130))


async def test_a_button_with_a_symbol_is_distinguished_from_fields_and_pages(text: ScreenText) -> None:
    image = Image.frombytes("RGB", (900, 640), with_fields().rgb)
    draw = ImageDraw.Draw(image)
    draw.rectangle((700, 400, 740, 430), outline=(90, 90, 90), fill=(220, 220, 220))
    draw.line((712, 408, 728, 422), fill="black", width=3)
    draw.line((712, 422, 728, 408), fill="black", width=3)
    frame = Frame(image.tobytes(), Size(900, 640), ":0")
    assert await text.unread_at(frame, Point(703, 403))
    fields = [Point(box.left + 200, box.top + 4) for box in FIELDS.values()]
    for at in (*fields, *(box.center for box in BUTTONS.values()), Point(800, 620), Point(899, 639), Point(108, 108)):
        assert not await text.unread_at(frame, at), at


FIELDS = {"empty": Box(300, 160, 260, 30), "filled": Box(300, 210, 260, 30), "mixed": Box(300, 260, 260, 60)}


def with_fields() -> Frame:
    frame = form()
    image = Image.frombytes("RGB", (900, 640), frame.rgb)
    draw = ImageDraw.Draw(image)
    for name, box in FIELDS.items():
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(120, 120, 120), fill="white")
        if name != "empty":
            draw.text((box.left + 6, box.top + 7), "1284.50 EUR", fill="black", font=FONT)
        draw.text((200, box.top + 6), name, fill="black", font=FONT)
    draw.line((420, 166, 420, 184), fill="black")  # a text cursor
    draw.text((306, 290), "a second line", fill="black", font=FONT)
    draw.rectangle((600, 160, 760, 190), outline=(90, 90, 90), fill=(200, 200, 200))
    draw.text((680, 175), "Search", fill="black", font=FONT, anchor="mm")
    return Frame(image.tobytes(), frame.size, ":0")


async def test_fields_are_distinguished_from_buttons(text: ScreenText) -> None:
    frame = with_fields()
    for box in FIELDS.values():
        found = await text.field_at(frame, Point(box.left + 200, box.center.y))
        assert found is not None
        assert abs(found.left - box.left) <= 3
        assert abs(found.height - box.height) <= 4
    elsewhere = [box.center for box in BUTTONS.values()]
    for at in (*elsewhere, Point(108, 108), Point(680, 175), Point(800, 620), Point(0, 0), Point(899, 639)):
        assert await text.field_at(frame, at) is None, at


@pytest.mark.parametrize("selected", [0, 1, 4])
@pytest.mark.parametrize("colour", [(0, 120, 215), (195, 195, 195)], ids=str)
async def test_the_selected_row_of_a_list_is_not_a_field(text: ScreenText, selected: int, colour: Any) -> None:
    image = Image.new("RGB", (900, 640), (217, 217, 217))
    draw = ImageDraw.Draw(image)
    draw.rectangle((100, 100, 400, 201), outline=(120, 120, 120), fill="white")
    draw.rectangle((101, 101 + 20 * selected, 399, 120 + 20 * selected), fill=colour)
    for row in range(5):
        draw.text((104, 102 + 20 * row), f"Invoice of month {row}", fill="black", font=FONT)
    frame = Frame(image.tobytes(), Size(900, 640), ":0")
    assert await text.field_at(frame, Point(350, 111 + 20 * selected)) is None


DARK, LIGHT = ((43, 43, 43), (30, 30, 30), (220, 220, 220)), ((236, 236, 236), (255, 255, 255), (0, 0, 0))
GREY, WARM = ((240, 240, 240), (221, 221, 221), (20, 20, 20)), ((255, 250, 240), (205, 190, 160), (60, 40, 20))


@pytest.mark.parametrize("theme", [DARK, LIGHT, GREY, WARM], ids=["dark", "light", "grey", "warm"])
@pytest.mark.parametrize("outlined", [True, False])
@pytest.mark.parametrize(
    ("box", "written", "at"),
    [
        (Box(60, 60, 1100, 30), "", Point(1150, 75)),
        (Box(60, 60, 1100, 30), "1284.50 EUR", Point(70, 75)),
        (Box(60, 60, 700, 30), "Paper and Pine, of the harbour", Point(750, 75)),
        (Box(60, 60, 40, 22), "", Point(80, 71)),
        (Box(60, 60, 48, 24), "5", Point(90, 72)),
        (Box(60, 60, 600, 380), "", Point(300, 400)),
        (Box(60, 60, 600, 380), "Dear Sir,\n\nthank you for your letter.", Point(300, 400)),
        (Box(60, 60, 300, 500), "\n".join(["a line of some words,"] * 25), Point(300, 300)),
        (Box(60, 60, 260, 30), "Paper|", Point(200, 75)),
    ],
)
async def test_a_field_is_found_in_every_theme(
    text: ScreenText, theme: Any, outlined: bool, box: Box, written: str, at: Point
) -> None:
    ground, paper, ink = theme
    image = Image.new("RGB", (1280, 800), ground)
    draw = ImageDraw.Draw(image)
    line = tuple((one + other) // 2 for one, other in zip(paper, ink, strict=True)) if outlined else None
    draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=line, fill=paper)
    draw.multiline_text((box.left + 6, box.top + 6), written, fill=ink, font=FONT)
    found = await text.field_at(Frame(image.tobytes(), Size(1280, 800), ":0"), at)
    assert found is not None
    assert abs(found.left - box.left) + abs(found.right - box.right) + abs(found.bottom - box.bottom) <= 9


@pytest.mark.parametrize(
    "paper", [(255, 255, 255), (30, 90, 200), (60, 60, 60), (200, 30, 30), (225, 225, 225)], ids=str
)
@pytest.mark.parametrize(
    ("box", "written", "sign"),
    [
        (Box(60, 60, 110, 34), "Pay", ""),
        (Box(60, 60, 90, 26), "Bill", ""),
        (Box(60, 60, 600, 40), "Delete account", ""),
        (Box(60, 60, 130, 34), "Save", "middle"),
        (Box(60, 60, 200, 34), "Save", "left"),
        (Box(60, 60, 200, 34), "Open", "right"),
        (Box(60, 60, 260, 90), "Pay\nnow", ""),
        (Box(60, 60, 48, 48), "", "middle"),
        (Box(60, 60, 40, 24), "OK", ""),
        (Box(60, 60, 500, 200), "Pay now?", "button"),
        (Box(60, 60, 500, 200), "A note to read", "button"),
    ],
)
async def test_a_possible_button_is_not_a_field_in_any_color(
    text: ScreenText, paper: Any, box: Box, written: str, sign: str
) -> None:
    ink = (0, 0, 0) if sum(paper) > 450 else (255, 255, 255)
    image = Image.new("RGB", (900, 640), (236, 236, 236))
    draw = ImageDraw.Draw(image)
    draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(90, 90, 90), fill=paper)
    middle = box.center
    if sign == "button":
        draw.text((box.left + 8, box.top + 8), written, fill=ink, font=FONT)
        draw.rectangle((middle.x, middle.y + 20, middle.x + 90, middle.y + 50), outline=ink, fill=(128, 128, 128))
    else:
        draw.multiline_text((middle.x + 10 * (sign == "middle"), middle.y), written, fill=ink, font=FONT, anchor="mm")
        x = {"middle": middle.x - 30 * bool(written), "left": box.left + 14, "right": box.right - 14}.get(sign)
        if x is not None:
            draw.ellipse((x - 7, middle.y - 7, x + 7, middle.y + 7), outline=ink, width=2)
    frame = Frame(image.tobytes(), Size(900, 640), ":0")
    assert await text.field_at(frame, Point(box.left + 5, box.top + 5)) is None


def labelled_fields() -> Frame:
    """Return a screen with labels left of and above fields. Some could be attributed to the wrong field."""
    image = Image.new("RGB", (900, 640), (236, 236, 236))
    draw = ImageDraw.Draw(image)
    for label, at, box in (
        ("User name", (60, 105), Box(300, 100, 260, 30)),
        ("Password:", (200, 145), Box(300, 140, 260, 30)),
        ("Note", (60, 185), Box(300, 180, 260, 30)),
        ("Password", (600, 300), Box(600, 325, 250, 30)),
        ("Comment", (60, 300), Box(60, 325, 250, 30)),
    ):
        draw.text(at, label, fill="black", font=FONT)
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(120, 120, 120), fill="white")
    draw.text((306, 105), "auditor", fill="black", font=FONT)
    return Frame(image.tobytes(), Size(900, 640), ":0")


@pytest.mark.parametrize(
    ("at", "labels", "fits"),
    [
        (Point(520, 155), ["Password"], True),
        (Point(310, 155), ["PIN", "password"], True),
        (Point(520, 115), ["Password"], False),
        (Point(520, 115), ["User name"], True),
        (Point(520, 195), ["Password"], False),  # directly below the password field
        (Point(700, 340), ["Password"], True),
        (Point(150, 340), ["Password"], False),
        (Point(150, 340), ["Comment"], True),
        (Point(800, 600), ["Password", "Note"], False),
        (Point(899, 0), ["Password"], False),
    ],
)
async def test_a_field_is_found_by_its_label(text: ScreenText, at: Point, labels: list[str], fits: bool) -> None:
    assert (await text.labelled(labelled_fields(), at, labels) is not None) == fits


async def test_an_empty_place_has_no_text(text: ScreenText) -> None:
    assert (await text(form(), Point(800, 620))).strip() == ""
    assert (await text(form(), Point(899, 639))).strip() == ""


async def test_all_text_in_a_box_is_read(text: ScreenText) -> None:
    found = await text(form(), Box(0, 0, 900, 640))
    assert all(label in found for label in BUTTONS)
    assert "Submit" not in await text(form(), Box(0, 0, 900, 480))
    assert "Submit" in await text(form(), Box(400, 450, 5000, 5000))  # a window that extends beyond the screen


def test_ocr_is_installed() -> None:
    assert can_read()


def test_text_rules_give_a_warning_without_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    by_text = Rules.read({"confirm": [{"kinds": ["click"]}, {"text": "submit"}]})
    assert unread_text_warning(by_text) == ""
    monkeypatch.setattr(screen_text_rules, "can_read", lambda: False)
    assert "Every action that may press something therefore needs a person's yes" in unread_text_warning(by_text)
    assert "pip install 'prefect-holo[rehearsal]'" in unread_text_warning(by_text)
    assert unread_text_warning(Rules.read({"confirm": [{"kinds": ["click"]}]})) == ""
