"""What may have come to show without a word of its program: nobody says anything when something is scrolled."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node
from holo_tasks.core.geometry import Box


def may_show_more(nodes: Sequence[Node], moved: Collection[int], drawn: Sequence[Box]) -> bool:
    """Say whether something that did not show may do so now: beside what moved or turned, or in a document."""
    shows = [bool(node.states & protocol.SHOWING) for node in nodes]
    filled = [False] * len(nodes)
    for place in range(len(nodes) - 1, -1, -1):
        above = nodes[place].parent
        if above >= 0 and (filled[place] or shows[place]):
            filled[above] = True
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


def _drawn_anew(node: Node, drawn: Sequence[Box]) -> bool:
    """Say whether more than half of what a document shows was drawn over."""
    if node.seen is None or not node.states & protocol.SHOWING:
        return False
    parts = (box.intersection(node.seen) for box in drawn)
    return 2 * max((part.area for part in parts if part is not None), default=0) > node.seen.area
