"""Scripts that open and save by a file dialog of GTK, Qt or Chromium: the whole path is typed, and looked at.

A dialog is told by what its program tells of it, else by what is written on it, which is English then. Chromium's is
one of GTK, of which it tells nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePosixPath

from holo_tasks.core.elements import Element
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.visible_text import exact, is_hidden
from holo_tasks.scripts.hands import Hands, Unsent
from holo_tasks.vision.screen_text import Sight, matches, plain

COMES_UP_S, HEEDS_S, GOES_S = 15.0, 1.5, 15.0
"""How long a dialog may take to come up, to heed the Enter key, which Chromium's does not, and to be gone."""
NAP_S = 0.5
LONGEST_NAME, LONGEST_PATH = 255, 4095
TAIL = 16
"""So much of a path's end has to be seen, where a field shows no more of it."""
TRIES, LOOKS, CHANGES, LOOKS_GONE = 2, 3, 4, 2
OPENS, SAVES = "Open", "Save"
GTK_ROLE, FIELD, QT_FIELD = "file chooser", "text field", "File name:"
TEXTS = {"GTK": ("Cancel", "Other Loc*"), "Qt": ("Look in:", "File name:")}
"""What is written on a dialog whose program does not tell where it is. One is read, each other read or told."""
_TAKEN = ("*already exists*", "*replace it*")
_NOT_THERE = ("*not found*", "*could not be*", "*does not exist*", "*no such file*")


async def save_in_dialog(hands: Hands, path: str) -> str:
    """Save into a file by the dialog that is up, or is about to come up; return the path.

    Gives up where no dialog comes up, where it did not take the path as it is, where it does not go, and where there is
    a file of that name already, which is never replaced. That the file is whole is for `SharedFiles.wait` to say.
    """
    refusals = dict.fromkeys(_TAKEN, "there is a file of that name already")
    return await _chosen(hands, _checked(path), refusals, opens=False)


async def open_in_dialog(hands: Hands, path: str) -> str:
    """Open a file by the dialog that is up, or is about to come up; return the path.

    Gives up where no dialog comes up, where it did not take the path as it is, and where it does not go, as for a file
    that is not there.
    """
    refusals = dict.fromkeys(_NOT_THERE, "the program finds no such file")
    return await _chosen(hands, _checked(path), refusals, opens=True)


async def _chosen(hands: Hands, path: str, refusals: dict[str, str], *, opens: bool) -> str:
    until = _Patience(COMES_UP_S)
    while not (toolkit := dialog_on(await hands.sight())):
        if until.over:
            raise hands.give_up("No file dialog of GTK, Qt or Chromium came up.")
        await until.wait(hands)
    if opens and toolkit == "GTK":
        # There is no field before a slash is typed, and keys that come at once may be lost.
        await _in_dialog(hands, lambda: hands.write("/"))
    if not await _typed(hands, path):
        raise hands.give_up(f"The dialog does not show {exact(path)} in its field, so nothing was chosen.")
    await _in_dialog(hands, lambda: hands.hotkey("enter"))
    if not await _gone(hands, path, refusals, HEEDS_S):
        with contextlib.suppress(GaveUp):  # it has gone by now, or its button is called otherwise
            await hands.click(OPENS if opens else SAVES, timeout_seconds=0)
        if not await _gone(hands, path, refusals, GOES_S):
            raise hands.give_up(f"The dialog is still up after {exact(path)} was chosen in it.")
    return path


async def _gone(hands: Hands, path: str, refusals: dict[str, str], seconds: float) -> bool:
    """Wait until the dialog is gone, and say whether it is; give up where it says that it does not take the path."""
    until, gone = _Patience(seconds), 0
    while True:
        sight = await hands.sight()
        for sign, why in refusals.items():
            if sight.has(sign):  # first of all: the question may cover what the dialog is known by
                raise hands.give_up(f"{exact(path)} was not taken: {why}.")
        gone = 0 if dialog_on(sight) else gone + 1
        if gone == LOOKS_GONE:  # what covers it may not have been drawn yet
            return True
        if until.over and not gone:
            return False
        await until.wait(hands)


async def _typed(hands: Hands, path: str) -> bool:
    """Type a path into the field that has the keyboard, twice if need be; say whether it shows there."""
    for _ in range(TRIES):
        await _in_dialog(hands, lambda: hands.hotkey("ctrl", "a", safe=True))
        await _in_dialog(hands, lambda: hands.write(path))
        # What the program has put behind it, from the names of other files.
        await _in_dialog(hands, lambda: hands.hotkey("delete", safe=True))
        for _ in range(LOOKS):
            if took(await hands.sight(), path):
                return True
            await hands.wait(NAP_S)
    return False


async def _in_dialog(hands: Hands, do: Callable[[], Awaitable[str]]) -> None:
    """Press keys right after a look: a dialog goes on changing by itself, as files are listed and names completed."""
    for left in reversed(range(CHANGES)):
        await hands.wait(NAP_S)
        try:
            await do()
            return
        except Unsent:
            if not left or not dialog_on(await hands.sight()):
                raise


def dialog_on(sight: Sight) -> str:
    """Say which toolkit's file dialog is on the screen; empty if there is none."""
    for one in _told(sight):
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
    """Say whether a field shows the path, as its program tells or, if it does not, as far as it can be read."""
    told = _told(sight)
    if any(one.on_screen and one.role == FIELD and "focused" in one.states and one.value == path for one in told):
        return True
    if any(one.on_screen and (one.role == GTK_ROLE or one.name.startswith(QT_FIELD)) for one in told):
        return False  # a dialog that tells of itself would tell this
    return sight.shows_part_of(path) or any(plain(line.text).endswith(plain(path)[-TAIL:]) for line in sight.lines)


def _named(sight: Sight, text: str) -> bool:
    """Say whether the program tells of something of this name, though not where it is, as GTK 4 does."""
    return any("visible" in one.states and not one.on_screen and matches(text, one.name) for one in _told(sight))


def _told(sight: Sight) -> Sequence[Element]:
    return sight.elements.elements if sight.elements is not None else ()


class _Patience:
    """Counts how long something has been waited for, by what was waited: the clock stands while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    @property
    def over(self) -> bool:
        return self._left_s <= 0

    async def wait(self, hands: Hands) -> None:
        await hands.wait(NAP_S)
        self._left_s -= NAP_S


def _checked(path: str) -> str:
    """Return a path that a dialog can be given; raise `InvalidUsage` for one that it would take for something else."""
    if not path.startswith("/") or path.endswith("/") or os.path.normpath(path) != path:
        raise InvalidUsage(f"A file dialog is given the whole path of a file, without '.' and '..': {path[:200]!r}.")
    if any(is_hidden(character) for character in path):
        raise InvalidUsage(f"A path with characters that nobody sees is not typed: {path[:200]!r}.")
    if len(os.fsencode(path)) > LONGEST_PATH or len(os.fsencode(PurePosixPath(path).name)) > LONGEST_NAME:
        raise InvalidUsage(f"The path {path[:100]!r}… is longer than any that a file can have.")
    return path
