"""A kept tree is mended: only what a program says has changed is asked again, and what was drawn over.

What is drawn over is asked again even though nobody said a word of it, as programs do not tell of everything. Where it
is not plain what has changed, or that is much, the tree is not mended, and so is read as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.changes import Changes
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import Extents
from holo_tasks.core.geometry import Box

MOST_AGAIN = 120
"""With more than this to be asked again, a whole reading takes no longer."""
MOST_NEW, DEEPEST = 200, 60

Facts: TypeAlias = tuple[str, int, int]
"""Name, states, and how many elements are directly in it."""


class Unclear(Exception):
    """Nobody can tell what has changed, or too much has."""


@dataclass(frozen=True, slots=True)
class Asks:
    """How a program is asked: what elements are with the paths of what is in each; only their facts; where they are."""

    whole: Callable[[Sequence[str]], Awaitable[list[tuple[Node, list[str]] | None]]]
    facts: Callable[[Sequence[str]], Awaitable[list[Facts | None]]]
    where: Callable[[Sequence[str]], Awaitable[list[Extents | None]]]


@dataclass(frozen=True, slots=True)
class Mended:
    """A tree in which nothing is left as it was that has changed."""

    nodes: list[Node]
    again: list[Node]
    """What has to be asked where it is."""
    turned: list[Node]
    """What came to show, or ceased to, without a word of the program."""
    changed: bool
    extents: Mapping[str, Extents | None]
    """Where some of them are, by their paths: asked with all else, since each question that waits for another costs."""


def drawn_over(nodes: Sequence[Node], drawn: Sequence[Box]) -> list[int]:
    """Return the places of what was drawn over: what cannot be seen counts by what it is in."""
    found, shows = [], list[Box | None]()
    for place, node in enumerate(nodes):
        box = node.seen if node.seen is not None and node.seen.area else None
        if box is None and node.parent >= 0:
            box = shows[node.parent]
        shows.append(box)
        if node.states & protocol.SHOWING and (box is None or any(map(box.intersects, drawn))):
            found.append(place)
    return found


async def mended(
    nodes: list[Node], changes: Changes, over: Sequence[int], asks: Asks, *, beside: bool = False
) -> Mended:
    """Return the tree with what changed asked again; ``over`` are the places drawn over. Raises `Unclear`.

    With ``beside`` also where things are that are beside what came or went: nothing else tells that they moved.
    """
    places = {node.path: place for place, node in enumerate(nodes)}
    below: list[list[int]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        if node.parent >= 0:
            below[node.parent].append(place)
    told, unknown = _told(nodes, places, below, changes)
    wanted, changed = sorted(told), False
    glanced = [nodes[place] for place in over if place not in told]
    if len(wanted) + len(glanced) > MOST_AGAIN:
        raise Unclear
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
            raise Unclear
        if paths != [nodes[each].path for each in below[place]] and not node.protected:
            children[place] = paths
        changed |= _take(nodes[place], node)
    fresh = await _fresh(nodes, places, children, asks)
    if unknown - fresh.keys():
        raise Unclear
    now = _arranged(nodes, below, children, fresh) if children else nodes
    again = [nodes[place] for place in wanted] + [node for node, _ in fresh.values()]
    there = {node.path for node in now}
    if any(answer is None and nodes[place].path in there for place, answer in zip(wanted, read, strict=True)):
        raise Unclear  # it is gone, and nobody said so
    again = [node for node in again if node.path in there]
    if beside:
        known = {node.path for node in (*again, *glanced)}
        kept = (nodes[each] for place in children for each in below[place])
        again += [node for node in kept if node.path in there and node.path not in known]
    left = [(node, fact) for node, fact in zip(glanced, facts, strict=True) if node.path in there]
    if len(again) + len(left) > MOST_AGAIN:
        raise Unclear
    shown = [node.states & protocol.SHOWING for node, _ in left]
    changed |= _glance(left)
    turned = [node for (node, _), then in zip(left, shown, strict=True) if node.states & protocol.SHOWING != then]
    where = dict(zip(measured, extents, strict=True))
    return Mended(now, again + [node for node, _ in left], turned, changed or bool(children), where)


def _told(
    nodes: list[Node], places: dict[str, int], below: list[list[int]], changes: Changes
) -> tuple[set[int], set[str]]:
    """Return the places of what the program says has changed, and the paths of what it means that is not known yet."""
    if changes.everything:
        raise Unclear
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
            raise Unclear
    if -1 in found or len(found) > MOST_AGAIN:
        raise Unclear  # a window came or went
    return found, {path for path in paths if path not in places}


def _glance(told: Sequence[tuple[Node, Facts | None]]) -> bool:
    """Take over what was drawn over tells of itself; return whether something is not as it was. Raises `Unclear`."""
    changed = False
    for node, facts in told:
        if facts is None or (node.count >= 0 and facts[2] != node.count):
            raise Unclear
        name = node.name if node.labeled and not facts[0] else facts[0]
        changed = changed or (name, facts[1]) != (node.name, node.states)
        node.name, node.states = name, facts[1]
    return changed


def _take(kept: Node, told: Node) -> bool:
    """Have a node be what its program tells now; return whether that is something else. Raises `Unclear`."""
    if told.protected != kept.protected:
        raise Unclear  # what is in it may be known, and must not be
    name = kept.name if kept.labeled and not told.name else told.name
    before = kept.role, kept.name, kept.states
    kept.role, kept.name, kept.states = told.role, name, told.states
    kept.count = told.count
    if told.texts or told.ranges or told.tabular:
        kept.texts, kept.ranges, kept.tabular = told.texts, told.ranges, told.tabular
    return before != (kept.role, kept.name, kept.states)


async def _fresh(
    nodes: list[Node], places: dict[str, int], children: dict[int, list[str]], asks: Asks
) -> dict[str, tuple[Node, list[str]]]:
    """Return what is new below these places, each with the paths of what is in it. Raises `Unclear`."""
    for place, paths in children.items():
        if any(path in places and nodes[places[path]].parent != place for path in paths):
            raise Unclear  # it was somewhere else
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
                raise Unclear
            found[path] = answer
            below += answer[1]
        if any(path in places or path in found for path in below) or len(set(below)) < len(below):
            break
        level = below
    raise Unclear


def _arranged(
    nodes: list[Node],
    below: list[list[int]],
    children: dict[int, list[str]],
    fresh: dict[str, tuple[Node, list[str]]],
) -> list[Node]:
    """Return the elements from the top down, each after the one it is in."""
    by_path = {node.path: place for place, node in enumerate(nodes)}
    found: list[Node] = []
    waiting = [(node.path, -1) for node in reversed(nodes) if node.parent < 0]
    while waiting:
        path, parent = waiting.pop()
        if path in fresh:
            node, inside = fresh[path]
        else:
            place = by_path[path]
            node = nodes[place]
            inside = children[place] if place in children else [nodes[each].path for each in below[place]]
        node.parent = parent
        found.append(node)
        waiting += ((each, len(found) - 1) for each in reversed(inside))
    return found
