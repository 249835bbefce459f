"""Read the dates and times in the fields of pages. Browsers publish them only as the parts of a field, such as a month.

A part is a spin button without a text. Its attribute ``valuetext`` is the text that it shows, and ``0`` if it is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Connection, method
from holo_tasks.accessibility.node import NAME_CHARACTERS, Node
from holo_tasks.core.elements.typed_field import DATES
from holo_tasks.core.texts.visible_text import one_line

PART = "spin button"
EMPTY, SHOWN_EMPTY = "0", "--"
MOST_PARTS = 100


async def read_dates(
    connection: Connection, bus_name: str, nodes: Sequence[Node], only: Collection[str] | None = None
) -> None:
    """Set the value of each date field to the texts of its parts, with the signs between them.

    A field whose parts are all empty has no value. ``only`` limits the requests to parts with these paths and
    those that were never told. A part without an answer keeps its text. A field keeps its value if one of its parts was
    never told, or is beyond the first `MOST_PARTS` that are to be asked.
    """
    fields = [place for place, node in enumerate(nodes) if node.role == DATES and node.states & protocol.SHOWING]
    parts: dict[int, list[Node]] = {place: [] for place in fields}
    within = {place: place for place in fields}
    for place, node in enumerate(nodes) if fields else ():
        field = within.get(node.parent)
        if field is not None and place not in within:
            within[place] = field
            parts[field].append(node)
    every = [node for each in parts.values() for node in each if _is_part(node)]
    wanted = [node for node in every if only is None or node.path in only or not node.part]
    asked, left = wanted[:MOST_PARTS], {node.path for node in wanted[MOST_PARTS:]}
    reported = await connection.all(
        bus_name, [method(node.path, protocol.ACCESSIBLE, "GetAttributes", "a{ss}") for node in asked]
    )
    for node, attributes in zip(asked, reported, strict=True):
        if attributes is not None:
            node.part = one_line(attributes.get("valuetext", EMPTY), NAME_CHARACTERS) or EMPTY
    for field, each in parts.items():
        own = [node for node in each if _is_part(node)]
        if own and all(node.part and node.path not in left for node in own):
            nodes[field].value = _text_of(each)


def _is_part(node: Node) -> bool:
    return node.role == PART and node.ranges and not node.states & protocol.EDITABLE


def _text_of(parts: Sequence[Node]) -> str:
    """Return the text of a date field; empty if all its parts are empty."""
    if all(node.part == EMPTY for node in parts if _is_part(node)):
        return ""
    texts, beside = [], {node.parent for node in parts if _is_part(node)}
    for node in parts:
        if node.parent not in beside:
            continue  # its calendar, which is open
        if _is_part(node):
            texts.append(SHOWN_EMPTY if node.part == EMPTY else node.part)
        elif node.role == "label":  # a blank between two parts has no name
            texts.append(f"{node.name} " if node.name in ("", ",") else node.name)
    return one_line("".join(texts), NAME_CHARACTERS)
