"""Read the elements in a program's AT-SPI cache, and find those with a wrong parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node, node_of

MOST_CHILDREN = 1_000
MOST_ELEMENTS, DEEPEST = 5_000, 60
WORDS = ("Name", "ChildCount")


@dataclass(slots=True)
class CachedItem:
    """An element from a program's cache, before it has its place in the tree."""

    node: Node
    above: str
    index: int
    below: list[str] = field(default_factory=list)
    count: int = 0
    """Its number of children as it publishes it; the cache may hold fewer."""


def newer_item(reported: Sequence[Any]) -> CachedItem:
    """Return an element of a cache that gives the index and the number of children of each element."""
    (_, path), _, (_, above), index, count, interfaces, name, role, _, states = reported
    node = node_of(path, name, role, states, interfaces)
    node.count = count
    return CachedItem(node, above, index, count=count)


def older_item(reported: Sequence[Any]) -> CachedItem:
    """Return an element of a cache of the older format, which lists the children of each element."""
    (_, path), _, (_, above), below, interfaces, name, role, _, states = reported
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


def rivals_of(items: Mapping[str, CachedItem], children: Mapping[str, Sequence[str] | None]) -> list[str]:
    """Return the parents that the cache gives to elements that another element lists, if they were not asked yet.

    A password field is not asked: whatever the cache puts inside it stays there, where it is not shown.
    """
    listed = ((above, path) for above, paths in children.items() for path in paths or () if path in items)
    parents = dict.fromkeys(items[path].above for above, path in listed if items[path].above != above)
    there = (parent for parent in parents if parent in items and parent not in children)
    return [parent for parent in there if not items[parent].node.protected]


def may_list_others(item: CachedItem) -> bool:
    """Return whether an element may list other children than the cache.

    A document of LibreOffice's Writer creates its visible children only on request. In Chromium, the message that a
    page opens takes the place of the window's contents.
    """
    makes_paragraphs = item.node.role == "document" and item.count <= 0 and bool(item.node.states & protocol.MANAGES)
    return makes_paragraphs or (item.above == protocol.ROOT and item.count == 1)


def in_tree_order(items: Mapping[str, CachedItem]) -> tuple[list[Node], bool]:
    """Return the elements in tree order, each after its parent, without those that are not below the root.

    The second result is whether the tree was cut because it is too large or too deep.
    """
    found: list[Node] = []
    cut = False
    seen = {protocol.ROOT}
    root = items.get(protocol.ROOT)
    tops = root.below if root else [path for path, item in items.items() if item.above == protocol.ROOT]
    waiting = [(path, -1, 1) for path in reversed(tops)]
    bars: set[tuple[str, ...]] = set()
    while waiting:
        path, parent, depth = waiting.pop()
        if path in seen or path not in items:
            continue
        item = items[path]
        if item.node.role == "menu bar":
            menus = tuple(items[each].node.name for each in item.below if each in items)
            if menus in bars and item.above in items and items[item.above].node.adopted:
                continue  # LibreOffice has a second menu bar, which never shows
            bars.add(menus)
        if len(found) >= MOST_ELEMENTS or depth > DEEPEST:
            cut = True
            continue
        seen.add(path)
        item.node.parent = parent
        found.append(item.node)
        if not item.node.protected:
            waiting += ((each, len(found) - 1, depth + 1) for each in reversed(item.below))
    return found, cut


def pairs_of(reported: Sequence[Any], many: int) -> list[tuple[str, int] | None]:
    """Return name and number of children of ``many`` elements from the answers to `_about`; ``None`` for a gone one."""
    if len(reported) == many:  # all properties of each
        named = [
            each if each is None else [each[word].value if word in each else None for word in WORDS]
            for each in reported
        ]
    else:
        named = [list(pair) for pair in zip(reported[:many], reported[many:], strict=True)]
    return [pair if pair is None else (_text(pair[0]), _number(pair[1])) for pair in named]


def _text(reported: object) -> str:
    return reported if isinstance(reported, str) else ""


def _number(reported: object) -> int:
    return reported if isinstance(reported, int) else 0
