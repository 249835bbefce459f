"""A field with a typed secret is masked while the secret shows, anywhere, and other screens are not masked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw, ImageFont, ImageOps

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import LOST, Frame, Mask, OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.fields.changed_field import fields
from holo_tasks.safety.redaction import Painter, paint_masks
from holo_tasks.safety.typed_secrets.typed_field_ocr import TypedTexts
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields

SIZE = (500, 300)
FIELD = Box(150, 100, 201, 25)
WHOLE = Box(0, 0, *SIZE)
VALUE = "\u2022 Kranich 9"
INK = (220, 0, 90)
"""Color of a value whose visible pixels are counted. Nothing else on the screen has this color."""


def screen(
    text: str = "",
    *,
    move: tuple[int, int] = (0, 0),
    label: str = "Password",
    outlined: bool = True,
    over: bool = False,
) -> Image.Image:
    """Return a window with a field that may be moved, optionally with a cover over its right half."""
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


async def test_the_mask_is_as_wide_as_the_field() -> None:
    found = [await boxes(masker_for(text), screen(text)) for text in ("a", VALUE, "a much longer text than that")]
    assert all(len(each) == 1 and covers(each[0], FIELD) for each in found)
    assert found[0] == found[1] == found[2]
    assert found[0][0].width < 220


async def test_without_an_outline_the_mask_is_as_wide_as_the_window() -> None:
    for text in (VALUE, "ab"):
        (box,) = await boxes(masker_for(text, outlined=False), screen(text, outlined=False))
        assert (box.left, box.width) == (0, SIZE[0])


async def test_the_mask_stays_during_typing_and_ends_with_an_empty_field() -> None:
    masker = masker_for()
    assert await boxes(masker, screen(VALUE + " and more"))
    assert await boxes(masker, screen("shown in plain letters"))
    assert not await boxes(masker, screen(""))
    assert not await boxes(masker, screen("a comment"))


@pytest.mark.parametrize("move", [(0, 0), (60, 37)])
@pytest.mark.parametrize("back", [VALUE, VALUE[:5]])
async def test_the_mask_returns_with_the_cleared_text(back: str, move: tuple[int, int]) -> None:
    masker = masker_for()
    (before,) = await boxes(masker, screen(VALUE, move=move))
    assert not await boxes(masker, screen("", move=move))
    assert not await boxes(masker, screen("a comment", move=move))
    assert await boxes(masker, screen(back, move=move)) == [before]
    assert await boxes(masker, screen("shown in plain letters", move=move)) == [before]


async def test_a_value_twice_in_its_field_has_one_mask() -> None:
    masker = masker_for("Kranich")
    for move in ((0, 0), (60, 37)):
        (one,) = await boxes(masker, screen("Kranich", move=move))
        assert await boxes(masker, screen("KranichKranich", move=move)) == [one]


async def test_a_value_in_another_field_masks_exactly_that_field() -> None:
    def both(first: str, second: str) -> Image.Image:
        image = screen(first)
        image.paste(screen(second).crop((0, 90, 500, 135)), (0, 190))
        return image

    empty, twice, filled = both("", ""), both(VALUE * 2, ""), both("", VALUE)
    masker = TypedFields()
    masker.typed(fields(both(VALUE, ""), twice, None))  # the second of two consecutive typings
    (first,) = await boxes(masker, twice)
    assert await boxes(masker, empty) == []
    masker.typed(fields(empty, filled, None))
    (second,) = await boxes(masker, filled)
    assert (second.left, second.width) == (first.left, first.width), "another left edge would reveal its length"
    assert second.top > first.bottom
    assert await boxes(masker, empty) == []
    assert await boxes(masker, filled) == [second], "the other field is still empty"


async def test_all_places_with_the_value_are_masked() -> None:
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


async def test_the_mask_moves_with_the_window() -> None:
    masker = masker_for()
    (before,) = await boxes(masker, screen(VALUE))
    (after,) = await boxes(masker, screen(VALUE, move=(60, 37)))
    assert (after.left - before.left, after.top - before.top) == (60, 37)
    assert await boxes(masker, screen(VALUE + "!", move=(60, 37))) == [after]
    assert not await boxes(masker, screen("", move=(60, 37)))


async def test_a_partly_covered_value_stays_masked() -> None:
    masker = masker_for()
    assert await boxes(masker, screen(VALUE, over=True))
    assert await boxes(masker, screen(VALUE))


def menu() -> Image.Image:
    image = Image.new("RGB", SIZE, "#d9d9d9")
    draw = ImageDraw.Draw(image)
    for row in range(8):
        draw.text((140, 20 + 30 * row), f"{row}. Search the ledger for transactions", fill="black")
    return image


async def test_a_lost_field_masks_all_of_another_screen() -> None:
    masker = masker_for()
    assert await boxes(masker, menu()) == [WHOLE]
    assert [mask.kind for mask in await masker.masks(frame(menu()))] == [LOST]
    assert await boxes(masker, Image.new("RGB", (200, 100), "white")) == [Box(0, 0, 200, 100)]
    (box,) = await boxes(masker, screen(VALUE))
    assert box != WHOLE, "found again"
    assert not await boxes(masker, screen(""))
    assert not await boxes(masker, menu()), "it was cleared before"


async def test_a_dotted_password_masks_no_other_screen_and_returns() -> None:
    dots = "\u2022" * 9
    (typed,) = fields(screen(), screen(dots), None)
    masker = TypedFields()
    masker.typed([replace(typed, hidden=True)])
    (box,) = await boxes(masker, screen(dots))
    assert not await boxes(masker, menu())
    assert await boxes(masker, screen(dots)) == [box]
    assert await boxes(masker, screen(dots, move=(60, 37))) == [Box(box.left + 60, box.top + 37, box.width, box.height)]
    assert await boxes(masker, screen("Kranich-9", move=(60, 37))), "the program reveals it"
    assert await boxes(masker, menu()) == [WHOLE], "it may show in plain letters by now"
    assert await boxes(masker, screen("Kranich-9", move=(20, 70))) == [
        Box(box.left + 20, box.top + 70, box.width, box.height)
    ]


DOTS, CLEAR = "*" * 9, "Kranich-9"


def sign_in(text: str, *, hint: bool = False, shown: str = "Show password", zoom: float = 1) -> Image.Image:
    """Return a form with two fields. If it reveals a password, a line above moves the fields down."""
    image = Image.new("RGB", SIZE, "#f4f4f4")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(11 * zoom)
    down = 20 if hint else 0

    def put(left: float, top: float, text: str, fill: str = "black") -> None:
        draw.text((round(left * zoom), round(top * zoom)), text, fill=fill, font=font)

    put(40, 20, "Sign in to the ledger")
    if hint:
        put(40, 40, "Nobody should be looking over your shoulder now.", "#404040")
    for name, held, row in (("User", "ada", 60 + down), ("Password", text, 110 + down)):
        put(40, row + 6, name)
        corners = [round(each * zoom) for each in (120, row, 400, row + 24)]
        draw.rectangle(corners, fill="white", outline="gray")
        put(126, row + 6, held)
    put(120, 146 + down, shown, "navy")
    put(120, 180 + down, "Log in", "navy")
    return image


def masker_of_dots() -> TypedFields:
    (typed,) = fields(sign_in(""), sign_in(DOTS), None)
    masker = TypedFields()
    masker.typed([replace(typed, hidden=True)])
    return masker


async def test_a_password_revealed_in_a_moved_field_is_masked() -> None:
    masker = masker_of_dots()
    (dots,) = await boxes(masker, sign_in(DOTS))
    (clear,) = await boxes(masker, sign_in(CLEAR, hint=True, shown="Hide password"))
    assert clear == Box(dots.left, dots.top + 20, dots.width, dots.height)
    assert await boxes(masker, menu()) == [WHOLE], "it may show there in the clear"


async def test_a_password_with_a_moved_label_is_lost_while_the_label_shows() -> None:
    masker = masker_of_dots()
    assert await boxes(masker, sign_in(DOTS))
    review = sign_in("")
    draw, font = ImageDraw.Draw(review), ImageFont.load_default(11)
    draw.rectangle((0, 50, 500, 300), fill="#f4f4f4")
    draw.text((60, 200), "Password", fill="black", font=font)
    draw.text((160, 200), CLEAR, fill="black")
    assert await boxes(masker, review) == [WHOLE]
    assert not await boxes(masker, menu())
    assert await boxes(masker, review) == [WHOLE], "each page is looked at"


async def test_a_password_masks_no_window_after_a_login_attempt() -> None:
    masker = masker_of_dots()
    assert await boxes(masker, sign_in(DOTS))
    for _ in range(2):
        assert not await boxes(masker, menu())
        assert not await boxes(masker, sign_in("", hint=True)), "it is empty where it is by now"
        assert not await boxes(masker, sign_in(""))
    assert not await boxes(masker, menu())


@pytest.mark.parametrize("zoom", [0.9, 1.1, 1.25, 1.5])
async def test_a_zoomed_password_is_tracked_by_its_dots_and_then_in_the_clear(zoom: float) -> None:
    masker = masker_of_dots()
    assert await boxes(masker, sign_in(DOTS))
    field = Box(0, round(113 * zoom), 500, round(18 * zoom))
    for text, shown in ((DOTS, "Show password"), (CLEAR, "Show password"), (CLEAR, "Hide password")):
        (found,) = await boxes(masker, sign_in(text, shown=shown, zoom=zoom))
        assert found != WHOLE
        assert covers(found, field)
    assert not await boxes(masker_of_dots(), sign_in("", zoom=zoom))


async def test_with_ocr_a_missing_password_is_lost_until_it_was_searched() -> None:
    masker, reader = masker_of_dots(), Reader()
    painter = Painter([masker], [TypedTexts(masker, reader, asked_for=False)])
    assert (await painter.redact(frame(sign_in(DOTS)))).masks
    reader.sees = [Mask("secret", Box(200, 90, 64, 16))]
    assert Mask("typed", Box(0, 90, 500, 16)) in (await painter.redact(frame(menu()))).masks
    reader.sees = []
    unsettled = replace(frame(menu()), settled=False)
    assert [mask.kind for mask in (await painter.redact(unsettled)).masks] == [LOST]
    assert not (await painter.redact(frame(menu()))).masks


async def test_after_a_person_typed_a_field_is_masked_until_it_is_seen_empty() -> None:
    masker, by_hand = masker_for(), "typed by hand, 12"
    assert not await boxes(masker, screen())
    assert not await boxes(masker, screen(by_hand))
    assert await boxes(masker, screen(by_hand), holds=1)
    assert await boxes(masker, screen(by_hand + "3"), holds=1)
    assert not await boxes(masker, screen(), holds=1)
    assert not await boxes(masker, screen("a name, typed by the agent"), holds=1)


def form(
    text: str = "",
    *,
    at: tuple[int, int] = (0, 0),
    caret: int | None = None,
    label: str = "Password",
    over: tuple[int, int, int, int] | None = None,
) -> Image.Image:
    """Return a form whose field shows its text in its own color, without antialiasing."""
    image = Image.new("RGB", SIZE, "#d9d9d9")
    draw = ImageDraw.Draw(image)
    draw.fontmode = "1"
    left, top = FIELD.left + at[0], FIELD.top + at[1]
    draw.text((left - 70, top + 6), label, fill="black")
    draw.rectangle((left, top, left + 200, top + 24), fill="white", outline="black")
    draw.text((left + 6, top + 6), text, fill=INK)
    draw.text((left, top + 34), "Log in      Cancel", fill="navy")
    if caret is not None:
        draw.rectangle((left + caret, top + 4, left + caret + 1, top + 20), fill="black")
    if over is not None:
        draw.rectangle(over, fill="yellow", outline="red")
    return image


def typed_form(value: str) -> TypedFields:
    """Return a typed field with a caret: at the left before the typing, and behind the value after it."""
    masker = TypedFields()
    masker.typed(fields(form(caret=5), form(value, caret=7 + 6 * len(value)), None))
    return masker


def zoomed(value: str) -> Image.Image:
    return form(value).resize((SIZE[0] * 11 // 10, SIZE[1] * 11 // 10), Image.Resampling.NEAREST).crop((0, 0, *SIZE))


def two(value: str) -> Image.Image:
    image = form(value, at=(20, -60))
    image.paste(form(value, at=(-30, 80)).crop((0, 160, *SIZE)), (0, 160))
    return image


SEEN: dict[str, Callable[[str], Image.Image]] = {
    "the next field has the keyboard": form,
    "scrolled": lambda value: form(value, at=(0, -30)),
    "moved": lambda value: form(value, at=(60, 70)),
    "moved, and the caret is within": lambda value: form(value, at=(60, 70), caret=40),
    "resized": lambda value: form(value, at=(40, 0), label="Your password"),
    "zoomed": zoomed,
    "scrolled half under a header": lambda value: form(value, at=(0, -60), over=(-9, -9, 510, FIELD.top - 60 + 11)),
    "moved under a tooltip": lambda value: form(value, at=(60, 70), over=(300, 120, 420, 185)),
    "half covered where it was": lambda value: form(value, over=(190, 60, 480, 190)),
    "partly covered": lambda value: form(value, at=(10, 10), over=(0, 0, 205, 300)),
    "shown twice": two,
}
FULLY_TRACKED = SEEN.keys() - {"zoomed", "partly covered"}
"""Where no more is masked than the field."""


def inked(image: Image.Image) -> int:
    return sum(count for count, colour in image.getcolors(image.width * image.height) or [] if colour == INK)


async def paint(masker: TypedFields, image: Image.Image) -> Image.Image:
    seen = frame(image)
    return Image.frombytes("RGB", image.size, paint_masks(seen, await masker.masks(seen)).frame.rgb)


@pytest.mark.parametrize("how", SEEN)
async def test_no_pixel_of_a_value_is_left_unmasked(how: str) -> None:
    left = []
    for value in ("tok_9f3A-7Kq2", "Kranich-9"):
        masker = typed_form(value)
        for image in (form(value, caret=7 + 6 * len(value)), form(value), SEEN[how](value)):
            assert inked(image)
            left.append(await paint(masker, image))
            assert not inked(left[-1])
        assert (WHOLE in await boxes(masker, SEEN[how](value))) == (how not in FULLY_TRACKED)
    assert [image.tobytes() for image in left[:3]] == [image.tobytes() for image in left[3:]], "nor is its length told"


async def test_a_value_in_other_colors_is_found() -> None:
    masker = typed_form("tok_9f3A-7Kq2")
    (before,) = await boxes(masker, form("tok_9f3A-7Kq2"))
    dark = ImageOps.invert(form("tok_9f3A-7Kq2", at=(30, 15)))
    assert await boxes(masker, dark) == [Box(before.left + 30, before.top + 15, before.width, before.height)]


APP, OTHER = Owner("/usr/bin/app", pid=7), Owner("/usr/bin/other", pid=8)


async def test_a_lost_field_masks_its_programs_windows_until_its_window_closes() -> None:
    def seen(window: Box | None) -> Frame:
        windows = [OnScreen(WHOLE, (OTHER,), True), OnScreen(Box(0, 0, 450, 250), (APP,), True)]
        windows += [OnScreen(Box(0, 0, 100, 100), (OTHER,), True)]
        return replace(frame(menu()), windows=tuple(windows), typed_in=((5, window),))

    (typed,) = fields(form(), form(VALUE), None)
    masker = TypedFields()
    masker.typed([replace(typed, window=5, inside=Box(0, 0, 450, 250), pid=7)])
    lost = {mask.box for mask in await masker.masks(seen(Box(0, 0, 450, 250)))}
    assert lost == {Box(0, 100, 450, 150), Box(100, 0, 350, 100)}
    assert not await masker.masks(seen(None))
    assert await masker.masks(seen(Box(0, 0, 450, 250))), "it may come back"
    masker.typed([replace(typed, window=6, inside=FIELD, pid=7)])
    alone = Box(30, 40, 90, 20)
    masked = [mask.box for mask in await masker.masks(replace(seen(None), typed_in=((5, None), (6, alone))))]
    assert len(masked) == 1
    assert covers(masked[0], alone), "a window of its own tells where it is"


class Reader:
    """Returns the given masks, or fails."""

    def __init__(self) -> None:
        self.sees: list[Mask] = []
        self.fails = False

    async def masks(self, frame: Frame) -> list[Mask]:
        if self.fails:
            raise OSError("libGL is not there; the screen says hunter2")
        return self.sees


@pytest.mark.parametrize("settled", [True, False])
async def test_with_ocr_a_lost_field_masks_no_window_once_no_value_is_read(settled: bool) -> None:
    masker, reader = masker_for(), Reader()
    painter = Painter([masker], [TypedTexts(masker, reader, asked_for=False)])

    async def masks(image: Image.Image) -> list[Mask]:
        return list((await painter.redact(replace(frame(image), settled=settled))).masks)

    assert len(await masks(screen(VALUE))) == 1
    reader.sees = [Mask("secret", Box(200, 90, 64, 16))]
    found = await masks(menu())
    assert Mask("typed", Box(0, 90, 500, 16)) in found, "as wide as the window: it does not tell how long it is"
    assert LOST not in {mask.kind for mask in found}
    reader.sees = []
    assert ([mask.kind for mask in await masks(menu())] == [LOST]) is not settled
    assert not await masks(menu()), "it was looked for twice"
    reader.fails = True
    for _ in range(2):
        assert await masks(menu()) == [Mask(LOST, WHOLE)], "OCR fails now, so earlier results do not count"
    assert len(await masks(screen(VALUE))) == 1
    assert not await masks(screen())
    assert not await masks(menu()), "it was cleared"


@pytest.mark.parametrize("hidden", [True, False])
async def test_after_an_ocr_failure_a_cleared_field_masks_nothing(hidden: bool) -> None:
    (typed,) = fields(screen(), screen(DOTS if hidden else VALUE), None)
    masker, reader = TypedFields(), Reader()
    masker.typed([replace(typed, hidden=hidden)])
    painter = Painter([masker], [TypedTexts(masker, reader, asked_for=False)])

    async def masks(image: Image.Image, holds: int) -> tuple[Mask, ...]:
        return (await painter.redact(frame(image, holds))).masks

    assert not await masks(screen(), 0)
    assert not await masks(menu(), 1)
    reader.fails = True
    assert not await masks(menu(), 1)


async def test_ocr_is_not_used_before_a_secret_was_typed(caplog: pytest.LogCaptureFixture) -> None:
    masker, reader = TypedFields(), Reader()
    reader.fails = True
    painter = Painter([masker], [TypedTexts(masker, reader, asked_for=False)])
    assert not (await painter.redact(frame(menu()))).masks
    masker.typed(fields(screen(), screen(VALUE), None))
    assert (await painter.redact(frame(menu()))).masks
    assert "hunter2" not in caplog.text
    reader.fails, reader.sees = False, [Mask("secret", WHOLE)]
    before = TypedFields(used_before=True)
    painter = Painter([before], [TypedTexts(before, reader, asked_for=False)])
    assert (await painter.redact(frame(menu()))).masks, "an earlier run may have typed it"
    reader.fails = True
    with pytest.raises(OSError, match="libGL"):
        await TypedTexts(masker, reader, asked_for=True).masks(frame(menu()))
