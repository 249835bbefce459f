"""Add the accessibility tree to a `Sight`, checked against the picture.

`with_elements` is used by scripts.
"""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.core.elements.elements import NOWHERE, ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.outside_text import defused
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.expected_texts import ExpectedTexts
from holo_tasks.vision.screen_text import Sight


def with_elements(
    sight: Sight, frame: Frame, tree: ElementTree, check: ElementCheck, *, instead: bool = False
) -> Sight:
    """Return a sight with the accessibility tree, in pixels of the frame.

    With ``instead``, texts are read only at the places where the tree has them. The whole frame is read only if that
    gives no answer.
    """
    found = replace(
        sight,
        elements=tree,
        disagrees=lambda element, also: check.contradiction(frame, tree, element, also),
        written=lambda box: check.read(frame, box) if can_read() else None,
    )
    texts = ExpectedTexts(frame, tree, check)
    found = replace(found, at_place=texts.shows)
    if not instead:
        return found
    return replace(found, reported=texts.has, row=texts.row_of)


def seen_in(tree: ElementTree, region: Box | None) -> ElementTree:
    """Return the tree in pixels of a region of the screen; elements outside the region have no place.

    References to secrets in names and values are defused.
    """
    elements = tuple(
        replace(each, name=defused(each.name), value=defused(each.value), box=_inside(each.box, region))
        for each in tree.elements
    )
    return replace(tree, elements=elements)


def _inside(box: Box, region: Box | None) -> Box:
    if region is None or not box.area:
        return box
    part = box.intersection(region)
    return NOWHERE if part is None else part.moved(-region.left, -region.top)
