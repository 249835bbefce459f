"""Read the elements in a program's AT-SPI cache, and find those with a wrong parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node, node_of

MOST_CHILDREN = 1_000


@dataclass(slots=True)
class CachedItem:
    """An element from a program's cache, before it has its place in the tree."""

    node: Node
    above: str
    index: int
    below: list[str] = field(default_factory=list)
    count: int = 0
    """Its number of children as it publishes it; the cache may hold fewer."""


def newer_item(told: Sequence[Any]) -> CachedItem:
    """Return an element of a cache that gives the index and the number of children of each element."""
    (_, path), _, (_, above), index, count, interfaces, name, role, _, states = told
    node = node_of(path, name, role, states, interfaces)
    node.count = count
    return CachedItem(node, above, index, count=count)


def older_item(told: Sequence[Any]) -> CachedItem:
    """Return an element of a cache of the older format, which lists the children of each element."""
    (_, path), _, (_, above), below, interfaces, name, role, _, states = told
    return CachedItem(
        node_of(path, name, role, states, interfaces), above, 0, [each for _, each in below[:MOST_CHILDREN]]
    )


def has_wrong_parent(path: str, items: Mapping[str, CachedItem], children: Mapping[str, Sequence[str] | None]) -> bool:
    """Return whether the cache gives an element a parent that is unknown, or that names other children.

    LibreOffice gives its own part of a window a parent that GTK does not know, or at times the window itself. Only the
    GTK panel around that part names it as its child. ``children`` holds the program's list of children for each parent.
    """
    parent = items[path].above
    if parent == protocol.ROOT:
        return False
    named = children.get(parent)
    return parent not in items or (named is not None and path not in named)


def makes_paragraphs(item: CachedItem) -> bool:
    """Return whether a document creates its visible children only on request, as LibreOffice's Writer does."""
    return item.node.role == "document" and item.count <= 0 and bool(item.node.states & protocol.MANAGES)
