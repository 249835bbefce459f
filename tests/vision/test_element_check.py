"""What a program tells of its elements is held against the picture: pixels have the last word."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Size
from holo_tasks.vision import element_check
from holo_tasks.vision.element_check import ElementCheck, agrees, fit
from holo_tasks.vision.ocr_reader import Reader
from tests.support.elements import tree_of

SIZE = Size(480, 240)
SAVE, KEEP, FIELD, ICON, GROUND = (
    Box(20, 20, 160, 40),
    Box(220, 20, 160, 40),
    Box(20, 90, 300, 32),
    Box(20, 150, 32, 32),
    Box(300, 170, 120, 40),
)
CHECK = ElementCheck(Reader())


def picture(in_field: str = "") -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d8d8d8")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=20)
    for box, words in ((SAVE, "Save flag"), (KEEP, "Don't save")):
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill="#eeeeee", outline="black")
        draw.text((box.left + 16, box.top + 8), words, fill="black", font=font)
    draw.rectangle((FIELD.left, FIELD.top, FIELD.right - 1, FIELD.bottom - 1), fill="white", outline="black")
    draw.text((FIELD.left + 8, FIELD.top + 4), in_field, fill="black", font=font)
    draw.ellipse((ICON.left + 6, ICON.top + 6, ICON.right - 7, ICON.bottom - 7), fill="#3060c0")
    return Frame(image.tobytes(), SIZE, ":test")


def said(*elements: tuple[str, str, Box], frame: Frame | None = None, value: str = "", also: str = "") -> str:
    """Return what is said of the first of some elements."""
    tree: ElementTree = tree_of(*elements, value=value)
    first: Element = tree.elements[1]
    return CHECK.why_not(frame or picture(), tree, first, also)


def test_what_is_where_it_is_told_to_be_is_agreed_on() -> None:
    save, keep = ("button", "Save flag", SAVE), ("button", "Don't save", KEEP)
    assert said(save, keep) == said(keep, save) == ""
    assert said(("text field", "Reference", FIELD), save) == ""
    assert said(("button", "Print", ICON), save, keep) == ""  # a picture stands for its name
    assert said(("text field", "Reference", FIELD), save, frame=picture("TX-1031"), value="TX-1031") == ""


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (("button", "Store", SAVE), "another text"),
        (("button", "Save flag", KEEP), "another text"),
        (("button", "Save", KEEP), "another text"),
        (("button", "Save flag", GROUND), "shows nothing"),
        (("button", "Save flag", Box(30, 30, 2, 2)), "too small"),
        (("button", "Save flag", Box(500, 300, 90, 30)), "shows nothing"),
        (("text field", "Reference", GROUND), "shows nothing"),
        (("text field", "Reference", SAVE), "another element"),
        (("button", "Save flag", ICON), "elsewhere"),
        (("button", "Save flag", FIELD), "elsewhere"),
    ],
)
def test_a_name_or_a_box_that_is_not_so_is_told(told: tuple[str, str, Box], words: str) -> None:
    others = ("button", "Save flag", SAVE), ("button", "Don't save", KEEP)
    lie = [other for other in others if other[1] != told[1] and told[1] != "Store"]
    assert words in said(told, *lie)


def test_what_is_written_instead_of_the_name_can_be_given() -> None:
    assert "another text" in said(("button", "Store this remark", SAVE))
    assert said(("button", "Store this remark", SAVE), also="Save flag") == ""


def test_one_reading_is_enough_for_the_same_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    check, read = ElementCheck(reader), list[object]()
    piece: Callable[..., object] = reader.read_piece
    monkeypatch.setattr(reader, "read_piece", lambda pixels: (read.append(pixels), piece(pixels))[1])
    tree = tree_of(("button", "Store", SAVE))
    for _ in range(3):
        assert "another text" in check.why_not(picture(), tree, tree.elements[1])
    assert 1 <= len(read) <= 2  # once as it is, and once more with some room around it


def test_a_text_alone_on_its_control_is_read_without_a_search_for_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    monkeypatch.setattr(reader._ocr, "find", lambda part: pytest.fail("it was searched for"))
    tree = tree_of(("button", "Save flag", SAVE), ("button", "Don't save", KEEP), ("text field", "Reference", FIELD))
    check = ElementCheck(reader)
    assert check.at_once(picture(), tree, tree.elements[1]) is None
    assert check.why_not(picture(), tree, tree.elements[1]) == check.at_once(picture(), tree, tree.elements[1]) == ""
    assert check.lines(picture(), FIELD) == (), "in an empty field nothing is to be found"


def test_a_row_counts_only_if_it_is_all_of_just_that_text() -> None:
    save = CHECK.row(picture(), SAVE, "Save flag")
    assert save is not None
    assert SAVE.encloses(save.box)
    assert CHECK.row(picture(), SAVE, "Save flags") is None
    assert CHECK.row(picture(), SAVE, "Save") is None
    assert CHECK.row(picture(), KEEP, "Save flag") is None
    assert CHECK.row(picture("TX-1031"), FIELD, "TX-1037") is None
    assert CHECK.row(picture(), Box.around((SAVE, KEEP)), "Save flag") is None, "two stand there"
    assert CHECK.row(picture(), Box(0, 0, 480, 240), "Save flag") is None


def test_what_was_read_is_known_at_once_and_nothing_else() -> None:
    check, tree = ElementCheck(Reader()), tree_of(("button", "Save flag", SAVE), ("button", "Store", KEEP))
    for place, element in enumerate(tree.elements[1:]):
        assert check.at_once(picture(), tree, element) is None
        said = check.why_not(picture(), tree, element, whole=False)
        assert bool(said) == bool(place)
        assert check.at_once(picture(), tree, element) == said
    field = tree_of(("text field", "Reference", FIELD))
    assert check.at_once(picture("TX-1"), field, field.elements[1]) is None
    bare = tree_of(("button", "Save flag", GROUND))
    assert "shows nothing" in (check.at_once(picture(), bare, bare.elements[1]) or "")


def test_without_ocr_bare_ground_still_speaks_against_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_check, "can_read", lambda: False)
    assert said(("button", "Don't save", SAVE)) == ""
    assert "shows nothing" in said(("button", "Save flag", GROUND))


def test_names_fit_what_is_written_and_no_other_name() -> None:
    assert all(agrees(*pair) for pair in (("Save", "SAVE"), ("Log in", "Login"), ("OK", "0K"), ("Yes", "Ves")))
    longer = ("Save", "Save Ctrl+S"), ("Inbox", "Inbox 3"), ("Flag for review", "Flag fo…")
    assert all(agrees(*pair) for pair in longer)
    for name, read in (("Save", "Save as"), ("Save as", "Save"), ("Item 1", "Item 2"), ("Yes", "No"), ("", "Save")):
        assert not agrees(name, read), (name, read)
    assert fit("Button B", "Button B") > fit("Button A", "Button B") >= 0.84  # so it takes the other name to tell
    swapped = tree_of(("button", "Save flog", SAVE), ("button", "Save flag", KEEP))
    assert "another text" in CHECK.why_not(picture(), swapped, swapped.elements[1])
