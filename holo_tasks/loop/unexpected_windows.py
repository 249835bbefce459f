"""Windows of a program that nobody declared: popups that come up by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from holo_tasks.core.frame import Frame, OnScreen

Name = tuple[str, str]
"""A program's file and a window's title."""


@dataclass
class Windows:
    """The windows that have been there beside a screen that is known, and those that were there last."""

    known: set[Name] = field(default_factory=set)
    last: Counter[Name] = field(default_factory=Counter)

    def learn(self, frame: Frame) -> None:
        """Take the windows of a frame for expected: the screen in it is a known one."""
        self.last = Counter(_names(frame.windows))
        self.known |= set(self.last)

    def unexpected(self, frame: Frame) -> str:
        """Return the title of the uppermost window that is new and of a program that is known; nothing without one.

        Windows without a title are menus and hints: who opened them closes them. What lies above them all need not be
        the program's: window managers and panels keep windows there.
        """
        return next((title for _, title in self._new(frame)), "")

    def came_up(self, frame: Frame) -> str:
        """As `unexpected`, if all of its program that was there last still is: then none of it only has a new title.

        A window that is not solid may have changed while the picture was taken: then nobody can say.
        """
        there = Counter(_names([window for window in frame.windows or () if window.solid]))
        for program, title in self._new(frame):
            if (program, title) in there and all(
                there[name] >= count for name, count in self.last.items() if name[0] == program
            ):
                return title
        return ""

    def _new(self, frame: Frame) -> list[Name]:
        programs = {program for program, _ in self.known}
        names = reversed(_names(frame.windows))
        return [name for name in names if name[0] in programs and name[1] and name not in self.known]


def _names(windows: Sequence[OnScreen] | None) -> list[Name]:
    return [(owner.name, owner.title) for window in windows or () for owner in window.owners]
