"""A comparison ignores only repaints that cannot identify the pressed row. The pictures imitate real layouts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.repaints.repaint_exemptions import MOST, RepaintExemptions
from holo_tasks.core.repaints.repaint_rhythm import RepaintingArea
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.recheck import (
    InputTarget,
    Sighting,
    StackedWindow,
    Strip,
    WindowStack,
    change_at_target,
    rows,
)
from tests.support.long import few

SIZE = Size(640, 400)
WINDOW = WindowStack((StackedWindow(1, Box(0, 0, 640, 400)),), 1)
TARGET = Point(230, 100)
CLICKED, TYPED, TYPED_THERE = InputTarget((TARGET,)), InputTarget(), InputTarget(clicked=TARGET)
GROUND, WHITE = "#555555", "white"
ROW, NEAR = "its row looks different", "it looks different there"

Pencil = ImageDraw.ImageDraw
Draw = Callable[[Pencil], None]


def screen(*parts: Draw, windows: WindowStack = WINDOW) -> Sighting:
    picture = Image.new("RGB", (SIZE.width, SIZE.height), GROUND)
    for part in parts:
        part(ImageDraw.Draw(picture))
    return Sighting(Strip(SIZE, picture.tobytes("raw", "BGRX"), 0), windows)


def strip(seen: Sighting, where: InputTarget) -> Sighting:
    """Return the part of a screen that is compared right before input: only its relevant rows."""
    first, last = rows(seen.windows, SIZE, where)
    line = 4 * SIZE.width
    return Sighting(Strip(SIZE, bytes(seen.pixels.bgrx[first * line : last * line]), first), seen.windows)


def box(left: int, top: int, right: int, bottom: int, colour: str = WHITE) -> Draw:
    return lambda pencil: pencil.rectangle((left, top, right - 1, bottom - 1), fill=colour)


def text(words: str, x: int, y: int = 100) -> Draw:
    return lambda pencil: pencil.text((x, y - 6), words, fill="black")


def button(y: int = 100, half: int = 12) -> Draw:
    def draw(pencil: Pencil) -> None:
        pencil.rectangle((200, y - half, 260, y + half), fill="#dddddd", outline="black")
        pencil.text((216, y - 6), "Open", fill="black")

    return draw


def buttons() -> Draw:
    """Draw a list of buttons, whose rows can be compared with the content next to them."""

    def draw(pencil: Pencil) -> None:
        for y in (100, 60, 140):
            button(y)(pencil)

    return draw


def sheets(gap: int = 5, tall: int = 210) -> list[Draw]:
    """Draw two panels side by side, with the gap between them ending at 300."""
    return [box(0, 0, 300 - gap, tall), box(300, 0, 460, tall)]


def why(before: Sighting, now: Sighting, where: InputTarget, *areas: RepaintingArea) -> str:
    return change_at_target(before, RepaintExemptions(before, where).without_repaints(strip(now, where), areas), where)


def at(x: int, y: int = 100, wide: int = 72, *, swift: bool = False) -> RepaintingArea:
    return RepaintingArea(Box(x // 8 * 8, (y - 8) // 8 * 8, wide, 16), swift)


def two(*parts: Draw, x: int, y: int = 100, words: tuple[str, str] = ("12:03:14", "12:03:15")) -> list[Sighting]:
    return [screen(*parts, buttons(), text(word, x, y)) for word in words]


def test_a_clock_on_the_next_panel_is_ignored_only_at_its_learned_place() -> None:
    before, now = two(*sheets(), text("Time left:", 306), x=380)
    assert change_at_target(before, strip(now, CLICKED), CLICKED) == ROW
    assert why(before, now, CLICKED, at(376)) == ""
    assert why(before, now, CLICKED, at(376, y=180)) == ROW
    assert why(before, now, CLICKED, at(376, wide=8)) == ROW
    assert why(before, now, TYPED_THERE, at(376)) == ""
    assert why(before, now, TYPED_THERE) == NEAR


@pytest.mark.parametrize(("x", "area"), [(30, 24), (120, 120), (270, 264)], ids=["left", "near left", "right"])
def test_nothing_is_ignored_on_the_same_panel(x: int, area: int) -> None:
    before, now = two(box(0, 0, 640, 400), x=x, words=("Alice", "Bobby"))
    for where in (CLICKED, TYPED_THERE):
        assert why(before, now, where, at(area), at(area, wide=240, swift=True))
        assert why(before, now, where, RepaintingArea(Box(0, 0, 640, 400), swift=True))


def test_nothing_is_ignored_on_a_panel_left_of_the_target() -> None:
    before, now = two(box(0, 0, 160, 210), box(165, 0, 460, 210), x=30)
    assert why(before, now, CLICKED, at(24)) == ROW


def grid(left: int, width: int, colour: str, pitch: int) -> list[Draw]:
    """Draw a table with lines of equal width between its rows and columns."""
    lines = [box(left, 0, left + width, 400, colour)]
    return [box(0, 0, 640, 400), *lines, *(box(0, y, 640, y + width, colour) for y in range(70, 400, pitch))]


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("pitch", [60, 400], ids=["rows", "no rows"])
@pytest.mark.parametrize("colour", ["black", "#dddddd", GROUND])
def test_table_lines_do_not_divide_rows(width: int, pitch: int, colour: str) -> None:
    before, now = two(*grid(290, width, colour, pitch), x=380, words=("Alice", "Bobby"))
    assert why(before, now, CLICKED, at(376)) == ROW


@pytest.mark.parametrize("spacing", [4, 6, 10])
def test_the_space_between_cells_does_not_divide_rows(spacing: int) -> None:
    cells = [
        box(left, y, right, y + 60 - spacing)
        for y in range(14, 400, 60)
        for left, right in ((0, 290), (290 + spacing, 640))
    ]
    before, now = two(*cells, x=380, y=70)
    before, now = two(*cells, x=380)
    assert why(before, now, CLICKED, at(376)) == ROW


def test_scroll_bars_rails_empty_columns_and_borders_do_not_divide_rows() -> None:
    all_white = box(0, 0, 640, 400)
    layouts: list[list[Draw]] = [
        [all_white, box(290, 0, 302, 400, "#cccccc"), box(291, 60, 301, 160, "#888888")],
        [all_white, box(290, 10, 302, 390, "#cccccc")],
        [all_white, box(290, 0, 295, 300, "#3366cc")],
        [all_white, box(280, 0, 281, 400, "black"), box(310, 0, 311, 400, "black")],
        [all_white, box(280, 0, 281, 300, "black"), box(310, 0, 311, 300, "black")],
        [all_white, lambda pencil: pencil.rectangle((10, 10, 290, 300), outline="black")],
    ]
    for layout in layouts:
        before, now = two(*layout, x=380)
        assert why(before, now, CLICKED, at(376)) == ROW


@pytest.mark.parametrize(("gap", "tall"), [(3, 210), (80, 210), (5, 150), (5, 400)])
def test_a_gap_of_a_wrong_size_or_without_an_opening_does_not_count(gap: int, tall: int) -> None:
    before, now = two(*sheets(gap, tall), x=380)
    assert why(before, now, CLICKED, at(376)) == ROW


def test_a_photo_or_a_gradient_is_not_a_gap() -> None:
    chance = random.Random(1)

    def photo(pencil: Pencil) -> None:
        for x in range(0, 640, 4):
            for y in range(0, 400, 4):
                level = chance.randrange(60, 255)
                pencil.rectangle((x, y, x + 3, y + 3), fill=(level, level, level))

    def shade(pencil: Pencil) -> None:
        for x in range(640):
            pencil.line((x, 0, x, 400), fill=(255 - x // 8,) * 3)

    for ground in (photo, shade):
        chance.seed(1)
        before = screen(ground, buttons(), text("Alice", 380))
        chance.seed(1)
        now = screen(ground, buttons(), text("Bobby", 380))
        assert why(before, now, CLICKED, at(376)) == ROW


@pytest.mark.parametrize(
    ("rows", "listed", "why_not"),
    [(5, 5, ROW), (5, 3, ROW), (2, 2, ROW), (5, 2, ROW), (5, 1, ""), (1, 5, ROW), (1, 1, ROW)],
)
def test_rows_that_continue_on_the_next_panel_belong_to_one_table(rows: int, listed: int, why_not: str) -> None:
    heights = [100, 140, 60, 180, 20]

    def table(number: int) -> Sighting:
        names = [text(f"TX-{1040 + 7 * n + number}", 380, y) for n, y in enumerate(heights[:listed])]
        return screen(*sheets(), *(button(y) for y in heights[:rows]), *names)

    assert why(table(0), table(1), CLICKED, RepaintingArea(Box(376, 8, 72, 184))) == why_not


HEIGHTS = (100, 140, 60, 180, 20)


def labelled(number: int, x: int, *more: Draw, words: Sequence[str] = ("Open",) * 5) -> Sighting:
    """Draw five rows over two panels: buttons on the first, and their labels on the second."""

    def row(pencil: Pencil) -> None:
        for y, word in zip(HEIGHTS, words, strict=True):
            pencil.rectangle((200, y - 12, 260, y + 12), fill="#dddddd", outline="black")
            pencil.text((216, y - 6), word, fill="black")

    names = [text(f"TX-{1040 + 7 * n + number}", x, y) for n, y in enumerate(HEIGHTS)]
    return screen(*sheets(), *more, row, *names)


@pytest.mark.parametrize("x", [304, 308, 312, 316, 322, 340, 405])
def test_names_belong_to_a_table_at_any_place_on_their_panel(x: int) -> None:
    area = RepaintingArea(Box(x // 8 * 8 - 8, 0, 72, 200))
    assert why(labelled(0, x), labelled(1, x), CLICKED, area) == ROW


@pytest.mark.parametrize("words", [("Stop", "Start", "Start", "Pause", "Start"), ("",) * 5])
def test_rows_belong_to_a_table_whatever_control_is_pressed(words: Sequence[str]) -> None:
    area = RepaintingArea(Box(336, 0, 72, 200))
    assert why(labelled(0, 350, words=words), labelled(1, 350, words=words), CLICKED, area) == ROW


def test_a_line_between_columns_belongs_to_no_row() -> None:
    def line(pencil: Pencil) -> None:
        pencil.line((400, 0, 400, 209), fill="#bbb")

    assert why(labelled(0, 350, line), labelled(1, 350, line), CLICKED, RepaintingArea(Box(336, 0, 120, 200))) == ROW


@pytest.mark.parametrize("size", [13, 20, 26])
@pytest.mark.parametrize(
    "names",
    [(("Peggy", "Anna", "Bob"), ("Gary", "Hanna", "Rob")), (("anna", "Bobby", "Peter"), ("rosa", "Carol", "Diego"))],
)
def test_names_of_any_size_belong_to_one_table(size: int, names: tuple[Sequence[str], Sequence[str]]) -> None:
    font = ImageFont.truetype("DejaVuSans.ttf", size)

    def table(words: Sequence[str]) -> Sighting:
        def write(pencil: Pencil) -> None:
            for y, word in zip((100, 160, 40), words, strict=True):
                pencil.text((350, y), word, fill="black", font=font, anchor="lm")

        return screen(*sheets(), *(button(y) for y in (100, 160, 40)), write)

    assert why(table(names[0]), table(names[1]), CLICKED, RepaintingArea(Box(336, 0, 112, 200))) == ROW


def tabled(number: int, *more: Draw, y: Sequence[int] = HEIGHTS, own: bool = False, x: int = 340) -> Sighting:
    """Return pictures of names on the second panel. In the second picture, all names or only the target's have
    changed.
    """
    names = [
        text(f"TX-{1040 + 7 * n + (number if not own or at_y == 100 else 0)}", x, at_y) for n, at_y in enumerate(y)
    ]
    return screen(*sheets(), *more, *names)


def lines(words: str, x: int, heights: Sequence[int]) -> Draw:
    def draw(pencil: Pencil) -> None:
        for y in heights:
            text(words, x, y)(pencil)

    return draw


@pytest.mark.parametrize("own", [False, True], ids=["all", "own"])
@pytest.mark.parametrize("below", [14, 18, 22, 24, -18, -22])
def test_rows_of_several_lines_are_rows(below: int, own: bool) -> None:
    parts = [*(button(y, 8) for y in HEIGHTS), lines("since 2 d", 205, [y + below for y in HEIGHTS])]
    before, now = tabled(0, *parts, own=own), tabled(900, *parts, own=own)
    assert why(before, now, CLICKED, RepaintingArea(Box(328, 0, 72, 208))) == ROW
    clock = [screen(*sheets(), *parts, text(word, 380)) for word in ("12:03:14", "12:03:15")]
    assert why(*clock, CLICKED, at(376)) == ""


@pytest.mark.parametrize("dense", [lines("|gTj", 205, range(12, 205, 11)), box(205, 0, 250, 205, "#336699")])
def test_pressed_controls_may_leave_no_gap_between_rows(dense: Draw) -> None:
    assert why(tabled(0, dense), tabled(900, dense), CLICKED, RepaintingArea(Box(328, 0, 72, 208))) == ROW


def test_a_button_that_only_the_target_has_belongs_to_its_list() -> None:
    parts = [lines("row", 120, HEIGHTS), button(), lines("Help", 216, (36, 80, 160))]
    assert why(tabled(0, *parts), tabled(900, *parts), CLICKED, RepaintingArea(Box(328, 0, 72, 208))) == ROW


@pytest.mark.parametrize("x", [320, 380])
def test_a_cell_belongs_to_its_words_and_its_panel(x: int) -> None:
    def waiting(number: int) -> Sighting:
        names = [text("Bob", 320, y) for y in HEIGHTS if y != 100 or x == 320]
        return screen(*sheets(), *(button(y) for y in HEIGHTS), *names, text(f"       waits {number}", x))

    assert why(waiting(14), waiting(72), CLICKED, RepaintingArea(Box(x // 8 * 8 + 16, 80, 72, 40))) == ROW


def test_a_sparse_column_belongs_to_the_table() -> None:
    heights = (100, 178, 22)
    parts = [button(y, 8) for y in range(22, 200, 26)]
    assert (
        why(tabled(0, *parts, y=heights), tabled(900, *parts, y=heights), CLICKED, RepaintingArea(Box(328, 0, 72, 208)))
        == ROW
    )


def test_rows_may_cross_three_panels() -> None:
    def third(number: int) -> Sighting:
        more = [box(0, 0, 290, 210), box(295, 0, 350, 210), box(355, 0, 600, 210), lines("note", 300, HEIGHTS)]
        return screen(*more, *(button(y) for y in HEIGHTS), text(f"TX-{number}", 380), text("EUR", 560))

    assert why(third(1040), third(2050), CLICKED, at(376)) == ROW


@pytest.mark.parametrize("off", [-10, -7, 7, 10])
def test_a_press_need_not_hit_the_middle_of_a_row(off: int) -> None:
    parts = [button(y + off) for y in HEIGHTS]
    heights = [y + off for y in HEIGHTS]
    assert (
        why(tabled(0, *parts, y=heights), tabled(900, *parts, y=heights), CLICKED, RepaintingArea(Box(328, 0, 72, 208)))
        == ROW
    )


def test_new_words_in_a_blank_place_are_compared() -> None:
    before = screen(*sheets(), *(button(y) for y in HEIGHTS))
    area = RepaintingArea(Box(328, 0, 72, 208))
    assert why(before, tabled(0, *(button(y) for y in HEIGHTS)), CLICKED, area) == ROW
    coloured = [screen(*sheets(), buttons(), box(336, 70, 392, 130, colour)) for colour in ("gold", "tomato")]
    assert why(*coloured, CLICKED, area) == ""


def test_a_video_has_no_rows_and_is_never_blank() -> None:
    def filmed(seed: int) -> Sighting:
        chance = random.Random(seed)

        def roll(pencil: Pencil) -> None:
            for x in range(308, 448, 20):
                for y in range(70, 190, 20):
                    colour = tuple(chance.randrange(40, 256) for _ in range(3))
                    pencil.rectangle((x, y, x + 19, y + 19), fill=colour)

        return screen(*sheets(), *(button(y, 10) for y in range(34, 200, 33)), roll)

    area = RepaintingArea(Box(304, 64, 152, 136), swift=True)
    for seed in range(10):
        assert why(filmed(seed), filmed(1000 + seed), CLICKED, area) == "", seed
    names = tabled(0, buttons()), tabled(900, buttons())
    assert why(*names, CLICKED, RepaintingArea(Box(328, 0, 72, 208), swift=True)) == ROW
    assert why(screen(*sheets(), buttons()), names[1], CLICKED, RepaintingArea(Box(328, 0, 72, 208), swift=True)) == ROW


def test_fewer_rows_are_compared_at_the_edge_of_the_screen() -> None:
    def bottom(colour: str) -> Sighting:
        heights = (394, 354, 314)
        return screen(
            box(0, 120, 295, 400),
            box(300, 120, 460, 400),
            *(button(y) for y in heights),
            box(336, 384, 392, 400, colour),
        )

    where = InputTarget((Point(230, 396),))
    assert why(bottom("gold"), bottom("tomato"), where, RepaintingArea(Box(328, 376, 72, 24))) == ""
    assert why(bottom("gold"), screen(), where, RepaintingArea(Box(328, 376, 72, 24)))


def test_a_list_may_begin_far_left_of_the_target() -> None:
    parts = [lines("row", 20, HEIGHTS), button(), lines("Help", 216, (36, 80, 160))]
    assert why(tabled(0, *parts), tabled(900, *parts), CLICKED, RepaintingArea(Box(328, 0, 72, 208))) == ROW


def any_table(chance: random.Random) -> tuple[Sighting, Sighting, InputTarget, RepaintingArea]:
    """Draw random rows over two or three panels. In the second picture, the target's name or all names have changed."""
    tall, ground, pitch = chance.randrange(190, 390), chance.randrange(200, 300), chance.choice((18, 24, 32, 40, 56))
    wide = chance.choice((4, 5, 8, 16, 24))
    heights = range(chance.randrange(20, 60), tall - pitch // 2, pitch)
    own, third = chance.choice(heights), chance.random() < 0.3
    names_x = ground + wide + chance.choice((2, 8, 40, 90))
    if third:
        names_x = ground + wide + 62 + wide + chance.choice((3, 30))
    target = Point(chance.randrange(60, ground - 40), own + chance.randrange(-5, 6))
    font = ImageFont.truetype("DejaVuSans.ttf", chance.choice([size for size in (9, 13, 16, 26) if size + 4 <= pitch]))
    named = [y for y in heights if y == own or chance.random() < 0.7]
    named = named if len(named) > 1 else list(heights)
    kind, caption, all_ = chance.choice(("button", "box", "words")), chance.random() < 0.3, chance.random() < 0.5
    words = {y: chance.choice(("Alice", "gary", "Mr. Gray", "TX-1040", "40.12", "ilil", "x")) for y in heights}
    edges = [(0, ground), (ground + wide, 620)]
    if third:
        edges = [edges[0], (ground + wide, ground + wide + 60), (ground + 2 * wide + 60, 620)]

    def draw(number: int) -> Draw:
        def on(pencil: Pencil) -> None:
            for left, right in edges:
                pencil.rectangle((left, 0, right - 1, tall), fill=WHITE)
            for y in heights:
                if kind == "button":
                    pencil.rectangle((target.x - 28, y - 7, target.x + 28, y + 7), fill="#dddddd", outline="black")
                if kind == "box":
                    pencil.rectangle((target.x - 6, y - 6, target.x + 6, y + 6), outline="#777777")
                else:
                    pencil.text((target.x - 16, y), "Open", fill="black", anchor="lm", font=font.font_variant(size=9))
                if caption:
                    pencil.text((target.x - 20, y + pitch // 2), "since", fill="#555555", anchor="lm", font=font)
            for y in named:
                other = f"{number}" if number and (all_ or y == own) else ""
                pencil.text((names_x, y), other + words[y], fill="black", anchor="lm", font=font)

        return on

    first, last = (0, tall) if all_ else (own - 24, own + 24)
    area = RepaintingArea(
        Box(names_x // 8 * 8 - 8, max(0, first) // 8 * 8, 160, last // 8 * 8 + 8 - max(0, first) // 8 * 8)
    )
    return screen(draw(0)), screen(draw(7)), InputTarget((target,)), area


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_a_changed_name_stops_a_press_in_any_table(seed: int) -> None:
    for number in range(20):
        before, now, where, area = any_table(random.Random(20 * seed + number))
        assert change_at_target(before, strip(now, where), where)
        assert why(before, now, where, area), number


def test_nothing_is_ignored_among_too_many_ticking_places() -> None:
    before, now = two(*sheets(), x=380)
    more = [RepaintingArea(Box(360 + 8 * n, 96, 8, 8)) for n in range(MOST)]
    assert why(before, now, CLICKED, at(376), *more[1:]) == ""
    assert why(before, now, CLICKED, at(376), *more) == ROW


def test_a_gap_that_disappeared_divides_nothing() -> None:
    before, now = two(*sheets(), x=380)
    covered = screen(*sheets(), buttons(), text("12:03:15", 380), box(294, 96, 301, 106, "red"))
    assert why(before, now, CLICKED, at(376)) == ""
    assert why(before, covered, CLICKED, at(376)) == ROW
    merged = screen(box(0, 0, 460, 210), buttons(), text("12:03:15", 380))
    assert why(before, merged, CLICKED, at(376), at(288, wide=24)) == ROW


def test_a_clock_does_not_hide_other_changes_in_the_row() -> None:
    before = screen(*sheets(), buttons(), text("TX-1040", 30), text("12:03:14", 380))
    now = screen(*sheets(), buttons(), text("TX-1039", 30), text("12:03:15", 380))
    beside = screen(*sheets(), buttons(), text("TX-1040", 30), text("12:03:15", 380), text("Now", 310))
    assert why(before, now, CLICKED, at(376)) == ROW
    assert why(before, beside, CLICKED, at(376)) == ROW


def test_places_near_the_point_are_never_ignored() -> None:
    near = InputTarget((Point(290, 100),))
    before, now = two(*sheets(), x=304, words=("Alice", "Bobby"))
    assert why(before, now, near, at(304)) == NEAR
    large = [screen(*sheets(), box(200, 85, 260, 115, "#dddddd"), text(f"Kill job {n}", 206)) for n in (14, 17)]
    assert why(*large, CLICKED, at(200)) == NEAR


def test_a_box_over_both_panels_and_a_very_large_box_are_compared() -> None:
    before, now = two(*sheets(), x=380)
    assert why(before, now, CLICKED, RepaintingArea(Box(264, 88, 196, 24))) == ROW
    assert why(before, now, CLICKED, RepaintingArea(Box(304, 0, 336, 400), swift=True)) == ROW


def test_nothing_is_ignored_if_a_window_moved_or_appeared() -> None:
    before, now = two(*sheets(), x=380)
    other = replace(WINDOW, panes=(*WINDOW.panes, StackedWindow(2, Box(500, 300, 50, 50))))
    assert why(before, Sighting(now.pixels, other), CLICKED, at(376)) == ROW


def test_every_point_of_a_drag_must_be_on_another_panel() -> None:
    before, now = two(*sheets(), x=380)
    assert why(before, now, InputTarget((TARGET, Point(230, 180))), at(376)) == ""
    assert why(before, now, InputTarget((TARGET, Point(440, 100))), at(376))


def question(words: str, colour: str = WHITE) -> list[Draw]:
    lines = [text(f"{words} {words} {words}", 120, y) for y in range(60, 340, 20)]
    return [box(0, 0, 640, 400, colour), *lines]


def test_keys_are_sent_to_a_window_with_clocks_but_not_to_another_question() -> None:
    corners = [(20, 20), (560, 380)]

    def with_clocks(words: str, *parts: Draw) -> Sighting:
        return screen(*parts, *(text(words, *corner) for corner in corners))

    before, now = (with_clocks(words, *question("Delete Alice?")) for words in ("12:03:14", "12:03:15"))
    clocks = [at(16, 20), at(560, 380)]
    other = with_clocks("12:03:15", *question("Remove all of them now?"))
    assert change_at_target(before, strip(now, TYPED), TYPED) == "its window looks different"
    assert why(before, now, TYPED, *clocks) == ""
    assert why(before, now, TYPED, clocks[0], clocks[0]) == ""
    assert why(before, other, TYPED, *clocks) == "its window looks different"


@pytest.mark.parametrize("swift", [True, False])
def test_keys_are_not_sent_to_a_window_that_repaints_all_over(swift: bool) -> None:
    before, now = screen(*question("Delete Alice?")), screen(*question("Delete Bobby?", "#eeeeee"))
    for areas in (
        [RepaintingArea(Box(0, 0, 640, 400), swift)],
        [RepaintingArea(Box(x, 0, 160, 400), swift) for x in range(0, 640, 160)],
    ):
        assert why(before, now, TYPED, *areas) == "its window looks different"


def test_a_video_does_not_stop_keys_but_equally_large_text_does() -> None:
    def film(colour: str) -> Sighting:
        return screen(box(0, 0, 640, 400), box(40, 40, 360, 220, colour), text("x", 600, 390))

    video = Box(40, 40, 320, 180)
    before, now = film("red"), film("blue")
    moved_on = screen(box(0, 0, 640, 400), box(40, 40, 360, 220, "blue"), text("y", 600, 390))
    assert why(before, moved_on, TYPED, RepaintingArea(video, swift=True)) == ""
    assert why(before, moved_on, TYPED, RepaintingArea(video)) == "its window looks different"
    assert why(before, now, InputTarget(clicked=Point(200, 100)), RepaintingArea(video, swift=True)) != ""
