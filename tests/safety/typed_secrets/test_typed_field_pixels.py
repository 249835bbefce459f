"""Pixel comparisons of typed text, its remaining pieces, and the field's label."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.safety.masking.texts import SECRET
from holo_tasks.safety.typed_secrets.typed_field_labels import found_labels, labels
from holo_tasks.safety.typed_secrets.typed_field_ocr import TypedTexts
from holo_tasks.safety.typed_secrets.typed_field_pixels import (
    POSSIBLE_SHARE,
    SURE_SHARE,
    FieldAppearance,
    Pattern,
    eighths,
    is_cleared,
    picture_of,
    pieces_left,
    places,
    same_around,
    shape_of,
    text_box,
)
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields

SIZE = (400, 200)
FIELD, AROUND = Box(120, 80, 160, 24), Box(100, 60, 200, 64)
WHOLE = Box(0, 0, *SIZE)
VALUE = "Kranich 9 and more"


def page(text: str = "", *, ring: str = "black", words: Sequence[tuple[int, int, str]] = ()) -> Image.Image:
    image = Image.new("RGB", SIZE, "#d9d9d9")
    draw = ImageDraw.Draw(image)
    for x, y, word in words:
        draw.text((x, y), word, fill="black")
    draw.rectangle((FIELD.left, FIELD.top, FIELD.right - 1, FIELD.bottom - 1), fill="white", outline=ring, width=3)
    draw.text((FIELD.left + 8, FIELD.top + 6), text, fill="black")
    return image


def part(image: Image.Image, box: Box = AROUND) -> Image.Image:
    return image.crop((box.left, box.top, box.right, box.bottom))


def typed(before: Image.Image, after: Image.Image) -> Typed:
    return Typed(FIELD, AROUND, before=part(before).tobytes(), after=part(after).tobytes())


def look(before: Image.Image, after: Image.Image) -> FieldAppearance:
    field = typed(before, after)
    return FieldAppearance(field, picture_of(field, field.after))


def test_a_focus_ring_is_not_text() -> None:
    plain, ringed = look(page(), page(VALUE)), look(page(), page(VALUE, ring="blue"))
    assert text_box(plain, 0, 0) == text_box(ringed, 0, 0)
    assert text_box(ringed, 0, 0).width < FIELD.width - 20


def test_half_a_text_is_a_possible_find_and_a_whole_one_is_sure() -> None:
    pattern = look(page(), page(VALUE)).pattern
    assert pattern is not None
    screen = page(VALUE)
    for share, least, most in ((0.0, SURE_SHARE, 1.0), (0.55, POSSIBLE_SHARE, SURE_SHARE)):
        covered = text_box(look(page(), page(VALUE)), 0, 0)
        left = round(covered.right - share * covered.width)
        ImageDraw.Draw(screen).rectangle((left, 0, SIZE[0], SIZE[1]), fill="yellow")
        shape = shape_of(screen)
        found = pattern.found(shape, eighths(shape).tobytes())
        assert found[0][1:] == (0, 0)
        assert least <= found[0][0] <= most


def test_a_text_with_a_gap_leaves_no_piece_in_an_emptied_field() -> None:
    seen = look(page(), page("Kranich            9"))
    assert pieces_left(seen, part(page("Kranich")))
    assert not pieces_left(seen, part(page()))
    assert not pieces_left(seen, part(page("what is written over it")))


def test_a_field_as_before_the_typing_is_cleared() -> None:
    hint = page("Enter password")
    field = typed(hint, page(VALUE))
    assert is_cleared(field, part(hint))
    assert is_cleared(field, part(page()))
    assert not is_cleared(field, part(page(VALUE)))
    assert not is_cleared(field, part(page("Enter password!!!")))


def test_without_edges_any_change_is_another_screen() -> None:
    blank, written, other = (Image.new("RGB", SIZE, "white") for _ in range(3))
    ImageDraw.Draw(written).text((FIELD.left + 8, FIELD.top + 6), VALUE, fill="black")
    field = typed(blank, written)
    assert same_around(field, part(blank))
    ImageDraw.Draw(other).text((110, 64), "Welcome", fill="black")
    assert not same_around(field, part(other))


BESIDE, ABOVE, RIGHT, BELOW = (60, 86, "Password"), (130, 62, "Account"), (300, 86, "forgotten?"), (130, 112, "Log in")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([BESIDE], [BESIDE]),
        ([ABOVE], [ABOVE]),
        ([BESIDE, ABOVE, RIGHT, BELOW], [BESIDE, ABOVE]),
        ([RIGHT], [RIGHT]),
        ([BELOW], [BELOW]),
        ([BESIDE, (5, 86, "Further")], [BESIDE]),
        ([], []),
    ],
)
def test_a_label_is_left_above_or_anywhere_around_the_field(
    words: list[tuple[int, int, str]], found: list[tuple[int, int, str]]
) -> None:
    seen = labels(page(VALUE, words=words), FIELD, WHOLE)
    assert len(seen) == len(found)
    for pattern in seen:
        assert any(0 <= pattern.left - x < 8 and 0 <= pattern.top - y < 8 for x, y, _ in found)


def test_a_label_is_only_found_in_its_window() -> None:
    known = labels(page(VALUE, words=[BESIDE]), FIELD, WHOLE)
    moved = page(words=[(200, 150, "Password")])
    shape = shape_of(moved)
    lines = eighths(shape).tobytes()
    assert found_labels(known, shape, lines, WHOLE) == [(140, 64)]
    assert found_labels(known, shape, lines, Box(0, 0, 400, 140)) == []
    assert found_labels([Pattern(shape.crop((0, 0, 60, 20)), 0, 0)], shape, lines, WHOLE) == []


class Reads:
    """Returns the given masks, or fails."""

    def __init__(self, *found: Mask, error: Exception | None = None) -> None:
        self.found, self.error, self.asked = found, error, 0

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.found


def frame(image: Image.Image) -> Frame:
    return Frame(image.tobytes(), Size(*SIZE), ":1", settled=True)


@pytest.mark.parametrize("asked_for", [False, True])
async def test_ocr_is_not_used_without_a_lost_field(asked_for: bool) -> None:
    fields, reads = TypedFields(), Reads()
    texts = TypedTexts(fields, reads, asked_for=asked_for)
    await texts.masks(frame(page()))
    assert reads.asked == asked_for
    fields.typed([typed(page(), page(VALUE))])
    await texts.masks(frame(page(VALUE)))
    assert reads.asked == 1 + asked_for


async def test_our_own_errors_are_not_ocr_failures() -> None:
    fields = TypedFields(used_before=True)
    texts = TypedTexts(fields, Reads(error=DesktopFailed("The desktop went away.")), asked_for=False)
    with pytest.raises(DesktopFailed, match="went away"):
        await texts.masks(frame(page()))
    assert fields.reads


async def test_only_secrets_that_were_read_locate_a_lost_field() -> None:
    for kind in (SECRET, "mail"):
        fields = TypedFields()
        hit = Mask(kind, Box(10, 20, 30, 12))
        texts = TypedTexts(fields, Reads(hit), asked_for=False)
        fields.typed([typed(page(), page(VALUE))])
        other = frame(Image.new("RGB", SIZE, "navy"))
        await fields.masks(other)
        found = list(await texts.masks(other))
        wide = [mask for mask in found if mask.box.width == SIZE[0]]
        assert found[0] == (Mask(kind, Box(10, 20, 96, 12)) if kind == SECRET else hit)
        assert bool(wide) == (kind == SECRET), "as wide as its window"


async def test_the_width_of_a_mask_does_not_reveal_the_length() -> None:
    for left, widths, masked in ((16, (30, 64, 96), 96), (16, (97, 180), 192), (340, (30, 60), 60)):
        for width in widths:
            fields = TypedFields()
            fields.typed([typed(page(), page(VALUE))])
            texts = TypedTexts(fields, Reads(Mask(SECRET, Box(left, 20, width, 12))), asked_for=True)
            found = list(await texts.masks(frame(page(VALUE))))
            assert found[0].box.width == masked


def test_a_piece_is_found_at_any_position() -> None:
    chance = random.Random(1)
    for _ in range(300):
        lines = bytes(chance.choices((0, 1, 2), (6, 1, 1), k=200))
        at = next(number for number, byte in enumerate(lines) if byte)
        piece = lines[max(0, at - 2) : at + chance.randrange(1, 6)]
        plainly = [number for number in range(len(lines)) if lines.startswith(piece, number)]
        assert list(places(lines, piece)) == plainly
