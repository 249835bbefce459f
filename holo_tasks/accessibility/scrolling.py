"""Decide whether hidden elements may now show without a signal, because programs do not signal scrolling."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node
from holo_tasks.core.screen.geometry import Box


def may_show_more(nodes: Sequence[Node], moved: Collection[int], drawn: Sequence[Box]) -> bool:
    """Return whether a hidden element may show now.

    That is so for hidden elements with the same parent as an element in ``moved``. It is also so in a repainted
    document without visible elements.
    """
    shows = [bool(node.states & protocol.SHOWING) for node in nodes]
    filled = _filled(nodes)
    moving = {nodes[place].parent for place in moved}
    moving |= {
        place
        for place, node in enumerate(nodes)
        if node.role == "document" and not filled[place] and _drawn_anew(node, drawn)
    }
    within = [False] * len(nodes)
    for place, node in enumerate(nodes):
        within[place] = place in moving or (node.parent >= 0 and within[node.parent])
        if within[place] and not shows[place]:
            return True
    return False


def shows_late(nodes: Sequence[Node]) -> bool:
    """Return whether a document shows without a place or without visible elements, though it has elements."""
    documents = [
        place for place, node in enumerate(nodes) if node.role == "document" and node.states & protocol.SHOWING
    ]
    if not documents:
        return False
    filled, held = _filled(nodes), {node.parent for node in nodes}
    return any(place in held and not (filled[place] and has_area(nodes[place])) for place in documents)


def has_area(node: Node) -> bool:
    """Return whether a program has given an element a place on the screen."""
    return node.extents is not None and node.extents[2] > 0 and node.extents[3] > 0


def _filled(nodes: Sequence[Node]) -> list[bool]:
    """Return for each element whether an element inside it shows."""
    filled = [False] * len(nodes)
    for place in range(len(nodes) - 1, -1, -1):
        above = nodes[place].parent
        if above >= 0 and (filled[place] or nodes[place].states & protocol.SHOWING):
            filled[above] = True
    return filled


def _drawn_anew(node: Node, drawn: Sequence[Box]) -> bool:
    """Return whether one repaint covered more than half of a document's visible box."""
    if node.seen is None or not node.states & protocol.SHOWING:
        return False
    parts = (box.intersection(node.seen) for box in drawn)
    return 2 * max((part.area for part in parts if part is not None), default=0) > node.seen.area
