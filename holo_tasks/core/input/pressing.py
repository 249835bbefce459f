"""Decide whether keys may press a button. Only keys that are known to move, edit or write are known not to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from holo_tasks.core.input import keynames
from holo_tasks.core.input.chords import Chord, chords_in
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Write
from holo_tasks.core.screen.geometry import Point

Presses: TypeAlias = Literal["never", "outside a field", "may"]
"""Whether keys may press a button. In a text field, letters are text.

Elsewhere a letter may be a menu's key, a space presses the focused control, and replacing all text may delete
everything.
"""
WORD = 3
"""Fewest letters or digits in one write that count as text. Fewer may be typed one by one as the keys of a menu."""
LINE_ENDS = frozenset("\n\r")
"""Characters that press Enter when they are typed."""

_COMMANDING = frozenset(keynames.MODIFIERS[name] for name in ("ctrl", "alt", "super"))
_MOVING = frozenset(
    keynames.keysym(name) for name in ("home", "end", "left", "right", "up", "down", "pageup", "pagedown")
)
_IN_FIELD = frozenset(keynames.keysym(name) for name in ("home", "end", "left", "right", "backspace"))
_DELETE = keynames.keysym("delete")
_ACTING = frozenset((_DELETE, keynames.ESC))
"""Keys that act by themselves, such as deleting the selected row or discarding a draft."""
_SELECTING = frozenset(keynames.keysym(name) for name in "ac")
"""Keys that select all or copy with Ctrl. With Alt, the same keys open menus and press buttons."""
_EDITING = frozenset(keynames.keysym(name) for name in "vxyz") | {_DELETE}
"""Keys that change a text with Ctrl. A pasted, undone or redone text may hold a line end, which presses a button
outside a field.
"""
_WITH_SHIFT = frozenset(keynames.keysym(name) for name in ("home", "end", "left", "right", "z"))
"""Keys that edit or select with Ctrl and Shift. Any other key with both belongs to the program."""
_HARMLESS_ALONE = _MOVING | _IN_FIELD | keynames.LOCKS | {keynames.TAB}
_CTRL = keynames.MODIFIERS["ctrl"]


def presses(gesture: Gesture) -> Presses:
    """Return whether a gesture's keys may press a button or run a menu entry, instead of only writing and editing.

    Text pasted with the middle button counts as keys, because it may hold a line end.
    """
    if isinstance(gesture, Write):
        return _presses_of_write(gesture)
    if isinstance(gesture, Click | Drag):
        return "may" if gesture.button == "middle" else "never"
    found = [_presses_of_chord(chord) for chord in chords_in(gesture)]
    return "may" if "may" in found else "outside a field" if "outside a field" in found else "never"


def focus_after(gesture: Gesture, focus: Point | None) -> Point | None:
    """Return the click that the keyboard focus still follows after a gesture, or ``None`` if that is unknown."""
    match gesture:
        case Click(at, button):
            return at if button == "left" else None
        case Write(text, press_enter=enter, at=at):
            return None if enter or set(text) & (LINE_ENDS | {"\t"}) else at or focus
        case Move() | Pause():
            return focus
        case Hotkey() | HoldAndTap() if all(_keeps_focus(chord) for chord in chords_in(gesture)):
            return focus
        case _:
            return None


def is_word(gesture: Gesture) -> bool:
    """Return whether a gesture only writes a text of some length without blanks, and presses no single keys."""
    if not isinstance(gesture, Write) or gesture.press_enter or any(map(str.isspace, gesture.text)):
        return False
    return is_wordy(gesture)


def is_wordy(gesture: Gesture) -> bool:
    """Return whether a gesture writes several letters or digits at once, as only text has them."""
    return isinstance(gesture, Write) and sum(map(str.isalnum, gesture.text)) >= WORD


def tabbed_after(gesture: Gesture, focus: Point | None, tabbed: Point | None) -> Point | None:
    """Return the click whose focus has since been moved only by Tab, or ``None``.

    ``focus`` and ``tabbed`` are the results of `focus_after` and this function before the gesture.
    """
    match gesture:
        case Write(text, press_enter=False, at=at) if "\t" in text and not set(text) & LINE_ENDS:
            return at or focus or tabbed
        case Hotkey() | HoldAndTap() if all(_is_tab(chord) for chord in chords_in(gesture)):
            return focus or tabbed
        case _:
            return tabbed if tabbed is not None and focus_after(gesture, tabbed) is tabbed else None


def _is_tab(chord: Chord) -> bool:
    return chord.keys - {keynames.SHIFT} == {keynames.TAB}


def _presses_of_write(write: Write) -> Presses:
    if write.press_enter or set(write.text) & (LINE_ENDS | {"\t"}):
        return "may"  # keys after a tab go to a control that was not clicked
    if not write.text:
        return "outside a field" if write.overwrite else "never"
    # A full field may move the focus to a button, which a blank at the end of the text then presses.
    return "may" if write.text[-1].isspace() else "outside a field"


def _presses_of_chord(chord: Chord) -> Presses:
    commanding, keys = chord.keys & _COMMANDING, chord.keys - _COMMANDING - {keynames.SHIFT}
    if commanding and not _is_editing(chord):
        return "may"
    if keys <= (_IN_FIELD | _SELECTING if commanding else _HARMLESS_ALONE):
        return "never"
    return "outside a field" if commanding or all(key in _ACTING or _is_visible(key) for key in keys) else "may"


def _is_editing(chord: Chord) -> bool:
    """Return whether a chord with Ctrl edits, selects or moves within a text field."""
    if chord.keys & _COMMANDING != {_CTRL}:
        return False
    known = _WITH_SHIFT if keynames.SHIFT in chord.keys else _IN_FIELD | _SELECTING | _EDITING
    return chord.keys - {_CTRL, keynames.SHIFT} <= known


def _keeps_focus(chord: Chord) -> bool:
    """Return whether keys keep the focus where it is: they edit or write, and do not move it."""
    commanding, keys = chord.keys & _COMMANDING, chord.keys - _COMMANDING - {keynames.SHIFT}
    if commanding:
        return _is_editing(chord)
    return all(key in _IN_FIELD or key == _DELETE or _is_visible(key) for key in keys)


def _is_visible(key: int) -> bool:
    """Return whether a key types a visible character; a space is not visible."""
    return 0x20 < key <= 0xFF or key > 0x01000000
