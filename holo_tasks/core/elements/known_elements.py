"""Remove private parts of accessibility trees: masked texts and values of protected fields.

Masks are areas of pixels, so they cover only text that the screen shows. Text off the screen, such as a hidden page or
a scrolled-off row, cannot be masked. `redacted_tree` drops such text with ``unseen=False``, which callers pass if the
screen is searched for private text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from holo_tasks.core.elements.elements import Application, Element, ElementTree
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box

TextFilter: TypeAlias = Callable[[str], str]
"""Returns a text without secret values, or an empty text if it holds something private."""

HOLDERS = frozenset(
    {"window", "dialog", "alert", "panel", "group", "section", "form", "document", "internal frame", "embedded"}
    | {"scroll pane", "split pane", "layered pane", "root pane", "viewport", "landmark", "article", "block quote"}
    | {"table", "tree table", "tree", "list", "row", "list item", "paragraph", "tab list", "tool bar", "menu bar"}
    | {"header", "footer", "status bar", "desktop frame", "application", "info bar", "notification"}
)
"""Roles of containers. Their children have areas of their own, which are checked against the masks."""
PARTLY = "Some texts of the accessibility trees are masked."
"""Replaces the reason why a tree is incomplete if the reason may contain a private text."""


def as_it_is(text: str) -> str:
    """Return the text unchanged, for callers without private texts."""
    return text


@dataclass(frozen=True, slots=True)
class _Cover:
    """The effect of masks on an element and on the elements inside it.

    ``loses_texts``: the element loses its texts. ``hides_all_inside``: all elements inside it lose theirs.
    ``hides_unseen_inside``: the elements inside it that are off the screen lose theirs.
    """

    loses_texts: bool
    hides_all_inside: bool
    hides_unseen_inside: bool


def redacted_tree(
    tree: ElementTree, masks: Sequence[Mask], text_filter: TextFilter = as_it_is, *, unseen: bool = True
) -> ElementTree:
    """Return a tree without the texts that the masks hide.

    An element that touches a mask loses its name and value, and the elements inside it lose theirs too. In a container,
    only children that touch a mask themselves lose them. With ``unseen=False``, all elements off the screen lose their
    texts. Values of protected fields are always removed. Remaining texts are passed through ``text_filter``.
    """
    boxes = [mask.box for mask in masks]
    covers: list[_Cover] = []
    found = []
    for element in tree.elements:
        above = covers[element.parent] if element.parent >= 0 else _window_cover(boxes, unseen=unseen)
        covers.append(_element_cover(element, above, boxes, unseen=unseen))
        found.append(_redacted_element(element, covers[-1], text_filter))
    reported = tuple(
        _redacted_application(each, text_filter, hides_texts=bool(boxes) or not unseen) for each in tree.applications
    )
    why_not = tree.why_not if reported == tree.applications else tree.why_not and PARTLY
    return replace(tree, elements=tuple(found), applications=reported, why_not=why_not)


def redacted_element(
    tree: ElementTree,
    element: Element,
    masks: Sequence[Mask],
    text_filter: TextFilter = as_it_is,
    *,
    unseen: bool = True,
) -> Element:
    """Return one element of a tree without its hidden texts, by the rules of `redacted_tree`."""
    boxes = [mask.box for mask in masks]
    cover = _window_cover(boxes, unseen=unseen)
    for each in (*reversed(tree.ancestors(element)), element):
        cover = _element_cover(each, cover, boxes, unseen=unseen)
    return _redacted_element(element, cover, text_filter)


def _window_cover(boxes: Sequence[Box], *, unseen: bool) -> _Cover:
    """Return the cover for a window.

    If there are masks, elements off the screen are hidden: their window may be one that is masked as a whole.
    """
    return _Cover(loses_texts=False, hides_all_inside=False, hides_unseen_inside=bool(boxes) or not unseen)


def _element_cover(element: Element, above: _Cover, boxes: Sequence[Box], *, unseen: bool) -> _Cover:
    if above.hides_all_inside:
        return _Cover(loses_texts=True, hides_all_inside=True, hides_unseen_inside=True)
    if not element.box.area:
        hidden = above.hides_unseen_inside
        return _Cover(hidden, hides_all_inside=hidden or element.protected, hides_unseen_inside=hidden)
    touched = any(element.box.intersects(box) for box in boxes)
    alone = element.role not in HOLDERS or any(box.encloses(element.box) for box in boxes)
    return _Cover(touched, (touched and alone) or element.protected, touched or not unseen)


def _redacted_element(element: Element, cover: _Cover, text_filter: TextFilter) -> Element:
    application = text_filter(element.application)
    if cover.loses_texts:
        return replace(element, name="", value="", shortcut="", application=application)
    value = "" if element.protected else text_filter(element.value)
    return replace(element, name=text_filter(element.name), value=value, application=application)


def _redacted_application(application: Application, text_filter: TextFilter, *, hides_texts: bool) -> Application:
    """Return a program's entry without hidden texts.

    A program without a tree is named after its window's title, so its name is removed if texts are hidden
    (``hides_texts``).
    """
    name = "" if hides_texts and application.how == "none" else text_filter(application.name)
    return replace(application, name=name, note=text_filter(application.note))
