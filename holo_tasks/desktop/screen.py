"""Takes the picture of one screen, with mss."""

from __future__ import annotations

import mmap
import os
import zlib
from dataclasses import dataclass

import mss
from mss.exception import ScreenShotError
from PIL import Image

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.geometry import Size
from holo_tasks.desktop.xlink import XLink


@dataclass(frozen=True, slots=True)
class Picture:
    """Pixels as the server holds them: blue, green, red, unused."""

    size: Size
    bgrx: bytes | bytearray

    def rgb(self) -> bytes:
        size = (self.size.width, self.size.height)
        return Image.frombuffer("RGB", size, self.bgrx, "raw", "BGRX", 0, 1).tobytes()


class Screen:
    """One screen and the memory its pictures are handed over in."""

    def __init__(self, link: XLink, pixels: int) -> None:
        self._link = link
        self._fd = pixels
        self._mss = self._open()
        self.size = link.size()

    def _open(self) -> mss.MSS:
        try:
            return mss.MSS(display=self._link.display)
        except ScreenShotError:
            # TigerVNC lists depth 24 twice; mss 10.2 looks for its visual in the first list only,
            # except in its older, slower backend.
            return mss.MSS(display=self._link.display, backend="xlib")

    def take(self) -> Picture:
        """Take a picture of the whole screen, at its size of now, without the pointer."""
        size = self._link.size()
        if size != self.size:
            # mss measures its buffer once.
            self._mss.close()
            self._mss = self._open()
            self.size = size
        try:
            shot = self._mss.grab({"left": 0, "top": 0, "width": size.width, "height": size.height})
        except ScreenShotError as error:
            raise DesktopFailed(f"The screen {self._link.display} cannot be read: {error}.") from error
        return Picture(size, shot.raw)

    def fingerprint(self) -> int:
        """Return a number that changes when the picture does."""
        return zlib.crc32(self.take().bgrx)

    def hand_over(self, picture: Picture) -> int:
        """Put a picture where the other process finds it; return its length in bytes."""
        rgb = picture.rgb()
        if os.fstat(self._fd).st_size < len(rgb):
            os.ftruncate(self._fd, len(rgb))
        with mmap.mmap(self._fd, len(rgb)) as memory:
            memory[:] = rgb
        return len(rgb)
