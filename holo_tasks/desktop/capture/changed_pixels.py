"""Find the parts of repainted areas whose pixels changed.

Programs repaint more than they change: a browser repaints a whole column for one line. `ChangedPixels` is the main
class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from PIL import Image, ImageChops

from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.capture.repaints import KEPT
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

SMALLEST = 64
"""Boxes of changes are split until both sides have at most this many pixels."""


class ChangedPixels:
    """The last picture of one screen, and the boxes that changed since, with their times."""

    def __init__(self, link: XConnection) -> None:
        self._link = link
        self._known: Image.Image | None = None
        self._until_ns = 0
        self._kept: deque[tuple[int, Box]] = deque(maxlen=KEPT)

    def forget(self) -> None:
        """Drop the picture, so that the next call compares nothing. Used where comparing would take too long."""
        self._known = None

    def since(self, seen: Sequence[Repaint]) -> tuple[tuple[int, Box], ...]:
        """Return the changed boxes within these repaints, each with its time in nanoseconds.

        ``seen`` is in order of time. Repaints before the first picture count as changes as a whole.
        """
        new = [repaint for repaint in seen if repaint.at_ns > self._until_ns]
        screen = Box.whole(self._link.size())
        try:
            if self._known is None or self._known.size != (screen.width, screen.height):
                self._known = self._taken(screen)
                self._kept = deque(((each.at_ns, each.box) for each in seen), maxlen=KEPT)
            else:
                self._compare(new, screen, self._known)
        except Refused:  # the screen was resized
            self._known = None
            self._kept = deque(((each.at_ns, each.box) for each in seen), maxlen=KEPT)
        self._until_ns = seen[-1].at_ns if seen else 0
        return tuple(self._kept)

    def _compare(self, new: Sequence[Repaint], screen: Box, known: Image.Image) -> None:
        """Update the picture where something was repainted, and record the boxes whose pixels changed."""
        looked: list[Box] = []
        changed: list[Box] = []
        for each in sorted(new, key=lambda repaint: -repaint.box.area):
            box = each.box.intersection(screen)
            if box is None or any(other.encloses(box) for other in looked):
                continue
            looked.append(box)
            now, place = self._taken(box), (box.left, box.top, box.right, box.bottom)
            changed += places_of(ImageChops.difference(now, known.crop(place)), box.left, box.top)
            known.paste(now, place)
        for each in new:
            parts = (each.box.intersection(box) for box in changed)
            self._kept.extend((each.at_ns, part) for part in parts if part is not None)

    def _taken(self, box: Box) -> Image.Image:
        size = box.width, box.height
        return Image.frombuffer("RGBX", size, self._link.pixels(box), "raw", "RGBX", 0, 1).convert("RGB")


def places_of(difference: Image.Image, left: int = 0, top: int = 0) -> list[Box]:
    """Return boxes around the pixels of a picture that are not black, moved by ``left`` and ``top``."""
    around = difference.getbbox()
    if around is None:
        return []
    box = Box.of_corners(*around)
    if max(box.width, box.height) <= SMALLEST:
        return [Box(left + box.left, top + box.top, box.width, box.height)]
    if box.width >= box.height:
        middle = box.left + box.width // 2
        halves = (box.left, box.top, middle, box.bottom), (middle, box.top, box.right, box.bottom)
    else:
        middle = box.top + box.height // 2
        halves = (box.left, box.top, box.right, middle), (box.left, middle, box.right, box.bottom)
    return [place for half in halves for place in places_of(difference.crop(half), left + half[0], top + half[1])]
