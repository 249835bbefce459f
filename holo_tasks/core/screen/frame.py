"""Screenshots, the masks on them, and the pictures that are sent to a model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.activity import UNKNOWN, Activity
from holo_tasks.core.screen.geometry import Box, Size

if TYPE_CHECKING:  # not loaded in the process that owns a desktop
    from holo_tasks.core.screen.calibration import Correction

LOST = "typed_window"
"""Kind of a mask over a whole window: a secret was typed into it and may show at an unknown place."""


@dataclass(frozen=True)
class OnScreen:
    """A window as it lay on the screen at the capture, including its frame.

    ``owners`` are the programs that draw in it, usually one. ``solid`` is true if it hides everything below it.
    """

    box: Box
    owners: tuple[Owner, ...]
    solid: bool


@dataclass(frozen=True)
class Frame:
    """The raw pixels of one screen, held in memory only.

    ``rgb`` holds height x width x 3 bytes, rows from the top. ``scale`` is device pixels per logical pixel (1.0 on a
    plain X screen). ``monitor`` is the part of the screen that the desktop is bound to, or ``None``; the rest is black.

    ``settled`` is false if the screen was still changing when the time limit for settling ran out. ``hung`` is true if
    the program that got the last input had not read it by then. ``activity`` holds the signs of work after the last
    input. Times are in nanoseconds: ``taken_at_ns`` since the epoch, ``settle_ns`` spent waiting, and ``quiet_ns`` from
    the last repaint to the capture (0 without a repaint).

    ``windows`` are those in the picture, the lowest first, or ``None`` if unknown. ``number`` identifies the frame for
    as long as the desktop remembers it; 0 if it does not. ``holds`` counts how often the screen was handed over to a
    person before. ``typed_in`` are the X ids of windows into which secrets were typed, each with its current place, or
    ``None`` if the window is not visible. ``reconnected`` counts how often the connection to a remote screen was
    restored.
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
        """SHA-256 of the size and pixels. Two frames have the same digest only if every pixel is equal."""
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
    """An area of the screen in pixels that is painted over. ``kind`` is the reason, never the hidden content."""

    kind: str
    box: Box


@dataclass(frozen=True)
class RedactedFrame:
    """A frame in which private content is painted over. The encoder accepts only this type.

    ``masks`` are the painted areas on the whole screen. ``region`` is the part of the screen that the frame shows, or
    ``None`` for the whole screen. ``screen`` is the screen's size if there is a region.
    """

    frame: Frame
    masks: tuple[Mask, ...] = ()
    region: Box | None = None
    screen: Size | None = None

    def crop(self, region: Box | None) -> RedactedFrame:
        """Return a region of the screen, or the frame itself for ``None``."""
        return (
            self
            if region is None
            else replace(self, frame=self.frame.crop(region), region=region, screen=self.frame.size)
        )


@dataclass(frozen=True)
class Shot:
    """The exact bytes of a picture that is sent to the model.

    Coordinates in the model's answer are relative to this picture, and so to ``area``: the part of the screen that it
    shows, in screen pixels.
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
    """Correction of the coordinates of the model that decides on this picture, if its error is known."""

    @property
    def area(self) -> Box:
        return self.region or Box.whole(self.screen)
