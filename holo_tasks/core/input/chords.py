"""Key combinations, compared by the keys that they press, whatever their spelling or the gesture that presses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.input.gestures import Gesture, HoldAndTap, Hotkey, Write

DENIED = (
    *("ctrl+alt+delete", "ctrl+alt+backspace", *(f"ctrl+alt+f{n}" for n in range(1, 13)), "ctrl+alt+t"),
    *("alt+f2", "alt+f4", "alt+tab", "alt+esc", "alt+space", "ctrl+esc", "ctrl+shift+esc"),
    *("super", "printscreen"),
)
"""Combinations that act outside the program: on the system, the session or the window manager."""
_ALT, _SHIFT, _ALTGR = keynames.MODIFIERS["alt"], keynames.SHIFT, keynames.MODIFIERS["altgr"]
_MODIFIERS = frozenset(keynames.MODIFIERS.values())
_TYPED = {"\n": "enter", "\r": "enter", "\t": "tab"}


@dataclass(frozen=True)
class Chord:
    """Keys that are down together.

    ``keys`` are keysyms. ``may_be`` adds Shift if a keyboard layout may need it for any key.
    """

    written: str
    keys: frozenset[int]
    may_be: frozenset[int]


def chord_of(names: Sequence[str]) -> Chord:
    """Return the chord that pressing these keys together makes.

    Raises `InvalidUsage` for an unknown key name.
    """
    symbols = {keynames.keysym(name) for name in names}
    if symbols & _MODIFIERS:
        # Input is sent in the same way: "Ctrl+A" is Ctrl and the A key, without Shift.
        symbols = {keynames.small(symbol) for symbol in symbols}
    symbols = {_ALT if symbol == _ALTGR else symbol for symbol in symbols}
    shifted = any(_may_need_shift(symbol) for symbol in symbols)
    keys = frozenset(keynames.small(symbol) for symbol in symbols)
    return Chord("+".join(name.strip() or name for name in names), keys, keys | {_SHIFT} if shifted else keys)


@lru_cache(maxsize=512)
def parse(text: str) -> Chord:
    """Parse a chord such as ``ctrl+alt+delete``. Raises `InvalidUsage` if it is malformed."""
    names = [name.strip() for name in text.split("+")]
    if not all(names):
        raise InvalidUsage(
            f"{text!r} is not a key combination; write it like ctrl+alt+delete (the + key is called plus)."
        )
    return chord_of(names)


def chords_in(gesture: Gesture) -> Iterator[Chord]:
    """Yield every combination of keys that a gesture holds down at some moment.

    Modifiers that are tapped count as held for the following keys, because sticky keys hold them.
    """
    match gesture:
        case Hotkey(keys):
            yield chord_of(keys)
        case HoldAndTap(hold, tap):
            down = tuple(hold)
            for key in tap:
                yield chord_of((*down, key))
                if keynames.keysym(key) in _MODIFIERS:
                    down = (*down, key)
        case Write(text, overwrite, press_enter):
            if overwrite:
                yield from (chord_of(names) for names in (("ctrl", "home"), ("ctrl", "shift", "end"), ("delete",)))
            for character in sorted({*text, *("\n" if press_enter else "")}):
                yield chord_of([_TYPED.get(character, character)])


def denied_in(gesture: Gesture, denied: Sequence[str], allowed: Sequence[str]) -> tuple[str, str] | None:
    """Return the first denied combination of a gesture and the rule that denies it, both as written.

    A rule also denies combinations with additional keys. Exactly the keys of an allowed combination are never denied.
    """
    rules, lifted = [parse(text) for text in denied], {parse(text).keys for text in allowed}
    for chord in chords_in(gesture):
        if chord.keys in lifted:
            continue
        for rule in rules:
            if rule.keys <= chord.may_be:
                return chord.written, rule.written
    return None


def _may_need_shift(symbol: int) -> bool:
    """Return whether some layout types this key with Shift. Capital letters need it, and punctuation may."""
    if not 0x20 < symbol <= 0xFF:
        return keynames.small(symbol) != symbol
    letter = chr(symbol)
    return letter.lower() != letter or not letter.isalnum()
