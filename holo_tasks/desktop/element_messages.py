"""The tree of elements as it travels from the process that owns a desktop: a list for each element, states once.

Of a tree that is known there but for a few elements, only these travel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from holo_tasks.core.elements import Application, Element, ElementTree
from holo_tasks.core.geometry import Box
from holo_tasks.desktop.ipc_messages import Message, understood


def from_tree(tree: ElementTree, known: ElementTree | None = None) -> Message:
    """Describe a tree in plain values; of one as long as that which is ``known`` there, what differs from it."""
    kinds: dict[frozenset[str], int] = {}
    programs: dict[tuple[str, int], int] = {}
    like = known is not None and len(known.elements) == len(tree.elements)
    other = zip(tree.elements, known.elements, strict=True) if known is not None and like else ()
    changed = [now for now, then in other if now is not then and now != then] if like else tree.elements
    told = [
        [
            each.role,
            each.name,
            kinds.setdefault(each.states, len(kinds)),
            each.box.left,
            each.box.top,
            each.box.width,
            each.box.height,
            each.parent,
            programs.setdefault((each.application, each.pid), len(programs)),
            each.value,
            each.protected,
            each.shortcut,
        ]
        for each in changed
    ]
    return {
        "elements": told,
        "places": [each.id for each in changed] if like else None,
        "states": [sorted(states) for states in kinds],
        "programs": list(programs),
        "applications": [asdict(app) for app in tree.applications],
        "complete": tree.complete,
        "why_not": tree.why_not,
        "took_ms": tree.took_ms,
    }


@understood
def to_tree(message: Message, known: ElementTree | None = None) -> ElementTree:
    """Build the tree that `from_tree` described, from the one that was ``known`` where it tells what differs."""
    places = message["places"]
    if places is None:
        elements = list(_elements(message, range(len(message["elements"]))))
    else:
        elements = list(known.elements if known is not None else ())
        for each in _elements(message, places):
            elements[each.id] = each
    return ElementTree(
        tuple(elements),
        tuple(Application(**app) for app in message["applications"]),
        message["took_ms"],
        message["complete"],
        message["why_not"],
    )


def _elements(message: Message, places: Iterable[int]) -> Iterable[Element]:
    kinds = [frozenset(states) for states in message["states"]]
    programs: list[Any] = message["programs"]
    for number, told in zip(places, message["elements"], strict=True):
        role, name, kind, left, top, width, height, parent, program, value, protected, shortcut = told
        app, pid = programs[program]
        box = Box(left, top, width, height)
        yield Element(number, role, name, kinds[kind], box, parent, app, pid, value, protected, shortcut)
