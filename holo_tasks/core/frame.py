"""What was on a screen at one moment."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from holo_tasks.core.activity import UNKNOWN, Activity
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.programs import Owner

if TYPE_CHECKING:  # the process that owns a desktop has no use for it
    from holo_tasks.core.calibration import Correction

LOST = "typed_window"
"""Why a window is masked as a whole: a secret that was typed into it may show there, and nobody can say where."""


@dataclass(frozen=True)
class OnScreen:
    """A window as it lay on the screen when the picture was taken, its frame included.

    ``owners`` are the programs that draw in it: usually one. ``solid`` says that it hides all that lies below it.
    """

    box: Box
    owners: tuple[Owner, ...]
    solid: bool


@dataclass(frozen=True)
class Frame:
    """Raw pixels of one screen, in memory only.

    ``rgb`` holds height x width x 3 bytes, rows from the top. ``scale`` is device pixels per
    logical pixel (1.0 on a plain X screen).
    ``settled`` is false when the screen was still changing as the time limit for settling ran out, ``hung`` true when
    its program had not read its input by then. Times are nanoseconds: ``taken_at_ns`` since the epoch, ``settle_ns``
    spent waiting, ``quiet_ns`` from the last repaint to the capture (zero when nothing was seen to repaint).
    ``windows`` are those in the picture, the lowest first; None where nobody can say. ``number`` is what the desktop
    knows the frame by as long as it remembers it; zero if it does not. ``holds`` is how often a person had the screen
    before. ``typed_in`` are the windows that secrets were typed into, by their numbers, and where they are by now: None
    for one that is not to be seen. ``monitor`` is the part of the screen that the desktop is bound to, None for all of
    it: what is beside it is black. ``reconnected`` is how often the connection to the remote screen that it shows
    dropped and was made again by then. ``activity`` holds the signs of work that followed the last input.
    """

    rgb: bytes = field(repr=False)
    size: Size
    display: str
    scale: float = 1.0
    settled: bool = True
    hung: bool = False
    taken_at_ns: int = 0
    settle_ns: int = 0
    quiet_ns: int = 0
    capture_ns: int = 0
    windows: tuple[OnScreen, ...] | None = field(default=None, repr=False)
    number: int = 0
    holds: int = 0
    typed_in: tuple[tuple[int, Box | None], ...] = ()
    monitor: Box | None = None
    reconnected: int = 0
    activity: Activity = UNKNOWN

    def __post_init__(self) -> None:
        expected = self.size.width * self.size.height * 3
        if len(self.rgb) != expected:
            raise ValueError(f"a frame of {self.size} has {expected} bytes, not {len(self.rgb)}")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pixels: two frames are the same screen only if every pixel is the same."""
        found = hashlib.sha256(f"{self.size}".encode())
        found.update(self.rgb)
        return found.hexdigest()

    def crop(self, box: Box) -> Frame:
        """Return the part of the screen inside a box. Raises `InvalidUsage` if the box is not on the screen."""
        width, height = self.size.width, self.size.height
        if box.left < 0 or box.top < 0 or box.right > width or box.bottom > height or box.width < 1 or box.height < 1:
            raise InvalidUsage(f"The region {box} is not on the screen of {self.size} pixels.")
        rows = range(box.top, box.bottom)
        rgb = b"".join(self.rgb[3 * (row * width + box.left) : 3 * (row * width + box.right)] for row in rows)
        return replace(self, rgb=rgb, size=Size(box.width, box.height))


@dataclass(frozen=True)
class Mask:
    """An area of the screen, in its pixels, that is painted over; ``kind`` says why, never what is under it."""

    kind: str
    box: Box


@dataclass(frozen=True)
class RedactedFrame:
    """A frame in which what must not leave the machine is painted over.

    ``masks`` are the areas that were painted, on the whole screen; ``region`` is the part of a ``screen`` it shows,
    None for all of it. The encoder accepts nothing but this type.
    """

    frame: Frame
    masks: tuple[Mask, ...] = ()
    region: Box | None = None
    screen: Size | None = None

    def crop(self, region: Box | None) -> RedactedFrame:
        """Return a region of the screen; None is all of it."""
        return (
            self
            if region is None
            else replace(self, frame=self.frame.crop(region), region=region, screen=self.frame.size)
        )


@dataclass(frozen=True)
class Shot:
    """The exact bytes of a picture that is sent to the model.

    Coordinates in the model's answer are relative to this very picture, hence to ``area``: the part of the
    screen that it shows, in screen pixels.
    """

    data: bytes = field(repr=False)
    media_type: str
    sha256: str
    sent_size: Size
    screen: Size
    frame_digest: str
    encode_ns: int = 0
    region: Box | None = None
    correction: Correction | None = None
    """What is done to the coordinates of who decides on it, because they are known to be off by so much."""

    @property
    def area(self) -> Box:
        return self.region or Box.whole(self.screen)
