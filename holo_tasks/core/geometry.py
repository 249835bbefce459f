"""Positions on a screen, in its own pixels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height, in pixels."""

    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"a size is at least 1x1 pixels, not {self.width}x{self.height}")

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


@dataclass(frozen=True, slots=True)
class Point:
    """One pixel of the screen; (0, 0) is the top left one."""

    x: int
    y: int

    def inside(self, size: Size) -> bool:
        """Say whether the pixel exists on a screen of this size."""
        return 0 <= self.x < size.width and 0 <= self.y < size.height


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of pixels; ``right`` and ``bottom`` are the first pixels outside it."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def __str__(self) -> str:
        return f"{self.width}x{self.height}+{self.left}+{self.top}"

    @property
    def center(self) -> Point:
        return Point(self.left + self.width // 2, self.top + self.height // 2)
