"""Read all text of a screen band by band, for redaction, which must not miss a text.

The lines of a band depend on its own pixels only, and are cached by them. So the result never depends on
earlier frames. After a small change, only the changed bands are read again. `BandReader` is used by
`run.rules.redactors`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import bgr_of
from holo_tasks.vision.ocr import Ocr
from holo_tasks.vision.screen_text import Line

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

CORE, MARGIN = 64, 32
"""Rows of a band, and extra rows above and below it. A text up to twice as high as the margin is seen whole."""
_SHARED = 8
"""Rows by which neighboring bands overlap. A text whose middle lies there may be found by both bands."""
_KNOWN_BANDS, _KNOWN_SCREENS = 4096, 8
_LEAST_SCORE = 0.3
_BLANK, _PALE = 6, 96
"""Grey levels. A band that varies by less than the first has no text. One that varies by less than the second is
stretched to full contrast before reading.
"""


class KnownBands:
    """Cache of the lines of bands by their pixels. Several readers and threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: OrderedDict[bytes, tuple[Line, ...]] = OrderedDict()

    def get(self, key: bytes) -> tuple[Line, ...] | None:
        with self._lock:
            if key in self._lines:
                self._lines.move_to_end(key)
            return self._lines.get(key)

    def add(self, key: bytes, lines: tuple[Line, ...]) -> None:
        with self._lock:
            self._lines[key] = lines
            if len(self._lines) > _KNOWN_BANDS:
                self._lines.popitem(last=False)


@cache
def shared_bands() -> KnownBands:
    """Return the cache of this process: runs on the same program need not read its screens again."""
    return KnownBands()


class BandReader:
    """Reads frames; implements `safety.masking.lines.LineReader`. Threads may share it."""

    def __init__(self, ocr: Ocr | None = None, bands: KnownBands | None = None) -> None:
        self._ocr = ocr or Ocr()
        self._lock = threading.Lock()
        self._bands = bands or KnownBands()
        self._screens: OrderedDict[str, tuple[Line, ...]] = OrderedDict()
        self.read = 0
        """Number of bands that OCR has read, without cached ones."""

    def lines(self, frame: Frame) -> tuple[Line, ...]:
        """Return all lines of text on a screen. Equal pixels give equal lines, whatever was read before."""
        with self._lock:
            known = self._screens.get(frame.digest)
            if known is None:
                known = self._screens[frame.digest] = self._read(frame)
                if len(self._screens) > _KNOWN_SCREENS:
                    self._screens.popitem(last=False)
            return known

    def again(self, frame: Frame, box: Box) -> tuple[str, ...]:
        """Return further readings of a line: enlarged, in full contrast, and with more space around it."""
        import cv2
        import numpy as np

        pixels = _pixels(frame)
        readings = []
        with self._lock:
            for more, scale in ((0, 2.0), (2, 1.0), (2, 3.0)):
                top, left = max(0, box.top - more), max(0, box.left - more)
                piece = pixels[top : box.bottom + more, left : box.right + more]
                if scale != 1.0:
                    piece = np.asarray(cv2.resize(piece, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC))
                for version in (piece, _to_full_contrast(piece)):
                    text, _ = self._ocr.read(np.ascontiguousarray(version))
                    if text and text not in readings:
                        readings.append(text)
        return tuple(readings)

    def _read(self, frame: Frame) -> tuple[Line, ...]:
        pixels = _pixels(frame)
        height = frame.size.height
        found: list[Line] = []
        for core in range(0, height, CORE):
            top, bottom = max(0, core - MARGIN), min(height, core + CORE + MARGIN)
            for line in self._band(pixels[top:bottom], core - top):
                line = Line(
                    line.text, Box(line.box.left, top + line.box.top, line.box.width, line.box.height), line.score
                )
                if not any(_are_same(line.box, other.box) for other in found[-200:]):
                    found.append(line)
        return tuple(found)

    def _band(self, band: Pixels, first: int) -> tuple[Line, ...]:
        """Return the lines whose middle is in the core of a band, which begins at row ``first`` of the band."""
        key = hashlib.sha256(band.tobytes()).digest() + repr((band.shape, first)).encode()
        known = self._bands.get(key)
        if known is not None:
            return known
        lines = []
        if int(band.max()) - int(band.min()) >= _BLANK:
            self.read += 1
            for box in self._ocr.find(_to_full_contrast(band)):
                middle = box.top + box.height / 2
                if first - _SHARED <= middle <= first + CORE + _SHARED:
                    text, score = self._ocr.read(_to_full_contrast(band[box.top : box.bottom, box.left : box.right]))
                    if text and score >= _LEAST_SCORE:
                        lines.append(Line(text, box, score))
        found = tuple(lines)
        self._bands.add(key, found)
        return found


def _pixels(frame: Frame) -> Pixels:
    """Return a frame's pixels in the channel order of OpenCV (blue, green, red)."""
    import numpy as np

    rgb = np.frombuffer(frame.rgb, np.uint8).reshape(frame.size.height, frame.size.width, 3)
    return bgr_of(rgb)


def _to_full_contrast(piece: Pixels) -> Pixels:
    """Return pale pixels in full contrast, and others unchanged."""
    import numpy as np

    low, high = int(piece.min()), int(piece.max())
    if high - low >= _PALE or high == low:
        return np.ascontiguousarray(piece)
    found: Pixels = ((piece.astype(np.float32) - low) * (255.0 / (high - low))).astype(np.uint8)
    return found


def _are_same(one: Box, other: Box) -> bool:
    """Return whether two boxes from neighboring bands surround the same text (80 % of their union is shared)."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    if width <= 0 or height <= 0:
        return False
    shared = width * height
    return shared >= 0.8 * (one.width * one.height + other.width * other.height - shared)
