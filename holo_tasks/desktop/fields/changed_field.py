"""Finds the field that shows newly typed text, by the changes on the screen."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from PIL import Image, ImageChops

from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.likeness import mask_at_least
from holo_tasks.core.screen.recheck import CARET_TALL, CARET_WIDE
from holo_tasks.core.secrets.mask_signs import hides, may_show
from holo_tasks.desktop.capture.screen import Picture, Screen
from holo_tasks.desktop.capture.settled_screen import SettledScreen
from holo_tasks.desktop.secrets.secret_windows import SecretWindow

CELL = 8
ACROSS, DOWN = 4, 1
"""Changes at most this many cells apart belong together: letters of one text, dots of one password."""
MOST = 8
"""More changes than this at once count as one: the window was redrawn."""
TALL = 64
"""Pixels above and below the text within which an outline is searched."""
PADDING = 4
AROUND = 32
CARETS = 2
"""A caret that a program moves shows in two places."""
LATE_NS = 2_000_000_000
"""Nanoseconds to wait for text. A program on a busy machine, or one that asks a server, draws keys long after it has
read them.
"""
Pixels = Image.Image


class Fields:
    """Compares the screen before and after a text was typed.

    It compares the window that had the keyboard before, and the one that has it afterwards: a program may move the
    focus.
    """

    def __init__(
        self,
        eyes: SettledScreen,
        screen: Screen,
        window: Callable[[], Box | None],
        inside: Callable[[Box], SecretWindow] = lambda box: SecretWindow(),
    ) -> None:
        self._eyes = eyes
        self._screen = screen
        self._window = window
        self._inside = inside
        self._before: Pixels | None = None
        self._began_in: Box | None = None

    def mark(self, last_event_ns: int) -> None:
        """Take a picture before a text is typed, once the screen has settled."""
        self._before = None
        self._began_in = self._window()
        self._before, _ = self.look(last_event_ns)

    def shown(self, last_event_ns: int, text: str) -> list[Typed]:
        """Return the areas that show the text since `mark`, or an empty list if nothing changes within `LATE_NS`.

        Returns the whole windows if the program does not even answer that it has read its keys.
        """
        until = time.monotonic_ns() + LATE_NS
        while True:
            after, settled = self.look(last_event_ns)
            windows = self.windows()
            found = self._between(after, windows)
            if found and not self._blinked(after, windows):
                hiding = [typed for typed in found if hides(text, *_inner(typed))]
                # Changes next to a password's dots count as hidden, unless the value could show there in the clear.
                hidden = [typed in hiding or (bool(hiding) and not may_show(text, *_inner(typed))) for typed in found]
                return [self._placed(replace(typed, hidden=each)) for typed, each in zip(found, hidden, strict=True)]
            if (last_event_ns := time.monotonic_ns()) >= until:
                return [
                    self._placed(typed) for typed in (found if found or settled else _whole_windows(after, windows))
                ]

    def stopped(self) -> list[Typed]:
        """Return the areas that may show the text, at once and without errors: typing or looking was cut short.

        Returns the whole windows if nothing shows yet, because the program may draw the text later.
        """
        windows = [self._began_in]
        with suppress(Exception):  # the caller is handling another error
            windows.append(self._window())
        after = self._before
        with suppress(Exception):
            after = _image(self._screen.take())
        if after is None:
            return []  # without a first picture nothing was typed
        found = self._between(after, windows)
        areas = found if found and not self._blinked(after, windows) else _whole_windows(after, windows)
        return [self._placed(typed) for typed in areas]

    def _between(self, after: Pixels, windows: Sequence[Box | None]) -> list[Typed]:
        before = self._before
        if before is None or before.size != after.size:
            return _whole_windows(after, windows)  # to be on the safe side
        return list(dict.fromkeys(found for window in windows for found in fields(before, after, window)))

    def _placed(self, typed: Typed) -> Typed:
        """Return a field with the window that shows it, if that can be determined."""
        inside = SecretWindow()
        with suppress(Exception):  # without a window, the field is masked wherever it may be
            inside = self._inside(typed.box)
        return replace(typed, window=inside.window, inside=inside.box, pid=inside.pid)

    def _blinked(self, after: Pixels, windows: Sequence[Box | None]) -> bool:
        """Return whether only a caret appeared or disappeared, so that the text is still to be drawn."""
        before = self._before
        if before is None or before.size != after.size:
            return False
        return all(blinked(before, after, window) for window in windows)

    @property
    def marked(self) -> Pixels | None:
        """The screen before the text was typed."""
        return self._before

    def windows(self) -> list[Box | None]:
        """Return the window that had the keyboard at `mark`, and the one that has it now."""
        return [self._began_in, self._window()]

    def drawn(self, since_ns: int) -> list[Box]:
        """Return the areas that were repainted since a time, even if they look as before."""
        return self._eyes.drawn(since_ns)

    def picture(self) -> Pixels:
        """Return the current screen, whether it has settled or not."""
        return _image(self._screen.take())

    def look(self, last_event_ns: int) -> tuple[Pixels, bool]:
        """Return the screen once it has settled after an input event, and whether it has settled."""
        self._eyes.acted(last_event_ns)
        seen = self._eyes.look(after_action=True)
        return _image(seen.picture), seen.settled


def _whole_windows(after: Pixels, windows: Sequence[Box | None]) -> list[Typed]:
    """Return whole windows, or the screen, as fields. Every pixel counts as changed."""
    whole = Box(0, 0, *after.size)
    inside = dict.fromkeys(window.cut_to(whole) if window is not None else whole for window in windows)
    return [_typed(box, ImageChops.invert(after), after, whole) for box in inside]


def fields(before: Pixels, after: Pixels, window: Box | None) -> list[Typed]:
    """Return the fields of a window, or of the whole screen, that changed."""
    whole = Box(0, 0, *after.size)
    inside = window.cut_to(whole) if window is not None else whole
    found = dict.fromkeys(outline(before, change, inside) for change in changes(before, after, inside))
    # The surroundings are cut to the window, because a window may be moved and others may change.
    return [_typed(box, before, after, inside) for box in found]


def _inner(typed: Typed) -> tuple[Pixels, Pixels]:
    """Return the inside of a field before and after the typing, without the outline, which may have changed."""
    size, box, around = (typed.around.width, typed.around.height), typed.box, typed.around
    edge = PADDING + 2
    left, top = box.left - around.left + edge, box.top - around.top + edge
    corners = (left, top, max(left, left + box.width - 2 * edge), max(top, top + box.height - 2 * edge))
    before, after = (Image.frombytes("RGB", size, pixels).crop(corners) for pixels in (typed.before, typed.after))
    return before, after


def changes(before: Pixels, after: Pixels, inside: Box, least: int = 1) -> list[Box]:
    """Return the boxes of the changed pixels, with close ones joined.

    ``least`` is the smallest change of a red, green or blue value that counts.
    """
    corners = (inside.left, inside.top, inside.right, inside.bottom)
    difference = ImageChops.difference(before.crop(corners), after.crop(corners))
    drawn = difference.getbbox()
    if drawn is None:
        return []
    # The rest is done for the cells with changes only. Most changes are small.
    right, bottom = (-(-edge // CELL) * CELL for edge in drawn[2:])
    part = Box.of_corners(drawn[0] // CELL * CELL, drawn[1] // CELL * CELL, right, bottom)
    part = part.cut_to(Box(0, 0, *difference.size))
    bands = difference.crop(part.corners).split()
    changed = mask_at_least(ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2]), least)
    if changed.getbbox() is None:
        return []
    cells = changed.reduce(CELL)
    across = cells.width
    left = {(number % across, number // across) for number, cell in enumerate(cells.tobytes()) if cell}
    found: list[Box] = []
    while left:
        group, queue = set(), deque([left.pop()])
        while queue:
            x, y = queue.popleft()
            group.add((x, y))
            near = {(x + i, y + j) for i in range(-ACROSS, ACROSS + 1) for j in range(-DOWN, DOWN + 1)} & left
            left -= near
            queue.extend(near)
        xs, ys = [x for x, _ in group], [y for _, y in group]
        area = (min(xs) * CELL, min(ys) * CELL, (max(xs) + 1) * CELL, (max(ys) + 1) * CELL)
        exact = changed.crop(area).getbbox() or (0, 0, CELL, CELL)
        found.append(
            Box(
                inside.left + part.left + area[0] + exact[0],
                inside.top + part.top + area[1] + exact[1],
                exact[2] - exact[0],
                exact[3] - exact[1],
            )
        )
    return found if len(found) <= MOST else [Box.around(found)]


def blinked(before: Pixels, after: Pixels, window: Box | None) -> bool:
    """Return whether the only changes in a window are those of one text caret: it disappeared, appeared, or moved."""
    whole = Box(0, 0, *after.size)
    found = changes(before, after, window.cut_to(whole) if window is not None else whole)
    return len(found) <= CARETS and all(each.width <= CARET_WIDE and each.height <= CARET_TALL for each in found)


def outline(before: Pixels, change: Box, inside: Box) -> Box:
    """Return the whole field around a change, up to its outline or, without one, as wide as the window.

    So the width does not reveal the length of the text. The field was empty where the text is now. Rows and columns
    belong to it until one that lacks its background color.
    """
    pixels = before.load()
    assert pixels is not None
    area = before.crop((change.left, change.top, change.right, change.bottom))
    counted: list[tuple[int, tuple[int, int, int]]] = area.getcolors(change.width * change.height) or []  # type: ignore[assignment]
    paper = max(counted)[1]

    def edge(line: list[tuple[int, int]], most: float) -> bool:
        return sum(pixels[place] == paper for place in line) <= most * len(line)

    columns = range(change.left, change.right, max(1, change.width // 64))
    top, bottom = change.top, change.bottom
    while top > max(inside.top, change.top - TALL) and not edge([(x, top - 1) for x in columns], 0.5):
        top -= 1
    while bottom < min(inside.bottom, change.bottom + TALL) and not edge([(x, bottom) for x in columns], 0.5):
        bottom += 1
    # Without an outline that near, the text is on the page itself.
    top = top if change.top - top < TALL and top > inside.top else max(inside.top, change.top - PADDING)
    if bottom - change.bottom >= TALL or bottom >= inside.bottom:
        bottom = min(inside.bottom, change.bottom + PADDING)
    rows = range(top, bottom)
    left, right = change.left, change.right
    while left > inside.left and not edge([(left - 1, y) for y in rows], 0.05):
        left -= 1
    while right < inside.right and not edge([(right, y) for y in rows], 0.05):
        right += 1
    return Box(left - PADDING, top - PADDING, right - left + 2 * PADDING, bottom - top + 2 * PADDING).cut_to(inside)


def _typed(box: Box, before: Pixels, after: Pixels, whole: Box) -> Typed:
    around = box.grown(AROUND).cut_to(whole)
    corners = (around.left, around.top, around.right, around.bottom)
    return Typed(box, around, before.crop(corners).tobytes(), after.crop(corners).tobytes())


def _image(picture: Picture) -> Pixels:
    return Image.frombuffer("RGB", (picture.size.width, picture.size.height), picture.bgrx, "raw", "BGRX", 0, 1)
