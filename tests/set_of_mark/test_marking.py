"""Set-of-mark numbers on drawn pictures and real programs: marked elements, their click points, and legible tags."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop import Desktop, VirtualDesktop
from holo_tasks.set_of_mark.drawing import FONT_SIZE, PALETTE, color_of, contrast, draw_marks, ink_on, tag_boxes
from holo_tasks.set_of_mark.marks import MOST_MARKS, Mark, find_marks, marks_on, resolve
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Line
from tests.support.long import few

APPS = Path(__file__).parents[1] / "apps"
LEDGER = Path(__file__).parents[2] / "flows" / "demo" / "legacy_ledger.py"
PATIENCE_S = 60.0
LEGIBLE = 0.97

Boxes = dict[str, list[int]]


@pytest.fixture(scope="module")
def reader() -> Reader:
    made = Reader()
    made.warm_up()
    return made


# -- drawn pictures ------------------------------------------------------------------------------

BUTTONS = {"Save": (60, 330, 160, 366), "Save as": (180, 330, 290, 366), "Cancel": (310, 330, 420, 366)}
FIELDS = {"empty": (180, 60, 480, 88), "filled": (180, 110, 480, 138), "large": (180, 160, 480, 230)}
CHECKS = {"Express delivery": (60, 250), "Gift wrapping": (60, 280)}
TEXTS = {"Customer": (60, 65), "Amount": (60, 115), "Remarks": (60, 165)}


def font(size: int = 15) -> Any:
    return ImageFont.load_default(size)


@pytest.fixture(scope="module")
def screen() -> Image.Image:
    """A form with ordinary widgets."""
    picture = Image.new("RGB", (640, 420), "#dcdcdc")
    draw = ImageDraw.Draw(picture)
    for text, place in TEXTS.items():
        draw.text(place, text, fill="black", font=font())
    for box in FIELDS.values():
        draw.rectangle(box, fill="white", outline="#888888")
    draw.text((188, 115), "1,284.50", fill="black", font=font())
    for text, (left, top) in CHECKS.items():
        draw.rectangle((left, top, left + 13, top + 13), fill="white", outline="#444444")
        draw.text((left + 24, top - 3), text, fill="black", font=font())
    for text, box in BUTTONS.items():
        draw.rectangle(box, fill="#eeeeee", outline="#666666")
        draw.text(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), text, fill="black", font=font(), anchor="mm")
    return picture


def marks_in(marks: Sequence[Mark], left: int, top: int, right: int, bottom: int) -> list[Mark]:
    return [mark for mark in marks if left <= mark.point.x < right and top <= mark.point.y < bottom]


def test_every_part_of_a_form_has_one_mark(reader: Reader, screen: Image.Image) -> None:
    marks = find_marks(screen, reader)
    for text, box in BUTTONS.items():
        assert [mark.text for mark in marks_in(marks, *box)] == [text]
    assert [[mark.text for mark in marks_in(marks, *box)] for box in FIELDS.values()] == [[""], ["1,284.50"], [""]]
    for text, (left, top) in CHECKS.items():
        (mark,) = marks_in(marks, left, top, left + 150, top + 14)
        assert mark.text == text
        assert mark.point.x < left + 14, "a check box is clicked on its box"
    assert len(marks) == len(BUTTONS) + len(FIELDS) + len(CHECKS) + len(TEXTS)


def test_marks_are_numbered_in_reading_order(reader: Reader, screen: Image.Image) -> None:
    marks = find_marks(screen, reader)
    assert [mark.number for mark in marks] == list(range(1, len(marks) + 1))
    assert [mark.text for mark in marks][:4] == ["Customer", "", "Amount", "1,284.50"]
    assert [mark.text for mark in marks][-3:] == list(BUTTONS)


def test_the_same_picture_gives_the_same_marks_and_pixels(reader: Reader, screen: Image.Image) -> None:
    other = Reader()
    marks = find_marks(screen, reader)
    assert find_marks(screen.copy(), other) == marks
    before = screen.tobytes()
    assert draw_marks(screen, marks).tobytes() == draw_marks(screen, marks).tobytes()
    assert screen.tobytes() == before, "the picture itself is unchanged"


def test_numbers_on_a_clean_screen_can_be_read(reader: Reader, screen: Image.Image) -> None:
    assert legible(reader, screen, find_marks(screen, reader)) == 1.0


def test_numbers_can_be_read_after_jpeg(reader: Reader, screen: Image.Image) -> None:
    marks = find_marks(screen, reader)
    sent = through_jpeg(draw_marks(screen, marks))
    assert share_read(reader, sent, screen, marks) >= LEGIBLE


def test_numbers_on_a_wide_screen_can_be_read_in_the_smaller_picture_that_is_sent(
    reader: Reader, screen: Image.Image
) -> None:
    wide = Image.new("RGB", (2560, 1600), "#30506a")
    wide.paste(screen.resize((1280, 840)), (600, 300))
    marks = marks_on(np.asarray(wide), [])
    assert len(marks) >= len(BUTTONS) + len(FIELDS)
    sent = draw_marks(wide, marks).resize((1280, 800), Image.Resampling.LANCZOS)
    right = 0
    for mark, tag in zip(marks, tag_boxes(wide, marks), strict=True):
        crop = sent.crop((tag.left // 2, tag.top // 2, tag.right // 2, tag.bottom // 2))
        right += reader._ocr.read(np.asarray(crop)[:, :, ::-1].copy())[0] == str(mark.number)
    assert right >= LEGIBLE * len(marks)


def test_a_jpeg_picture_gets_the_same_marks(reader: Reader, screen: Image.Image) -> None:
    marks = find_marks(through_jpeg(screen), reader)
    for box in (*BUTTONS.values(), *FIELDS.values()):
        assert len(marks_in(marks, *box)) == 1


def test_tags_hide_neither_each_other_nor_a_text(reader: Reader, screen: Image.Image) -> None:
    marks = find_marks(screen, reader)
    tags = tag_boxes(screen, marks)
    assert overlapping(tags) == []
    texts = [line.box for line in reader.read(screen).sight.lines]
    # OCR's boxes have a margin of some pixels.
    ink = [Box(box.left + 5, box.top + 5, max(1, box.width - 10), max(1, box.height - 10)) for box in texts]
    assert overlapping([*tags, *ink]) == []
    assert all(tag.left >= 0 and tag.top >= 0 and tag.right <= 640 and tag.bottom <= 420 for tag in tags)


def test_colours_are_legible() -> None:
    assert FONT_SIZE >= 12
    for number, colour in enumerate(PALETTE, 1):
        assert color_of(number) == colour == color_of(number + len(PALETTE))
        assert contrast(ink_on(colour), colour) >= 4.5
        assert contrast(colour, (255, 255, 255)) >= 3
        assert contrast(colour, (0, 0, 0)) >= 3


def test_an_unknown_mark_number_is_refused_with_a_correction() -> None:
    marks = (Mark(1, Box(10, 10, 21, 9), "OK"), Mark(2, Box(50, 10, 1, 1), ""))
    assert resolve(marks, 1) == Point(20, 14)
    assert resolve(marks, 2) == Point(50, 10)
    for known, number in ((marks, 3), (marks, 0), (marks, -1), ((), 1)):
        with pytest.raises(UnusableReply, match=str(number)) as refused:
            resolve(known, number)
        assert str(number) in refused.value.correction
    with pytest.raises(UnusableReply) as refused:
        resolve(marks, 3)
    assert refused.value.correction == "There is no mark 3: the marks go from 1 to 2."


def test_two_buttons_read_as_one_text_line_get_two_marks() -> None:
    picture = Image.new("RGB", (640, 400), "#dddddd")
    draw = ImageDraw.Draw(picture)
    for text, left in (("Yes", 20), ("No way", 100)):
        draw.rectangle((left, 20, left + 74, 50), fill="#eeeeee", outline="#555555")
        draw.text((left + 37, 35), text, fill="black", font=font(), anchor="mm")
    marks = marks_on(np.asarray(picture), [Line("Yes No way", Box(38, 22, 128, 26))])
    assert [(mark.text, mark.box.left) for mark in marks] == [("Yes", 21), ("No way", 101)]


def test_a_list_is_marked_by_its_entries_and_a_paragraph_as_a_whole() -> None:
    def boxed(lines: list[str]) -> list[str]:
        picture = Image.new("RGB", (640, 400), "#dddddd")
        draw = ImageDraw.Draw(picture)
        draw.rectangle((20, 20, 266, 110), fill="white", outline="#555555")
        found = []
        for row, text in enumerate(lines):
            draw.text((26, 24 + 20 * row), text, fill="black", font=font())
            found.append(Line(text, Box(24, 22 + 20 * row, int(font().getlength(text)) + 4, 20)))
        return [mark.text for mark in marks_on(np.asarray(picture), found)]

    assert boxed(["Paper", "Toner", "Envelopes"]) == ["Paper", "Toner", "Envelopes"]
    assert boxed(["The receipt says 128.45, and the", "ledger says something else."]) == [
        "The receipt says 128.45, and the ledger says something else."
    ]


def test_a_field_divided_by_its_text_cursor_gets_one_mark() -> None:
    picture = Image.new("RGB", (640, 400), "#dddddd")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((20, 20, 260, 46), fill="white", outline="#777777")
    draw.text((24, 25), "abc", fill="black", font=font())
    draw.rectangle((52, 22, 53, 44), fill="black")
    (mark,) = marks_on(np.asarray(picture), [Line("abc", Box(20, 21, 36, 24))])
    assert (mark.text, mark.box.left, mark.box.right) == ("abc", 21, 260)


def test_cells_of_a_table_are_marked_and_not_the_table() -> None:
    picture = Image.new("RGB", (640, 400), "#dddddd")
    draw = ImageDraw.Draw(picture)
    for left in (20, 110, 200):
        for top in (20, 50, 80):
            draw.rectangle((left, top, left + 90, top + 30), fill="white", outline="#777777")
    marks = marks_on(np.asarray(picture), [])
    assert [(mark.point.x // 10, mark.point.y // 10) for mark in marks] == [
        (x, y) for y in (3, 6, 9) for x in (6, 15, 24)
    ]


def test_a_crowded_screen_drops_plain_text_first_and_then_the_last_buttons() -> None:
    def crowd(buttons: int, links: int, plain: int) -> tuple[Mark, ...]:
        picture = Image.new("RGB", (900, 900), "white")
        draw = ImageDraw.Draw(picture)
        lines = []
        for n in range(buttons + links + plain):
            left, top = 20 + 85 * (n % 10), 20 + 40 * (n // 10)
            name = f"b{n}" if n < buttons else f"l{n}" if n < buttons + links else f"t{n}"
            if name[0] == "b":
                draw.rectangle((left - 8, top - 4, left + 56, top + 22), fill="#e0e0e0", outline="#555555")
            draw.text((left, top), name, fill="#0645ad" if name[0] == "l" else "black", font=font())
            lines.append(Line(name, Box(left - 2, top - 2, int(font().getlength(name)) + 4, 22)))
        return marks_on(np.asarray(picture), lines)

    def kinds(marks: tuple[Mark, ...]) -> dict[str, int]:
        return {kind: sum(mark.text[:1] == kind for mark in marks) for kind in "blt"}

    assert kinds(crowd(40, 40, 60)) == {"b": 40, "l": 40, "t": MOST_MARKS - 80}
    assert kinds(crowd(60, 60, 60)) == {"b": 60, "l": MOST_MARKS - 60, "t": 0}
    most = crowd(110, 0, 20)
    assert [mark.text for mark in most] == [f"b{n}" for n in range(MOST_MARKS)]


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (7, 5), (64, 48)])
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_tiny_and_noisy_pictures_raise_no_error(size: tuple[int, int], seed: int | None) -> None:
    shape = (size[1], size[0], 3)
    pixels = (
        np.zeros(shape, np.uint8) if seed is None else np.random.default_rng(seed).integers(0, 255, shape, np.uint8)
    )
    lines = [Line("O", Box(0, 0, *size)), Line("a b c", Box(size[0] // 2, size[1] // 2, 1, 1))]
    marks = marks_on(pixels, lines)
    for mark in marks:
        assert mark.point.inside(Size(*size))
        assert mark.box.contains(mark.point)
    assert draw_marks(Image.fromarray(pixels), marks).size == size


@pytest.mark.parametrize(
    "name", ["set_of_mark.marks", "set_of_mark.drawing", "set_of_mark.elements", "vision.outlines"]
)
def test_importing_does_not_load_the_optional_packages(name: str) -> None:
    found = importlib.util.find_spec(f"holo_tasks.{name}")
    assert found is not None
    assert found.origin is not None
    top = [line for line in Path(found.origin).read_text().splitlines() if line.startswith(("import", "from"))]
    assert not [line for line in top if any(word in line for word in ("rapidocr", "numpy", "cv2", "PIL"))]


# -- real programs -------------------------------------------------------------------------------


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.parametrize("look", few(["classic", "flat", "dark"]))
async def test_a_click_on_a_mark_hits_the_marked_element(reader: Reader, tk: str, tmp_path: Path, look: str) -> None:
    state = State(tmp_path / "state")
    command = [tk, str(APPS / "probe_form.py"), str(state.path), look]
    async with VirtualDesktop(app=command) as desktop:
        await until(lambda: state.read().get("at"))
        picture = image(await desktop.look())
        marks = find_marks(picture, reader)
        parts: Boxes = state.read()["at"]
        assert missed(marks, parts) == {}
        for name, box in parts.items():
            (mark,) = marks_at(marks, box)
            await desktop.do(Click(resolve(marks, mark.number)))
            assert await until(lambda name=name: state.read()["clicked"][-1:] == [name]), name  # type: ignore[misc]
        assert state.read()["clicked"] == list(parts)
        for name in (*FORM_TEXTS, "Print"):
            assert name in {mark.text for mark in marks}
        assert overlapping(tag_boxes(picture, marks)) == []
        assert legible(reader, picture, marks) >= LEGIBLE


FORM_TEXTS = ("Save", "Save and close", "Cancel", "Help", "Express delivery", "Bank transfer", "Toner black")


@pytest.mark.desktop
async def test_a_click_on_the_mark_of_a_field_gives_it_the_keyboard(reader: Reader, tk: str, tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    async with VirtualDesktop(app=[tk, str(APPS / "probe_fields.py"), str(state.path)]) as desktop:
        await until(lambda: state.read().get("at"))
        marks = find_marks(image(await desktop.look()), reader)
        for field, (_, _, left, top) in state.read()["at"].items():
            # The file has the top left corner of each field; all fields are wider and higher than this offset.
            (mark,) = [mark for mark in marks if mark.box.contains(Point(left + 20, top + 8))]
            await desktop.do(Click(mark.point))
            assert await until(lambda field=field: state.read()["focus"] == field), field  # type: ignore[misc]


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.parametrize("points", few([11, 16]))
async def test_the_ledger_can_be_operated_by_marks_alone(reader: Reader, tk: str, tmp_path: Path, points: int) -> None:
    async with ledger(tk, tmp_path, points) as clerk:
        await clerk.see("sign_on", reader)
        await clerk.click("user")
        await clerk.desktop.do(Write("auditor"))
        await clerk.click("password")
        await clerk.desktop.do(Write("tulip"))
        await clerk.until(lambda state: len(state["values"]["password"]) == 5)
        await clerk.see("sign_on", reader)
        await clerk.click("log_in")
        await clerk.see("menu", reader)
        await clerk.click("transaction_search")
        await clerk.see("search", reader)
        await clerk.click("reference")
        await clerk.desktop.do(Write("wrong"))
        await clerk.until(lambda state: state["values"]["reference"] == "wrong")
        await clerk.see("search", reader)
        await clerk.click("search")
        await clerk.until(lambda state: state["status"].startswith("E-114"))
        await clerk.see("search", reader)
        await clerk.click("clear")
        await clerk.desktop.do(Write("TX-10482"))
        await clerk.until(lambda state: state["values"]["reference"] == "TX-10482")
        await clerk.click("search")
        await clerk.see("detail", reader)
        await clerk.click("flag")
        await clerk.see("flag", reader)
        await clerk.click("reason:Duplicate receipt")
        await clerk.until(lambda state: state["values"]["reason"] == "Duplicate receipt")
        await clerk.click("note")
        await clerk.desktop.do(Write("The same receipt was handed in twice in March, see the scans"))
        await clerk.until(lambda state: state["values"]["note"].endswith("scans"))
        await clerk.see("flag", reader)
        await clerk.click("save")
        await clerk.see("saved", reader)
        await clerk.click("ok")
        await clerk.see("detail", reader)
        assert clerk.read / clerk.drawn >= LEGIBLE
        assert clerk.flags() == ["Duplicate receipt"]


class Clerk:
    """A user who sees the screen only as marks, and clicks only on marks."""

    def __init__(self, desktop: Desktop, folder: Path) -> None:
        self.desktop = desktop
        self._folder = folder
        self._marks: tuple[Mark, ...] = ()
        self.drawn = self.read = 0

    def state(self) -> dict[str, Any]:
        path = self._folder / "state"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"screen": "", "busy": True}
        return found

    async def until(self, true: Callable[[dict[str, Any]], bool]) -> None:
        assert await until(lambda: true(self.state())), self.state()

    async def see(self, screen: str, reader: Reader) -> None:
        """Mark a screen. Check that every widget has one mark, and that tags are legible and apart."""
        await self.until(lambda state: state["screen"] == screen and not state["busy"])
        picture = image(await self.desktop.look(after_action=True))
        self._marks = find_marks(picture, reader)
        assert missed(self._marks, self.state()["widgets"]) == {}, screen
        tags = tag_boxes(picture, self._marks)
        assert overlapping(tags) == [], screen
        self.drawn += len(tags)
        self.read += round(legible(reader, picture, self._marks) * len(tags))

    async def click(self, part: str) -> None:
        (mark,) = marks_at(self._marks, self.state()["widgets"][part])
        await self.desktop.do(Click(resolve(self._marks, mark.number)))

    def flags(self) -> list[str]:
        from legacy_ledger_db import LedgerFile

        return [flag.reason for flag in LedgerFile(self._folder / "ledger.db").flags("TX-10482")]


@asynccontextmanager
async def ledger(tk: str, folder: Path, points: int) -> AsyncIterator[Clerk]:
    from legacy_ledger_db import Transaction, create_database

    lumiere = Transaction("TX-10482", "Café Lumière", "2024-03-11", 128450, "EUR", "Zoë Martin", "Posted")
    create_database(folder / "ledger.db", [lumiere])
    command = [tk, str(LEDGER), "--db", str(folder / "ledger.db")]
    command += ["--state-file", str(folder / "state"), "--font-size", str(points), "--tip-after", "0"]
    async with VirtualDesktop(app=command, env={"MERIDIAN_PASSWORD": "tulip"}) as desktop:
        yield Clerk(desktop, folder)


class State:
    """The file in which a test program reports its widgets' boxes and its events."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return found


@pytest.fixture(scope="module")
def tk() -> str:
    """A Python that has tkinter."""
    from holo_tasks.desktop import tk_python

    found: str = tk_python()
    return found


async def until(true: Callable[[], Any]) -> Any:
    """Wait for a program's reaction, up to a limit; the test asserts no duration."""
    end = time.monotonic() + PATIENCE_S
    while not (value := true()) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return value


# -- measures ------------------------------------------------------------------------------------


def image(frame: Frame) -> Image.Image:
    return Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)


def through_jpeg(picture: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return Image.open(buffer).convert("RGB")


def marks_at(marks: Sequence[Mark], box: Sequence[int]) -> list[Mark]:
    left, top, width, height = box
    return marks_in(marks, left, top, left + width, top + height)


def missed(marks: Sequence[Mark], parts: Boxes) -> dict[str, list[Mark]]:
    """Return the parts that do not have exactly one mark."""
    found = {name: marks_at(marks, box) for name, box in parts.items()}
    return {name: inside for name, inside in found.items() if len(inside) != 1}


def overlapping(boxes: Sequence[Box]) -> list[tuple[Box, Box]]:
    return [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
    ]


def legible(reader: Reader, picture: Image.Image, marks: Sequence[Mark]) -> float:
    return share_read(reader, draw_marks(picture, marks), picture, marks)


def share_read(reader: Reader, drawn: Image.Image, picture: Image.Image, marks: Sequence[Mark]) -> float:
    """Return the share of tags on a picture in which OCR reads the number."""
    right = 0
    for mark, tag in zip(marks, tag_boxes(picture, marks), strict=True):
        piece = np.asarray(drawn.crop((tag.left, tag.top, tag.right, tag.bottom)))[:, :, ::-1].copy()
        right += reader._ocr.read(piece)[0] == str(mark.number)
    return right / len(marks)
