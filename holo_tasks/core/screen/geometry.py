"""Sizes, points and boxes in pixels of a screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"a size is at least 1x1 pixels, not {self.width}x{self.height}")

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


@dataclass(frozen=True, slots=True)
class Point:
    """One pixel of the screen; (0, 0) is at the top left."""

    x: int
    y: int

    def inside(self, size: Size) -> bool:
        """Return whether the pixel exists on a screen of this size."""
        return 0 <= self.x < size.width and 0 <= self.y < size.height


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of pixels. ``right`` and ``bottom`` are the first pixels outside it."""

    left: int
    top: int
    width: int
    height: int

    @classmethod
    def of_corners(cls, left: int, top: int, right: int, bottom: int) -> Box:
        """Return the box between these edges, in the order that PIL's crop uses."""
        return cls(left, top, right - left, bottom - top)

    @classmethod
    def whole(cls, size: Size) -> Box:
        """Return the box of a whole screen."""
        return cls(0, 0, size.width, size.height)

    @classmethod
    def near(cls, point: Point, across: int, down: int) -> Box:
        """Return the box of pixels within these distances of a point."""
        return cls(point.x - across, point.y - down, 2 * across + 1, 2 * down + 1)

    @classmethod
    def around(cls, boxes: Iterable[Box]) -> Box:
        """Return the smallest box around some boxes. Raises ValueError without any."""
        every = list(boxes)
        left, top = min(box.left for box in every), min(box.top for box in every)
        return cls.of_corners(left, top, max(box.right for box in every), max(box.bottom for box in every))

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """The left, top, right and bottom edge, in the order that PIL's crop uses."""
        return self.left, self.top, self.right, self.bottom

    @property
    def area(self) -> int:
        """The number of pixels."""
        return self.width * self.height

    @property
    def center(self) -> Point:
        return Point(self.left + self.width // 2, self.top + self.height // 2)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}+{self.left}+{self.top}"

    def contains(self, point: Point) -> bool:
        """Return whether a pixel is in the box."""
        return self.left <= point.x < self.right and self.top <= point.y < self.bottom

    def encloses(self, other: Box, *, slack: int = 0) -> bool:
        """Return whether another box is inside this one, with a tolerance of ``slack`` pixels on each side."""
        return (
            self.left - slack <= other.left
            and self.top - slack <= other.top
            and other.right <= self.right + slack
            and other.bottom <= self.bottom + slack
        )

    def intersects(self, other: Box) -> bool:
        """Return whether two boxes have a pixel in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def intersection(self, other: Box) -> Box | None:
        """Return the common part of two boxes, or ``None``."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Box.of_corners(left, top, right, bottom) if right > left and bottom > top else None

    def clipped(self, size: Size) -> Box | None:
        """Return the part of the box on a screen, or ``None``."""
        return self.intersection(Box.whole(size))

    def cut_to(self, other: Box) -> Box:
        """Return the part of the box inside another one, or the whole other box if they do not overlap.

        Use it where a box is needed in any case, such as for a window that may be off the screen.
        """
        return self.intersection(other) or other

    def grown(self, by: int) -> Box:
        """Return the box with ``by`` pixels more on each side."""
        return Box(self.left - by, self.top - by, self.width + 2 * by, self.height + 2 * by)

    def moved(self, right: int, down: int) -> Box:
        """Return the box moved by this many pixels."""
        return Box(self.left + right, self.top + down, self.width, self.height)

    def gap(self, other: Box) -> int:
        """Return the larger of the horizontal and vertical distances of two boxes: 0 if they touch or overlap."""
        across = max(self.left - other.right, other.left - self.right, 0)
        down = max(self.top - other.bottom, other.top - self.bottom, 0)
        return max(across, down)
