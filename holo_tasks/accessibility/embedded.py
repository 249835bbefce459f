"""Parts of a program that are drawn by another toolkit than the rest: LibreOffice's own inside GTK's windows.

LibreOffice counts its places from below GTK's menu bar and calls that the screen's. A part of one toolkit that fills
one of the other's is where that is, and so all in it is as far off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holo_tasks.accessibility.placement import SLACK, Extents


class Placed(Protocol):
    """An element as its program tells it, after the one that it is in."""

    parent: int
    extents: Extents | None
    adopted: bool
    moved: tuple[int, int]


def move(nodes: Sequence[Placed]) -> None:
    """Put elements where they are, if they are in something of another toolkit; ``extents`` are as just told."""
    if not any(node.adopted for node in nodes):
        return
    for node in nodes:
        above = nodes[node.parent] if node.parent >= 0 else None
        node.moved = (0, 0) if above is None else _off(node, above) if node.adopted else above.moved
        node.extents = by(node.extents, node.moved)


def by(extents: Extents | None, off: tuple[int, int]) -> Extents | None:
    """Return extents so far to the right and down."""
    if extents is None:
        return None
    left, top, width, height = extents
    return left + off[0], top + off[1], width, height


def _off(node: Placed, above: Placed) -> tuple[int, int]:
    """Return how far a part is from what it fills; one that fills nothing is where it says."""
    if node.extents is None or above.extents is None:
        return 0, 0
    if any(abs(mine - its) > SLACK for mine, its in zip(node.extents[2:], above.extents[2:], strict=True)):
        return 0, 0
    right, down = above.extents[0] - node.extents[0], above.extents[1] - node.extents[1]
    return (0, 0) if max(abs(right), abs(down)) <= SLACK else (right, down)
