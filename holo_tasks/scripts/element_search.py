"""Where the element is that a playbook names by role and name, and what is written in it.

The programs' own tree says where, the picture has to agree. What fits twice is as bad as nothing, and so is what tree
and picture disagree about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.geometry import Box
from holo_tasks.scripts.actions import ElementTarget, Named, Target
from holo_tasks.vision.element_check import WRITTEN_INTO, agrees
from holo_tasks.vision.screen_text import Sight, holds_values, on_row, plain

FIELDS = frozenset({"text field", "spin button", "combo box", "slider", "date editor", "terminal"})
"""Roles whose name is a label's beside them, and whose text is a value of their own."""
SIGN = 2
"""A text of so few letters may be too little for OCR to find."""
MOST_TOLD = 3


class NotFound(Exception):
    """A target or a value is not on the screen beyond doubt; its text says why, if more is to be said."""


class Several(NotFound):
    """Two fit equally well: no other way of finding it is tried."""


class Disagrees(NotFound):
    """Programs tell of the target, and the picture shows something else there."""


def is_told(sight: Sight) -> bool:
    """Say whether all programs on the screen tell of their elements: what is not among these is not there."""
    return sight.elements is not None and sight.elements.complete


def find_element(
    wanted: Named, relations: Mapping[str, str], sight: Sight, also: str = "", anchors: bool = False
) -> Element | None:
    """Return the element that is meant; None where programs do not tell enough to know that there is none.

    ``also`` is what may be written on it instead of its name. ``anchors`` says that a label is meant rather than the
    field that it names. Raises `NotFound` if none or several fit, and `Disagrees` if the picture shows something else.
    """
    tree = sight.elements
    if tree is None:
        return None
    found, lacking = _single(tree, _called(wanted, tree)), words_for(wanted)
    if anchors:
        found = [each for each in found if each.role not in WRITTEN_INTO] or found
    for relation, label in relations.items():
        anchor = _anchor(label, sight)
        if anchor is None:
            found, lacking = [], f"label ‘{label}’"
            break
        near = sorted(related(found, relation, anchor), key=lambda each: distance(each.box, anchor))
        found = [each for each in near[:2] if distance(each.box, anchor) == distance(near[0].box, anchor)]
    if not found:
        if tree.complete:
            raise NotFound(f"There is no {lacking} among the elements that the programs tell of.")
        return None
    if len(found) > 1:
        raise Several(f"{len(found)} elements are {words_for(wanted)}: {_places(found)}.")
    if why_not := sight.disagrees(found[0], also):
        raise Disagrees(f"The program tells of {words_for(wanted)} at {found[0].box}, but {why_not}.")
    return found[0]


def field_of(label: str, sight: Sight) -> Box | None:
    """Return where the input field with this name is, if programs tell of just one, and the picture agrees."""
    tree = sight.elements
    if tree is None:
        return None
    found = [each for each in _single(tree, tree.find(None, label)) if each.role in WRITTEN_INTO]
    return found[0].box if len(found) == 1 and not sight.disagrees(found[0], "") else None


def shows_element(wanted: Named, text: str | None, sight: Sight) -> bool:
    """Say whether an element shows; where programs do not tell of it, whether its text does."""
    tree = sight.elements
    if tree is not None and any(not sight.disagrees(each, text or "") for each in _called(wanted, tree)):
        return True
    return text is not None and not is_told(sight) and sight.has(text)


def text_of(wanted: ElementTarget, relations: Mapping[str, str], sight: Sight) -> str | None:
    """Return what is written in an element, as its program tells it, if the picture says the same.

    None where programs do not tell of it. Raises `NotFound` where it is not certain, and for a password field.
    """
    element = find_element(wanted, relations, sight)
    if element is None:
        return None
    if element.protected:
        raise NotFound(f"What is in a {element.role} is never read.")
    text = element.value if element.role in FIELDS else element.value or element.name
    read = sight.written(element.box)
    if read is None or agrees(text, read) or (not read and len(plain(text)) <= SIGN):
        return text
    raise Disagrees(f"The program tells another text of {words_for(wanted)} at {element.box} than the picture shows.")


def words_for(wanted: Named) -> str:
    """Return what an element is called in a sentence."""
    return f"{wanted.role or 'element'} ‘{wanted.name}’" if wanted.name else str(wanted.role)


def related(found: Sequence[Element], relation: str, anchor: Box) -> Iterator[Element]:
    """Yield the elements that stand so to a label."""
    return (each for each in found if stands(each.box, relation, anchor))


def stands(box: Box, relation: str, anchor: Box) -> bool:
    """Say whether a box stands so to another one."""
    match relation:
        case "right_of":
            return on_row(box, anchor) and box.left >= anchor.right - 2
        case "left_of":
            return on_row(box, anchor) and box.right <= anchor.left + 2
        case "below":
            return box.center.y > anchor.bottom
        case "above":
            return box.center.y < anchor.top
        case _:
            return True


def distance(one: Box, other: Box) -> float:
    """Return how far apart the middles of two boxes are."""
    a, b = one.center, other.center
    return math.hypot(a.x - b.x, a.y - b.y)


def _anchor(label: str, sight: Sight) -> Box | None:
    """Return where a label is: the element of this name or, where not all programs tell, the text."""
    try:
        wanted = Target(name=label).model_copy(update={"name": label})  # with what was put into it
        found = find_element(wanted, {}, sight, anchors=True)
    except Disagrees:
        raise
    except NotFound:
        found = None
    if found is not None:
        return found.box
    return None if is_told(sight) else sight.anchor(label)


def _places(found: Sequence[Element]) -> str:
    """Return where elements are; what they are called is for whoever may know what programs tell."""
    return ", ".join(f"at {each.box}" for each in found[:MOST_TOLD])


def _called(wanted: Named, tree: ElementTree) -> list[Element]:
    """Return the elements of this role and name; an item's value in it is there word for word."""
    found = tree.find(wanted.role, wanted.name)
    return [each for each in found if holds_values(wanted.name or "", each.name, told=True)]


def _single(tree: ElementTree, found: Sequence[Element]) -> list[Element]:
    """Return elements without those that others of them are in: a heading and the text in it are one thing."""
    around = {above.id for each in found for above in tree.ancestors(each)}
    return [each for each in found if each.id not in around]
