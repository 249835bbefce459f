"""Open and save files with the dialogs of GTK, Qt and Chromium: the whole path is typed and checked.

`open_in_dialog` and `save_in_dialog` are public functions for Python scripts. A dialog is recognized by its elements,
otherwise by its text, in English only. Chromium uses a GTK dialog without elements.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePosixPath

from holo_tasks.core.elements.elements import Element
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.texts.visible_text import exact, is_hidden
from holo_tasks.scripts.hands import Hands, Unsent
from holo_tasks.vision.screen_text import Sight, matches, plain

COMES_UP_S, HEEDS_S, GOES_S = 15.0, 1.5, 15.0
"""Longest waits in seconds: for the dialog, for its reaction to Enter, and for its end.

Chromium's dialog does not react to Enter, so its button is pressed.
"""
NAP_S = 0.5
LONGEST_NAME, LONGEST_PATH = 255, 4095
TAIL = 16
"""Number of characters at the end of a path that must be visible if the field is too short for the whole path."""
TRIES, LOOKS, CHANGES, LOOKS_GONE = 2, 3, 4, 2
OPENS, SAVES = "Open", "Save"
GTK_ROLE, FIELD, QT_FIELD = "file chooser", "text field", "File name:"
TEXTS = {"GTK": ("Cancel", "Other Loc*"), "Qt": ("Look in:", "File name:")}
"""Texts on a dialog whose program does not report its place. One must be read, each other one read or reported."""
_EXISTS = ("*already exists*", "*replace it*")
_MISSING = ("*not found*", "*could not be*", "*does not exist*", "*no such file*")


async def save_in_dialog(hands: Hands, path: str) -> str:
    """Save to a file with the dialog that is open or about to open; return the path.

    Raises `GaveUp` if no dialog opens, if it does not show the path or does not close, or if a file of the same name
    exists. An existing file is never replaced. Use `SharedFiles.wait` to check that the file is complete.
    """
    refusals = dict.fromkeys(_EXISTS, "there is a file of that name already")
    return await _choose(hands, _check_path(path), refusals, opens=False)


async def open_in_dialog(hands: Hands, path: str) -> str:
    """Open a file with the dialog that is open or about to open; return the path.

    Raises `GaveUp` if no dialog opens, if it does not show the path, and if it does not close, for example because the
    file does not exist.
    """
    refusals = dict.fromkeys(_MISSING, "the program finds no such file")
    return await _choose(hands, _check_path(path), refusals, opens=True)


async def _choose(hands: Hands, path: str, refusals: dict[str, str], *, opens: bool) -> str:
    until = _Patience(COMES_UP_S)
    while not (toolkit := dialog_on(await hands.sight())):
        if until.over:
            raise hands.give_up("No file dialog of GTK, Qt or Chromium appeared.")
        await until.wait(hands)
    if opens and toolkit == "GTK":
        # The field opens only after a slash was typed, and keys that come at once may be lost.
        await _in_dialog(hands, lambda: hands.write("/"))
    if not await _type_path(hands, path):
        raise hands.give_up(f"The dialog does not show {exact(path)} in its field, so nothing was chosen.")
    await _in_dialog(hands, lambda: hands.hotkey("enter"))
    if not await _wait_until_closed(hands, path, refusals, HEEDS_S):
        with contextlib.suppress(GaveUp):  # the dialog has closed by now, or its button has another name
            await hands.click(OPENS if opens else SAVES, timeout_seconds=0)
        if not await _wait_until_closed(hands, path, refusals, GOES_S):
            raise hands.give_up(f"The dialog is still up after {exact(path)} was chosen in it.")
    return path


async def _wait_until_closed(hands: Hands, path: str, refusals: dict[str, str], seconds: float) -> bool:
    """Wait until the dialog is closed; return whether it is. Raises `GaveUp` if the dialog rejects the path."""
    until, gone = _Patience(seconds), 0
    while True:
        sight = await hands.sight()
        for sign, why in refusals.items():
            if sight.has(sign):  # checked first, because the question may cover the dialog
                raise hands.give_up(f"{exact(path)} was not taken: {why}.")
        gone = 0 if dialog_on(sight) else gone + 1
        if gone == LOOKS_GONE:  # a question over the dialog may not have been drawn yet
            return True
        if until.over and not gone:
            return False
        await until.wait(hands)


async def _type_path(hands: Hands, path: str) -> bool:
    """Type a path into the focused field, up to twice; return whether the field shows it."""
    for _ in range(TRIES):
        await _in_dialog(hands, lambda: hands.hotkey("ctrl", "a", safe=True))
        await _in_dialog(hands, lambda: hands.write(path))
        # Remove the program's completion from the names of other files.
        await _in_dialog(hands, lambda: hands.hotkey("delete", safe=True))
        for _ in range(LOOKS):
            if took(await hands.sight(), path):
                return True
            await hands.wait(NAP_S)
    return False


async def _in_dialog(hands: Hands, do: Callable[[], Awaitable[str]]) -> None:
    """Press keys right after a look. A dialog changes by itself while it lists files and completes names."""
    for left in reversed(range(CHANGES)):
        await hands.wait(NAP_S)
        try:
            await do()
            return
        except Unsent:
            if not left or not dialog_on(await hands.sight()):
                raise


def dialog_on(sight: Sight) -> str:
    """Return the toolkit of the file dialog on the screen. Returns an empty string without a dialog."""
    for one in _elements_of(sight):
        if one.on_screen and one.role == GTK_ROLE:
            return "GTK"
        if one.on_screen and one.role == FIELD and one.name.startswith(QT_FIELD):
            return "Qt"
    for toolkit, texts in TEXTS.items():
        read = [sight.has(text) for text in texts]
        if any(read) and all(there or _named(sight, text) for there, text in zip(read, texts, strict=True)):
            return toolkit
    return ""


def took(sight: Sight, path: str) -> bool:
    """Return whether a field shows the path, as reported by its program, otherwise as far as OCR can read it."""
    elements = _elements_of(sight)
    if any(one.on_screen and one.role == FIELD and "focused" in one.states and one.value == path for one in elements):
        return True
    if any(one.on_screen and (one.role == GTK_ROLE or one.name.startswith(QT_FIELD)) for one in elements):
        return False  # a dialog that reports elements would report this one
    return sight.shows_part_of(path) or any(plain(line.text).endswith(plain(path)[-TAIL:]) for line in sight.lines)


def _named(sight: Sight, text: str) -> bool:
    """Return whether the program reports an element of this name without its place, as GTK 4 does."""
    return any("visible" in one.states and not one.on_screen and matches(text, one.name) for one in _elements_of(sight))


def _elements_of(sight: Sight) -> Sequence[Element]:
    return sight.elements.elements if sight.elements is not None else ()


class _Patience:
    """Counts the time of waits. The clock stands still while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    @property
    def over(self) -> bool:
        return self._left_s <= 0

    async def wait(self, hands: Hands) -> None:
        await hands.wait(NAP_S)
        self._left_s -= NAP_S


def _check_path(path: str) -> str:
    """Return a path that can be typed into a dialog. Raises `InvalidUsage` for any other path."""
    if not path.startswith("/") or path.endswith("/") or os.path.normpath(path) != path:
        raise InvalidUsage(f"Give a file dialog the whole path of a file, without '.' and '..', not {path[:200]!r}.")
    if any(is_hidden(character) for character in path):
        raise InvalidUsage(f"A path with invisible characters cannot be typed: {path[:200]!r}.")
    if len(os.fsencode(path)) > LONGEST_PATH or len(os.fsencode(PurePosixPath(path).name)) > LONGEST_NAME:
        raise InvalidUsage(f"The path {path[:100]!r}… is too long for a file.")
    return path
