"""Trees of elements, and desktops whose programs tell them: for tests without a bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, NOWHERE, SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box

PID = 7


def tree_of(*elements: Element) -> ElementTree:
    """Return a tree of these; each is given its number, and what is in none is in the first."""
    placed = [replace(each, id=place, parent=each.parent if place else -1) for place, each in enumerate(elements)]
    return ElementTree(tuple(placed))


def element(role: str, name: str, box: Box = NOWHERE, *states: str, parent: int = 0, value: str = "") -> Element:
    """Return an element of a program named form, which shows if it has a box."""
    shows = {SHOWING} if box.area else set()
    return Element(0, role, name, frozenset({*shows, *states}), box, parent, "form", PID, value)


def window(box: Box, name: str = "Form") -> Element:
    """Return a window that has the keyboard."""
    return element("window", name, box, ACTIVE)


def focused(one: Element) -> Element:
    """Return an element as it is with the keyboard."""
    return replace(one, states=one.states | {FOCUSED})


class TellsTree:
    """A desktop's answer to what its programs tell; ``takes_s`` is how long that takes."""

    def __init__(self, told: Callable[[], ElementTree] | ElementTree, takes_s: float = 0.0) -> None:
        self.told, self.takes_s = told, takes_s
        self.asked = self.cancelled = self.answered = 0

    async def elements(self) -> ElementTree:
        self.asked += 1
        try:
            await asyncio.sleep(self.takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.answered += 1
        return self.told if isinstance(self.told, ElementTree) else self.told()
