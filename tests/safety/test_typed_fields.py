"""A field that a secret was typed into is masked while that shows, wherever, and not on another screen."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Size
from holo_tasks.desktop.fields import fields
from holo_tasks.safety.typed_fields import TypedFields

SIZE = (500, 300)
FIELD = Box(150, 100, 201, 25)
VALUE = "\u2022 Kranich 9"


def screen(
    text: str = "",
    *,
    move: tuple[int, int] = (0, 0),
    label: str = "Password",
    outlined: bool = True,
    over: bool = False,
) -> Image.Image:
    """A window with a field that may be moved, and something over its right half."""
    image = Image.new("RGB", SIZE, "#d9d9d9")
    draw = ImageDraw.Draw(image)
    left, top = FIELD.left + move[0], FIELD.top + move[1]
    draw.text((left - 70, top + 6), label, fill="black")
    if outlined:
        draw.rectangle((left, top, left + 200, top + 24), fill="white", outline="black")
    draw.text((left + 6, top + 6), text, fill="black")
    draw.text((left, top + 34), "Log in      Cancel", fill="navy")
    if over:
        draw.rectangle((left + 40, top - 60, left + 260, top + 90), fill="yellow", outline="red")
    return image


def frame(image: Image.Image, holds: int = 0) -> Frame:
    return Frame(image.tobytes(), Size(*image.size), ":1", holds=holds)


async def boxes(masker: TypedFields, image: Image.Image, holds: int = 0) -> list[Box]:
    return [mask.box for mask in await masker.masks(frame(image, holds))]


def masker_for(text: str = VALUE, *, outlined: bool = True) -> TypedFields:
    masker = TypedFields()
    masker.typed(fields(screen(outlined=outlined), screen(text, outlined=outlined), None))
    return masker


def covers(outer: Box, inner: Box) -> bool:
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and outer.right >= inner.right
        and outer.bottom >= inner.bottom
    )


async def test_the_mask_is_as_wide_as_the_field_whatever_is_in_it() -> None:
    found = [await boxes(masker_for(text), screen(text)) for text in ("a", VALUE, "a much longer text than that")]
    assert all(len(each) == 1 and covers(each[0], FIELD) for each in found)
    assert found[0] == found[1] == found[2]
    assert found[0][0].width < 220


async def test_without_an_outline_it_is_as_wide_as_the_window() -> None:
    for text in (VALUE, "ab"):
        (box,) = await boxes(masker_for(text, outlined=False), screen(text, outlined=False))
        assert (box.left, box.width) == (0, SIZE[0])


async def test_it_stays_while_more_is_typed_and_goes_once_the_field_is_empty() -> None:
    masker = masker_for()
    assert await boxes(masker, screen(VALUE + " and more"))
    assert await boxes(masker, screen("shown in plain letters"))
    assert not await boxes(masker, screen(""))
    assert not await boxes(masker, screen("a comment"))


@pytest.mark.parametrize("move", [(0, 0), (60, 37)])
@pytest.mark.parametrize("back", [VALUE, VALUE[:5]])
async def test_it_comes_back_when_what_was_cleared_does(back: str, move: tuple[int, int]) -> None:
    masker = masker_for()
    (before,) = await boxes(masker, screen(VALUE, move=move))
    assert not await boxes(masker, screen("", move=move))
    assert not await boxes(masker, screen("a comment", move=move))
    assert await boxes(masker, screen(back, move=move)) == [before]
    assert await boxes(masker, screen("shown in plain letters", move=move)) == [before]


async def test_a_value_that_shows_twice_in_its_field_has_no_other_mask() -> None:
    masker = masker_for("Kranich")
    for move in ((0, 0), (60, 37)):
        (one,) = await boxes(masker, screen("Kranich", move=move))
        assert await boxes(masker, screen("KranichKranich", move=move)) == [one]


async def test_every_place_that_shows_it_is_masked() -> None:
    def twice(text: str) -> Image.Image:
        image = screen(text)
        image.paste(image.crop((0, 90, 500, 135)), (0, 220))
        return image

    masker = masker_for()
    assert sorted(box.top for box in await boxes(masker, twice(VALUE))) == [97, 227]
    masker = masker_for()
    moved = Image.new("RGB", SIZE, "#d9d9d9")
    for top in (10, 200):
        moved.paste(screen(VALUE).crop((0, 90, 500, 135)), (0, top))
    found = await boxes(masker, moved)
    assert sorted(box.top for box in found) == [17, 207]
    assert await boxes(masker, moved) == found


async def test_it_goes_with_the_window_when_that_is_moved() -> None:
    masker = masker_for()
    (before,) = await boxes(masker, screen(VALUE))
    (after,) = await boxes(masker, screen(VALUE, move=(60, 37)))
    assert (after.left - before.left, after.top - before.top) == (60, 37)
    assert await boxes(masker, screen(VALUE + "!", move=(60, 37))) == [after]
    assert not await boxes(masker, screen("", move=(60, 37)))


async def test_what_lies_over_part_of_it_uncovers_nothing() -> None:
    masker = masker_for()
    assert await boxes(masker, screen(VALUE, over=True))
    assert await boxes(masker, screen(VALUE))


async def test_another_screen_is_not_masked_and_coming_back_is() -> None:
    masker = masker_for()
    menu = Image.new("RGB", SIZE, "#d9d9d9")
    draw = ImageDraw.Draw(menu)
    for row in range(8):
        draw.text((140, 20 + 30 * row), f"{row}. Search the ledger for transactions", fill="black")
    assert not await boxes(masker, menu)
    assert await boxes(masker, screen(VALUE))
    assert await boxes(masker, Image.new("RGB", (200, 100), "white")), "what cannot be compared is masked"


async def test_what_a_person_typed_into_a_field_that_held_a_secret_is_masked_until_the_field_is_seen_empty() -> None:
    masker, by_hand = masker_for(), "typed by hand, 12"
    assert not await boxes(masker, screen())
    assert not await boxes(masker, screen(by_hand))
    assert await boxes(masker, screen(by_hand), holds=1)
    assert await boxes(masker, screen(by_hand + "3"), holds=1)
    assert not await boxes(masker, screen(), holds=1)
    assert not await boxes(masker, screen("a name, typed by the agent"), holds=1)
