"""Detect undeclared windows of a program: popups that appear by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from holo_tasks.core.screen.frame import Frame, OnScreen

Name = tuple[str, str]
"""File of a program, and title of a window."""


@dataclass
class Windows:
    """The windows that were there on known screens, and those of the last known screen."""

    known: set[Name] = field(default_factory=set)
    last: Counter[Name] = field(default_factory=Counter)

    def learn(self, frame: Frame) -> None:
        """Treat the windows of a frame as expected, because the frame shows a known state."""
        self.last = Counter(_names(frame.windows))
        self.known |= set(self.last)

    def unexpected_title(self, frame: Frame) -> str:
        """Return the title of the topmost new window of a known program. Returns an empty string without one.

        Windows without a title are menus and tooltips, which their programs close. Windows of the window manager and of
        panels may lie above.
        """
        return next((title for _, title in self._new_windows(frame)), "")

    def appeared_alone(self, frame: Frame) -> str:
        """Return the title as `unexpected_title` does, if all earlier windows of the program are still there.

        Otherwise an earlier window may only have a new title. A window that is not solid may have changed during the
        capture, so it does not count.
        """
        there = Counter(_names([window for window in frame.windows or () if window.solid]))
        for program, title in self._new_windows(frame):
            if (program, title) in there and all(
                there[name] >= count for name, count in self.last.items() if name[0] == program
            ):
                return title
        return ""

    def _new_windows(self, frame: Frame) -> list[Name]:
        programs = {program for program, _ in self.known}
        names = reversed(_names(frame.windows))
        return [name for name in names if name[0] in programs and name[1] and name not in self.known]


def _names(windows: Sequence[OnScreen] | None) -> list[Name]:
    return [(owner.name, owner.title) for window in windows or () for owner in window.owners]
