"""Watches, while nobody acts, what on a screen keeps changing by itself: a clock, a spinner, a banner, a video.

What was drawn is looked at in a thread, over a connection of its own; it stays in the process that owns the screen.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import xcffib.xproto
from PIL import Image, ImageChops

from holo_tasks.core.geometry import Box
from holo_tasks.core.stirring import TILE, Stirring, Tile
from holo_tasks.desktop.repaints import Repaints
from holo_tasks.desktop.xlink import Gone, Refused, XLink

NAP_S, REST = 0.1, 9
"""Between two samples at least this long, and this many times as long as a sample takes: a video costs a tenth of a
core at most."""
TIMES, SPAN_S = 3, 2.0
"""What changed so often by itself, and over so long a time, keeps changing."""
FAST, FAST_S = 6, 2.0
"""What changed so often within this time nobody reads."""
LATE, LATE_S = 2.0, 1.0
"""It does so no more when it has not for as many times as long as it usually takes, and this long."""
KEPT, FORGOTTEN_S = 32, 30.0
"""Of the times of its changes so many are known: those of a video, too, are of longer than that."""


class Stirs:
    """What one screen does by itself.

    Nothing counts that changes between the first event of a gesture and the look after it: that may be its effect.
    """

    def __init__(self, repaints: Repaints, link: XLink, away: Callable[[], bool]) -> None:
        self._repaints = repaints
        self._link = link
        self._away = away
        self._news = threading.Event()
        self._turn = threading.Lock()
        self._drawn: deque[Box] = deque()
        self._known: Image.Image | None = None
        self._acting = False
        self._changed: dict[Tile, deque[float]] = {}
        if repaints.exact:
            repaints.also = self._note
            threading.Thread(target=self._watch, name="stirs", daemon=True).start()

    def acts(self) -> None:
        """Count nothing from now on: what changes may be an effect of ours."""
        self._catch_up()
        self._acting = True

    def rests(self) -> None:
        """Count again what changes, from here on."""
        self._catch_up()
        self._acting = False

    def seen(self, *, least: int = TIMES, span_s: float = SPAN_S) -> Stirring:
        """Return what has changed by itself so often, over so long a time, and still does."""
        self._catch_up()
        now = time.monotonic()
        tiles, fast = set(), set()
        with self._turn:
            for tile, times in list(self._changed.items()):
                if now - times[-1] > FORGOTTEN_S:
                    del self._changed[tile]
                    continue
                span = times[-1] - times[0]
                usual = span / (len(times) - 1) if len(times) > 1 else FAST_S
                if len(times) >= least and span >= span_s and now - times[-1] <= LATE * usual + LATE_S:
                    tiles.add(tile)
                    if len(times) >= FAST and times[-1] - times[-FAST] <= FAST_S:
                        fast.add(tile)
        return Stirring(frozenset(tiles), frozenset(fast))

    def _note(self, area: Box) -> None:
        self._drawn.append(area)
        self._news.set()

    def _watch(self) -> None:
        while True:
            self._news.wait()
            began = time.monotonic()
            if not self._catch_up():
                return
            time.sleep(max(NAP_S, REST * (time.monotonic() - began)))

    def _catch_up(self) -> bool:
        """Look at what was drawn since the last time; false if there is nothing to be looked at any more."""
        if not self._repaints.exact:
            return False
        with self._turn:
            try:
                self._news.clear()
                self._sample([self._drawn.popleft() for _ in range(len(self._drawn))])
            except Gone:
                return False
            except Refused:  # it has another size by now
                self._known = None
        return True

    def _sample(self, drawn: list[Box]) -> None:
        if self._away():
            self._known = None
            return
        size = self._link.size() if drawn or self._known is None else None
        if size is not None and (self._known is None or self._known.size != (size.width, size.height)):
            self._changed.clear()
            self._known = self._taken(0, 0, size.width, size.height)
            return
        if self._known is None or not drawn:
            return
        left, top = max(0, min(box.left for box in drawn)), max(0, min(box.top for box in drawn))
        left, top = left // TILE * TILE, top // TILE * TILE
        right = min(self._known.width, max(box.right for box in drawn))
        bottom = min(self._known.height, max(box.bottom for box in drawn))
        if right <= left or bottom <= top:
            return
        now = self._taken(left, top, right - left, bottom - top)
        red, green, blue = ImageChops.difference(now, self._known.crop((left, top, right, bottom))).split()
        differs = ImageChops.lighter(ImageChops.lighter(red, green), blue).point(lambda value: 255 if value else 0)
        self._known.paste(now, (left, top))
        if self._acting or differs.getbbox() is None:
            return
        at, squares = time.monotonic(), differs.reduce(TILE)
        for number, changed in enumerate(squares.tobytes()):
            if changed:
                tile = left // TILE + number % squares.width, top // TILE + number // squares.width
                times = self._changed.setdefault(tile, deque(maxlen=KEPT))
                if not times or at - times[-1] >= NAP_S / 2:
                    times.append(at)

    def _taken(self, left: int, top: int, width: int, height: int) -> Image.Image:
        whole = 0xFFFFFFFF
        zpixmap = xcffib.xproto.ImageFormat.ZPixmap
        reply = self._link.conn.core.GetImage(zpixmap, self._link.root, left, top, width, height, whole).reply()
        return Image.frombuffer("RGB", (width, height), bytes(reply.data.buf()), "raw", "BGRX", 0, 1).copy()
