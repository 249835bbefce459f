"""The message form of an element tree, which the host sends: a list for each element, and each set of states once.

If the receiver has a tree of the same length, only the changed elements are sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from holo_tasks.core.elements.elements import Application, Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.session.ipc_messages import Message, reports_malformed


def from_tree(tree: ElementTree, known: ElementTree | None = None) -> Message:
    """Convert a tree to plain values.

    If the receiver's tree ``known`` has as many elements, include only the changed ones.
    """
    kinds: dict[frozenset[str], int] = {}
    programs: dict[tuple[str, int], int] = {}
    same_length = known is not None and len(known.elements) == len(tree.elements)
    pairs = zip(tree.elements, known.elements, strict=True) if known is not None and same_length else ()
    changed = [now for now, then in pairs if now is not then and now != then] if same_length else tree.elements
    rows = [
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
        "elements": rows,
        "places": [each.id for each in changed] if same_length else None,
        "states": [sorted(states) for states in kinds],
        "programs": list(programs),
        "applications": [asdict(app) for app in tree.applications],
        "complete": tree.complete,
        "why_not": tree.why_not,
        "took_ms": tree.took_ms,
    }


@reports_malformed
def to_tree(message: Message, known: ElementTree | None = None) -> ElementTree:
    """Build a tree from the result of `from_tree`. A message with changes only is applied to the tree ``known``."""
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
    for number, row in zip(places, message["elements"], strict=True):
        role, name, kind, left, top, width, height, parent, program, value, protected, shortcut = row
        app, pid = programs[program]
        box = Box(left, top, width, height)
        yield Element(number, role, name, kinds[kind], box, parent, app, pid, value, protected, shortcut)
