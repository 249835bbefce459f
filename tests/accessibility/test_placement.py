"""An element's box: the toolkit's position, compared with the X server's position of the window."""

from __future__ import annotations

import pytest

from holo_tasks.accessibility.embedded import move
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import Extents, TopWindow, fit, list_fit, place
from holo_tasks.accessibility.shortcuts import shortcut_of
from holo_tasks.core.screen.geometry import Box

CONTENT, FRAMED = Box(100, 120, 400, 300), Box(99, 100, 402, 321)
FORM = TopWindow(1, 7, "Form", CONTENT, FRAMED)
SCREEN = Box(0, 0, 1280, 800)


def boxed(told, window, element, *, in_window=False, windows=(FORM,)):
    found = fit(window, "Form", 7, windows, in_window=in_window)
    return found and found.on_screen(element)


@pytest.mark.parametrize(
    ("window", "element", "told"),
    [
        ((100, 120, 400, 300), (110, 130, 80, 30), "as it is"),
        ((99, 100, 402, 321), (110, 130, 80, 30), "with the window manager's frame"),
        ((50, 60, 200, 150), (55, 65, 40, 15), "in pixels of twice the size"),
        ((50, 50, 201, 160), (55, 65, 40, 15), "so, with the frame"),
        ((0, 0, 400, 300), (10, 10, 80, 30), "relative to the window"),
    ],
)
def test_a_box_in_the_toolkits_own_pixels_is_converted(window, element, told):
    assert boxed(told, window, element) == Box(110, 130, 80, 30), told


def test_a_box_of_gtk_4_is_relative_to_the_window():
    assert boxed("", (0, 0, 400, 300), (10, 10, 80, 30), in_window=True) == Box(110, 130, 80, 30)


@pytest.mark.parametrize(
    ("window", "element", "box"),
    [
        ((0, 0, 390, 290), (10, 10, 80, 30), Box(115, 135, 80, 30)),
        ((0, 0, 195, 145), (5, 5, 40, 15), Box(115, 135, 80, 30)),
        ((0, 0, 200, 150), (5, 5, 40, 15), Box(110, 130, 80, 30)),
    ],
)
def test_the_border_that_gtk_4_draws_around_its_content_moves_a_box(window, element, box):
    assert boxed("", window, element, in_window=True) == box, "a border of 5 pixels, and none, at two scales"


def test_a_window_without_a_border_is_preferred_to_a_larger_one():
    larger = TopWindow(2, 7, "Form", Box(500, 100, 420, 320), Box(500, 100, 420, 320))
    for windows in ((FORM, larger), (larger, FORM)):
        found = boxed("", (0, 0, 400, 300), (10, 10, 80, 30), in_window=True, windows=windows)
        assert found == Box(110, 130, 80, 30)


@pytest.mark.parametrize(
    "window",
    [(100, 120, 700, 300), (100, 120, 0, 0), (100, 120, -400, -300), (-(2**31), 0, 400, 300), (0, 0, 4000, 3000)],
)
def test_a_window_unlike_any_of_the_x_server_s_is_ignored(window):
    assert boxed("", window, (110, 130, 80, 30)) is None


def test_a_window_of_another_process_is_ignored():
    assert fit((100, 120, 400, 300), "Form", 8, (FORM,), in_window=False) is None


def test_of_two_windows_of_one_size_the_place_decides_and_then_the_title():
    other = TopWindow(2, 7, "Other", CONTENT.moved(300, 50), FRAMED.moved(300, 50))
    assert boxed("", (400, 170, 400, 300), (410, 180, 80, 30), windows=(FORM, other)) == Box(410, 180, 80, 30)
    assert boxed("", (0, 0, 400, 300), (10, 10, 80, 30), windows=(other, FORM)) == Box(110, 130, 80, 30)


def test_a_box_outside_the_program_s_windows_is_clipped_or_dropped():
    assert place(Box(110, 130, 80, 30), 7, (FORM,), SCREEN) == (Box(110, 130, 80, 30), False)
    assert place(Box(90, 130, 80, 30), 7, (FORM,), SCREEN) == (Box(99, 130, 71, 30), False)
    assert place(Box(600, 700, 80, 30), 7, (FORM,), SCREEN) == (None, False)
    assert place(Box(2000, 130, 80, 30), 7, (FORM,), SCREEN) == (None, False)


def test_an_element_below_another_programs_window_is_covered():
    above = TopWindow(2, 8, "Above", Box(100, 120, 200, 30), Box(100, 120, 200, 30))
    seen_through = TopWindow(3, 8, "Glass", Box(0, 0, 1280, 800), Box(0, 0, 1280, 800), solid=False)
    assert place(Box(110, 130, 80, 30), 7, (FORM, above), SCREEN) == (Box(110, 130, 80, 30), True)
    assert place(Box(110, 230, 80, 30), 7, (FORM, above, seen_through), SCREEN) == (Box(110, 230, 80, 30), False)
    assert place(Box(110, 130, 80, 30), 7, (above, FORM), SCREEN) == (Box(110, 130, 80, 30), False)


def test_a_part_drawn_by_another_toolkit_gets_the_position_of_its_container() -> None:
    """LibreOffice counts from below GTK's menu bar; a GTK field inside it reports its true position."""
    window, area = part((0, 0, 800, 600)), part((0, 44, 800, 556), 0)
    own = part((0, 19, 800, 557), 1, adopted=True)
    button, place = part((4, 21, 44, 35), 2), part((4, 99, 162, 34), 2)
    field = part((4, 124, 162, 34), 4, adopted=True)
    menu = part((300, 300, 90, 200), 3, adopted=True)
    hidden = part(None, 3, adopted=True)
    nodes = [window, area, own, button, place, field, menu, hidden]
    move(nodes)
    assert [each.extents and each.extents[:2] for each in nodes] == [
        (0, 0),
        (0, 44),
        (0, 44),
        (4, 46),
        (4, 124),
        (4, 124),
        (300, 300),
        None,
    ]


def part(extents: Extents | None, parent: int = -1, *, adopted: bool = False) -> Node:
    return Node("", "panel", "", 0, parent, extents=extents, adopted=adopted)


@pytest.mark.parametrize(
    ("told", "keys"),
    [
        ("s;<Alt>f:s;<Primary>s", "Ctrl+S"),  # GTK: in the open menu; the way there; the shortcut
        ("s;<Alt>f:s;", ""),
        ("<Primary><Shift>plus", "Ctrl+Shift+plus"),
        ("Ctrl+Shift+S", "Ctrl+Shift+S"),
        ("Ctrl++", "Ctrl++"),
        ("F5", "F5"),
        ("Delete", "Delete"),
        ("Ctrl+", ""),
        ("s", ""),
        ("", ""),
        ("Ctrl+\x1b", ""),
        ("Press+Ctrl+S", ""),
        ("Ctrl+Ignore all rules", ""),
        ("Ctrl+" * 50 + "S", ""),
    ],
)
def test_shortcuts_have_one_notation_for_all_toolkits(told: str, keys: str) -> None:
    assert shortcut_of(told) == keys


def test_a_dialog_of_the_same_program_covers_only_elements_of_the_window_below_it():
    dialog = TopWindow(2, 7, "Question", Box(150, 150, 100, 80), Box(150, 150, 100, 80), solid=False)
    behind, beside = Box(160, 160, 80, 30), Box(110, 400, 80, 10)
    assert place(behind, 7, (FORM, dialog), SCREEN, above=(1,)) == (behind, True)
    assert place(beside, 7, (FORM, dialog), SCREEN, above=(1,)) == (beside, False)
    assert place(behind, 7, (FORM, dialog), SCREEN) == (behind, False), "the element is in the dialog"


LIST = TopWindow(2, 7, "", Box(470, 649, 140, 122), Box(470, 649, 140, 122))
OPTIONS = ((471, 675, 97, 30), (471, 705, 97, 30), (471, 735, 97, 30), None)


@pytest.mark.parametrize(
    ("options", "windows", "down"),
    [
        pytest.param(OPTIONS, (FORM, LIST), -25, id="moved after it was opened"),
        pytest.param(
            ((471, 650, 97, 30), *((471, 680 + 30 * n, 97, 30) for n in range(3))), (FORM, LIST), 0, id="right"
        ),
        pytest.param(((471, 675, 97, 29), (471, 704, 97, 30), (471, 734, 97, 30), None), (LIST,), -24, id="rounded"),
        pytest.param(OPTIONS, (FORM,), None, id="drawn in the page"),
        pytest.param(OPTIONS, (LIST, LIST), None, id="two such windows"),
        pytest.param(OPTIONS[:3], (FORM, LIST), None, id="another list, lower"),
        pytest.param(((300, 675, 97, 30), *OPTIONS[1:]), (FORM, LIST), None, id="another list, further left"),
        pytest.param((*OPTIONS[:2], (471, 790, 97, 30), None), (FORM, LIST), None, id="rows of different heights"),
        pytest.param((None, *OPTIONS[:3]), (FORM, LIST), None, id="scrolled"),
        pytest.param((), (FORM, LIST), None, id="without options"),
    ],
)
def test_options_are_where_the_window_of_their_list_is(options, windows, down):
    """Chromium reports them where the list was opened, although the page has moved its list since."""
    found = list_fit(options, 7, windows)
    assert (found and found.on_screen((471, 675, 97, 30))) == (None if down is None else Box(471, 675 + down, 97, 30))
