"""Find the element that a playbook names by role and name, and read its text.

The accessibility tree gives the place, and the picture has to agree. Two matches are treated like none, and so is a
contradiction between tree and picture. Used by `rules` and `values`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from holo_tasks.core.elements.calendar_days import CalendarDay, day_of
from holo_tasks.core.elements.element_anchors import row_around
from holo_tasks.core.elements.elements import (
    ALERTS,
    CELLS,
    LISTS,
    MODAL,
    OPTIONS,
    PRESSED_OR_FILLED,
    READ_ONLY,
    ROWS,
    TEXTS,
    Element,
    ElementTree,
    in_rows,
)
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.steps_and_targets import (
    Beside,
    Contained,
    ElementTarget,
    Holding,
    InSheet,
    Named,
    ShownElement,
    Target,
)
from holo_tasks.scripts.value_formats import days_of_month, months_in
from holo_tasks.vision.element_check import MULTI_LINE, WRITTEN_INTO
from holo_tasks.vision.name_fit import agrees
from holo_tasks.vision.screen_text import Sight, holds_values, matches, on_row, overlap, plain

FIELDS = frozenset({"text field", "spin button", "combo box", "slider", "date editor", "terminal"})
"""Roles whose accessible name is that of a nearby label, and whose text is a value."""
OF_LINES = frozenset({"text field", "paragraph"})
"""Roles of elements that may take several lines."""
IN_TABLES = ("row", "column")
"""Relations of an element to other parts of its table or list."""
MONTH = "month"
"""Relation of a day to the month and year that are written above the days of its calendar."""
COMBO = "combo box"
CHOOSER = frozenset({COMBO, "list", "menu"})
"""Roles of a combo box and of the list that it opens."""
SIGN = 2
"""Longest text, in characters, that OCR may miss."""
MOST_TOLD = 3
"""Number of places in a message."""


class NotFound(Exception):
    """A target or a value was not found with certainty. The message has the reason, if it is known."""


class AmbiguousTarget(NotFound):
    """Two places match equally well. No alternative of the target is tried."""


class ContradictedTarget(NotFound):
    """Programs report the target, and the picture shows something else there."""


def is_fully_reported(sight: Sight) -> bool:
    """Return whether all programs on the screen report their elements.

    A missing element is then certainly not there.
    """
    return sight.elements is not None and sight.elements.complete


def find_element(
    wanted: Named,
    relations: Mapping[str, str],
    sight: Sight,
    also: str = "",
    labeled: Sequence[Element] | None = None,
) -> Element | None:
    """Return the matching element; ``None`` if programs report too little to be sure that it is missing.

    ``also`` is a text that may be visible on it instead of its name. ``labeled`` is given for a label: the label is
    preferred to the field that it names, and a label with one of these elements on its right to another one. Raises
    `NotFound` if no element matches, `AmbiguousTarget` if more than one does, and `ContradictedTarget` if the picture
    shows something else.
    """
    tree = sight.elements
    if tree is None:
        return None
    found, lacking = tree.single(called(wanted, tree)), words_for(wanted)
    place = wanted.place if isinstance(wanted, Beside) else None
    if labeled is not None:
        found = [each for each in found if each.role not in WRITTEN_INTO] or found
        found = [each for each in found if any(related(labeled, "right_of", each.box))] or found
    if isinstance(wanted, InSheet) and wanted.next_row:
        found, lacking = [each for each in found if tree.is_in_next_row(each)], f"{lacking} in the next row"
    for relation, label in relations.items():
        if relation in (*IN_TABLES, MONTH):
            found = _in_part(found, relation, label, sight, tree)
            lacking = f"{words_for(wanted)} in the {relation} ‘{label}’"
            continue
        is_label_of_field = relation == "right_of" and wanted.role in FIELDS
        anchor = _anchor(label, sight, found if is_label_of_field else ())
        if anchor is None:
            found, lacking = [], f"label ‘{label}’"
            break
        near = sorted(related(found, relation, anchor), key=lambda each: distance(each.box, anchor))
        if place:
            found = near
            continue
        found = [each for each in near[:2] if distance(each.box, anchor) == distance(near[0].box, anchor)]
    if not found:
        if tree.complete:
            raise NotFound(f"The programs report no {lacking}.")
        return None
    found = _without_chosen(tree.in_front(found), tree)
    if place is not None:
        found = [_at_place(found, place, lacking)]
    if len(found) > 1:
        raise AmbiguousTarget(f"{len(found)} elements are {words_for(wanted)}: {_places(found)}.")
    if place is None and _has_twin_out_of_view(found[0], wanted, relations.get("row"), tree):
        raise AmbiguousTarget(f"Another row of the list, which is out of view, has {words_for(wanted)} as well.")
    if isinstance(wanted, InSheet) and wanted.empty and found[0].value:
        raise ContradictedTarget(f"The {words_for(wanted)} at {found[0].box} is not empty.")
    if why_not := sight.disagrees(found[0], also):
        raise ContradictedTarget(f"The program reports {words_for(wanted)} at {found[0].box}, but {why_not}.")
    return found[0]


def _has_twin_out_of_view(element: Element, wanted: Named, key: str | None, tree: ElementTree) -> bool:
    """Return whether another row of an element's list fits as well, and is not in view.

    The row fits if it has the text ``key``, or without one if it has such an element.
    """
    above = tree.ancestors(element)
    row = next((each for each in above if each.role in ROWS), None)
    listed = next((each for each in above if each.role in LISTS), None)
    if row is None or listed is None or (key is None and wanted.name is None):
        return False
    by = wanted if key is None else Named(name=key).model_copy(update={"name": key})
    inside = {row.id, *(each.id for each in tree.below(row))}
    found = called(by, tree, hidden=True, within=listed)
    return any(not each.on_screen and each.id not in inside and _row_of(each, tree) for each in found)


def _without_chosen(found: list[Element], tree: ElementTree) -> list[Element]:
    """Return the elements without the text that a combo box shows, if an entry of its open list fits as well."""
    if len(found) < 2:
        return found
    parts = {each.id: [above for above in tree.ancestors(each) if above.role in CHOOSER] for each in found}
    listed = {above.id for above in chain.from_iterable(part[1:] for part in parts.values()) if above.role == COMBO}
    shown = {number for number, part in parts.items() if part and part[0].role == COMBO and part[0].id in listed}
    return [each for each in found if each.id not in shown]


def _row_of(element: Element, tree: ElementTree) -> Element | None:
    return next((each for each in (element, *tree.ancestors(element)) if each.role in ROWS), None)


def _at_place(found: Sequence[Element], place: str, lacking: str) -> Element:
    """Return the element at a place such as ``3 of 5``. Raises `NotFound` if there are more or fewer elements."""
    number, count = int(place.split()[0]), int(place.split()[-1])
    if len(found) != count:
        raise NotFound(f"There are {len(found)} of {lacking}, not {count}.")
    return in_rows(found)[number - 1]


def _in_part(found: Sequence[Element], relation: str, label: str, sight: Sight, tree: ElementTree) -> list[Element]:
    """Return the elements in a row or a column, or the days of a month in a calendar."""
    if relation == MONTH:
        return [each for each in found if is_day_in_month(each, label, sight)]
    return _in_table(found, relation, label, tree)


def _in_table(found: Sequence[Element], relation: str, label: str, tree: ElementTree) -> list[Element]:
    """Return the elements whose row of a table or list has a text, or whose column has a heading."""
    named = {each.id for each in tree.find(None, label) if holds_values(label, each.name, reported=True)}
    for sheet in {each.parent: tree.sheet_of(each) for each in found}.values():
        named -= {each.id for each in sheet.values()}
        named |= {each.id for each in sheet.values() if is_title(label, each.value)}
    if relation == "column":
        return [each for each in found if (head := tree.heading_of(each)) is not None and head.id in named]
    return [each for each in found if any(other.id in named for other in row_around(tree, each))]


def is_day_in_month(element: Element, month: str, sight: Sight) -> bool:
    """Return whether an element is a day of this month and year, such as ``March 2027``, in a calendar.

    The picture must show this month and this year above the days, and no other ones. The calendar must have as many
    days as the month.
    """
    day = None if sight.elements is None else day_of(sight.elements, element)
    return day is not None and days_of_month(month) == day.count and months_above(day, sight) == months_in(month)


def months_above(day: CalendarDay, sight: Sight) -> list[tuple[str, ...]]:
    """Return the years and the months that the picture shows above a calendar's days, as `months_in` does."""
    for header in day.headers:
        read = sight.written(header)
        if read is None:
            inside = (line for line in sight.lines if header.contains(line.box.center))
            read = " ".join(line.text for line in inside)
        if months := months_in(read):
            return months
    return []


def unknown_dialog(known: Sequence[str], box: Box | None, sight: Sight, *, any_place: bool) -> Element | None:
    """Return a dialog that the steps do not know and that would take a press or keys, or ``None``.

    That is a modal dialog, the dialog with the keyboard, or the one at the pressed place ``box``. ``known`` are the
    titles of the known dialogs. With ``any_place`` every unknown dialog counts.
    """
    tree = sight.elements
    if tree is None:
        return None
    focused = tree.focused()
    for dialog in reversed(tree.dialogs()):
        holds = focused is not None and dialog in tree.ancestors(focused)
        pressed = box is not None and dialog.box.contains(box.center)
        if not (any_place or holds or pressed or MODAL in dialog.states):
            continue
        title = tree.title_of(dialog)
        if not any(is_title(each, title) for each in known) and (title or not _has_only_options(dialog, tree)):
            return dialog
    return None


def _has_only_options(dialog: Element, tree: ElementTree) -> bool:
    """Return whether all named parts of a dialog are options, as in the list of a combo box that a page drew.

    A dialog with a button or a field without a name asks for more than an option, and an alert is a question.
    """
    parts = [each for each in tree.below(dialog) if each.on_screen and (each.name or each.role in PRESSED_OR_FILLED)]
    return dialog.role not in ALERTS and bool(parts) and all(each.role in OPTIONS for each in parts)


def check_focus(wanted: ElementTarget, sight: Sight) -> None:
    """Raise `NotFound` if another element on the screen than the wanted one has the keyboard, or if it is not there.

    If nothing on the screen claims the keyboard, a wanted element that is there passes: some programs do not report it.
    """
    tree = sight.elements
    if tree is None or not tree.elements:
        return
    focused = tree.focused()
    claims = [each for each in ([focused] if focused else tree.claiming_focus()) if each.on_screen]
    found = called(wanted, tree)
    if not (claims or found):
        raise NotFound(f"There is no {words_for(wanted)}, so the keyboard cannot be in it.")
    for relation in wanted.relations.keys() & {*IN_TABLES}:
        found = _in_table(found, relation, wanted.relations[relation], tree)
    if claims and not any(one in [each, *tree.ancestors(each)] for one in found for each in claims):
        raise NotFound(f"The keyboard is not in {words_for(wanted)}, but at {claims[-1].box}.")


def takes_lines(sight: Sight) -> bool:
    """Return whether the element with the keyboard is reported as a text field of several lines.

    Some programs also report this of a cell, where Enter goes to the next one.
    """
    focused = None if sight.elements is None else sight.elements.focused()
    return focused is not None and focused.role in OF_LINES and MULTI_LINE in focused.states


def keyboard_elsewhere(wanted: ElementTarget, sight: Sight) -> str:
    """Return a sentence if another element has the keyboard although the wanted one is there; otherwise empty.

    A cell is there if the texts that name its row and its column are.
    """
    try:
        check_focus(wanted, sight)
    except NotFound as error:
        tree = sight.elements
        assert tree is not None
        labels = [label for relation, label in wanted.relations.items() if relation in IN_TABLES]
        shown = [text for each in tree.elements for text in (each.name, each.value) if text]
        is_there = all(any(is_title(label, text) for text in shown) for label in labels)
        return str(error) if is_there and (labels or called(wanted, tree)) else ""
    return ""


def is_title(pattern: str, title: str) -> bool:
    """Return whether a title matches a pattern. Values in the pattern must match word for word."""
    return matches(pattern, title) and holds_values(pattern, title, reported=True)


def field_of(label: str, sight: Sight) -> Box | None:
    """Return the box of the input field with this name, or ``None``.

    Exactly one field must be reported, and the picture must agree.
    """
    tree = sight.elements
    if tree is None:
        return None
    found = [each for each in tree.single(tree.find(None, label)) if each.role in WRITTEN_INTO]
    found = tree.in_front(found)
    return found[0].box if len(found) == 1 and not sight.disagrees(found[0], "") else None


def shows_element(wanted: Named, text: str | None, sight: Sight) -> bool:
    """Return whether an element is visible. If its program does not report it, return whether its text is."""
    tree, checked = sight.elements, wanted.checked if isinstance(wanted, ShownElement) else None
    if isinstance(wanted, ShownElement) and wanted.relations:
        return _shows_single(wanted, sight)
    found = [] if tree is None else called(wanted, tree)
    found = [each for each in found if checked in (None, is_checked(each))]
    if any(not sight.disagrees(each, text or "") for each in found):
        return True
    if text is None or checked is not None or (isinstance(wanted, ShownElement) and wanted.holds is not None):
        return False
    return not is_fully_reported(sight) and sight.has(text)


def _shows_single(wanted: ShownElement, sight: Sight) -> bool:
    """Return whether the only element in a relation to labels has the required state."""
    try:
        found = find_element(wanted, wanted.relations, sight)
    except NotFound:
        return False
    return found is not None and wanted.checked in (None, is_checked(found))


def shows_cut(value: str, sight: Sight) -> bool:
    """Return whether a program reports a value on the screen and the picture shows its beginning only.

    A narrow column cuts a text off. A value with a digit is a key, whose end matters, so the picture must show it all.
    """
    if sight.elements is None or any(map(str.isdigit, value)):
        return False
    found = (each for each in sight.elements.find(None, value) if each.role in CELLS | TEXTS)
    return any(is_cut_off(each.name, sight.written(each.box) or "") for each in found if each.name == value)


def is_cut_off(name: str, read: str) -> bool:
    """Return whether a text that was read is the beginning of a name, with an ellipsis after it."""
    seen = read.rstrip(" .…")
    return seen != read and len(plain(seen)) > SIGN and plain(name).startswith(plain(seen))


def is_checked(element: Element) -> bool:
    """Return whether a check box, a radio button or a similar control is checked."""
    return not element.states.isdisjoint(("checked", "pressed"))


def text_of(wanted: ElementTarget, relations: Mapping[str, str], sight: Sight) -> str | None:
    """Return the text of an element as its program reports it, if the picture agrees.

    Returns ``None`` if programs do not report the element. Raises `NotFound` if the text is uncertain, and for a
    password field.
    """
    element = find_element(wanted, relations, sight)
    if element is None:
        return None
    if element.protected:
        raise NotFound(f"The contents of a {element.role} are never read.")
    text = element.value if element.role in FIELDS else element.value or element.name
    read = sight.written(element.box)
    if read is None or agrees(text, read) or (not read and len(plain(text)) <= SIGN):
        return text
    raise ContradictedTarget(
        f"The program reports another text for {words_for(wanted)} at {element.box} than the picture shows."
    )


def words_for(wanted: Named) -> str:
    """Return the name of an element for a sentence."""
    words = f"{wanted.role or 'element'} ‘{wanted.name}’" if wanted.name else str(wanted.role)
    within = wanted.within if isinstance(wanted, Contained) else None
    checked = wanted.checked if isinstance(wanted, ShownElement) else None
    state = "" if checked is None else " (checked)" if checked else " (not checked)"
    held = f" with ‘{wanted.holds}’" if isinstance(wanted, ShownElement) and wanted.holds else ""
    labels = wanted.relations.values() if isinstance(wanted, ShownElement) else ()
    beside = f" beside ‘{'’, ‘'.join(labels)}’" if labels else ""
    return words + (f" in ‘{within}’" if within else "") + beside + state + held


def related(found: Sequence[Element], relation: str, anchor: Box) -> Iterator[Element]:
    """Yield the elements in a given relation to a label."""
    return (each for each in found if stands(each.box, relation, anchor))


def stands(box: Box, relation: str, anchor: Box) -> bool:
    """Return whether a box is in a relation, such as ``right_of``, to another one."""
    match relation:
        case "right_of":
            return on_row(box, anchor) and box.left >= anchor.right - 2
        case "left_of":
            return on_row(box, anchor) and box.right <= anchor.left + 2
        case "below":
            return box.center.y > anchor.bottom
        case "above":
            return box.center.y < anchor.top
        case "row":
            return on_row(box, anchor)
        case "column":
            return box.center.y > anchor.bottom and overlap(box, anchor)
        case _:
            return True


def distance(one: Box, other: Box) -> float:
    """Return the distance between the centers of two boxes in pixels."""
    a, b = one.center, other.center
    return math.hypot(a.x - b.x, a.y - b.y)


def _anchor(label: str, sight: Sight, labeled: Sequence[Element]) -> Box | None:
    """Return the box of a label: of the element with this name or, if some programs report no elements, of the text.

    A heading behind a dialog may have the same name. The label has one of the elements ``labeled`` on its right.
    """
    try:
        wanted = Target(name=label).model_copy(update={"name": label})  # the label may be a `Filled` text
        found = find_element(wanted, {}, sight, labeled=labeled)
    except ContradictedTarget:
        raise
    except NotFound:
        found = None
    if found is not None:
        return found.box
    return None if is_fully_reported(sight) else sight.anchor(label)


def _places(found: Sequence[Element]) -> str:
    """Return the places of elements for a message. Their names are left out, because not every reader may know them."""
    return ", ".join(f"at {each.box}" for each in found[:MOST_TOLD])


def called(wanted: Named, tree: ElementTree, *, hidden: bool = False, within: Element | None = None) -> list[Element]:
    """Return the elements of this role and name. Values in the name must match word for word.

    With ``hidden``, elements out of view count as well. ``within`` is the element that contains them.
    """
    found = tree.find(wanted.role, wanted.name, within, hidden=hidden)
    if wanted.name is None and wanted.role in FIELDS:
        found = [each for each in found if READ_ONLY not in each.states]
    found = [each for each in found if holds_values(wanted.name or "", each.name, reported=True)]
    if isinstance(wanted, Holding) and (held := wanted.holds) is not None:
        found = [each for each in found if is_title(held, each.value)]
    around = wanted.within if isinstance(wanted, Contained) else None
    if around is None:
        return found
    held_by = {
        each.id for each in tree.find(None, around, hidden=hidden) if holds_values(around, each.name, reported=True)
    }
    return [each for each in found if not held_by.isdisjoint(above.id for above in tree.ancestors(each))]
