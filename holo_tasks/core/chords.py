"""Key combinations: told apart by the keys they press, however they are written and whatever presses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holo_tasks.core import keynames
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.gestures import Gesture, HoldAndTap, Hotkey, Write

DENIED = (
    *("ctrl+alt+delete", "ctrl+alt+backspace", *(f"ctrl+alt+f{n}" for n in range(1, 13)), "ctrl+alt+t"),
    *("alt+f2", "alt+f4", "alt+tab", "alt+esc", "alt+space", "ctrl+esc", "ctrl+shift+esc"),
    *("super", "printscreen"),
)
"""What reaches past the program: to the system, the session, the window manager."""
_ALT, _SHIFT, _ALTGR = keynames.MODIFIERS["alt"], keynames.SHIFT, keynames.MODIFIERS["altgr"]
_MODIFIERS = frozenset(keynames.MODIFIERS.values())
_TYPED = {"\n": "enter", "\r": "enter", "\t": "tab"}


@dataclass(frozen=True)
class Chord:
    """Keys that are down together.

    ``keys`` are keysyms; ``may_be`` adds Shift where a layout may need it for one of them.
    """

    written: str
    keys: frozenset[int]
    may_be: frozenset[int]


def chord_of(names: Sequence[str]) -> Chord:
    """Return what pressing these keys together comes to, in the eyes of the hands.

    Raises `InvalidUsage` for a name that no key has.
    """
    symbols = {keynames.keysym(name) for name in names}
    if symbols & _MODIFIERS:
        # As hands do: "Ctrl+A" is Ctrl and the A key, not Shift too.
        symbols = {keynames.small(symbol) for symbol in symbols}
    symbols = {_ALT if symbol == _ALTGR else symbol for symbol in symbols}
    shifted = any(_may_need_shift(symbol) for symbol in symbols)
    keys = frozenset(keynames.small(symbol) for symbol in symbols)
    return Chord("+".join(name.strip() or name for name in names), keys, keys | {_SHIFT} if shifted else keys)


@lru_cache(maxsize=512)
def parse(text: str) -> Chord:
    """Read a chord as people write it, keys joined with ``+``; raise `InvalidUsage` if it is none."""
    names = [name.strip() for name in text.split("+")]
    if not all(names):
        raise InvalidUsage(f"{text!r} is no key combination; write it like ctrl+alt+delete (the + key is called plus).")
    return chord_of(names)


def chords_in(gesture: Gesture) -> Iterator[Chord]:
    """Yield every combination of keys that a gesture holds down at some moment.

    Of keys that are tapped one after the other, modifiers are taken to stay: with sticky keys they do.
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
    """Return the first combination of a gesture that is denied, as it was written, and the rule that denies it.

    More keys than those of a rule are denied, too; exactly the keys of an allowed combination never are.
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
    """Say whether some layout types this with Shift: capitals do, and signs may."""
    if not 0x20 < symbol <= 0xFF:
        return keynames.small(symbol) != symbol
    letter = chr(symbol)
    return letter.lower() != letter or not letter.isalnum()
