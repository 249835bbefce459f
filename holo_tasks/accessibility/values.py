"""Read the texts and numbers of fields, the labels of fields without a name, and the shortcuts of menu entries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Connection, method, property_of
from holo_tasks.accessibility.date_parts import read_dates
from holo_tasks.accessibility.node import ENTRIES, FIELDS, NAME_CHARACTERS, NUMBERS, Node
from holo_tasks.accessibility.shortcuts import shortcut_of
from holo_tasks.core.texts.same_value import numbers_of
from holo_tasks.core.texts.visible_text import one_line

VALUE_CHARACTERS, MOST_VALUES, MOST_SHORTCUTS, MOST_RELATIONS = 1_000, 300, 300, 20
TERMINAL_CHARACTERS = 20_000
"""Most characters of a terminal's screen that are read. One of 80 columns and 24 rows has 1,920."""
OBJECT = "\ufffc"
"""The character that represents an object in a text."""
LIMITED = "spin button"
LIMITS = ("CurrentValue", "MinimumValue", "MaximumValue")
ROUNDING = 2.0**-24
"""Largest relative error of a number that a program keeps with single precision, as Chromium does."""
OPTIONS = {"list item", "menu item"}
PARAGRAPHS = {"paragraph", "heading"}
"""Roles whose whole text is requested: LibreOffice returns nothing if more characters are requested than it has."""


async def read_values(
    connection: Connection,
    bus_name: str,
    nodes: Sequence[Node],
    only: Collection[str] | None = None,
) -> bool:
    """Read the values of fields, except for passwords, and the labels of fields without a name.

    ``only`` limits the values to elements with these paths; labels are read for all. Returns whether any name, value,
    emptiness or limit changed.
    """
    showing = [node for node in nodes if node.states & protocol.SHOWING and not node.protected]
    asked = [node for node in showing if only is None or node.path in only]
    fields = [node for node in asked if node.role in FIELDS or node.states & protocol.EDITABLE]
    texts = [node for node in fields if node.texts][:MOST_VALUES]
    numbers = [node for node in asked if node.ranges and node.role in NUMBERS and not node.texts][:MOST_VALUES]
    nameless = [node for node in nodes if node.role in FIELDS and not node.name and node.extents][:MOST_VALUES]
    most = [TERMINAL_CHARACTERS if node.role == "terminal" else VALUE_CHARACTERS for node in texts]
    ends = [-1 if node.role in PARAGRAPHS else end for node, end in zip(texts, most, strict=True)]
    reported = await connection.all(
        bus_name,
        [method(node.path, protocol.TEXT, "GetText", "s", 0, end) for node, end in zip(texts, ends, strict=True)]
        + [property_of(node.path, protocol.VALUE, "CurrentValue", "d") for node in numbers]
        + [method(node.path, protocol.ACCESSIBLE, "GetRelationSet", "a(ua(so))") for node in nameless],
    )
    before = [_facts(node) for node in nodes]
    reported[: len(texts)], empty = await _with_exact_ends(connection, bus_name, texts, reported[: len(texts)])
    for node in asked:
        node.is_empty = node.path in empty
    for node, holds, end in zip(
        (*texts, *numbers), reported, (*most, *[VALUE_CHARACTERS] * len(numbers)), strict=False
    ):
        shown = f"{holds:g}" if isinstance(holds, float) else holds or ""
        node.value = one_line(shown, end)
    _read_choices(nodes)
    await read_dates(connection, bus_name, nodes, only)
    called = {node.path: node.name for node in nodes if not node.labeled}
    labels = await _labels(connection, bus_name, called, reported[len(texts) + len(numbers) :])
    for node, label in zip(nameless, labels, strict=True):
        node.name, node.labeled = label, bool(label)
    await _check_limits(connection, bus_name, [node for node in texts if node.ranges and node.role == LIMITED])
    return before != [_facts(node) for node in nodes]


def _facts(node: Node) -> tuple[str, str, bool, bool]:
    return node.name, node.value, node.is_empty, node.is_outside


async def _check_limits(connection: Connection, bus_name: str, nodes: Sequence[Node]) -> None:
    """Find the numbers outside their limits: the program corrects them as soon as the keyboard leaves the field.

    A program may count in another unit than it shows. So its value must have been the shown number before.
    """
    asked = [property_of(node.path, protocol.VALUE, word, "d") for node in nodes for word in LIMITS]
    reported = await connection.all(bus_name, asked)
    for node, now, least, most in zip(nodes, reported[::3], reported[1::3], reported[2::3], strict=True):
        shown = numbers_of(node.value)
        node.is_number = node.is_number or (now is not None and any(_is_same(number, now) for number in shown))
        is_known = node.is_number and bool(shown) and least is not None and most is not None and least < most
        node.is_outside = is_known and not any(
            least <= number <= most or _is_same(number, least) or _is_same(number, most) for number in shown
        )


def _is_same(shown: float, reported: float) -> bool:
    return math.isclose(shown, reported, rel_tol=ROUNDING)


async def _with_exact_ends(
    connection: Connection, bus_name: str, nodes: Sequence[Node], reported: Sequence[Any]
) -> tuple[list[Any], set[str]]:
    """Return the texts, and the paths of the elements without characters; request empty texts with their exact ends.

    Firefox returns an error if more characters are requested than a field has.
    """
    empty = [place for place, text in enumerate(reported) if not text]
    counts = await connection.all(
        bus_name, [property_of(nodes[place].path, protocol.TEXT, "CharacterCount", "i") for place in empty]
    )
    ends = {place: min(count, VALUE_CHARACTERS) for place, count in zip(empty, counts, strict=True) if count}
    texts = await connection.all(
        bus_name, [method(nodes[place].path, protocol.TEXT, "GetText", "s", 0, end) for place, end in ends.items()]
    )
    exact = dict(zip(ends, texts, strict=True))
    without = {nodes[place].path for place, count in zip(empty, counts, strict=True) if count == 0}
    return [exact.get(place, text) for place, text in enumerate(reported)], without


def _read_choices(nodes: Sequence[Node]) -> None:
    """Set the value of each combo box of a page to its chosen option, because browsers publish no text for it.

    If no option is reported as chosen, as in a closed list that a page draws itself, it is the only text shown inside.
    """
    boxes, chosen, shown = set[int](), dict[int, str](), dict[int, list[str]]()
    for place, node in enumerate(nodes):
        if node.role == "combo box" and not node.states & protocol.EDITABLE:
            node.value = node.value.strip(OBJECT) or node.value
        if node.role == "combo box" and (not node.texts or node.chooses or node.value == OBJECT):
            node.chooses = True
            boxes.add(place)
    above, pages = dict[int, int](), set[int]()
    for place, node in enumerate(nodes) if boxes else ():
        if node.role == "document" or node.parent in pages:
            pages.add(place)
        above[place] = node.parent if node.parent in boxes else above.get(node.parent, -1)
        if above[place] >= 0 and node.states & protocol.SELECTED and node.role in OPTIONS:
            chosen[above[place]] = node.name
        elif above[place] in pages and node.states & protocol.SHOWING and node.role == "label" and node.name:
            if _is_listed(nodes, node, above[place]):
                continue
            shown.setdefault(above[place], []).append(node.name)
    for place in boxes:
        single = texts[0] if len(texts := shown.get(place, [])) == 1 else ""
        nodes[place].value = chosen.get(place) or single or nodes[place].value.strip(OBJECT)


def _is_listed(nodes: Sequence[Node], node: Node, box: int) -> bool:
    """Return whether a part of a combo box is in its open list, where an option may be the only one that fits."""
    while node.parent != box:
        node = nodes[node.parent]
        if node.role in OPTIONS | {"list", "menu"}:
            return True
    return False


async def _labels(
    connection: Connection, bus_name: str, called: Mapping[str, str], relations: Sequence[Any]
) -> list[str]:
    """Return the label's name for each set of relations, or an empty text.

    ``called`` holds the names of elements in the tree. Other labels are asked for their names.
    """
    paths = [_labeled_by(each or ()) for each in relations]
    unknown = list(dict.fromkeys(path for path in paths if path and path not in called))
    asked = [property_of(path, protocol.ACCESSIBLE, "Name", "s") for path in unknown]
    reported = dict(zip(unknown, await connection.all(bus_name, asked), strict=True))
    return [called[path] if path in called else one_line(reported.get(path) or "", NAME_CHARACTERS) for path in paths]


def _labeled_by(relations: Sequence[Any], wanted: int = protocol.LABELLED_BY) -> str:
    """Return the path of an element's label or, with LABEL_FOR, of the element that it labels; else an empty text."""
    for kind, others in relations[:MOST_RELATIONS]:
        if kind == wanted and others:
            return str(others[0][1])
    return ""


async def read_choice_labels(connection: Connection, bus_name: str, nodes: Sequence[Node]) -> bool:
    """Read the labels of combo boxes that publish their chosen option as their name; return whether any changed.

    Java publishes this relation at the label only, so each label next to such a combo box is asked once.
    """
    boxes = {node.path: node for node in nodes if node.role == "combo box" and node.extents}
    beside = {node.parent for node in boxes.values()}
    labels = [node for node in nodes if node.role == "label" and node.parent in beside and not node.asked][:MOST_VALUES]
    reported = await connection.all(
        bus_name, [method(node.path, protocol.ACCESSIBLE, "GetRelationSet", "a(ua(so))") for node in labels]
    )
    changed = False
    for node, relations in zip(labels, reported, strict=True):
        node.asked = relations is not None
        box = boxes.get(_labeled_by(relations or (), protocol.LABEL_FOR))
        if box is not None and box.label != node.name:
            box.label, changed = node.name, True
    return changed


async def read_shortcuts(connection: Connection, bus_name: str, nodes: Sequence[Node]) -> None:
    """Read the keyboard shortcuts of menu entries, in open and closed menus. Each entry is asked once."""
    entries = [node for node in nodes if node.role in ENTRIES and node.shortcut is None][:MOST_SHORTCUTS]
    reported = await connection.all(
        bus_name, [method(node.path, protocol.ACTION, "GetKeyBinding", "s", 0) for node in entries]
    )
    for node, keys in zip(entries, reported, strict=True):
        node.shortcut = shortcut_of(keys or "")
