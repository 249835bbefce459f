"""A field with one sign per character is distinguished from a field that shows its text."""

from __future__ import annotations

import random
import string

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.secrets.mask_signs import hides, may_show, signs

VALUES = ("pass-W0rd!", "1234", "tok_9f3A-7Kq2-canary", "472")


def field(text: str = "", *, size: int = 12, caret: int | None = None, colours: tuple[str, str] = ("white", "black")):
    image = Image.new("RGB", (260, 26), colours[0])
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=size)
    draw.text((4, 3), text, fill=colours[1], font=font)
    if caret is not None:
        left = 4 + caret * int(font.getlength(text))
        draw.rectangle((left, 2, left + 1, 22), fill=colours[1])
    return image


@pytest.mark.parametrize(("sign", "size"), [("*", 12), ("*", 16), ("o", 12), ("o", 16)])
@pytest.mark.parametrize("caret", [None, 0, 1])
def test_the_same_sign_for_each_character_hides_the_value(size: int, sign: str, caret: int | None) -> None:
    for value in VALUES[:3]:
        for colours in (("white", "black"), ("#202020", "#dddddd")):
            before = field(caret=0, size=size, colours=colours)
            after = field(sign * len(value), caret=caret, size=size, colours=colours)
            assert hides(value, before, after), (value, colours)


@pytest.mark.parametrize("size", [9, 11, 12, 16])
def test_plain_text_is_not_taken_for_hidden(size: int) -> None:
    chance = random.Random(7)
    values = [*VALUES, "aaaa", "0O0O", "nununu", "cecece", "1l1l1l", "oooo", "11", "1", "3311"]
    values += [
        "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(3, 14))) for _ in range(150)
    ]
    for value in values:
        assert not hides(value, field(caret=0, size=size), field(value, caret=1, size=size)), value


def test_a_wrong_number_of_dots_hides_nothing() -> None:
    assert not hides("tok_9f3A", field(), field("ooo"))
    assert not signs(field(), field())
    assert not hides("tok_9f3A", field().crop((5, 5, 5, 5)), field().crop((5, 5, 5, 5)))
    assert not hides("tok_9f3A", field(), field(caret=0)), "only a caret"


def bars(lefts: list[int]) -> Image.Image:
    image = field()
    for left in lefts:
        ImageDraw.Draw(image).rectangle((left, 8, left + 3, 14), fill="black")
    return image


def test_unevenly_spaced_equal_signs_are_text() -> None:
    assert signs(field(), bars([4, 12, 20, 28, 36, 44])) == 4
    assert signs(field(), bars([4, 12, 20, 31, 36, 44])) == 0
    assert signs(field(), bars([4, 12, 26, 40, 48])) == 3
    assert not hides("pass-W", field(), bars([4, 10, 22, 27, 40, 46]))


def test_a_value_longer_than_its_field_may_be_hidden() -> None:
    value = VALUES[2] * 3
    assert 8 <= signs(field(caret=0), field("o" * len(value))) < len(value) - 2
    assert hides(value, field(caret=0), field("o" * len(value)))
    assert not hides(value, field(caret=0), field(value))


@pytest.mark.parametrize("size", [9, 12, 16])
@pytest.mark.parametrize("value", [*VALUES, "1111", "llll", "iIl1", "WWWW"])
def test_a_change_wide_enough_for_a_value_may_show_it(value: str, size: int) -> None:
    for colours in (("white", "black"), ("#202020", "#dddddd")):
        assert may_show(value, field(size=size, colours=colours), field(value, size=size, colours=colours))
        assert may_show(value, field("x", size=size, colours=colours), field(f"x {value}", size=size, colours=colours))


@pytest.mark.parametrize("value", VALUES)
def test_old_content_bars_and_colors_show_no_value(value: str) -> None:
    assert not may_show(value, field("a long label of something"), field("a long label of something", caret=1))
    assert not may_show(value, field(value), field(value))
    assert not may_show(value, field(), field(colours=("yellow", "black")))
    assert not may_show(value, field(), bars([20]))
    assert not may_show(value, field("Log in"), field("Log in", colours=("#dddddd", "black")))
