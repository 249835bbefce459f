"""What of programs' elements may be known outside this machine: nothing that masks cover, and no value of a field that
is protected.

Masks are areas of pixels, so they tell of what is on the screen alone. What is not there (a page that is not shown, a
row that is scrolled off) nobody has masked: `known` leaves its texts out where masks would have been looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from holo_tasks.core.elements import Application, Element, ElementTree
from holo_tasks.core.frame import Mask
from holo_tasks.core.geometry import Box

Tell: TypeAlias = Callable[[str], str]
"""Returns a text as it may be told: without the values of secrets, and nothing of one that holds something private."""

HOLDERS = frozenset(
    {"window", "dialog", "alert", "panel", "group", "section", "form", "document", "internal frame", "embedded"}
    | {"scroll pane", "split pane", "layered pane", "root pane", "viewport", "landmark", "article", "block quote"}
    | {"table", "tree table", "tree", "list", "row", "list item", "paragraph", "tab list", "tool bar", "menu bar"}
    | {"header", "footer", "status bar", "desktop frame", "application", "info bar", "notification"}
)
"""Roles of what holds other things, each of which has an area of its own: masks are held against those."""
PARTLY = "Something of what programs tell is masked."


def as_it_is(text: str) -> str:
    """Return a text: nothing is known to be private."""
    return text


@dataclass(frozen=True, slots=True)
class _Cover:
    """What masks do to an element: it loses its texts; so does all in it; and what of it has no pixels does."""

    lost: bool
    all_in_it: bool
    unseen_in_it: bool


def known(tree: ElementTree, masks: Sequence[Mask], tell: Tell = as_it_is, *, unseen: bool = True) -> ElementTree:
    """Return what may be known of a tree on a screen with these masks.

    An element that touches a mask has neither name nor value, nor has what is in it; of what only holds others, those
    do that touch one themselves. Without ``unseen`` what is not on the screen has no texts either. The value of a
    protected field is never there. What is left goes through ``tell``.
    """
    boxes = [mask.box for mask in masks]
    covers: list[_Cover] = []
    found = []
    for element in tree.elements:
        above = covers[element.parent] if element.parent >= 0 else _around(boxes, unseen=unseen)
        covers.append(_cover(element, above, boxes, unseen=unseen))
        found.append(_known(element, covers[-1], tell))
    told = tuple(_application(each, tell, hides=bool(boxes) or not unseen) for each in tree.applications)
    why_not = tree.why_not if told == tree.applications else tree.why_not and PARTLY
    return replace(tree, elements=tuple(found), applications=told, why_not=why_not)


def known_element(
    tree: ElementTree, element: Element, masks: Sequence[Mask], tell: Tell = as_it_is, *, unseen: bool = True
) -> Element:
    """Return what may be known of one element of a tree, as `known` says."""
    boxes = [mask.box for mask in masks]
    cover = _around(boxes, unseen=unseen)
    for each in (*reversed(tree.ancestors(element)), element):
        cover = _cover(each, cover, boxes, unseen=unseen)
    return _known(element, cover, tell)


def _around(boxes: Sequence[Box], *, unseen: bool) -> _Cover:
    """Return what holds for a window: one that is nowhere on a screen with masks may be of those that are masked."""
    return _Cover(lost=False, all_in_it=False, unseen_in_it=bool(boxes) or not unseen)


def _cover(element: Element, above: _Cover, boxes: Sequence[Box], *, unseen: bool) -> _Cover:
    if above.all_in_it:
        return _Cover(lost=True, all_in_it=True, unseen_in_it=True)
    if not element.box.area:
        hidden = above.unseen_in_it
        return _Cover(hidden, all_in_it=hidden or element.protected, unseen_in_it=hidden)
    touched = any(element.box.intersects(box) for box in boxes)
    alone = element.role not in HOLDERS or any(box.encloses(element.box) for box in boxes)
    return _Cover(touched, (touched and alone) or element.protected, touched or not unseen)


def _known(element: Element, cover: _Cover, tell: Tell) -> Element:
    application = tell(element.application)
    if cover.lost:
        return replace(element, name="", value="", shortcut="", application=application)
    value = "" if element.protected else tell(element.value)
    return replace(element, name=tell(element.name), value=value, application=application)


def _application(told: Application, tell: Tell, *, hides: bool) -> Application:
    """Return what may be known of a program: one that tells nothing goes by what its window is called."""
    name = "" if hides and told.how == "none" else tell(told.name)
    return replace(told, name=name, note=tell(told.note))
