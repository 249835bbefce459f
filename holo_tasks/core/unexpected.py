"""Windows of a program that nobody declared: a popup that hides the screen it came up over."""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core.frame import Frame


@dataclass
class Windows:
    """The windows, by program and title, that have been there beside a screen that is known."""

    known: set[tuple[str, str]] = field(default_factory=set)

    def learn(self, frame: Frame) -> None:
        """Take the windows of a frame for expected: the screen in it is a known one."""
        self.known |= {(owner.name, owner.title) for window in frame.windows or () for owner in window.owners}

    def unexpected(self, frame: Frame) -> str:
        """Return the title of the uppermost window if it is new and of a program that is known; else nothing.

        Windows without a title are menus and hints: who opened them closes them.
        """
        top = frame.windows[-1] if frame.windows else None
        programs = {name for name, _ in self.known}
        for owner in top.owners if top else ():
            if owner.name in programs and owner.title and (owner.name, owner.title) not in self.known:
                return owner.title
        return ""
