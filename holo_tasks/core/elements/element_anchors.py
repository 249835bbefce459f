"""Describe an element of an accessibility tree by the facts that find it again, for the trace of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holo_tasks.core.elements.elements import CELLS, TEXTS, Element, ElementTree

TWO_STATES = frozenset({"check box", "radio button", "toggle button", "switch", "check menu item", "radio menu item"})
"""Roles of controls that are checked or not."""
FIELDS = frozenset({"text field", "spin button", "combo box", "date editor"})
PRESSED = TWO_STATES | {"button", "link", "menu item"}
"""Roles of controls whose name is not a value of their row."""
YES, NO = "yes", "no"
MOST = 6
"""The most cells of a row, and the most dialogs, that are described."""


def anchors_of(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the role, name and application of an element, and the facts that tell it from others.

    * ``within`` is the name of its dialog, or of another container in which no other element has its role and name. For
      a field without a name it is a container in which no other field of its role accepts text.
    * ``alike`` is the number of elements that these facts find in front.
    * ``checked`` is the state of a check box or a similar control. ``empty`` is set for a field or a cell of a
      spreadsheet without text.
    * ``cell 1`` and so on are the other texts in its row of a table or list, and ``column`` is its heading.
    * ``in_row`` is the number of elements in the row with its role and name.
    * ``in_sheet`` is set for a cell of a spreadsheet, and ``next_row`` for one in the row below the last filled row.
    * ``text 1`` and so on are the texts in its dialog.
    * ``dialogs`` is the number of dialogs on the screen, and ``dialog 1`` and so on are their titles.

    ``known`` removes the hidden texts of an element.
    """
    reported = known(element)
    facts = {"role": reported.role, "name": reported.name, "application": reported.application}
    if reported.name:
        facts |= _place(tree, element, known)
    elif element.role in FIELDS:
        facts |= _place_of_field(tree, element, known)
    if element.role in TWO_STATES:
        facts["checked"] = NO if element.states.isdisjoint(("checked", "pressed")) else YES
    in_sheet = tree.place_in_sheet(element) is not None
    if (in_sheet or element.role in FIELDS) and not (element.value or element.protected):
        facts["empty"] = YES
    if in_sheet:
        facts |= {"in_sheet": YES, "next_row": YES if tree.is_in_next_row(element) else ""}
    facts |= _row(tree, element, known) | _dialogs(tree, known) | _texts(tree, element, known)
    return {name: text for name, text in facts.items() if text or name in ("role", "name", "application")}


def _row(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    row = tree.row_of(element)
    if not row and not tree.is_in_next_row(element):
        return {}

    def text_on(each: Element) -> str:
        return known(each).value if tree.place_in_sheet(each) is not None else known(each).name

    heading = tree.heading_of(element)
    alike = [each for each in row if each.role == element.role and each.name == element.name]
    texts = dict.fromkeys(text for each in row if (text := text_on(each)) and each.role not in PRESSED)
    facts = {f"cell {number}": text for number, text in enumerate([*texts][:MOST], start=1)}
    return facts | {"column": "" if heading is None else text_on(heading), "in_row": str(len(alike) + 1)}


def _dialogs(tree: ElementTree, known: Callable[[Element], Element]) -> dict[str, str]:
    shown = tree.dialogs()[-MOST:]
    titles = [tree.title_of(each, known) for each in shown]
    return {"dialogs": str(len(shown)), **{f"dialog {number}": text for number, text in enumerate(titles, start=1)}}


def _texts(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    dialog = tree.dialog_of(element)
    inside = () if dialog is None else tree.below(dialog)
    shown = [name for each in inside if each.role in TEXTS and each.on_screen and (name := known(each).name)]
    return {f"text {number}": text for number, text in enumerate([*dict.fromkeys(shown)][:MOST], start=1)}


def numbered(facts: Mapping[str, str], name: str) -> list[str]:
    """Return the facts ``name 1``, ``name 2`` and so on, in order."""
    return [facts[key] for number in range(1, MOST + 1) if (key := f"{name} {number}") in facts]


def _place(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    found = tree.single(tree.find(element.role, element.name))
    # The name of a cell is its content, which belongs to one item.
    named = [above for above in tree.ancestors(element) if known(above).name and above.role not in CELLS | {"row"}]
    dialog = next(filter(tree.is_dialog, named), None)
    containers = [dialog, *named] if dialog is not None else named if tree.in_front(found) != [element] else []
    if container := _first_with_only(containers, element, found, tree):
        return {"within": known(container).name, "alike": "1"}
    return {"alike": "1" if tree.in_front(found) == [element] else str(max(2, len(found)))}


def _place_of_field(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the named container that has no other field of this role, for a field without a name."""
    named = [above for above in tree.ancestors(element) if known(above).name]
    container = _first_with_only(named, element, tree.single(tree.fields(element.role)), tree)
    return {} if container is None else {"within": known(container).name, "alike": "1"}


def _first_with_only(
    containers: Sequence[Element], element: Element, found: Sequence[Element], tree: ElementTree
) -> Element | None:
    """Return the first container by whose name an element is the only one of those found."""
    for container in containers:
        around = {each.id for each in tree.find(None, container.name)}
        inside = [each for each in found if not around.isdisjoint(above.id for above in tree.ancestors(each))]
        if tree.in_front(inside) == [element]:
            return container
    return None
