"""Give a tiny control of a web page the box of the area that the page draws for it. `with_drawn_areas` does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from holo_tasks.core.elements.elements import SHOWING, Element

TINY = 4
"""A control with a side below this many pixels cannot be seen."""
CONTROLS = frozenset({"combo box", "text field", "spin button", "button", "check box", "radio button", "switch"})
SIGNS = frozenset({"check box", "radio button", "switch"})
"""Controls for which pages draw a sign of their own. The control itself may have no size."""
AREAS = frozenset({"section", "panel", "label"})


def with_drawn_areas(made: Sequence[Element], first: int) -> list[Element]:
    """Return a window's elements, with the box of its area for each control that is tiny; their ids start at ``first``.

    Pages hide the control of a chooser in that way, and a press anywhere in its label goes to it. Only an area without
    a name, in a label, with no other control counts. A check box or a radio button may have no size at all. Its label
    may also be apart from it: then it is the only text with the control's name, and no other control has that name.
    """
    tiny = [each for each in made if each.role in CONTROLS and (each.box.area or each.role in SIGNS) and _is_tiny(each)]
    children: dict[int, list[Element]] = {}
    for each in made if tiny else ():
        children.setdefault(each.parent, []).append(each)
    areas = {each.id: area for each in tiny if (area := _area_of(each, made, first, children)) is not None}
    named = Counter(each.name for each in made if each.role in CONTROLS) if tiny else Counter[str]()
    apart = {each.name: each.id for each in tiny if each.role in SIGNS and each.name and each.id not in areas}
    apart = {name: number for name, number in apart.items() if named[name] == 1}
    labels = [each for each in made if each.role == "label" and each.name in apart and each.on_screen] if apart else []
    counts = Counter(each.name for each in labels)
    areas |= {apart[each.name]: each for each in labels if counts[each.name] == 1 and not _is_tiny(each)}
    return [_drawn(each, areas[each.id]) if each.id in areas else each for each in made]


def _drawn(control: Element, area: Element) -> Element:
    """Return a control at the place of its area."""
    return replace(control, box=area.box, states=control.states | (area.states & {SHOWING}))


def _is_tiny(element: Element) -> bool:
    return min(element.box.width, element.box.height) < TINY


def _is_label(element: Element, control: Element) -> bool:
    """Return whether an element is the label around a control. Firefox names it by all texts in it, with the value."""
    is_named_by_texts = element.name.startswith(f"{control.name} ") and control.value in element.name
    return element.role == "label" and (not element.name or bool(control.value and is_named_by_texts))


def _area_of(
    control: Element, made: Sequence[Element], first: int, children: Mapping[int, Sequence[Element]]
) -> Element | None:
    above: list[Element] = []
    while (parent := (above[-1] if above else control).parent) >= first:
        above.append(made[parent - first])
    label = next((place for place, each in enumerate(above) if _is_label(each, control)), -1)
    area = next((each for each in above[: label + 1] if not _is_tiny(each)), None)
    if area is None or area.role not in AREAS or area.name:
        return None
    inside = [*children.get(area.id, ())]
    for each in inside:
        if each.role in CONTROLS and each.id != control.id:
            return None
        inside.extend(children.get(each.id, ()))
    return area
