"""One element as its program tells it, and what is known about roles before they are called by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.placement import Extents
from holo_tasks.core.elements import PASSWORD, Element
from holo_tasks.core.geometry import Box
from holo_tasks.core.visible_text import one_line

NAME_CHARACTERS = 200
NUMBERS = {"spin button", "slider", "dial", "progress bar", "level bar", "scroll bar", "rating"}
"""Roles of what stands for a number: LibreOffice's buttons tell of one, too."""
FIELDS = {"text field", "combo box", "spin button", "slider", PASSWORD, "editbar", "terminal", "autocomplete"}
ENTRIES = {"menu item", "check menu item", "radio menu item"}


@dataclass(slots=True)
class Node:
    """One element as its program tells it, nothing of it trusted."""

    path: str
    role: str
    name: str
    states: int
    parent: int = -1
    """Its place in the list of a tree; -1 for the program itself."""
    texts: bool = False
    ranges: bool = False
    placed: bool = True
    extents: Extents | None = None
    value: str = ""
    protected: bool = False
    shortcut: str | None = None
    """The keys that do what it does; None if it was not asked."""
    adopted: bool = False
    """Whether only what it is in says that it is there; it tells of something else that nobody knows."""
    moved: tuple[int, int] = (0, 0)
    """How far from where it says it is."""
    tabular: bool = False
    cell: bool = False
    """Whether it is one of a table with too many cells to be told."""
    count: int = -1
    """How many elements are directly in it, as it said; -1 if it did not."""
    labeled: bool = False
    """Whether its name is that of the label that belongs to it."""
    since_ns: int = 0
    """When it was first told of."""
    seen: Box | None = None
    """Where on the screen it was found to be, when that was last worked out."""
    element: Element | None = None
    """What was told of it last, which is told again while it holds."""

    def offers(self, interfaces: Iterable[str]) -> None:
        """Note what may be asked of it."""
        offered = set(interfaces)
        self.texts = protocol.TEXT in offered
        self.ranges = protocol.VALUE in offered
        self.tabular = protocol.TABLE in offered


def node_of(path: str, name: str, role: int, states: list[int], interfaces: Sequence[str]) -> Node:
    node = Node(
        path,
        protocol.role_name(role),
        one_line(name, NAME_CHARACTERS),
        protocol.state_bits(states),
        placed=protocol.COMPONENT in interfaces,
        protected=role == protocol.PASSWORD_TEXT,
    )
    node.offers(interfaces)
    return node
