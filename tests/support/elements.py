"""Accessibility trees as programs report them, for tests without a program."""

from __future__ import annotations

from holo_tasks.core.elements.elements import SHOWING, Application, Element, ElementTree, How
from holo_tasks.core.screen.geometry import Box

WINDOW = Box(0, 0, 10_000, 10_000)


def tree_of(*elements: tuple[str, str, Box], value: str = "", how: How = "cache") -> ElementTree:
    """Return a tree of one window with some elements: role, name and box. The first element has the value ``value``."""
    states = frozenset({SHOWING})
    made = [Element(0, "window", "Program", states, WINDOW, -1, "program", 1)]
    for number, (role, name, box) in enumerate(elements, 1):
        made.append(Element(number, role, name, states, box, 0, "program", 1, value if number == 1 else ""))
    return ElementTree(tuple(made), (Application("program", 1, "double", how),))


def silent(why_not: str = "No program on this screen reports its elements.") -> ElementTree:
    """Return the tree of programs that report no elements."""
    return ElementTree((), (Application("program", 1, "", "none", note="it tells nothing"),), 0.0, False, why_not)
