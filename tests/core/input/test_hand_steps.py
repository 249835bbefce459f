"""A person's input becomes the gestures that an agent would have made."""

from __future__ import annotations

from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.input.hand_steps import HandSteps
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.core.screen.geometry import Point

ENTER, BACKSPACE, CONTROL, SHIFT, TAB, TAB_BACK = 0xFF0D, 0xFF08, 0xFFE3, 0xFFE1, 0xFF09, 0xFE20


def press(x: int, y: int, button: int = 1) -> list[ByHand]:
    return [Pointing(x, y, 0), Pointing(x, y, button), Pointing(x, y, 0)]


def keys(*symbols: int | str) -> list[ByHand]:
    codes = [ord(one) if isinstance(one, str) else one for one in symbols]
    return [Key(code, down) for code in codes for down in (True, False)]


def made(*inputs: list[ByHand], pause_s: float = 0.0) -> list[Gesture]:
    steps, found, at_s = HandSteps(), list[Gesture](), 0.0
    for group in inputs:
        for one in group:
            found += [done.gesture for done in steps.take_input(one, at_s)]
        at_s += pause_s
    return [*found, *(done.gesture for done in steps.ended())]


def test_presses_drags_and_scrolls_become_gestures() -> None:
    assert made(press(10, 20)) == [Click(Point(10, 20))]
    assert made(press(10, 20, 4)) == [Click(Point(10, 20), "right")]
    assert made(press(10, 20), press(11, 20)) == [Click(Point(10, 20), count=2)]
    assert made(press(10, 20), press(11, 20), press(10, 20)) == [Click(Point(10, 20), count=3)]
    assert made(press(10, 20), press(11, 20), pause_s=1) == [Click(Point(10, 20)), Click(Point(11, 20))]
    assert made([Pointing(1, 1, 1), Pointing(90, 50, 1), Pointing(90, 50, 0)]) == [Drag(Point(1, 1), Point(90, 50))]
    assert made(press(5, 5, 16), press(5, 5, 16), press(5, 5, 8)) == [
        Scroll(Point(5, 5), "down", 2),
        Scroll(Point(5, 5), "up", 1),
    ]


def test_words_and_chords_become_gestures() -> None:
    assert made(keys("a", "x", BACKSPACE, "b", ENTER)) == [Write("ab", press_enter=True)]
    assert made(press(9, 9), keys("Z", 0xEB), keys(TAB), keys("1")) == [
        Click(Point(9, 9)),
        Write("Zë"),
        Hotkey(("tab",)),
        Write("1"),
    ]
    chord: list[ByHand] = [Key(CONTROL, True), *keys("s"), Key(CONTROL, False)]
    assert made(keys("a"), chord) == [Write("a"), Hotkey(("ctrl", "s"))]
    shifted: list[ByHand] = [Key(SHIFT, True), *keys("A"), Key(SHIFT, False), *keys(0x10020AC)]
    assert made(shifted) == [Write("A€")]
    assert made(keys(0x1B1, 0x6D1, 0x7E1, 0x20AC)) == [Write("ąяα€")]
    assert made(keys(0xFE51)) == [Hotkey(("key 0xfe51",))]  # a dead key, whose result is unknown
    assert made(keys(TAB), keys(TAB), [Key(SHIFT, True), *keys(TAB_BACK), Key(SHIFT, False)]) == [
        Hotkey(("tab",), 2),
        Hotkey(("shift", "tab")),
    ]
    assert made(keys(BACKSPACE), keys(ENTER)) == [Hotkey(("backspace",)), Hotkey(("enter",))]


def test_only_input_that_starts_a_gesture_needs_a_picture_before_it() -> None:
    steps = HandSteps()

    def begins(*inputs: ByHand, at_s: float = 0.0) -> list[bool]:
        found = []
        for one in inputs:
            found.append(steps.begins(one, at_s))
            steps.take_input(one, at_s)
        return found

    assert begins(*press(10, 20)) == [False, True, False]
    assert begins(*press(10, 20), at_s=0.2) == [False, False, False]
    assert begins(*press(10, 20), at_s=5.0) == [False, True, False]
    assert begins(*keys("a", "b", BACKSPACE, TAB)) == [True, False, False, False, False, False, True, False]
    assert begins(Key(CONTROL, True), *keys("s"), Key(CONTROL, False)) == [False, True, False, False]
    assert begins(*press(5, 5, 16), *press(5, 5, 16)) == [False, True, False, False, False, False]


def test_a_gesture_has_the_times_of_its_first_input_and_last_press() -> None:
    steps = HandSteps()
    for at_s, symbol in enumerate(("a", "b")):
        for one in keys(symbol):
            assert steps.take_input(one, at_s / 2) == []
    (typed,) = steps.take_input(Key(ENTER, True), 7.0)
    assert (typed.began_s, typed.last_s) == (0.0, 7.0)


ACUTE, CIRCUMFLEX, CARON, IOTA = 0xFE51, 0xFE52, 0xFE5A, 0xFE5D


def test_an_accent_and_the_letter_after_it_are_one_character() -> None:
    assert made(keys("c", "a", "f", ACUTE, "e")) == [Write("café")]
    assert made(keys(CIRCUMFLEX, "A", CARON, "c", CARON, "s")) == [Write("Âčš")]
    shifted: list[ByHand] = [*keys(ACUTE), Key(SHIFT, True), *keys("E"), Key(SHIFT, False)]
    assert made(shifted) == [Write("É")]
    assert made(keys(CIRCUMFLEX, " ", ACUTE, " ")) == [Write("^'")]


def test_what_programs_make_of_an_accent_in_different_ways_is_not_guessed() -> None:
    assert made(keys("a", ACUTE, "b")) == [Write("a"), Hotkey(("key 0xfe51",)), Write("b")]
    assert made(keys(ACUTE, ACUTE)) == [Hotkey(("key 0xfe51",), 2)]
    assert made(keys(ACUTE), press(9, 9)) == [Hotkey(("key 0xfe51",)), Click(Point(9, 9))]
    assert made(keys(ACUTE, BACKSPACE)) == [Hotkey(("key 0xfe51",)), Hotkey(("backspace",))]


def test_keys_for_the_machine_and_not_for_the_program_are_passed_over() -> None:
    louder, mute, brighter, next_layout = 0x1008FF13, 0x1008FF12, 0x1008FF02, 0xFE08
    assert made(keys("a", louder, mute, "b", brighter, next_layout, "c", 0)) == [Write("abc")]
    assert made(keys(louder)) == []
    back = 0x1008FF26  # a browser goes back by it
    assert made(keys(back)) == [Hotkey(("key 0x1008ff26",))]
    steps = HandSteps()
    assert not steps.begins(Key(louder, True), 0.0)
    assert steps.begins(Key(ACUTE, True), 0.0)
    steps.take_input(Key(ACUTE, True), 0.0)
    assert not steps.begins(Key(ord("e"), True), 1.0)
    assert [(one.gesture, one.began_s) for one in (*steps.take_input(Key(ord("e"), True), 1.0), *steps.ended())] == [
        (Write("é"), 0.0)
    ]


def test_a_character_with_a_pause_after_it_is_a_step_of_its_own() -> None:
    date = keys("1", "2", ENTER)
    assert made(keys("g"), date, pause_s=1) == [Write("g"), Write("12", press_enter=True)]
    assert made(keys("g"), date, pause_s=0.2) == [Write("g12", press_enter=True)]
    assert made(keys("a", "b"), keys("c"), pause_s=1) == [Write("abc")], "a pause in a word separates nothing"
    assert made(keys("a"), keys(BACKSPACE), keys("b"), pause_s=1) == [Write("b")]
