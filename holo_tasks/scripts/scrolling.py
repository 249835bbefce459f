"""Find elements that a program reports but does not show, and the place at which the mouse wheel brings them into view.

Pure functions of the accessibility tree. `into_view` uses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from holo_tasks.core.elements.elements import CELLS, DIALOGS, LISTS, ROWS, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.scripts.element_search import called
from holo_tasks.scripts.steps_and_targets import Named

Turn = Literal["up", "down"]
SCROLLED = frozenset({"document", "scroll pane", "viewport", "internal frame"})
"""Roles of the elements that scroll their contents. Lists may also do so."""
TURNED = frozenset({"combo box", "spin button", "slider", "dial", "scroll bar", "date editor", "tab"})
"""Roles of controls whose value the mouse wheel changes."""
CLOSED = frozenset({"menu", "popup menu", "combo box", "tool tip", *DIALOGS})
"""Roles whose hidden contents the mouse wheel does not show."""
PIXELS = 120
"""Most pixels by which a notch of the mouse wheel moves the contents."""
MARGIN = 8
MOST_NOTCHES = 40
LEAST_ROWS = 2
MOST_KEPT, LEAST_KEPT = 0.6, 0.2
"""Shares of the rows that a turn leaves in view. From the first on, the next turn grows; below the other it shrinks."""


@dataclass(frozen=True)
class Wheel:
    """A place for the mouse wheel, and the most notches by which no control of `TURNED` comes below the pointer."""

    at: Point
    notches: int


def reported_matches(wanted: Named, relations: Mapping[str, str], tree: ElementTree) -> list[Element]:
    """Return the elements that fit and are in view, or that the mouse wheel can bring into view.

    In each row that a key names it is the first one. If a label that an element is found by is out of view, it is the
    label. Relations by position are not checked, because an element out of view has no position.
    """
    found = tree.single(called(wanted, tree, hidden=True))
    for relation, label in relations.items():
        if relation == "row":
            found = _one_of_row(found, label, tree)
        elif relation not in ("column", "month"):
            anchors = tree.single(called(_named(label), tree, hidden=True))
            if len(anchors) == 1 and not anchors[0].on_screen:
                found = anchors
            elif anchors:
                found = sorted(found, key=lambda each: min(abs(each.id - one.id) for one in anchors))[:1]
    return [each for each in found if each.on_screen or frame_of(each, tree) is not None]


def _named(label: str) -> Named:
    return Named(name="*").model_copy(update={"name": label})  # the label may be a `Filled` text


def _one_of_row(found: Sequence[Element], label: str, tree: ElementTree) -> list[Element]:
    """Return the first of the elements in each row with a text."""
    rows: dict[int, Element] = {}
    for each in found:
        row = next((above for above in (each, *tree.ancestors(each)) if above.role in ROWS), None)
        if row is not None and called(_named(label), tree, hidden=True, within=row):
            rows.setdefault(row.id, each)
    return [*rows.values()]


def frame_of(element: Element, tree: ElementTree) -> Element | None:
    """Return the visible ancestor inside which the wheel moves an element; ``None`` if the wheel does not show it."""
    visible = False
    for above in tree.ancestors(element):
        visible = visible or above.on_screen
        if above.role in CLOSED and not (visible and above.role in DIALOGS):
            return None
        if visible and above.role in SCROLLED | LISTS:
            return above if above.on_screen else None
        if visible and above.role in ("tab", "button", "menu bar"):
            return None
    return None


def covering(element: Element, tree: ElementTree) -> Element | None:
    """Return the element that lies over the middle of a visible one, or the list that scrolled it out of view."""
    above, inside = tree.ancestors(element), tree.below(element)
    own = {element.id, *(each.id for each in above), *(each.id for each in inside)}
    middle, window = element.box.center, tree.window_of(element)
    cut = next((each for each in above if each.role in LISTS and each.on_screen), None)
    if cut is not None and not cut.box.contains(middle):
        return cut
    over = [each for each in tree.elements if each.on_screen and each.box.contains(middle) and each.id not in own]
    return next((each for each in reversed(over) if tree.window_of(each) == window), None)


def direction_to(element: Element, frame: Element, tree: ElementTree) -> Turn:
    """Return the direction in which a hidden element is, by the nearest visible one in the order of the tree.

    Of a visible element it is the nearer edge of the frame.
    """
    if element.on_screen:
        return "up" if element.box.center.y < frame.box.center.y else "down"
    around = {each.id for each in tree.ancestors(element)}
    shown = [each.id for each in tree.below(frame) if each.on_screen and each.id not in around]
    nearest = min(shown, key=lambda id_: abs(id_ - element.id), default=-1)
    return "down" if nearest < element.id else "up"


def list_in_front(tree: ElementTree) -> Element | None:
    """Return the largest list or table on the screen that shows at least two rows; ``None`` without one."""
    shown = [each for each in tree.elements if each.role in LISTS and each.on_screen]
    shown = [each for each in tree.in_front(shown) if len(_rows_of(each, tree)) >= LEAST_ROWS]
    return max(shown, key=lambda each: each.box.area, default=None)


def _rows_of(element: Element, tree: ElementTree) -> set[int]:
    """Return the heights at which a list shows rows or cells."""
    return {each.box.top for each in tree.below(element) if each.role in ROWS | CELLS and each.on_screen}


def knows_hidden_rows(element: Element, tree: ElementTree) -> bool:
    """Return whether a program reports all rows of a list, those out of view included, as browsers do."""
    return any(each.role == "document" for each in tree.ancestors(element))


def visible_box(element: Element, tree: ElementTree) -> Box:
    """Return the box of an element, or of its innermost ancestor that is in view."""
    return next((each.box for each in (element, *tree.ancestors(element)) if each.on_screen), element.box)


def scrolled_by(element: Element, tree: ElementTree) -> Element:
    """Return the visible ancestor that scrolls an element; a list itself without one."""
    return next((each for each in tree.ancestors(element) if each.role in SCROLLED and each.on_screen), element)


def wheel_over(frame: Element, near: Box, direction: Turn, tree: ElementTree) -> Wheel | None:
    """Return a place in a frame at which the mouse wheel changes no value; ``None`` without one.

    The wheel changes the value of some controls. So the pointer is in a column of the frame without such controls, at
    the end at which contents leave. The contents that come below it are visible before. ``near`` is tried first.
    """
    box, inside = frame.box, {frame.id, *(each.id for each in tree.below(frame))}
    reach = box.height * 4 // 5
    y = box.bottom - reach if direction == "down" else box.top + reach
    risky = [each for each in tree.elements if each.role in TURNED and each.id in inside and not _is_bar(each, frame)]
    shown = [each.box.grown(MARGIN) for each in risky if each.on_screen]
    for part in (near.intersection(box) or box, box):
        for x in (part.center.x, part.left + 4, part.left + part.width // 4, part.right - 24):
            column, below = Box(x, box.top, 1, box.height), tree.at(Point(x, y))
            if below is None or below.id not in inside or _scrolls_itself(below, frame, tree):
                continue
            if not any(column.intersects(each) for each in shown):
                return Wheel(Point(x, y), max(1, reach // PIXELS) if risky else MOST_NOTCHES)
    return None


def _scrolls_itself(element: Element, frame: Element, tree: ElementTree) -> bool:
    """Return whether the wheel over an element would move contents of its own inside a frame."""
    above = [each for each in (element, *tree.ancestors(element)) if each.id > frame.id]
    return any(each.role in SCROLLED or ("multi line" in each.states and each.role == "text field") for each in above)


def _is_bar(element: Element, frame: Element) -> bool:
    """Return whether an element is a scroll bar of a frame, outside the contents."""
    return element.role == "scroll bar" and not element.box.contains(frame.box.center)


def notches_for(frame: Element) -> int:
    """Return the notches by which no row of a frame is passed over."""
    return max(1, frame.box.height * 4 // 5 // PIXELS)


def notches_after(notches: int, before: Sequence[object], frame: Element, tree: ElementTree) -> int:
    """Return the notches of the next turn along a list, by the rows that a turn of ``notches`` left in view.

    The number doubles while most rows stay in view, so that no row is passed over. ``before`` is the earlier signature.
    """
    then, now = _names_of(before), _names_of(signature(frame, tree))
    if not notches or not then or then == now:
        return notches or notches_for(frame)
    kept = len(then & now) / len(then)
    return (
        min(MOST_NOTCHES, notches * 2) if kept >= MOST_KEPT else notches if kept >= LEAST_KEPT else max(1, notches // 2)
    )


def _names_of(shown: Sequence[object]) -> set[object]:
    return {each[1] for each in shown if isinstance(each, tuple)}


def signature(frame: Element, tree: ElementTree) -> tuple[object, ...]:
    """Return the visible names in a frame and their places, to compare them with a later screen."""
    return tuple((each.role, each.name, each.box) for each in tree.below(frame) if each.on_screen and each.name)


def names_in(frame: Element, tree: ElementTree) -> tuple[str, ...]:
    """Return the names of a list's parts, whether they are in view or not."""
    return tuple(each.name for each in tree.below(frame) if each.name)
