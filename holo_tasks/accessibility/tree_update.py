"""Update a tree by reading only the elements that changed by the program's signals, and those that were repainted.

Repainted elements are read even without a signal, because programs do not signal every change. If the changes are
unclear, or too many, `UnclearChanges` is raised, and `application` reads the whole tree. `update_tree` is the main
function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.changes import Changes
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import Extents
from holo_tasks.core.screen.geometry import Box

MOST_AGAIN = 120
"""Number of elements to read again above which a full reading is as fast."""
MOST_NEW, DEEPEST = 200, 60
LEAST_DRAWN, MOST_HIDDEN = 4096, 20
"""Fewest square pixels of a repaint that may show a hidden part of a page, such as a dialog that was faded in, and the
most hidden children of an element that are read then. A longer list has its rows out of view, and scrolls."""

Facts: TypeAlias = tuple[str, int, int]
"""Name, states and number of children of an element."""


class UnclearChanges(Exception):
    """The changes are unclear or too many, so the whole tree has to be read."""


@dataclass(frozen=True, slots=True)
class ReadFunctions:
    """The functions that read elements of a program by path.

    ``whole`` reads elements with the paths of their children, ``facts`` only their facts, ``where`` their extents.
    """

    whole: Callable[[Sequence[str]], Awaitable[list[tuple[Node, list[str]] | None]]]
    facts: Callable[[Sequence[str]], Awaitable[list[Facts | None]]]
    where: Callable[[Sequence[str]], Awaitable[list[Extents | None]]]


@dataclass(frozen=True, slots=True)
class UpdatedTree:
    """An updated tree."""

    nodes: list[Node]
    again: list[Node]
    """The elements whose extents have to be updated."""
    turned: list[Node]
    """The elements that were shown or hidden without a signal."""
    changed: bool
    extents: Mapping[str, Extents | None]
    """Extents of some elements, by path. They were read together with the rest, because each wait takes time."""


def drawn_over(nodes: Sequence[Node], drawn: Sequence[Box], *, hidden: bool = False) -> list[int]:
    """Return the indexes of the showing elements that were repainted, and with ``hidden`` their hidden children.

    Those of a page count after a large repaint in any case.
    An element without a visible box counts as repainted if its nearest ancestor with a box was.
    """
    found, shows = [], list[Box | None]()
    over = set[int]()
    large = [box for box in drawn if box.area >= LEAST_DRAWN]
    for place, node in enumerate(nodes):
        box = node.seen if node.seen is not None and node.seen.area else None
        if box is None and node.parent >= 0:
            box = shows[node.parent]
        shows.append(box)
        if node.states & protocol.SHOWING and (box is None or any(map(box.intersects, drawn))):
            over.add(place)
            found.append(place)
        elif hidden and node.parent in over and not node.states & protocol.SHOWING:
            found.append(place)
    return found if hidden or not large else sorted([*found, *_hidden_in_pages(nodes, shows, over, large)])


def _hidden_in_pages(
    nodes: Sequence[Node], shows: Sequence[Box | None], over: Collection[int], large: Sequence[Box]
) -> Iterator[int]:
    """Yield the indexes of the hidden children of repainted elements of pages.

    Browsers do not signal that an element shows after a transition. The options of a closed combo box do not count.
    """
    in_page, below = [False] * len(nodes), dict[int, list[int]]()
    for place, node in enumerate(nodes):
        in_page[place] = node.role == "document" or (node.parent >= 0 and in_page[node.parent])
        if node.parent in over and in_page[node.parent] and not node.states & protocol.SHOWING:
            below.setdefault(node.parent, []).append(place)
    for above, places in below.items():
        box = shows[above]
        drawn = box is None or any(map(box.intersects, large))
        if drawn and len(places) <= MOST_HIDDEN and nodes[above].role != "combo box":
            yield from places


async def update_tree(
    nodes: list[Node],
    changes: Changes,
    repainted: Sequence[int],
    asks: ReadFunctions,
    *,
    measure_siblings: bool = False,
) -> UpdatedTree:
    """Return the tree with its changed elements read again. Raises `UnclearChanges` if only a full reading is safe.

    ``repainted`` holds the indexes of repainted elements. With ``measure_siblings``, the siblings of added and removed
    elements are measured too, because nothing else shows that they moved.
    """
    places = {node.path: place for place, node in enumerate(nodes)}
    below: list[list[int]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        if node.parent >= 0:
            below[node.parent].append(place)
    reported, unknown = _changed_places(nodes, places, below, changes)
    wanted, changed = sorted(reported), False
    glanced = [nodes[place] for place in repainted if place not in reported]
    if len(wanted) + len(glanced) > MOST_AGAIN:
        raise UnclearChanges
    asked = [*(nodes[place] for place in wanted), *glanced]
    measured = [node.path for node in asked if node.placed and node.states & protocol.SHOWING]
    read, facts, extents = await asyncio.gather(
        asks.whole([nodes[place].path for place in wanted]),
        asks.facts([node.path for node in glanced]),
        asks.where(measured),
    )
    children: dict[int, list[str]] = {}
    for place, answer in zip(wanted, read, strict=True):
        if answer is None:
            continue
        node, paths = answer
        if len(set(paths)) < len(paths):
            raise UnclearChanges
        if paths != [nodes[each].path for each in below[place]] and not node.protected:
            children[place] = paths
        changed |= _update(nodes[place], node)
    fresh = await _fresh(nodes, places, children, asks)
    if unknown - fresh.keys():
        raise UnclearChanges
    placed = _in_tree_order(nodes, below, children, fresh) if children else [(node, node.parent) for node in nodes]
    now = [node for node, _ in placed]
    again = [nodes[place] for place in wanted] + [node for node, _ in fresh.values()]
    there = {node.path for node in now}
    if any(answer is None and nodes[place].path in there for place, answer in zip(wanted, read, strict=True)):
        raise UnclearChanges  # it is gone without a signal
    again = [node for node in again if node.path in there]
    if measure_siblings:
        known = {node.path for node in (*again, *glanced)}
        kept = (nodes[each] for place in children for each in below[place])
        again += [node for node in kept if node.path in there and node.path not in known]
    left = [(node, fact) for node, fact in zip(glanced, facts, strict=True) if node.path in there]
    if len(again) + len(left) > MOST_AGAIN:
        raise UnclearChanges
    shown = [node.states & protocol.SHOWING for node, _ in left]
    changed |= _update_repainted(left)
    turned = [node for (node, _), then in zip(left, shown, strict=True) if node.states & protocol.SHOWING != then]
    where = dict(zip(measured, extents, strict=True))
    for node, parent in placed:  # not before, because after `UnclearChanges` the old list is still used
        node.parent = parent
    return UpdatedTree(now, again + [node for node, _ in left], turned, changed or bool(children), where)


def _changed_places(
    nodes: list[Node], places: dict[str, int], below: list[list[int]], changes: Changes
) -> tuple[set[int], set[str]]:
    """Return the indexes of the elements that changed by signals, and the paths of changed elements not in the tree."""
    if changes.everything:
        raise UnclearChanges
    new = {path: above for path, above in changes.added.items() if path not in places}
    paths = (changes.own | changes.inside | changes.shown | set(new.values())) - changes.removed
    found = {places[path] for path in paths if path in places}
    found |= {nodes[places[path]].parent for path in changes.removed if path in places}
    waiting = [places[path] for path in changes.shown - changes.removed if path in places]
    while waiting:
        place = waiting.pop()
        found.add(place)
        waiting += below[place]
        if len(found) > MOST_AGAIN:
            raise UnclearChanges
    if -1 in found or len(found) > MOST_AGAIN:
        raise UnclearChanges  # a window was opened or closed
    return found, {path for path in paths if path not in places}


def _update_repainted(reported: Sequence[tuple[Node, Facts | None]]) -> bool:
    """Update names and states of repainted elements; return whether any changed.

    Raises `UnclearChanges` if an element is gone or its number of children changed.
    """
    changed = False
    for node, facts in reported:
        if facts is None or (node.count >= 0 and facts[2] != node.count):
            raise UnclearChanges
        name = node.name if node.labeled and not facts[0] else facts[0]
        changed = changed or (name, facts[1]) != (node.name, node.states)
        node.name, node.states = name, facts[1]
    return changed


def _update(node: Node, reported: Node) -> bool:
    """Update a node from a new reading; return whether role, name or states changed. Raises `UnclearChanges`."""
    if reported.protected != node.protected:
        raise UnclearChanges  # it became a password field or ceased to be one: a value in the tree may be a secret
    name = node.name if node.labeled and not reported.name else reported.name
    before = node.role, node.name, node.states
    node.role, node.name, node.states = reported.role, name, reported.states
    node.count = reported.count
    if reported.texts or reported.ranges or reported.tabular:
        node.texts, node.ranges, node.tabular = reported.texts, reported.ranges, reported.tabular
    return before != (node.role, node.name, node.states)


async def _fresh(
    nodes: list[Node], places: dict[str, int], children: dict[int, list[str]], asks: ReadFunctions
) -> dict[str, tuple[Node, list[str]]]:
    """Return the new descendants of elements with changed children, by path, with their children's paths.

    ``children`` holds the new paths of children by the parent's index. Raises `UnclearChanges`.
    """
    for place, paths in children.items():
        if any(path in places and nodes[places[path]].parent != place for path in paths):
            raise UnclearChanges  # it had another parent before
    found: dict[str, tuple[Node, list[str]]] = {}
    level = [path for paths in children.values() for path in paths if path not in places]
    for _ in range(DEEPEST):
        if not level:
            return found
        if len(found) + len(level) > MOST_NEW:
            break
        below: list[str] = []
        for path, answer in zip(level, await asks.whole(level), strict=True):
            if answer is None:
                raise UnclearChanges
            found[path] = answer
            below += answer[1]
        if any(path in places or path in found for path in below) or len(set(below)) < len(below):
            break
        level = below
    raise UnclearChanges


def _in_tree_order(
    nodes: list[Node],
    below: list[list[int]],
    children: dict[int, list[str]],
    fresh: dict[str, tuple[Node, list[str]]],
) -> list[tuple[Node, int]]:
    """Return the elements in tree order, each after its parent and with its index."""
    by_path = {node.path: place for place, node in enumerate(nodes)}
    found: list[tuple[Node, int]] = []
    waiting = [(node.path, -1) for node in reversed(nodes) if node.parent < 0]
    while waiting:
        path, parent = waiting.pop()
        if path in fresh:
            node, inside = fresh[path]
        else:
            place = by_path[path]
            node = nodes[place]
            inside = children[place] if place in children else [nodes[each].path for each in below[place]]
        found.append((node, parent))
        waiting += ((each, len(found) - 1) for each in reversed(inside))
    return found
