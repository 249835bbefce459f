"""Complete what GTK 4 reports of its elements. `complete_gtk_4` is the main function."""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node
from holo_tasks.core.elements.elements import DIALOGS


def complete_gtk_4(nodes: Sequence[Node]) -> None:
    """Add the state `showing` to dialogs and to visible elements in a showing window; take a button's name once.

    GTK 4 sets this state for windows that are no dialogs. It lists a dialog only while that is open. The name of some
    buttons is their text twice, as ``Cancel Cancel``, while their label holds it once.
    """
    for node in nodes:
        shows = node.role in DIALOGS if node.parent < 0 else nodes[node.parent].states & protocol.SHOWING
        if node.states & protocol.VISIBLE and shows:
            node.states |= protocol.SHOWING
        above = nodes[node.parent] if node.parent >= 0 else None
        if above is not None and above.role == "button" and above.name == f"{node.name} {node.name}":
            above.name = node.name
