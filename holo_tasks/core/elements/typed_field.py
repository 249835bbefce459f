"""Find the field that a text was typed into, in the accessibility trees from before and after the typing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holo_tasks.core.elements.elements import EDITABLE, FOCUSED, PLACE_NAME, READ_ONLY, Element, ElementTree
from holo_tasks.core.elements.open_lists import COMBO_BOX, EXPANDED, keyboard_field
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.input.pressed_elements import FIELD, hit_by

EMPTY = "empty"
"""State that this library adds: the program told that the field has no characters. `value` alone may be unread."""
INVALID_ENTRY = "invalid entry"
"""The state of a field whose text its program does not accept, such as a number above the maximum."""
DATES = "date editor"
"""The role of a date field. In a page its parts have the keyboard, and no part is editable."""
SPIN_BUTTON = "spin button"
"""The role of a number field. Qt 5 reports it without the state `editable`, and a page the parts of a date."""
SHOW_TEXTS = frozenset({"text field", SPIN_BUTTON, COMBO_BOX, DATES, "cell"})
"""Roles of elements whose text a form may change by itself, whether a person can type into them or not."""
CELL, TABLES = "cell", frozenset({"table", "tree table"})
RUNS, IN_LINE = frozenset({"label"}), frozenset({"link"})
"""Roles of parts of a text whose characters are the field's own, and of other parts in a line of the text."""
PARAGRAPHS = frozenset({"paragraph", "heading"})
OBJECT, MOST_PARTS = "\ufffc", 250
"""The sign of an object in a text, and the most parts of a text. A program is asked for no more than 300 texts."""
HOLD_MORE = TABLES | {"terminal", "document", "window", "panel", "tree", "list"}
"""Roles of elements that may be editable, and hold more than one text."""


@dataclass(frozen=True)
class FieldNow:
    """A field after the typing, and the text that it held before.

    ``others_changed`` says that other fields of its window hold other texts now, ``moved_on`` that the program has
    moved the keyboard to another field by itself, as from box to box of a code. ``is_fixed`` says that nobody can type
    into the field. Typing there may still choose an entry of a list. ``is_choice`` says that the element is such a
    list, closed, and its text the chosen entry. ``is_rich`` says that the text is that of several paragraphs, which may
    be an editor's hint.
    """

    element: Element
    before: str = ""
    others_changed: bool = False
    moved_on: bool = False
    is_fixed: bool = False
    is_choice: bool = False
    is_rich: bool = False

    @property
    def in_cell(self) -> bool:
        """Whether it is the cell of a sheet, or an editor in one."""
        return self.element.role in (CELL, "paragraph")


def takes_text(element: Element | None) -> bool:
    """Say whether an element is a field whose text the tree contains."""
    if element is None or element.protected or not element.on_screen:
        return False
    if element.role == SPIN_BUTTON:
        return READ_ONLY not in element.states
    return element.role == DATES or (EDITABLE in element.states and element.role not in HOLD_MORE)


def text_in(tree: ElementTree, field: Element) -> str:
    """Return the text of a field, with the texts of its paragraphs, lists and links in their places.

    The text keeps the sign of an object if the text of that object is not in the tree.
    """
    parts = [each for each in tree.children(field) if each.role not in RUNS]
    texts = field.value.split(OBJECT)
    if len(texts) == 1 or len(list(tree.below(field))) > MOST_PARTS:
        return field.value
    if not any(map(str.strip, texts)):  # Chromium reports another number of paragraphs late
        texts = [""] * (len(parts) + 1)
    if len(parts) != len(texts) - 1:
        return field.value
    text = texts[0]
    for part, after in zip(parts, texts[1:], strict=True):
        inside = text_in(tree, part)
        if not inside and not _is_blank(tree, part):
            return field.value
        edge = "" if part.role in IN_LINE else "\n"
        text += f"{edge}{inside}{edge}{after}"
    return text


def _is_blank(tree: ElementTree, part: Element) -> bool:
    """Say whether a part of a text is an empty paragraph, and no picture or part out of sight."""
    inside = (part, *tree.below(part))  # the line break in an empty paragraph has no place
    return part.on_screen and all(EDITABLE in each.states and not each.name and not each.value for each in inside)


def moves_on(write: Write) -> bool:
    """Say whether a program may go to another field after a text, because it ends a field or holds its end."""
    return write.press_enter or not {"\t", "\r", "\n"}.isdisjoint(write.text)


def field_now(before: ElementTree, write: Write, after: ElementTree) -> FieldNow | None:
    """Return the field that a text was typed into, in its state after the typing.

    Returns ``None`` if the field is in neither tree, if it has disappeared, or if it is a password field.
    """
    target, stays = _field_of(before, hit_by(before, write)), not moves_on(write)
    if target is None or target.protected:
        return None
    focused = _field_of(after, keyboard_field(after))
    if not takes_text(target):
        # A table reports no empty cells, and a label passes the press on to its field.
        found = focused if stays and takes_text(focused) else _cell_of(before, write, target, after)
        if found is None and target.role == FIELD and target.on_screen:
            same = [each for each in after.elements if is_same(target, each) and EDITABLE not in each.states]
            return FieldNow(same[0], target.value, is_fixed=True) if len(same) == 1 else None
        return _chosen(before, target, after) if found is None else _now(before, found, after)
    if stays and focused is not None and takes_text(focused) and not is_same(target, focused):
        if target.box.contains(focused.box.center):  # an editor that opens in a cell
            return FieldNow(focused)
        found = same_field_in(target, after)
        return None if found is None else FieldNow(found, target.value, moved_on=True)
    found = same_field_in(target, after)
    if found is None:
        return None
    if focused is not None and (texts := _paragraphs(after, found, focused)):
        return FieldNow(replace(found, value="\n".join(texts)), target.value)
    return _now(before, found, after, target)


def _paragraphs(tree: ElementTree, first: Element, last: Element) -> list[str]:
    """Return the texts from one paragraph of a document to a later one, empty if these are not such paragraphs."""
    above = next(iter(tree.ancestors(first)), None)
    parts = [] if above is None else tree.children(above)
    if first not in parts or last not in parts or first == last:
        return []
    within = parts[parts.index(first) : parts.index(last) + 1]
    return [each.value for each in within] if {each.role for each in within} <= PARAGRAPHS else []


def _chosen(before: ElementTree, target: Element, after: ElementTree) -> FieldNow | None:
    """Return the closed list in which typing chooses an entry, ``None`` if it is still open or tells no entry."""
    was = next((each for each in (target, *before.ancestors(target)) if each.role == COMBO_BOX), None)
    if was is None or EDITABLE in was.states or not was.value:
        return None
    same = [each for each in after.elements if each.on_screen and is_same(was, each)]
    if len(same) != 1 or EXPANDED in same[0].states:
        return None
    return FieldNow(same[0], was.value, is_choice=True) if same[0].value else None


def drawn_sheet(before: ElementTree, write: Write) -> Element | None:
    """Return the drawn sheet that a text was typed into, ``None`` if it was not one.

    Its program reports no cells, as Gnumeric. The sheet has the keyboard, and a field of its window names a cell.
    """
    sheet = None if write.at is not None else before.focused()
    if sheet is None or sheet.role != "panel" or not sheet.on_screen:
        return None
    window = before.below(before.window_of(sheet))
    return sheet if any(takes_text(each) and PLACE_NAME.fullmatch(each.value) for each in window) else None


def changed_beside(before: ElementTree, found: Element, after: ElementTree) -> list[Element]:
    """Return the other fields and cells in the window of a field that show another text than before.

    Those with the same role at the same place are compared. The field's own cell of a table does not count.
    """
    was = {(each.pid, each.role, each.box): _text_of(before, each) for each in before.elements if _shows_text(each)}
    own = {each.id for each in (found, *after.ancestors(found), *after.below(found))}
    return [
        each
        for each in after.below(after.window_of(found))
        if _shows_text(each) and each.id not in own and not each.box.intersects(found.box)
        if _text_of(after, each) != was.get((each.pid, each.role, each.box), _text_of(after, each))
    ]


def _shows_text(element: Element) -> bool:
    return element.role in SHOW_TEXTS and element.on_screen and not element.protected


def _text_of(tree: ElementTree, element: Element) -> str:
    """Return the text of a field or, for a cell, its texts and those in it."""
    if element.role != CELL:
        return element.value
    return " ".join(text for each in (element, *tree.below(element)) for text in (each.name, each.value) if text)


def is_same(one: Element, other: Element) -> bool:
    """Say whether two elements of two trees are the same field: by program, role, and name or place."""
    if (one.pid, one.role) != (other.pid, other.role):
        return False
    if one.role == CELL and one.name != other.name:
        return False
    return one.box == other.box or (bool(one.name) and one.name == other.name and one.box.intersects(other.box))


def _field_of(tree: ElementTree, element: Element | None) -> Element | None:
    """Return the field that an element is a part of, as the view in a text area of Qt; else the element itself."""
    if element is None:
        return None
    above = tree.ancestors(element)
    date = next((each for each in above if each.role == DATES), None) if element.role == SPIN_BUTTON else None
    return date or (element if takes_text(element) else next(filter(takes_text, above), element))


def same_field_in(target: Element, after: ElementTree) -> Element | None:
    """Return a field of an earlier tree in a later one, wherever it has moved; ``None`` if it is gone or not unique."""
    if same := [each for each in after.elements if takes_text(each) and is_same(target, each)]:
        return next((each for each in same if each.name == target.name), same[0])
    named = [
        each for each in after.elements if (each.pid, each.role, each.name) == (target.pid, target.role, target.name)
    ]
    moved = [each for each in named if takes_text(each) and (target.name or FOCUSED in each.states)]
    return moved[0] if len(moved) == 1 else None


def _now(before: ElementTree, found: Element, after: ElementTree, target: Element | None = None) -> FieldNow:
    """Return a field with the text that it held before, empty if it was not there."""
    known = target or next((each for each in before.elements if is_same(each, found)), None)
    was = {(each.pid, each.role, each.name, each.box): each.value for each in before.elements if takes_text(each)}
    window, own = after.window_of(found), {found.id, *(each.id for each in after.below(found))}
    others = any(
        each.value != was.get((each.pid, each.role, each.name, each.box), each.value)
        for each in after.below(window)
        if takes_text(each) and each.id not in own
    )
    held = replace(found, value=text_in(after, found))
    was_held = "" if known is None else text_in(before, known)
    return FieldNow(held, was_held, others, is_rich=OBJECT in found.value)


def _cell_of(before: ElementTree, write: Write, table: Element, after: ElementTree) -> Element | None:
    """Return the cell of a sheet that was typed into: at the point of the typing, or named in the sheet's name box."""
    if table.role not in TABLES:
        return None
    again = next((each for each in after.elements if each.role == table.role and is_same(table, each)), None)
    if again is None:
        return None
    cells = [each for each in after.below(again) if each.role == CELL and takes_text(each)]
    if write.at is not None:
        return next((each for each in cells if each.box.contains(write.at)), None)
    boxes = before.below(before.window_of(table))
    names = {each.value for each in boxes if each.value and each.role in ("text field", "combo box")}
    named = [each for each in cells if each.name and each.name in names]
    return named[0] if len(named) == 1 else None
