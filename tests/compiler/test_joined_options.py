"""Options that OCR joins to one line are pressed one by one, and a press on another option is never repeated."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.compiler.targets import target_at
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.joined_words import _joined, _Span, pieces_of
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import MOST_JOINED, Line, Sight

SIZE = Size(460, 120)
ROW = Box(44, 36, 330, 30)
WORDS = ("Low", "Normal", "High")


def picture(gap: int = 12, *, first_circle: bool = True) -> Image.Image:
    """Return a picture of three radio buttons in a row, with a gap in pixels around each circle."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d9d9d9")
    draw, font, left = ImageDraw.Draw(image), ImageFont.load_default(size=16), 50
    for number, word in enumerate(WORDS):
        if number or first_circle:
            draw.ellipse((left, 45, left + 10, 55), outline="#404040", fill="white")
            left += 10 + gap
        draw.text((left, 40), word, fill="black", font=font)
        left += int(draw.textlength(word, font=font)) + gap
    return image


def sight(image: Image.Image, *more: Line) -> Sight:
    """Return the picture as OCR reads it, with the options as one line."""
    return with_pictures(Sight((Line("Low Normal High", ROW), *more), SIZE), image)


def middle(word: str, image: Image.Image) -> Point:
    piece = next(each for each in pieces_of(np.asarray(image), Line("Low Normal High", ROW)) if each.text == word)
    return piece.box.center


@pytest.mark.parametrize("word", WORDS)
def test_an_option_is_pressed_at_its_own_words(word: str) -> None:
    seen = sight(picture())
    target = target_at(middle(word, picture()), seen, {"priority": word}, typed=False)
    assert target is not None
    assert target.text == "{priority}"
    for other in WORDS:
        box = find(target, {"priority": other}, seen)
        assert box.contains(middle(other, picture()))
        assert not any(box.contains(middle(each, picture())) for each in WORDS if each != other)


def test_a_circle_belongs_to_the_text_after_it_if_the_row_begins_with_one() -> None:
    image = picture()
    circle = Point(middle("High", image).x - 25, 50)
    target = target_at(circle, sight(image), {"priority": "High"}, typed=False)
    assert target is not None
    assert target.text == "{priority}"


def test_a_circle_after_a_text_is_not_described() -> None:
    image = picture(first_circle=False)
    line = Line("Low Normal High", Box(44, 36, 190, 30))
    seen = with_pictures(Sight((line,), SIZE), image)
    pieces = pieces_of(np.asarray(image), line)
    between = Point((pieces[1].box.right + pieces[2].box.left) // 2, 50)
    assert pieces[1].box.contains(line.box.center)
    assert target_at(between, seen, {"priority": "High"}, typed=False) is None


def test_an_option_without_a_gap_is_not_described_by_the_joined_line() -> None:
    seen = Sight((Line("Low Normal High", ROW),), SIZE)
    assert target_at(Point(340, 50), seen, {"priority": "High"}, typed=False) is None


@pytest.mark.parametrize(
    ("text", "values", "at"),
    [
        ("Order R-1001", {"order": "R-1001"}, 300),  # the text of one link, and a replay may press its middle
        ("Low Normal High", {"priority": "Normal"}, 209),  # the value is in the middle
    ],
)
def test_a_line_is_pressed_in_its_middle_if_that_is_the_same_control(
    text: str, values: dict[str, str], at: int
) -> None:
    target = target_at(Point(at, 50), Sight((Line(text, ROW),), SIZE), values, typed=False)
    assert target is not None
    assert "{" in str(target.text)


def test_words_with_usual_gaps_are_one_text() -> None:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d9d9d9")
    ImageDraw.Draw(image).text((50, 40), "Low Normal High", fill="black", font=ImageFont.load_default(size=16))
    assert pieces_of(np.asarray(image), Line("Low Normal High", ROW)) == ()


def test_an_option_is_ambiguous_if_a_field_holds_its_words() -> None:
    seen = sight(picture(), Line("High", Box(50, 80, 60, 20)))
    with pytest.raises(AmbiguousTarget):
        find(Target(text="{priority}"), {"priority": "High"}, seen)


def test_a_missing_option_and_a_longer_one_are_not_found() -> None:
    for missing in ("Hig", "Urgent", "Normal High"):
        with pytest.raises(NotFound):
            find(Target(text="{priority}"), {"priority": missing}, sight(picture()))


def test_a_piece_of_a_line_is_no_anchor_of_a_value() -> None:
    assert sight(picture(), Line("open", Box(400, 40, 40, 20))).right_of("High") is None


@pytest.mark.parametrize(
    ("words", "sign", "count"),
    [
        ("Fischer Sons", "", 2),  # OCR left a circle out
        ("O Fischer O Sons", "O", 2),
        ("Fischer & Sons", "8", 0),  # a name with a letter that was read in two ways
        ("Fischer & Sons", "&", 0),
    ],
)
def test_a_name_with_a_sign_in_it_is_not_split(words: str, sign: str, count: int) -> None:
    circle = [_Span(0, 12, sign, 0.9)] if words.startswith("O") else []
    spans = [*circle, _Span(20, 80, "Fischer", 0.9), _Span(88, 100, sign, 0.9), _Span(108, 150, "Sons", 0.9)]
    found = _joined(spans, words.split(), 12)
    assert len(found if len(found) > 1 else []) == count


def test_few_lines_are_split() -> None:
    """OCR reads each piece. A short word may be in each row of a table."""
    split: list[Line] = []

    def pieces(line: Line) -> tuple[Line, ...]:
        split.append(line)
        return ()

    for count, most in ((MOST_JOINED, MOST_JOINED), (MOST_JOINED + 1, 0)):
        split.clear()
        rows = tuple(Line(f"Order {row} paid", Box(20, 20 * row, 200, 16)) for row in range(count))
        assert not Sight(rows, SIZE, pieces=pieces).find_in_lines("paid")
        assert len(split) == most


@pytest.mark.parametrize(
    ("wanted", "read", "is_found"),
    [("A+", "A+", True), ("A+", "A-", False), ("C", "C++", False), ("> 10", "< 10", False), ("Save", "Save...", True)],
)
def test_a_sign_tells_an_option_from_another(wanted: str, read: str, is_found: bool) -> None:
    row, piece = Line(f"{read} Other", ROW), Line(read, Box(44, 36, 40, 30))
    seen = Sight((row,), SIZE, pieces=lambda line: (piece, Line("Other", Box(120, 36, 60, 30))))
    assert seen.find_in_lines(wanted) == ([piece] if is_found else [])
