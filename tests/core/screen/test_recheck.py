"""Changes at the target of input are detected right before it is sent. The pictures are made up pixel by pixel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.recheck import (
    NEAR,
    ROW,
    InputTarget,
    Sighting,
    StackedWindow,
    WindowStack,
    aim,
    areas,
    change_at_target,
    changed_columns,
)

SIZE = Size(320, 200)
WINDOW, OTHER = StackedWindow(1, Box(20, 10, 280, 180)), StackedWindow(2, Box(200, 20, 90, 60))
TARGET = Point(120, 100)
CLICKED, TYPED, TYPED_THERE = InputTarget((TARGET,)), InputTarget(), InputTarget(clicked=TARGET)


@dataclass(frozen=True)
class Drawn:
    """A picture in memory."""

    size: Size
    bgrx: bytes
    top: int = 0


def screen(
    *painted: Box, windows: tuple[StackedWindow, ...] = (WINDOW,), focus: int = 1, size: Size = SIZE
) -> Sighting:
    """Return a white screen with some black boxes."""
    pixels = bytearray(b"\xff" * (4 * size.width * size.height))
    for box in painted:
        for y in range(max(0, box.top), min(size.height, box.bottom)):
            left, right = max(0, box.left), min(size.width, box.right)
            start = 4 * (y * size.width + left)
            pixels[start : start + 4 * (right - left)] = bytes(4 * (right - left))
    return Sighting(Drawn(size, bytes(pixels)), WindowStack(windows, focus))


near = st.integers(-NEAR, NEAR)


@given(near, near, st.integers(0, 2), st.sampled_from([b"\x00", b"\xfe"]))
@settings(deadline=None)
def test_any_changed_pixel_near_a_point_is_noticed(dx: int, dy: int, channel: int, value: bytes) -> None:
    before = screen()
    pixels = bytearray(before.pixels.bgrx)
    at = 4 * ((TARGET.y + dy) * SIZE.width + TARGET.x + dx) + channel
    pixels[at : at + 1] = value
    assert change_at_target(before, replace(before, pixels=Drawn(SIZE, bytes(pixels))), CLICKED)


@given(st.integers(20, 295), st.integers(-10, 10), st.integers(1, 4), st.integers(10, 64))
@settings(deadline=None)
def test_a_caret_in_the_row_is_ignored(x: int, dy: int, width: int, height: int) -> None:
    caret = Box(x, TARGET.y + dy - height // 2, width, height)
    beside = caret.right <= TARGET.x - NEAR or caret.left > TARGET.x + NEAR
    assert bool(change_at_target(screen(), screen(caret), CLICKED)) is not beside
    assert change_at_target(screen(caret), screen(), TYPED_THERE) == ""


@given(st.integers(20, 290), st.integers(-ROW, ROW), st.integers(1, 60))
@settings(deadline=None)
def test_a_larger_change_in_the_row_is_noticed(x: int, dy: int, width: int) -> None:
    beside = Box(x, TARGET.y + dy, min(width, 300 - x), 1)
    assert change_at_target(screen(), screen(beside), CLICKED)


def _is_near(box: Box) -> bool:
    return box.left <= TARGET.x + NEAR and box.right > TARGET.x - NEAR


@given(st.integers(0, SIZE.width - 1), st.integers(0, SIZE.height - 1))
@settings(deadline=None)
def test_changes_in_other_rows_or_windows_are_ignored(x: int, y: int) -> None:
    far = Box(x, y, 30, 4)
    in_row = far.top <= TARGET.y + ROW and far.bottom > TARGET.y - ROW and far.right > 20 and far.left < 300
    around = _is_near(far) and far.top <= TARGET.y + NEAR and far.bottom > TARGET.y - NEAR
    assert bool(change_at_target(screen(), screen(far), CLICKED)) is (around or in_row)


@pytest.mark.parametrize("pitch", [14, 18, 20, 24, 46])
def test_a_list_that_moved_by_one_row_is_noticed_despite_equal_buttons(pitch: int) -> None:
    buttons = [Box(100, y, 40, pitch // 2) for y in range(20 + 80 % pitch, 180, pitch)]

    def names(shift: int) -> list[Box]:
        return [Box(220, box.top + 2, 5 + (n + shift) % 7, 2) for n, box in enumerate(buttons)]

    before, now = screen(*buttons, *names(0)), screen(*buttons, *names(1))
    assert change_at_target(before, now, CLICKED) == "its row looks different"
    assert change_at_target(before, before, CLICKED) == ""


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_moved_list_is_noticed_even_if_its_rows_differ_by_a_thin_stroke(width: int) -> None:
    buttons = [Box(100, y, 40, 12) for y in range(20, 180, 20)]
    strokes = [[Box(220, box.top + 2 + (n + shift) % 3, width, 8) for n, box in enumerate(buttons)] for shift in (0, 1)]
    assert (
        change_at_target(screen(*buttons, *strokes[0]), screen(*buttons, *strokes[1]), CLICKED)
        == "its row looks different"
    )


BAR = Box(290, 40, 6, 120)
ROUND = [replace(BAR, left=291, width=4), Box(290, 44, 6, 112)]


@pytest.mark.parametrize("where", [CLICKED, TYPED_THERE])
def test_a_scroll_bar_that_fades_is_ignored_and_marks_of_a_list_are_not(where: InputTarget) -> None:
    caret = Box(60, 95, 1, 16)
    assert change_at_target(screen(BAR, caret), screen(), where) == ""
    assert change_at_target(screen(*ROUND, caret), screen(), where) == ""
    assert change_at_target(screen(caret), screen(BAR), where) == ""
    assert change_at_target(screen(), screen(replace(BAR, top=70, height=50)), where), "too short for a scroll bar"
    assert change_at_target(screen(), screen(replace(BAR, left=270, width=20)), where), "too wide for a scroll bar"
    marks = [Box(290, top, 6, 12) for top in range(40, 160, 20)]
    assert change_at_target(screen(), screen(*marks), where), "a column of marks has gaps"
    assert change_at_target(screen(), screen(replace(BAR, left=TARGET.x)), CLICKED), "nothing may change at a press"


def test_another_window_is_noticed_even_if_it_looks_the_same() -> None:
    over, aside = StackedWindow(3, Box(100, 80, 50, 50)), StackedWindow(4, Box(250, 150, 40, 30))
    assert change_at_target(screen(), screen(windows=(WINDOW, over)), CLICKED) == "another window is there"
    assert change_at_target(screen(), screen(windows=(WINDOW, aside)), CLICKED) == ""
    assert change_at_target(screen(), screen(windows=()), CLICKED) == "another window is there"


@pytest.mark.parametrize("where", [CLICKED, TYPED, TYPED_THERE])
def test_a_changed_focus_is_noticed(where: InputTarget) -> None:
    assert change_at_target(screen(), screen(focus=2), where) == "another window has the keyboard"
    assert change_at_target(screen(focus=0), screen(focus=0), where) == ""


@pytest.mark.parametrize("where", [CLICKED, TYPED, TYPED_THERE])
def test_a_screen_of_another_size_has_changed(where: InputTarget) -> None:
    assert change_at_target(screen(), screen(size=Size(400, 300)), where)


def test_keys_are_sent_after_a_small_change_of_their_window_only() -> None:
    little, much, outside = Box(200, 150, 60, 20), Box(30, 20, 200, 100), Box(0, 0, 320, 9)
    assert change_at_target(screen(), screen(little), TYPED) == ""
    assert change_at_target(screen(), screen(much), TYPED) == "its window looks different"
    assert change_at_target(screen(), screen(outside), TYPED) == ""
    corners = [Box(22, 12, 2, 2), Box(290, 180, 8, 8)]
    assert change_at_target(screen(), screen(*corners), TYPED) == "its window looks different"


def test_keys_are_not_sent_if_the_clicked_place_changed() -> None:
    there, beside = Box(TARGET.x + 5, TARGET.y, 9, 9), Box(250, 20, 9, 9)
    assert change_at_target(screen(), screen(there), TYPED) == ""
    assert change_at_target(screen(), screen(there), TYPED_THERE) == "it looks different there"
    assert change_at_target(screen(), screen(beside), TYPED_THERE) == ""
    assert change_at_target(screen(), screen(there), InputTarget(clicked=Point(5, 5))) == ""


def test_movement_beside_a_target_is_ignored_but_never_on_it() -> None:
    beside, on = Box(250, 95, 20, 10), Box(TARGET.x, TARGET.y, 20, 10)
    [row] = areas(screen(), CLICKED)
    for changed, still in ((beside, True), (on, False)):
        turning = changed_columns(screen(), screen(changed), row)
        assert change_at_target(screen(), screen(changed), CLICKED)
        assert (change_at_target(screen(), screen(changed), CLICKED, {row: turning}) == "") is still


@pytest.mark.parametrize(
    ("gesture", "where"),
    [
        (Click(TARGET), CLICKED),
        (Scroll(TARGET, "down", 3), CLICKED),
        (Write("text", at=TARGET), CLICKED),
        (Drag(TARGET, Point(1, 1)), InputTarget((TARGET, Point(1, 1)))),
        (Write("text"), InputTarget(clicked=Point(9, 9))),
        (Hotkey(("ctrl", "s")), InputTarget(clicked=Point(9, 9))),
        (HoldAndTap(("ctrl",), ("a",)), InputTarget(clicked=Point(9, 9))),
        (Move(TARGET), None),
        (Pause(1), None),
    ],
)
def test_every_pressing_gesture_has_a_target(gesture: Gesture, where: InputTarget | None) -> None:
    assert aim(gesture, Point(9, 9)) == where
