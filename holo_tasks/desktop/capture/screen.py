"""Capture the picture of one screen with mss. `Screen` is the main class."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass

import mss
from mss.exception import ScreenShotError
from PIL import Image

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.recheck import Strip
from holo_tasks.desktop.x11.x_connection import XConnection

AT_ONCE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Picture:
    """A captured picture. Each pixel has four bytes: blue, green, red, unused."""

    size: Size
    bgrx: bytes | bytearray

    @property
    def top(self) -> int:
        return 0

    @property
    def is_one_color(self) -> bool:
        """Return whether all pixels have one color."""
        return bytes(self.bgrx[:4]) * (len(self.bgrx) // 4) == bytes(self.bgrx)


class Screen:
    """One screen, and the shared memory through which its pictures go to the other process."""

    def __init__(self, link: XConnection, pixels: int) -> None:
        self._link = link
        self._fd = pixels
        self._mss = self._open()
        self.size = link.size()
        self.within: Box | None = None
        """The part of the screen that is captured; the rest is black in every picture. ``None`` is the whole screen."""

    def _open(self) -> mss.MSS:
        try:
            return mss.MSS(display=self._link.display)
        except ScreenShotError:
            # TigerVNC lists depth 24 twice. mss 10.2 looks for its visual in the first list only; its older, slower
            # backend looks in both.
            return mss.MSS(display=self._link.display, backend="xlib")

    def take(self) -> Picture:
        """Capture the whole screen at its current size, without the pointer."""
        size = self._measure()
        return Picture(size, self._grab_rows(size, 0, size.height))

    def strip(self, first: int, last: int) -> Strip:
        """Capture the rows from ``first`` up to ``last`` (exclusive), cut to the screen."""
        size = self._measure()
        first, last = max(0, min(first, size.height - 1)), min(last, size.height)
        return Strip(size, self._grab_rows(size, first, last), first)

    def _measure(self) -> Size:
        size = self._link.size()
        if size != self.size:
            # mss measures its buffer once.
            self._mss.close()
            self._mss = self._open()
            self.size = size
        return size

    def _grab_rows(self, size: Size, first: int, last: int) -> bytes | bytearray:
        rows = Box.of_corners(0, first, size.width, last)
        if self.within is None or self.within.encloses(rows):
            return self._grab(rows)
        canvas, part = bytearray(4 * rows.area), self.within.intersection(rows)
        if part is not None:
            seen = memoryview(self._grab(part))
            for row in range(part.height):
                at = 4 * ((part.top - first + row) * size.width + part.left)
                canvas[at : at + 4 * part.width] = seen[4 * row * part.width : 4 * (row + 1) * part.width]
        return canvas

    def _grab(self, box: Box) -> bytes | bytearray:
        try:
            shot = self._mss.grab({"left": box.left, "top": box.top, "width": box.width, "height": box.height})
        except ScreenShotError as error:
            raise DesktopFailed(f"The screen {self._link.display} cannot be read: {error}.") from error
        raw: bytes | bytearray = shot.raw
        return raw

    def fingerprint(self) -> int:
        """Return a checksum (CRC-32) of the current picture."""
        return zlib.crc32(self.take().bgrx)

    def hand_over(self, picture: Picture) -> int:
        """Write a picture as RGB to the shared memory; return its length in bytes.

        It is converted in parts of ``AT_ONCE`` bytes. A buffer for the whole picture would be allocated and freed by
        the system each time, page by page.
        """
        width, height = picture.size.width, picture.size.height
        written, some, pixels = 0, max(1, AT_ONCE // (4 * width)), memoryview(picture.bgrx)
        for top in range(0, height, some):
            rows = min(some, height - top)
            left = _rgb(pixels[4 * width * top : 4 * width * (top + rows)], width, rows)
            while left:
                wrote = os.pwrite(self._fd, left, written)
                left, written = left[wrote:], written + wrote
        return written


def _rgb(bgrx: bytes | bytearray | memoryview, width: int, height: int) -> bytes:
    """Return pixels of four bytes (blue, green, red, unused) as RGB.

    Pillow uses such a buffer without conversion in the mode ``RGBX``. So the first byte of its red, green and blue is
    our blue, and one pass turns them around. To decode the buffer as ``BGRX`` takes another pass.
    """
    picture = Image.frombuffer("RGBX", (width, height), bgrx, "raw", "RGBX", 0, 1)  # type: ignore[arg-type]
    return picture.tobytes("raw", "BGR")
