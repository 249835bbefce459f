"""A sheet that completes a name during the typing shows the added end selected; the picture tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.input.gestures import Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.typed_text import TypedText
from holo_tasks.loop import read_back
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.loop.services import FieldText
from holo_tasks.vision.field_text import FieldReader
from holo_tasks.vision.screen_text import Line
from tests.support.private_screens import frame_of

SIZE = Size(400, 300)
BLACK, WHITE, CREAM, BLUE = (0, 0, 0), (255, 255, 255), (255, 255, 224), (40, 90, 200)


def sheet(*parts: tuple[int, int, str, tuple[int, int, int], tuple[int, int, int]]) -> Frame:
    """Return a page with pieces of text: left, top, text, paper and ink."""
    picture = Image.new("RGB", (SIZE.width, SIZE.height), WHITE)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default()
    draw.text((10, 120), "Cedar Foods", BLACK, font)
    for left, top, text, paper, ink in parts:
        width = int(draw.textlength(text, font))
        draw.rectangle((left, top, left + width, top + 15), paper)
        draw.text((left, top + 2), text, ink, font)
    return frame_of(picture)


EMPTY = sheet()
BAR = (200, 10, "Adler", WHITE, BLACK)
TYPED, END = (10, 200, "Adler", CREAM, BLACK), (37, 200, " Limited", BLACK, WHITE)


class Reads:
    """A reader that reads a fixed text on every piece, and notes how wide the pieces are."""

    def __init__(self) -> None:
        self.wide: list[int] = []

    def read_piece(self, piece: np.ndarray[Any, Any]) -> list[Line]:
        self.wide.append(piece.shape[1])
        return [Line("Adler Limited", Box(0, 0, 80, 16))]


async def read(before: Frame, after: Frame) -> tuple[FieldText | None, list[int]]:
    reader = Reads()
    return await FieldReader(reader)(before, after, None), reader.wide  # type: ignore[arg-type]


async def test_the_selected_end_of_a_new_text_tells_that_it_was_completed() -> None:
    found, wide = await read(EMPTY, sheet(BAR, TYPED, END))
    assert found == FieldText("Adler Limited", was_empty=True, is_full=False, is_completed=True)
    assert 50 < wide[0] < 120, "only the text and its end are read"


async def test_a_completed_text_may_be_cut_off_at_the_frame_of_its_cell() -> None:
    framed = sheet((73, 200, "", BLACK, BLACK))
    found, _ = await read(framed, sheet(BAR, TYPED, END))
    assert found is not None
    assert found.is_completed
    found, _ = await read(sheet((60, 200, "d", WHITE, BLACK)), sheet(BAR, TYPED, END))
    assert found is None, "there was a text before"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EMPTY, sheet(BAR, TYPED)),
        (EMPTY, sheet(BAR, (10, 200, "Adler Limited", BLUE, WHITE))),
        (EMPTY, sheet(BAR, TYPED, (49, 200, "New badge", BLUE, WHITE))),
        (EMPTY, sheet(BAR, (10, 200, "Adler", WHITE, BLACK), (45, 200, "Open", BLUE, WHITE))),
        (sheet((10, 200, "Adler", WHITE, BLACK), (37, 200, " Limited", WHITE, BLACK)), sheet(BAR, TYPED, END)),
    ],
)
async def test_a_typed_text_a_marked_row_and_a_badge_beside_a_text_end_no_text(before: Frame, after: Frame) -> None:
    found, _ = await read(before, after)
    assert found is None


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (FieldText("Adler Limited", was_empty=True, is_full=False, is_completed=True), "completed"),
        (FieldText("Adler Limited", was_empty=True, is_full=False), "unread"),
        (FieldText("ADLER Limited", was_empty=True, is_full=False, is_completed=True), "completed"),
        (FieldText("Limited", was_empty=True, is_full=False, is_completed=True), "unread"),
        (FieldText("Open Adler", was_empty=True, is_full=False, is_completed=True), "unread"),
        (None, "unread"),
    ],
)
async def test_a_field_that_no_program_tells_is_compared_only_if_its_text_was_completed(
    seen: FieldText | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def by_tree(*_: object) -> TypedText:
        return TypedText("unread", why=read_back.GONE)

    async def field_text(*_: object) -> FieldText | None:
        return seen

    monkeypatch.setattr(ReadBack, "_compare_by_tree", by_tree)
    services: Any = SimpleNamespace(field_text=field_text, text_filter=None)
    screen: Any = SimpleNamespace(redacted=EMPTY)
    found = await ReadBack()._compare_field(services, Write(text="Adler"), screen, screen)
    assert found.kind == kind


async def test_the_picture_is_not_read_for_a_completed_text_after_a_press_on_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def by_tree(*_: object) -> TypedText:
        return TypedText("unread", why=read_back.GONE)

    async def field_text(*_: object) -> FieldText | None:
        pytest.fail("the picture was read")

    monkeypatch.setattr(ReadBack, "_compare_by_tree", by_tree)
    services: Any = SimpleNamespace(field_text=field_text, text_filter=None)
    screen: Any = SimpleNamespace(redacted=EMPTY)
    found = await ReadBack()._compare_field(services, Write(text="Adler", at=Point(20, 205)), screen, screen)
    assert found.kind == "unread"
