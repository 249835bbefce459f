"""Accessibility trees, and a desktop that returns them, for tests without an accessibility bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, NOWHERE, SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box

PID = 7


def tree_of(*elements: Element) -> ElementTree:
    """Return a tree of these elements. Each gets its index as id; elements without a parent belong to the first one."""
    placed = [replace(each, id=place, parent=each.parent if place else -1) for place, each in enumerate(elements)]
    return ElementTree(tuple(placed))


def element(role: str, name: str, box: Box = NOWHERE, *states: str, parent: int = 0, value: str = "") -> Element:
    """Return an element of a program named form. It is showing if its box has an area."""
    shows = {SHOWING} if box.area else set()
    return Element(0, role, name, frozenset({*shows, *states}), box, parent, "form", PID, value)


def window(box: Box, name: str = "Form") -> Element:
    """Return an active window, which has the keyboard."""
    return element("window", name, box, ACTIVE)


def focused(one: Element) -> Element:
    """Return a copy of an element that has the keyboard focus."""
    return replace(one, states=one.states | {FOCUSED})


class TellsTree:
    """A desktop that returns the given tree. ``takes_s`` is the duration of the answer."""

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
