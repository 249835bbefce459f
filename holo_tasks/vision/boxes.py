"""Questions about boxes: what holds what, and what is the same thing seen twice."""

from __future__ import annotations

from collections.abc import Iterable

from holo_tasks.core.geometry import Box, Point

_SLACK = 2


def distinct(boxes: Iterable[Box]) -> list[Box]:
    """Return boxes from small to large, of those that are alike the smallest."""
    found: list[Box] = []
    for box in sorted(boxes, key=lambda box: (box.width * box.height, box.top, box.left)):
        if not any(alike(box, other) for other in found):
            found.append(box)
    return found


def alike(one: Box, other: Box) -> bool:
    """Say whether two boxes are one thing: no side further apart than a thick border is."""
    most = min(6, max(3, min(one.width, one.height, other.width, other.height) // 3))
    return (
        abs(one.left - other.left) <= most
        and abs(one.top - other.top) <= most
        and abs(one.right - other.right) <= most
        and abs(one.bottom - other.bottom) <= most
    )


def holds(outer: Box, inner: Box) -> bool:
    """Say whether a box is inside another, give or take a line's width."""
    return (
        outer.left - _SLACK <= inner.left
        and outer.top - _SLACK <= inner.top
        and inner.right <= outer.right + _SLACK
        and inner.bottom <= outer.bottom + _SLACK
    )


def surrounds(outer: Box, inner: Box) -> bool:
    """Say whether a box is inside another, to the pixel."""
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and inner.right <= outer.right
        and inner.bottom <= outer.bottom
    )


def within(point: Point, box: Box) -> bool:
    """Say whether a pixel is in a box."""
    return box.left <= point.x < box.right and box.top <= point.y < box.bottom


def around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around some; there must be one."""
    every = list(boxes)
    left, top = min(box.left for box in every), min(box.top for box in every)
    right, bottom = max(box.right for box in every), max(box.bottom for box in every)
    return Box(left, top, right - left, bottom - top)


def is_centered(inner: Box, outer: Box) -> bool:
    """Say whether a box is about in the middle of another."""
    across, down = abs(inner.center.x - outer.center.x), abs(inner.center.y - outer.center.y)
    return across <= max(3, outer.width // 12) and down <= max(3, outer.height // 6)


def gap(one: Box, other: Box) -> int:
    """Return how many pixels are between two boxes; none if they touch or overlap."""
    across = max(one.left - other.right, other.left - one.right, 0)
    down = max(one.top - other.bottom, other.top - one.bottom, 0)
    return max(across, down)
