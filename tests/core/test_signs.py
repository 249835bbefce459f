"""A field that shows one sign for each character is told from one that shows the text itself."""

from __future__ import annotations

import random
import string

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.signs import hides, signs

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
def test_the_same_sign_for_each_character_hides_them(size: int, sign: str, caret: int | None) -> None:
    for value in VALUES[:3]:
        for colours in (("white", "black"), ("#202020", "#dddddd")):
            before = field(caret=0, size=size, colours=colours)
            after = field(sign * len(value), caret=caret, size=size, colours=colours)
            assert hides(value, before, after), (value, colours)


@pytest.mark.parametrize("size", [9, 11, 12, 16])
def test_a_text_in_plain_letters_is_not_taken_for_hidden(size: int) -> None:
    chance = random.Random(7)
    values = [*VALUES, "aaaa", "0O0O", "nununu", "cecece", "1l1l1l", "oooo", "11", "1", "3311"]
    values += [
        "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(3, 14))) for _ in range(150)
    ]
    for value in values:
        assert not hides(value, field(caret=0, size=size), field(value, caret=1, size=size)), value


def test_dots_of_another_number_or_none_hide_nothing() -> None:
    assert not hides("tok_9f3A", field(), field("ooo"))
    assert not signs(field(), field())
    assert not hides("tok_9f3A", field().crop((5, 5, 5, 5)), field().crop((5, 5, 5, 5)))
    assert not hides("tok_9f3A", field(), field(caret=0)), "a caret alone"
