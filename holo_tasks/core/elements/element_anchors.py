"""Describe an element of an accessibility tree by the facts that find it again, for the trace of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from holo_tasks.core.elements.calendar_days import day_of
from holo_tasks.core.elements.elements import (
    CELLS,
    EDITABLE,
    LISTS,
    READ_ONLY,
    TEXTS,
    Element,
    ElementTree,
    in_rows,
    is_level,
)
from holo_tasks.core.screen.geometry import Box

TWO_STATES = frozenset({"check box", "radio button", "toggle button", "switch", "check menu item", "radio menu item"})
"""Roles of controls that are checked or not."""
SIGNS_BESIDE = frozenset({"check box", "radio button", "switch"})
"""Roles of controls that a press on the words beside them sets."""
MOST_AROUND, FARTHEST_WORDS = 2, 24
"""The most containers between such words and their label, and their largest distance from the control, in pixels."""
FIELDS = frozenset({"text field", "spin button", "combo box", "date editor"})
OPTIONS = frozenset({"list item", "menu item", "tree item", "cell"})
"""Roles of the options of a combo box."""
PRESSED = TWO_STATES | {"button", "link", "menu item"}
"""Roles of controls whose name is not a value of their row."""
BESIDE_WORDS = frozenset({"button", "link"})
"""Roles of controls that a cell may have next to its own text."""
IMAGES = frozenset({"image", "icon"})
FILE_FIELD = re.compile(r"file ?name:?$", re.IGNORECASE)
"""Name of the field of a file dialog, in toolkits that give the dialog no role of its own."""
PROPERTY_WORDS = frozenset(
    {
        *("property", "setting", "attribute", "parameter", "option"),
        *("eigenschaft", "einstellung", "attribut", "propriété", "paramètre", "propiedad", "atributo", "parámetro"),
        *("proprietà", "attributo", "parametro", "propriedade", "eigenschap"),
    }
)
VALUE_WORDS = frozenset({"value", "wert", "valeur", "valor", "valore", "waarde"})
"""Headings of a table of properties. *Name* is not among them, because a list of items may have it."""
SIGNS = re.compile(r"^\W+|\W+$")
LONGEST_HINT = 40
YES, NO = "yes", "no"
MOST_BELOW = 40
"""Largest distance between a field without a label and the label of the field above it, in pixels."""
FEWEST_LABELS = 2
"""The fewest rows of a table that is a form."""
AREAS = frozenset({"section", "panel"})
HIGHEST_ROW, WIDEST_SIGN = 60, 80
"""Largest height of the row of a list, and largest width of a switch, in pixels."""
FILLED = 0.75
"""The smallest part of the height of a switch that its control has."""
MOST = 6
"""The most cells of a row, and the most dialogs, that are described."""


def anchors_of(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the role, name and application of an element, and the facts that tell it from others.

    * ``within`` is the name of its dialog, or of another container in which no other element has its role and name. For
      a field without a name it is a container in which no other field of its role accepts text.
    * ``alike`` is the number of elements that these facts find in front.
    * ``named_by_value`` is set for a combo box whose name is its chosen option.
    * ``right_of`` or ``below`` is the neighboring label of an element without a name of its own. ``holds`` is the text
      in a field without both, such as a hint what to enter, if no other field of its window holds it.
    * ``beside 1`` and so on are the texts on its left that each find it alone among its like. In a list without rows
      one of them may be the key of an item.
    * ``place``, such as ``3 of 5``, is its place among elements of the same role and name in the container ``group``,
      or right of the label ``right_of``, or below the label ``below`` of the field above it.
    * ``checked`` is the state of a check box or a similar control. ``empty`` is set for a field, a cell of a
      spreadsheet or the document of a text editor in a frame, without text.
    * ``cell 1`` and so on are the other texts in its row of a table or list, and ``column`` is its heading.
    * ``in_row`` is the number of elements in the row with its role and name.
    * ``in_form`` is set for the cell of a value in a form that is a table, and ``right_of`` is the label in its row.
    * ``in_sheet`` is set for a cell of a spreadsheet, and ``next_row`` for one in the row below the last filled row.
    * ``chosen_in`` is the name of the combo box whose open list has this option, if it alone has the name and it tells
      its value.
    * ``image`` is set for a cell of a table with an image and nothing else, and for its image if that has no name.
    * ``area_text`` is the only text in an area without a name, such as an option that was pressed next to its words.
    * ``day_of`` is set for a day of the month that a calendar shows, such as ``17 of 30``.
    * ``text 1`` and so on are the texts in its dialog. ``file_dialog`` is set in a dialog that chooses a file.
    * ``dialogs`` is the number of dialogs on the screen, and ``dialog 1`` and so on are their titles.

    ``known`` removes the hidden texts of an element.
    """
    element = _control_of_words(tree, element)
    reported = known(element)
    facts = {"role": reported.role, "name": reported.name, "application": reported.application}
    if reported.name:
        facts |= _place(tree, element, known)
    elif element.role in FIELDS:
        facts |= _place_of_field(tree, element, known)
    if named_by_value := _is_named_by_value(tree, element):
        facts["named_by_value"] = YES
    if (named_by_value or facts.get("alike", "") != "1") and not tree.row_of(element):
        facts |= _beside(tree, element, known) or _hint(tree, element, known) or _in_group(tree, element, known)
        facts |= _all_beside(tree, element, known)
    if element.role in TWO_STATES:
        facts["checked"] = NO if element.states.isdisjoint(("checked", "pressed")) else YES
    in_sheet = tree.place_in_sheet(element) is not None
    takes_text = in_sheet or element.role in FIELDS or is_written_document(tree, element)
    if takes_text and not (element.value or element.protected):
        facts["empty"] = YES
    if in_sheet:
        facts |= {"in_sheet": YES, "next_row": YES if tree.is_in_next_row(element) else ""}
    facts["chosen_in"] = _chosen_in(tree, element, known)
    facts["image"] = YES if _is_only_image(tree, element) else ""
    if (day := day_of(tree, element)) is not None:
        facts["day_of"] = f"{day.number} of {day.count}"
    facts["area_text"] = _area_text(tree, element, known)
    facts |= _row(tree, element, known) | _in_form(tree, element, known)
    facts |= _dialogs(tree, known) | _texts(tree, element, known)
    return {name: text for name, text in facts.items() if text or name in ("role", "name", "application")}


def is_written_document(tree: ElementTree, element: Element) -> bool:
    """Return whether an element is a document in a frame that takes text and has no contents, as a new letter's body.

    With contents, a press means a place in them.
    """
    above = tree.parent(element)
    is_framed = element.role == "document" and above is not None and above.role == "internal frame"
    return is_framed and EDITABLE in element.states and not any(each.name or each.value for each in tree.below(element))


def _control_of_words(tree: ElementTree, element: Element) -> Element:
    """Return the check box or radio button whose words were pressed; without one, the element itself.

    In a page a press on a label goes to the only control in it. Other words belong to the control that has them as
    its name and is beside them. An area without a name that a page draws over such a control also belongs to it.
    """
    if element.role in AREAS and not element.name:
        return _sign_of_area(tree, element)
    if element.role not in TEXTS or not element.name:
        return element
    around = next((each for each in tree.ancestors(element)[:MOST_AROUND] if each.role == "label"), element)
    inside = [each for each in tree.below(around) if each.role in TWO_STATES | FIELDS | PRESSED and each.on_screen]
    alike = [each for each in tree.find(None, element.name) if each.role in SIGNS_BESIDE]
    beside = [each for each in alike if is_level(each.box, element.box) and each.box.gap(element.box) <= FARTHEST_WORDS]
    found = inside or (beside if len(alike) == 1 and not tree.row_of(element) else [])
    return found[0] if len(found) == 1 and found[0].role in SIGNS_BESIDE else element


def _sign_of_area(tree: ElementTree, element: Element) -> Element:
    """Return the check box, radio button or switch that an area without texts draws; without one, the area itself.

    The control is the only one around and encloses the area, or it alone fills the height of a small area. A press
    beside a lower control, as in the cell of a list, may not reach it.
    """
    for around in (element, *tree.ancestors(element)[: MOST_AROUND + 1]):
        inside = [each for each in tree.below(around) if each.on_screen and (each.role not in AREAS or each.name)]
        is_area = around.role in AREAS and not around.name
        if inside or not is_area:
            signs = [each for each in inside if each.role in TWO_STATES]
            sign = signs[0] if len(signs) == 1 else element
            is_small = is_area and around.box.height <= HIGHEST_ROW and around.box.width <= WIDEST_SIGN
            fills = is_small and len(inside) == 1 and sign.box.height >= FILLED * around.box.height
            return sign if fills or sign.box.encloses(element.box) else element
    return element


def _is_named_by_value(tree: ElementTree, element: Element) -> bool:
    """Return whether the name of a combo box is its chosen option, which the next item may not have.

    A sign that removes the option may stand before it.
    """
    if element.role != "combo box" or not element.name:
        return False
    inside, bare = [*tree.below(element)], SIGNS.sub("", element.name)
    options = {each.name for each in inside if each.role in OPTIONS}
    chosen = {each.name for each in inside if each.role in FIELDS and READ_ONLY in each.states}
    return element.name == element.value or element.name in options or (bool(bare) and bare in chosen)


def _chosen_in(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> str:
    """Return the name of the combo box that an option is chosen in; empty if it is protected, has no value, or shares
    its name."""
    combo = tree.chooser_of(element) if element.role in OPTIONS else None
    if combo is None or not combo.value or combo.protected or _is_named_by_value(tree, combo):
        return ""
    return known(combo).name if tree.single(tree.find(combo.role, combo.name)) == [combo] else ""


def _is_only_image(tree: ElementTree, element: Element) -> bool:
    """Return whether an element is a cell with an image and no other text or control, or its image without a name.

    A page may give a cell the name of its image.
    """
    cell = next((each for each in (element, *tree.ancestors(element)) if each.role in CELLS), None)
    if cell is None or not (element is cell or (element.role in IMAGES and not element.name)):
        return False
    inside = [*tree.below(cell)]
    images = {each.name for each in inside if each.role in IMAGES and each.on_screen}
    others = [each for each in inside if each.role not in IMAGES]
    is_bare = not any(tree.text_on(each) or each.value or each.role in PRESSED | FIELDS for each in others)
    return bool(images) and is_bare and tree.text_on(cell) in images | {""} and not cell.value


def _beside(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the label left of an element or above it, if it finds this element alone among those of its role."""
    alike = tree.single(tree.find(element.role))
    for relation, label in _labels_of(tree, element):
        name = known(label).name
        found = [each for each in alike if _stands(each.box, relation, label.box)]
        away = {each.id: _distance(each.box, label.box) for each in found}
        nearest = [each for each in found if away[each.id] == min(away.values())]
        if name and tree.in_front(nearest) == [element]:
            return {relation: name}
    return {}


def _all_beside(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the texts left of a control that each find it alone among the controls of its role and name."""
    if element.role not in FIELDS | PRESSED:
        return {}
    alike = tree.single(tree.find(element.role, element.name or None))
    texts = [each for each in tree.elements if each.role in TEXTS and each.on_screen and known(each).name]
    texts = [each for each in texts if _stands(element.box, "right_of", each.box) and _is_label(tree, each)]
    texts = [each for each in texts if tree.dialog_of(each) is tree.dialog_of(element)]
    texts = [each for each in texts if tree.window_of(each) is tree.window_of(element)]

    def is_nearest(label: Element) -> bool:
        level = [each for each in alike if _stands(each.box, "right_of", label.box)]
        return min(level, key=lambda each: _distance(each.box, label.box), default=None) is element

    found = dict.fromkeys(known(each).name for each in texts if is_nearest(each))
    return {f"beside {number}": text for number, text in enumerate([*found][:MOST], start=1)}


def _hint(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the text in a field, if it has no digit and no other field of the window holds it."""
    text, window = known(element).value, tree.window_of(element)
    alike = [each for each in tree.find(element.role) if each.value == element.value]
    is_single = [each for each in tree.single(alike) if tree.window_of(each) == window] == [element]
    is_hint = (
        element.role in FIELDS
        and not element.name
        and 0 < len(text) <= LONGEST_HINT
        and not any(map(str.isdigit, text))
    )
    return {"holds": text} if is_hint and is_single and not element.protected else {}


def _labels_of(tree: ElementTree, element: Element) -> list[tuple[str, Element]]:
    """Return the labels next to an element with their relations: the nearest on its left, then the nearest above.

    A text that is there twice identifies nothing, except for a field that has the name of its label, and for the only
    one with a field of this role on its right. A count comes last.
    """
    window = tree.window_of(element)
    texts = [each for each in tree.elements if each.role in TEXTS and each.on_screen and each.name]
    texts = [each for each in texts if tree.window_of(each) is window]
    if (dialog := tree.dialog_of(element)) is not None:
        texts = [each for each in texts if tree.dialog_of(each) is dialog]
    alike = tree.find(element.role) if element.role in FIELDS else []

    def is_only_left(label: Element) -> bool:
        """Return whether no other text of this name, such as a heading behind a dialog, has such a field there."""
        above = tree.ancestors(label)
        others = [each for each in tree.find(None, label.name) if each != label and each not in above]
        return not any(_stands(each.box, "right_of", other.box) for other in others for each in alike)

    found = []
    for relation in ("right_of", "below"):
        there = [each for each in texts if _stands(element.box, relation, each.box)]
        there = [each for each in there if relation != "below" or _overlap(each.box, element.box)]
        there = [
            each for each in there if _is_label(tree, each) or (alike and relation == "right_of" and is_only_left(each))
        ]
        there = [each for each in there if _is_lasting(each.name)] or there
        if there:
            found.append((relation, min(there, key=lambda each: _distance(each.box, element.box))))
    return found


def _is_label(tree: ElementTree, element: Element) -> bool:
    """Return whether a text is there once. A field that has the name of its label does not count.

    Texts behind a dialog do not count either, because a label is searched in front.
    """
    alike = [each for each in tree.find(None, element.name) if each.role not in FIELDS]
    return tree.in_front(alike) == [element] and not any(each in tree.ancestors(element) for each in alike)


def _is_lasting(text: str) -> bool:
    """Return whether a text looks like a label, and not like a count or a value."""
    return text.endswith(":") or not any(map(str.isdigit, text))


def _in_group(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the place of an element among several alike: in a named container, or right of a label.

    Only controls are counted. The place alone describes nothing, so an element without such an anchor has none.
    """
    if element.role not in FIELDS | PRESSED:
        return {}
    alike = tree.single(tree.find(element.role, element.name))
    alike = [each for each in alike if each.name == element.name]
    for group in (above for above in tree.ancestors(element) if known(above).name and _is_group(tree, above)):
        inside = {each.id for each in tree.below(group)}
        if place := _place_of(element, [each for each in alike if each.id in inside]):
            return {"place": place, "group": known(group).name}
    for relation, label in _labels_of(tree, element)[:1]:
        row = [each for each in alike if _stands(each.box, "right_of", label.box)]
        if relation == "right_of" and (place := _place_of(element, row)) and known(label).name:
            return {"place": place, "right_of": known(label).name}
    return {} if element.name else _below_label(tree, element, known)


def _below_label(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the place of a field without any label among the fields below a label of its form, with their count."""
    if element.role not in FIELDS:
        return {}
    texts = [each for each in tree.elements if each.role in TEXTS and each.on_screen and _is_lasting(each.name)]
    texts = [each for each in texts if 0 < element.box.top - each.box.bottom < MOST_BELOW and known(each).name]
    above = [each for each in texts if tree.window_of(each) is tree.window_of(element) and _is_label(tree, each)]
    if not above:
        return {}
    label = min(above, key=lambda each: _distance(each.box, element.box))
    below = [each for each in tree.single(tree.find(element.role)) if _stands(each.box, "below", label.box)]
    return {"place": _place_of(element, below) or "1 of 1", "below": known(label).name} if element in below else {}


def _is_group(tree: ElementTree, element: Element) -> bool:
    """Return whether an element is a dialog or a part of a window, and nothing else of its name contains elements.

    The title bar of a dialog also has this name.
    """
    is_part = element.parent >= 0 or tree.is_dialog(element)
    return is_part and all(each == element or not tree.children(each) for each in tree.find(None, element.name))


def _place_of(element: Element, found: Sequence[Element]) -> str:
    """Return the place of an element among several; empty if it is alone or not among them."""
    ordered = in_rows(found)
    return f"{ordered.index(element) + 1} of {len(ordered)}" if len(ordered) > 1 and element in ordered else ""


def _stands(box: Box, relation: str, label: Box) -> bool:
    if relation == "right_of":
        return is_level(box, label) and box.left >= label.right - 2
    return box.center.y > label.bottom


def _overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right


def _distance(one: Box, other: Box) -> float:
    return math.hypot(one.center.x - other.center.x, one.center.y - other.center.y)


def _area_text(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> str:
    """Return the only text in the area of a row that an element without a name fills; empty if there are several."""
    for area in () if element.name else (element, *tree.ancestors(element)):
        if area.role not in AREAS or area.box.height > HIGHEST_ROW:
            return ""
        texts = {name for each in (area, *tree.below(area)) if each.on_screen and (name := known(each).name)}
        if texts:
            return texts.pop() if len(texts) == 1 else ""
    return ""


def row_around(tree: ElementTree, element: Element) -> list[Element]:
    """Return the named elements in the row of an element, and the words next to a button or link in its own cell."""
    cell = next((each for each in tree.ancestors(element) if each.role in CELLS), None)
    if cell is None or element.role not in BESIDE_WORDS:
        return tree.row_of(element)
    own = {"", element.name, *(each.name for each in tree.below(element))}
    parts = [each for each in (cell, *tree.below(cell)) if each.role in TEXTS | CELLS and each.on_screen]
    return [*(each for each in parts if each.name not in own), *tree.row_of(element)]


def _alike_in_row(tree: ElementTree, element: Element, row: Sequence[Element]) -> list[Element]:
    """Return the other elements in the row of an element that have its role and name, or no name either."""
    if element.name:
        return [each for each in row if each.role == element.role and each.name == element.name]
    listed = next((each for each in tree.ancestors(element) if each.role in LISTS), None)
    inside = () if listed is None else tree.below(listed)
    alike = [each for each in inside if each.role == element.role and not each.name and each.on_screen]
    return [each for each in alike if each.id != element.id and is_level(each.box, element.box)]


def _row(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    row = row_around(tree, element)
    if not row and not tree.is_in_next_row(element):
        return {}

    def text_on(each: Element) -> str:
        return known(each).value if tree.place_in_sheet(each) is not None else known(each).name

    heading = tree.heading_of(element)
    alike = _alike_in_row(tree, element, row)
    texts = dict.fromkeys(text for each in row if (text := text_on(each)) and each.role not in PRESSED)
    facts = {f"cell {number}": text for number, text in enumerate([*texts][:MOST], start=1)}
    return facts | {"column": "" if heading is None else text_on(heading), "in_row": str(len(alike) + 1)}


def _in_form(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the label of a cell in a form that is a table: two columns without headings, and labels in the first.

    A list of items has more columns, headings, or two rows with one text. The headings of properties and their values
    are those of a form. In a cell, a combo box that is named by its chosen option has that label.
    """
    above = [element, *tree.ancestors(element)]
    cell, table = (next((each for each in above if each.role in roles), None) for roles in (CELLS, LISTS))
    if cell is None or table is None or (cell is not element and not _is_named_by_value(tree, element)):
        return {}
    if tree.heading_of(cell) is not None:
        return _property_of_value(tree, cell, known)
    cells = [each for each in tree.below(table) if each.role in CELLS and each.on_screen]
    lefts = sorted({each.box.left for each in cells})
    labels = [each for each in cells if each.box.left == lefts[0]]
    texts = [known(each).name for each in labels]
    are_labels = all(text and _is_lasting(text) for text in texts) and len(set(texts)) == len(texts)
    if len(lefts) != 2 or cell.box.left != lefts[1] or len(labels) < FEWEST_LABELS or not are_labels:
        return {}
    row = [label for label in labels if is_level(label.box, cell.box)]
    return {"in_form": YES, "right_of": known(row[0]).name} if row and _is_there_once(tree, row[0]) else {}


def _is_there_once(tree: ElementTree, label: Element) -> bool:
    """Return whether a label is there once, apart from a text inside it and a field with its name."""
    inside = {label.id, *(each.id for each in tree.below(label))}
    return all(each.id in inside for each in tree.find(None, label.name) if each.role not in FIELDS)


def _property_of_value(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    """Return the property in the row of its value, if the headings of both columns say so."""
    row = [each for each in tree.row_of(element) if each.role in CELLS]
    if len(row) != 1 or not _is_label(tree, row[0]):
        return {}
    headings = [tree.heading_of(each) for each in (row[0], element)]
    words = [known(each).name.casefold() for each in headings if each is not None]
    is_property = len(words) == 2 and words[0] in PROPERTY_WORDS and words[1] in VALUE_WORDS
    return {"in_form": YES, "right_of": known(row[0]).name} if is_property else {}


def _dialogs(tree: ElementTree, known: Callable[[Element], Element]) -> dict[str, str]:
    shown = tree.dialogs()[-MOST:]
    titles = [tree.title_of(each, known) for each in shown]
    return {"dialogs": str(len(shown)), **{f"dialog {number}": text for number, text in enumerate(titles, start=1)}}


def _texts(tree: ElementTree, element: Element, known: Callable[[Element], Element]) -> dict[str, str]:
    dialog = tree.dialog_of(element)
    inside = [] if dialog is None else [*tree.below(dialog)]
    shown = [name for each in inside if each.role in TEXTS and each.on_screen and (name := known(each).name)]
    facts = {f"text {number}": text for number, text in enumerate([*dict.fromkeys(shown)][:MOST], start=1)}
    is_of_files = dialog is not None and (
        dialog.role == "file chooser" or any(each.role in FIELDS and FILE_FIELD.match(each.name) for each in inside)
    )
    return {**facts, "file_dialog": YES} if is_of_files else facts


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
    named = [above for above in tree.ancestors(element) if known(above).name and not _is_named_by_texts(tree, above)]
    container = _first_with_only(named, element, tree.single(tree.fields(element.role)), tree)
    return {} if container is None else {"within": known(container).name, "alike": "1"}


def _is_named_by_texts(tree: ElementTree, section: Element) -> bool:
    """Return whether the name of a part of a page is just the texts and values in it, which differ between items."""
    if section.role != "section":
        return False
    inside = [each for each in tree.below(section) if each.role in TEXTS | FIELDS]
    texts = (each.value if each.role in FIELDS else each.name for each in inside)
    return section.name.split() == " ".join(texts).split()


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
