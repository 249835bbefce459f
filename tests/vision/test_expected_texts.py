"""Texts are read only where the accessibility tree expects them, and count if the picture shows them."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.values import label_of
from holo_tasks.vision.checked_elements import with_elements
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.expected_texts import ExpectedTexts
from holo_tasks.vision.ocr_reader import Reader, Reading
from holo_tasks.vision.screen_text import FilledLabel, Line, Sight
from tests.support.elements import tree_of

SIZE = Size(520, 300)
HEADING, ORDER, NUMBER = Box(20, 20, 220, 26), Box(20, 70, 90, 26), Box(140, 70, 110, 26)
SAVE, CANVAS = Box(20, 120, 130, 34), Box(280, 120, 200, 40)
TEXTS = {"ORDER RECORD": HEADING, "Order": ORDER, "AB-1207": NUMBER, "Save note": SAVE, "Drawn by hand": CANVAS}


class NoReader(Reader):
    """Reads pieces, and refuses to read a whole picture."""

    def read(self, picture: Any) -> Reading:
        raise AssertionError("a whole picture was read")


CHECK = ElementCheck(NoReader())


def drawn(texts: dict[str, Box]) -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d8d8d8")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=18)
    for text, box in texts.items():
        draw.text((box.left + 3, box.top + 1), text, fill="black", font=font)
    return Frame(image.tobytes(), SIZE, ":told")


FRAME = drawn(TEXTS)
TREE = tree_of(
    *(("label", text, box) for text, box in TEXTS.items() if box not in (SAVE, CANVAS)),
    ("button", "Save note", SAVE),
    ("panel", "", CANVAS),
)


def told(tree: ElementTree = TREE, frame: Frame = FRAME) -> ExpectedTexts:
    return ExpectedTexts(frame, tree, CHECK)


def test_a_text_that_was_misread_in_the_whole_picture_is_read_again_at_its_place() -> None:
    misread = Sight([Line("[c-1207", NUMBER)], SIZE)
    assert not misread.has("AB-1207")
    assert with_elements(misread, FRAME, TREE, CHECK).has("AB-1207")
    assert not with_elements(misread, FRAME, TREE, CHECK).has("AB-1208"), "the tree does not have it"
    another = drawn({**TEXTS, "AB-1207": CANVAS, "AB-1209": NUMBER})
    assert not with_elements(misread, another, TREE, CHECK).has("AB-1207"), "the picture shows another one there"


def test_a_text_is_visible_if_the_tree_and_the_picture_have_it() -> None:
    assert told().has("ORDER RECORD")
    assert told().has("AB-*")
    assert told().has("Save note")
    assert told().has("NOTE SAVED") is False
    assert told().has("AB-1208") is False, "digits are never alike"


def test_a_text_of_the_tree_that_is_not_visible_needs_the_whole_picture() -> None:
    lying = tree_of(*(("label", "NOTE SAVED" if text == "ORDER RECORD" else text, box) for text, box in TEXTS.items()))
    assert told(lying).has("NOTE SAVED") is None
    nowhere = drawn({text: box for text, box in TEXTS.items() if text != "AB-1207"})
    assert told(frame=nowhere).has("AB-1207") is None


def test_neighboring_texts_may_form_one_label() -> None:
    assert told().has("Order AB-1207") is None
    assert told().has("AB-1207 Save note") is False, "the texts are on two rows"


def test_a_line_of_a_longer_text_is_read() -> None:
    box = Box(20, 200, 300, 60)
    tree = tree_of(("label", "The note goes to the customer, too. Send it?", box))
    frame = drawn({"The note goes to the": Box(20, 200, 300, 26), "customer, too. Send it?": Box(20, 230, 300, 26)})
    assert told(tree, frame).has("The note goes to the")
    assert told(tree, frame).has("the customer") is None


@pytest.mark.parametrize(("role", "shows"), [("drawing area", True), ("canvas", True), ("panel", False)])
def test_a_drawing_element_may_show_texts_outside_the_tree(role: str, shows: bool) -> None:
    tree = tree_of(("label", "ORDER RECORD", HEADING), (role, "", CANVAS))
    assert told(tree).has("Drawn by hand") is shows


def test_a_row_is_read_around_a_unique_label() -> None:
    assert [line.text for line in told().row_of("Order") or ()] == ["Order", "AB-1207"]
    assert told().row_of("Customer") is None
    twice = tree_of(("label", "Order", ORDER), ("label", "Order", HEADING))
    assert told(twice).row_of("Order") is None


def test_a_screen_with_too_many_texts_gives_no_answer() -> None:
    many = tree_of(*(("label", f"Item {n}", Box(n % 400, n // 400, 20, 10)) for n in range(401)))
    assert told(many).has("NOTE SAVED") is None
    assert told(many).row_of("Item 7") is None


@pytest.mark.parametrize(("name", "there"), [("Meyer GmbH", True), ("Meier GmbH", False), ("Meyer GmbH & Co", False)])
def test_a_value_must_match_word_for_word(name: str, there: bool) -> None:
    label = label_of("{customer}", {"customer": "Meyer GmbH"})
    frame = drawn({**TEXTS, name: Box(280, 70, 200, 26)})
    tree = tree_of(*(("label", text, box) for text, box in {**TEXTS, name: Box(280, 70, 200, 26)}.items()))
    assert bool(told(tree, frame).has(label)) is there
    drawn_by_hand = tree_of(
        *(("label", text, box) for text, box in TEXTS.items()), ("canvas", "", Box(270, 60, 220, 40))
    )
    assert bool(told(drawn_by_hand, frame).has(label)) is there


def test_accents_of_a_value_in_the_tree_count() -> None:
    tree = tree_of(("label", "Muller", HEADING))
    assert not told(tree, drawn({"Muller": HEADING})).has(label_of("{who}", {"who": "Müller"}))
    assert told(tree, drawn({"Muller": HEADING})).has(label_of("{who}", {"who": "Muller"}))


@pytest.mark.parametrize(("drawn_text", "comes"), [("Job B-7 was saved", True), ("Job B-7 failed", False)])
def test_an_effect_has_not_come_if_the_picture_shows_a_failure(drawn_text: str, comes: bool) -> None:
    """Some programs report a new text later than they draw it."""
    place = Box(20, 20, 260, 26)
    label = label_of("Job {number}*", {"number": "B-7"})
    assert isinstance(label, FilledLabel)
    label.is_effect = True
    found = told(tree_of(("label", "Job B-7 was saved", place)), drawn({drawn_text: place}))
    assert (bool(found.has(label)), found.shows(label)) == (comes, comes)
