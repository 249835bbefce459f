"""Correct the positions of elements whose toolkit differs from that of their window: LibreOffice's parts inside GTK.

LibreOffice reports screen positions that are relative to the area below GTK's menu bar. A part that has the same size
as its GTK parent must have the parent's position. The difference holds for all elements inside that part. `move` is
the main function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holo_tasks.accessibility.placement import SLACK, Extents


class Placed(Protocol):
    """An element as its program reports it. In a list it stands after its parent."""

    parent: int
    extents: Extents | None
    adopted: bool
    moved: tuple[int, int]


def move(nodes: Sequence[Placed]) -> None:
    """Correct the ``extents``, as just read, of elements in a part of another toolkit, and set ``moved``."""
    if not any(node.adopted for node in nodes):
        return
    for node in nodes:
        above = nodes[node.parent] if node.parent >= 0 else None
        node.moved = (0, 0) if above is None else _offset_to_parent(node, above) if node.adopted else above.moved
        node.extents = shifted_extents(node.extents, node.moved)


def shifted_extents(extents: Extents | None, offset: tuple[int, int]) -> Extents | None:
    """Return extents moved by ``offset`` pixels to the right and down; ``None`` stays ``None``."""
    if extents is None:
        return None
    left, top, width, height = extents
    return left + offset[0], top + offset[1], width, height


def _offset_to_parent(node: Placed, above: Placed) -> tuple[int, int]:
    """Return the offset from a part to its parent if both have the same size, else zero."""
    if node.extents is None or above.extents is None:
        return 0, 0
    if any(abs(mine - its) > SLACK for mine, its in zip(node.extents[2:], above.extents[2:], strict=True)):
        return 0, 0
    right, down = above.extents[0] - node.extents[0], above.extents[1] - node.extents[1]
    return (0, 0) if max(abs(right), abs(down)) <= SLACK else (right, down)
