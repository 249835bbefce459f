"""A chord is compared by its keys, so no spelling, order, extra key or kind of gesture bypasses a rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.input.chords import DENIED, denied_in, parse
from holo_tasks.core.input.gestures import Gesture, HoldAndTap, Hotkey, Write

SPELLINGS: dict[str, list[str]] = {}
for _alias, _key in {**{name: name for name in keynames.NAMED}, **keynames.ALIASES}.items():
    SPELLINGS.setdefault(_key, []).append(_alias)
SPELLINGS["alt"] += SPELLINGS["altgr"]
HARMLESS = ["ctrl+c", "ctrl+shift+s", "shift+tab", "enter", "alt+left", "ctrl+home", "f5", "alt+s", "delete", "ctrl+f4"]


def refused(gesture: Gesture, *, denied: Sequence[str] = DENIED, allowed: Sequence[str] = ()) -> bool:
    return denied_in(gesture, denied, allowed) is not None


@st.composite
def spelled(draw: st.DrawFn, key: str) -> str:
    """A key's name in one of the spellings that a model may use."""
    name = draw(st.sampled_from(SPELLINGS.get(key, [key])))
    letters = [draw(st.sampled_from([letter, letter.upper()])) for letter in name]
    if len(letters) > 1:
        for _ in range(draw(st.integers(0, 2))):
            letters.insert(draw(st.integers(0, len(letters))), draw(st.sampled_from(" _-")))
    return "".join(letters)


@st.composite
def pressed(draw: st.DrawFn, chord: str, extra: Sequence[str] = ()) -> Gesture:
    """A gesture that holds a chord's keys down together at some moment."""
    names = draw(st.permutations([*chord.split("+"), *extra]))
    keys = [draw(spelled(name)) for name in names]
    others = [draw(spelled(name)) for name in draw(st.lists(st.sampled_from("abcxyz"), max_size=3))]
    modifiers = [key for key, name in zip(keys, names, strict=True) if name in keynames.MODIFIERS]
    rest = [key for key in keys if key not in modifiers]
    ways: list[Gesture] = [Hotkey(tuple(keys), draw(st.integers(1, 50)))]
    if len(keys) > 1:
        ways.append(HoldAndTap(tuple(keys[:-1]), (*others, keys[-1])))
    if len(modifiers) > 1 and len(rest) == 1:
        # With sticky keys, tapped modifiers stay down.
        ways.append(HoldAndTap((modifiers[0],), (*modifiers[1:], *others, rest[0])))
    return draw(st.sampled_from(ways))


@given(st.data(), st.sampled_from(DENIED), st.lists(st.sampled_from("abc12"), max_size=2, unique=True))
def test_no_spelling_of_a_denied_chord_gets_past(data: st.DataObject, chord: str, extra: list[str]) -> None:
    assert refused(data.draw(pressed(chord, extra)))


@given(st.data(), st.sampled_from(HARMLESS))
def test_no_spelling_of_a_harmless_chord_is_refused(data: st.DataObject, chord: str) -> None:
    keys = [data.draw(spelled(name).filter(lambda key: "gr" not in key.lower())) for name in chord.split("+")]
    assert not refused(Hotkey(tuple(keys)))


def test_super_is_denied_with_any_other_keys() -> None:
    for names in (["super"], ["cmd", "l"], ["Win", "shift", "s"], ["a", "META"], ["command", "space"]):
        assert refused(Hotkey(tuple(names)))
        assert refused(HoldAndTap((names[-1],), tuple(names)))


def test_punctuation_may_need_shift() -> None:
    assert refused(Hotkey(("ctrl", "+", "esc")), denied=["ctrl+shift+esc"])
    assert not refused(Hotkey(("ctrl", "A")), denied=["ctrl+shift+a"])  # as input is sent: Ctrl and the A key
    assert refused(Hotkey(("A",)), denied=["shift+a"])  # alone, it is the capital letter A


@pytest.mark.parametrize("allowed", ["alt+tab", "Tab+ALT", "option+tab"])
def test_an_allowed_chord_is_allowed_exactly(allowed: str) -> None:
    for keys, fits in ((("alt", "tab"), True), (("tab", "alt"), True), (("ctrl", "alt", "tab"), False)):
        assert refused(Hotkey(keys), allowed=[allowed]) != fits
    assert not refused(Hotkey(("super", "e")), allowed=["super+e"])
    assert refused(Hotkey(("super",)), allowed=["super+e"])
    assert refused(HoldAndTap(("super",), ("e", "l")), allowed=["super+e"])


def test_keys_pressed_by_a_text_count() -> None:
    assert not refused(Write("a line\n", press_enter=True))
    for text in (Write("a\n"), Write("a\r"), Write("a", press_enter=True)):
        assert refused(text, denied=["enter"])
    assert refused(Write("a\tb"), denied=["tab"])
    assert refused(Write("a", overwrite=True), denied=["ctrl+home"])
    assert not refused(Write("a"), denied=["enter", "tab", "ctrl+home", "ctrl+a"])


def test_an_unknown_key_name_is_refused_in_the_same_way_as_by_the_keyboard() -> None:
    for name in ("\x1b", "Super_L", "XF86PowerOff", "ｆ4", "", "ctrl+alt+del"):
        with pytest.raises(InvalidUsage):
            refused(Hotkey(("ctrl", name)))
    for text in ("", "+", "ctrl++", "ctrl+alt+nothing"):
        with pytest.raises(InvalidUsage):
            parse(text)


def as_written(gesture: Gesture, denied: Sequence[str]) -> bool:
    """Compare the chord as the model wrote it: a naive method."""
    return isinstance(gesture, Hotkey) and "+".join(gesture.keys).lower() in denied


def test_a_comparison_of_spellings_would_let_denied_chords_through() -> None:
    tricks = [
        Hotkey(("control", "alt", "del")),
        Hotkey(("delete", "alt", "ctrl")),
        Hotkey(("Alt", "F4", "shift")),
        HoldAndTap(("alt",), ("f4",)),
        HoldAndTap(("ctrl",), ("alt", "delete")),
        Hotkey(("cmd", "l")),
    ]
    assert as_written(Hotkey(("alt", "f4")), DENIED)
    assert not any(as_written(trick, DENIED) for trick in tricks)
    assert all(refused(trick) for trick in tricks)
