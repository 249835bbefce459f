"""One element as its program publishes it, and the roles that are read in special ways. `Node` is the main class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.placement import Extents
from holo_tasks.core.elements.elements import PASSWORD, Element
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.visible_text import one_line

NAME_CHARACTERS = 200
NUMBERS = {"spin button", "slider", "dial", "progress bar", "level bar", "scroll bar", "rating"}
"""Roles whose number is read. Other roles may publish a number without a meaning, as LibreOffice's buttons do."""
FIELDS = {"text field", "combo box", "spin button", "slider", PASSWORD, "editbar", "terminal", "autocomplete"}
ENTRIES = {"menu item", "check menu item", "radio menu item"}


@dataclass(slots=True)
class Node:
    """One element as its program publishes it. Its values are not trusted."""

    path: str
    role: str
    name: str
    states: int
    parent: int = -1
    """Index of its parent in the list of the tree; -1 if that is the program itself."""
    texts: bool = False
    ranges: bool = False
    placed: bool = True
    extents: Extents | None = None
    value: str = ""
    is_empty: bool = False
    """Whether the program told, when its text was read, that it has no characters. Blanks are characters."""
    is_number: bool = False
    """Whether its text has been the number that the program tells as its value."""
    is_outside: bool = False
    """Whether its text is a number outside the limits that the program tells."""
    protected: bool = False
    shortcut: str | None = None
    """Its keyboard shortcut; ``None`` if it was not read yet."""
    adopted: bool = False
    """Whether only its parent names it as a child, while it names another, unknown parent."""
    moved: tuple[int, int] = (0, 0)
    """Offset in pixels, to the right and down, from its published position to its real one."""
    tabular: bool = False
    cell: bool = False
    """Whether it is a cell of a table that does not list its cells."""
    count: int = -1
    """Its number of children as it publishes it; -1 if it does not."""
    labeled: bool = False
    """Whether its name was taken from its label."""
    label: str = ""
    """The text of the label of a combo box whose name is its chosen option, as in Java."""
    chooses: bool = False
    """Whether its value is its chosen option, because it publishes no text of its own."""
    part: str = ""
    """The text of a part of a date field, ``0`` if the part is empty, and an empty text before the program told it."""
    asked: bool = False
    """Whether it was asked for the combo box that it labels."""
    since_ns: int = 0
    """When it was first read (monotonic nanoseconds); zero before that."""
    seen: Box | None = None
    """Its last computed box on the screen."""
    element: Element | None = None
    """The last element that was made from it, which is reused while it stays equal."""

    def offers(self, interfaces: Iterable[str]) -> None:
        """Record which of the interfaces Text, Value and Table the element has."""
        offered = set(interfaces)
        self.texts = protocol.TEXT in offered
        self.ranges = protocol.VALUE in offered
        self.tabular = protocol.TABLE in offered


def told_name(name: str) -> str:
    """Return a name in one line. GTK 4 tells a label with a mnemonic twice, as ``_Save Save``: it is taken once."""
    told = one_line(name, NAME_CHARACTERS)
    length = len(told) // 2 - 1
    label, again = told[: length + 1], told[length + 2 :]
    is_twice = again and label.count("_") == 1 and label.replace("_", "") == again
    return again if is_twice and told[length + 1] == " " else told


def node_of(path: str, name: str, role: int, states: list[int], interfaces: Sequence[str]) -> Node:
    node = Node(
        path,
        protocol.role_name(role),
        told_name(name),
        protocol.state_bits(states),
        placed=protocol.COMPONENT in interfaces,
        protected=role == protocol.PASSWORD_TEXT,
    )
    node.offers(interfaces)
    return node


def shown_facts(nodes: Sequence[Node]) -> list[tuple[object, ...]]:
    """Return the values of elements that two readings share. The paths of cells differ by reading."""
    return [(node.parent, node.role, node.name, node.value, node.states, node.extents) for node in nodes]
