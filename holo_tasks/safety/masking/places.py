"""Mask fixed regions of the screen, and windows by the program that owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.programs import Owner, is_viewer, may_run
from holo_tasks.core.screen.frame import Frame, Mask, OnScreen
from holo_tasks.core.screen.geometry import Box
from holo_tasks.safety.masking.user_patterns import Pattern

LONGEST_TITLE = 200
"""Characters of a window title that are matched."""


class FixedRegions:
    """Masker of the same regions on each frame."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        self._masks = tuple(masks)

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        return self._masks


@dataclass(frozen=True)
class WindowRule:
    """Rule that matches the windows of some programs. With a ``title`` pattern, the window title must match as well."""

    programs: tuple[str, ...]
    title: str | None = None
    kind: str = "window"

    def takes(self, owner: Owner) -> bool:
        """Return whether a window is to be masked. A window whose program or title is unknown is masked."""
        if is_viewer(owner):  # a remote viewer may show any program's window under any title
            return True
        if not (may_run(owner, self.programs) or self._fits(owner)):
            return False
        if self.title is None or not owner.title:
            return True
        return bool(Pattern(f"title {self.title}", self.title).spans(owner.title[:LONGEST_TITLE]))

    def _fits(self, owner: Owner) -> bool:
        globs = [program for program in self.programs if any(sign in program for sign in "*?[")]
        if any(fnmatchcase(file, glob) for file in (owner.executable, owner.script) if file for glob in globs):
            return True
        return any(fnmatchcase(name, glob.rpartition("/")[2]) for name in owner.said for glob in globs)


class WindowRules:
    """Masker of the visible parts of windows, by the program that owns them.

    The windows are those recorded in the frame. A window without a known program is masked. Of a title, only the first
    `LONGEST_TITLE` characters are matched.
    """

    def __init__(self, rules: Sequence[WindowRule]) -> None:
        self._rules = tuple(rules)

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        if frame.windows is None:
            raise DesktopFailed(
                "This desktop cannot list the windows on its screen and their programs, so none of them can be masked: "
                "use a virtual or an attached desktop, or leave windows out of the redaction."
            )
        return await asyncio.to_thread(self._masks, frame.windows)

    def _masks(self, windows: Sequence[OnScreen]) -> list[Mask]:
        found: list[Mask] = []
        for place, window in enumerate(windows):
            kind = self._kind(window)
            if kind:
                above = [other for other in windows[place + 1 :] if other.solid]
                found += [Mask(kind, box) for box in visible(window.box, [other.box for other in above])]
        return found

    def _kind(self, window: OnScreen) -> str:
        owners = window.owners or (Owner(why="its process is unknown"),)
        return next((rule.kind for rule in self._rules if any(map(rule.takes, owners))), "")


def visible(box: Box, above: Sequence[Box]) -> list[Box]:
    """Return the visible parts of a box under other boxes, as boxes that do not overlap."""
    pieces = [box]
    for cover in above:
        pieces = [left for piece in pieces for left in _without(piece, cover)]
    return pieces


def _without(box: Box, cover: Box) -> list[Box]:
    if not box.intersects(cover):
        return [box]
    top, bottom = max(box.top, cover.top), min(box.bottom, cover.bottom)
    left, right = max(box.left, cover.left), min(box.right, cover.right)
    pieces = [
        Box(box.left, box.top, box.width, top - box.top),
        Box(box.left, bottom, box.width, box.bottom - bottom),
        Box.of_corners(box.left, top, left, bottom),
        Box.of_corners(right, top, box.right, bottom),
    ]
    return [piece for piece in pieces if piece.width > 0 and piece.height > 0]
