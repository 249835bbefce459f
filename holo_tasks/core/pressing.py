"""Which keys may press a button: only those that can do nothing but move, edit and write are known not to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from holo_tasks.core import keynames
from holo_tasks.core.chords import Chord, chords_in
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Write

Presses: TypeAlias = Literal["never", "outside a field", "may"]
"""Whether keys may press a button: in a text field the letters of a word are text, anywhere else a letter may be the
key of a menu, a space presses what has the keyboard, and to replace all is to delete all."""
WORD = 3
"""So many letters or digits are written as a text, not pressed one by one as the keys of a menu."""
LINE_ENDS = frozenset("\n\r")
"""What presses Enter where it is written."""

_COMMANDING = frozenset(keynames.MODIFIERS[name] for name in ("ctrl", "alt", "super"))
_MOVING = frozenset(
    keynames.keysym(name) for name in ("home", "end", "left", "right", "up", "down", "pageup", "pagedown")
)
_WITHIN = frozenset(keynames.keysym(name) for name in ("home", "end", "left", "right", "backspace"))
_DELETE = keynames.keysym("delete")
_DOING = frozenset((_DELETE, keynames.ESC))
"""What does something by itself, such as to delete the row that is selected or to throw a draft away."""
_MARKING = frozenset(keynames.keysym(name) for name in "ac")
"""What marks and copies with Ctrl held; with Alt the very same keys are those of menus and buttons."""
_CHANGING = frozenset(keynames.keysym(name) for name in "vxyz") | {_DELETE}
"""What changes a text with Ctrl held. A clipboard may hold a line end, which presses a button outside a field, as may
whatever a program takes back or does again there."""
_WITH_SHIFT = frozenset(keynames.keysym(name) for name in ("home", "end", "left", "right", "z"))
"""What edits or marks with Ctrl and Shift; any other key with both is the program's own."""
_ALONE = _MOVING | _WITHIN | keynames.LOCKS | {keynames.TAB}
_CTRL = keynames.MODIFIERS["ctrl"]


def presses(gesture: Gesture) -> Presses:
    """Say whether a gesture's keys may press a button, or do what a menu does, rather than only write and edit.

    What the middle button pastes counts as keys: it may hold a line end.
    """
    if isinstance(gesture, Write):
        return _written(gesture)
    if isinstance(gesture, Click | Drag):
        return "may" if gesture.button == "middle" else "never"
    found = [_chord(chord) for chord in chords_in(gesture)]
    return "may" if "may" in found else "outside a field" if "outside a field" in found else "never"


def focus_after(gesture: Gesture, focus: Point | None) -> Point | None:
    """Return where the click was that the keyboard has followed, after a gesture; None if nobody can say."""
    match gesture:
        case Click(at, button):
            return at if button == "left" else None
        case Write(text, press_enter=enter, at=at):
            return None if enter or set(text) & (LINE_ENDS | {"\t"}) else at or focus
        case Move() | Pause():
            return focus
        case Hotkey() | HoldAndTap() if all(_stays(chord) for chord in chords_in(gesture)):
            return focus
        case _:
            return None


def is_word(gesture: Gesture) -> bool:
    """Say whether a gesture writes a word or a number of some length and nothing else: no key that is pressed alone."""
    if not isinstance(gesture, Write) or gesture.press_enter or any(map(str.isspace, gesture.text)):
        return False
    return is_wordy(gesture)


def is_wordy(gesture: Gesture) -> bool:
    """Say whether a gesture writes some letters or digits at once, as only a text has them."""
    return isinstance(gesture, Write) and sum(map(str.isalnum, gesture.text)) >= WORD


def tabbed_after(gesture: Gesture, focus: Point | None, tabbed: Point | None) -> Point | None:
    """Return where the click was that the keyboard has left by nothing but Tab; None if it did not, or nobody can say.

    ``focus`` is where it was that the keyboard had followed, ``tabbed`` what this returned, before the gesture.
    """
    match gesture:
        case Write(text, press_enter=False, at=at) if "\t" in text and not set(text) & LINE_ENDS:
            return at or focus or tabbed
        case Hotkey() | HoldAndTap() if all(_tabs(chord) for chord in chords_in(gesture)):
            return focus or tabbed
        case _:
            return tabbed if tabbed is not None and focus_after(gesture, tabbed) is tabbed else None


def _tabs(chord: Chord) -> bool:
    return chord.keys - {keynames.SHIFT} == {keynames.TAB}


def _written(write: Write) -> Presses:
    if write.press_enter or set(write.text) & (LINE_ENDS | {"\t"}):
        return "may"  # what the keys behind a tab go to, nobody has clicked
    if not write.text:
        return "outside a field" if write.overwrite else "never"
    # A field that is full may move on to a button, which a blank behind the text then presses.
    return "may" if write.text[-1].isspace() else "outside a field"


def _chord(chord: Chord) -> Presses:
    commanding, keys = chord.keys & _COMMANDING, chord.keys - _COMMANDING - {keynames.SHIFT}
    if commanding and not _edits(chord):
        return "may"
    if keys <= (_WITHIN | _MARKING if commanding else _ALONE):
        return "never"
    return "outside a field" if commanding or all(key in _DOING or _is_sign(key) for key in keys) else "may"


def _edits(chord: Chord) -> bool:
    """Say whether what is pressed with Ctrl edits, marks or moves within a text field."""
    if chord.keys & _COMMANDING != {_CTRL}:
        return False
    known = _WITH_SHIFT if keynames.SHIFT in chord.keys else _WITHIN | _MARKING | _CHANGING
    return chord.keys - {_CTRL, keynames.SHIFT} <= known


def _stays(chord: Chord) -> bool:
    """Say whether keys leave the keyboard where it is: they edit or write, and do not move to something else."""
    commanding, keys = chord.keys & _COMMANDING, chord.keys - _COMMANDING - {keynames.SHIFT}
    if commanding:
        return _edits(chord)
    return all(key in _WITHIN or key == _DELETE or _is_sign(key) for key in keys)


def _is_sign(key: int) -> bool:
    """Say whether a key types something that can be seen; a space cannot."""
    return 0x20 < key <= 0xFF or key > 0x01000000
