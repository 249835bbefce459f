"""Keys that may press a button are recognized, and the focus is tracked after each gesture."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.input.pressing import focus_after, is_word, is_wordy, presses, tabbed_after
from holo_tasks.core.screen.geometry import Point

AT, OTHER = Point(5, 5), Point(9, 9)


def hotkey(chord: str) -> Hotkey:
    return Hotkey(tuple(chord.split("+")))


@pytest.mark.parametrize(
    "chord",
    [
        *("enter", "space", "shift+space", "f9", "shift+f9", "shift+f10", "menu", "insert", "shift+insert"),
        *("alt+y", "alt+c", "alt+a", "alt+x", "alt+v", "alt+z", "alt+s", "alt+left", "altgr+a", "alt", "super+x"),
        *(f"ctrl+shift+{key}" for key in ("a", "c", "v", "x", "y", "V", "s", "delete", "backspace")),
        *(f"ctrl+alt+{key}" for key in ("v", "z", "delete")),
        *("super+v", "alt+delete", "alt+shift+z", "ctrl+enter", "ctrl+s", "ctrl+alt+a", "ctrl+f4", "ctrl+space"),
        *("ctrl+tab", "pause"),
    ],
)
def test_keys_that_may_press_or_command(chord: str) -> None:
    assert presses(hotkey(chord)) == "may"
    *hold, tap = chord.split("+")
    assert presses(HoldAndTap(tuple(hold) or ("shift",), ("left", tap))) == "may"


@pytest.mark.parametrize(
    "chord",
    [
        *("ctrl+a", "ctrl+c", "ctrl+C", "ctrl+left", "ctrl+shift+end", "ctrl+shift+left", "ctrl"),
        *("tab", "shift+tab", "left", "shift+left", "home", "pageup", "backspace", "ctrl+backspace", "shift"),
    ],
)
def test_keys_that_only_move_and_edit(chord: str) -> None:
    assert presses(hotkey(chord)) == "never"


@pytest.mark.parametrize("modifier", ["ctrl", "ctrlleft"])
@pytest.mark.parametrize("keys", ["v", "V", "x", "y", "z", "shift+z", "shift+Z", "delete"])
def test_pasting_and_undoing_only_edit_inside_a_field(modifier: str, keys: str) -> None:
    assert presses(hotkey(f"{modifier}+{keys}")) == "outside a field"
    assert presses(HoldAndTap((modifier,), ("left", *keys.split("+")))) == "outside a field"
    assert focus_after(hotkey(f"{modifier}+{keys}"), AT) == AT


@pytest.mark.parametrize("keys", ["delete", "shift+delete", "esc", "shift+esc"])
def test_deleting_and_discarding_keys_act_outside_a_field(keys: str) -> None:
    assert presses(hotkey(keys)) == "outside a field"


@pytest.mark.parametrize("gesture", [hotkey("y"), hotkey("shift+y"), HoldAndTap(("shift",), ("y", "é")), hotkey("ж")])
def test_a_letter_is_text_only_in_a_field(gesture: Gesture) -> None:
    assert presses(gesture) == "outside a field"


@pytest.mark.parametrize(
    ("write", "how"),
    [
        (Write("y"), "outside a field"),
        (Write("Paper and Pine"), "outside a field"),
        (Write("", overwrite=True), "outside a field"),
        (Write("{{secret:pw}}", overwrite=True), "outside a field"),
        (Write(""), "never"),
        *((Write(text), "may") for text in (" ", "\t", "a\n", "a\r", "a\tb", "\u3000", "x ", "123456 ", "a b\u00a0")),
        (Write("a", press_enter=True), "may"),
        (Write("", press_enter=True), "may"),
    ],
)
def test_a_written_text_is_text_only_in_a_field(write: Write, how: str) -> None:
    assert presses(write) == how


@pytest.mark.parametrize("gesture", [Click(AT, "middle"), Drag(AT, OTHER, "middle")])
def test_a_middle_button_paste_may_press(gesture: Gesture) -> None:
    assert presses(gesture) == "may"


@pytest.mark.parametrize("gesture", [Click(AT), Click(AT, "right"), Drag(AT, OTHER), Scroll(AT, "down", 3), Move(AT)])
def test_the_other_buttons_press_no_keys(gesture: Gesture) -> None:
    assert presses(gesture) == "never"


@pytest.mark.parametrize(
    ("gesture", "focus"),
    [
        (Click(OTHER), OTHER),
        (Click(OTHER, count=2), OTHER),
        (Click(OTHER, "right"), None),
        (Drag(AT, OTHER), None),
        (Scroll(AT, "down", 3), None),
        (Move(OTHER), AT),
        (Pause(1.0), AT),
        (Write("some words"), AT),
        (Write("some words", at=OTHER, overwrite=True), OTHER),
        (Write("some\twords", at=OTHER), None),
        (Write("some words", press_enter=True), None),
        *((hotkey(keys), AT) for keys in ("ctrl+a", "left", "shift+home", "backspace", "delete", "ctrl+delete", "a")),
        *((hotkey(keys), None) for keys in ("tab", "enter", "esc", "alt+y", "ctrl+s", "f6", "down", "space", "alt")),
        *((hotkey(f"ctrl+shift+{key}"), None) for key in "acvxy"),
        *((hotkey(f"ctrl+{keys}"), AT) for keys in ("v", "z", "shift+z", "shift+left", "delete")),
    ],
)
def test_the_focus_follows_the_click_until_a_key_moves_it(gesture: Any, focus: Any) -> None:
    assert focus_after(gesture, AT) == focus


@pytest.mark.parametrize(
    ("write", "word", "wordy"),
    [
        (Write("Paper"), True, True),
        (Write("1284.50"), True, True),
        (Write("Paper and Pine"), False, True),
        (Write("ok"), False, False),
        (Write("y!?…-"), False, False),
        (Write("Paper", press_enter=True), False, True),
        (Write("Paper\n"), False, True),
        (hotkey("p"), False, False),
    ],
)
def test_a_word_differs_from_single_menu_keys(write: Gesture, word: bool, wordy: bool) -> None:
    assert (is_word(write), is_wordy(write)) == (word, wordy)


@pytest.mark.parametrize(
    ("gesture", "where"),
    [
        (hotkey("tab"), AT),
        (hotkey("shift+tab"), AT),
        (Write("a\tb"), AT),
        (Write("a\tb", at=Point(1, 1)), Point(1, 1)),
        (Write("a\tb\n"), None),
        (Write("a\tb", press_enter=True), None),
        (hotkey("ctrl+tab"), None),
        (hotkey("enter"), None),
        (Click(AT), None),
    ],
)
def test_the_field_that_was_left_only_by_tab_is_known(gesture: Gesture, where: Point | None) -> None:
    assert tabbed_after(gesture, AT, None) == where


def test_text_after_a_tab_keeps_the_tabbed_field() -> None:
    assert tabbed_after(Write("Paper"), None, AT) == AT
    assert tabbed_after(hotkey("tab"), None, AT) == AT
    assert tabbed_after(Write("Paper", press_enter=True), None, AT) is None
    assert tabbed_after(Write("Paper", at=OTHER), None, AT) is None
