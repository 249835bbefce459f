"""Find the element that a press hits, its names, and the button with the keyboard focus, in an accessibility tree.

A tree may be wrong or late, so it never allows an action by itself. It only adds names that a rule may match. To
exclude other elements, callers compare it with the text on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.core.elements.elements import CLASS_NAME, Element, ElementTree
from holo_tasks.core.elements.open_lists import keyboard_field
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Move, Scroll, Write
from holo_tasks.core.input.keynames import RETURN, keysym
from holo_tasks.core.screen.geometry import Box, Point

BUTTONS = frozenset(
    {"button", "toggle button", "check box", "radio button", "switch", "link", "tab"}
    | {"menu item", "check menu item", "radio menu item", "menu"}
)
"""Roles of controls that act when pressed and accept no text."""
PRESSED = BUTTONS | {"list item", "tree item", "combo box", "row", "cell", "icon", "column header"}
"""Roles of controls that a press hits as a whole, whatever inner element is under the pointer."""
FIELD, AREAS = "text field", frozenset({"panel", "viewport", "section", "unknown"})
"""The role of a field, and roles of the areas inside a field that draw its text."""
ITEMS = frozenset({"list item", "tree item", "row", "cell"})
"""Roles of parts of lists and tables. They may hold fields; a press on such a field hits the field."""
FIELDS = frozenset({"text field", "password field", "spin button", "date editor"})
ENTRIES = frozenset({"text field", "password field", "spin button"})
"""Roles of input fields. No button contains one, but GTK reports an expander around a whole form as a toggle button."""
LABELLED = BUTTONS | FIELDS | {"combo box"}
"""Roles of controls that a label around them names."""
SPACE = keysym("space")
_SINGLE = (frozenset({SPACE}), frozenset({RETURN}))
DEFAULT = "is default"
MOST_NAMES = 2_000
"""Most names of a window that are read; a web page may have any number."""


@dataclass(frozen=True)
class WithKeys:
    """The focused button according to the tree, and the other elements that Enter may press."""

    button: Element
    others: tuple[Element, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(element.name for element in (self.button, *self.others) if element.name)


def hit_by(tree: ElementTree, gesture: Gesture) -> Element | None:
    """Return the element that a gesture hits: the one at its first point or, without a point, the focused one."""
    match gesture:
        case Click(at=at) | Drag(start=at) | Move(to=at) | Scroll(at=at) | Write(at=Point() as at):
            return pressed_at(tree, at)
        case Write():
            return keyboard_field(tree)
        case Hotkey():
            return tree.focused()
        case _:
            return None


def pressed_at(tree: ElementTree, at: Point) -> Element | None:
    """Return the element that a press at a point hits: the innermost one there, or the control that contains it.

    A field in a cell or in an item of a list is hit itself, because it takes the keyboard.
    """
    found = tree.at(at)
    if found is None:
        return None
    pressed = _pressed(tree, found, at)
    field = next((each for each in (found, *tree.ancestors(found)) if each.role in FIELDS), None)
    return field if field is not None and pressed.role in ITEMS and pressed in tree.ancestors(field) else pressed


def names_at(tree: ElementTree, at: Point) -> tuple[str, ...]:
    """Return the names at a point, from the innermost element to the control that contains it.

    For a button without a name, the names inside it are added.
    """
    inner = tree.at(at)
    if inner is None:
        return ()
    pressed = _pressed(tree, inner, at)
    chain = [inner]
    if pressed not in tree.ancestors(inner):
        chain = [*dict.fromkeys((inner, pressed))]
    while chain[-1] != pressed and (above := tree.parent(chain[-1])) is not None:
        chain.append(above)
    names = [element.name for element in chain if element.name]
    if not pressed.name and pressed.role in BUTTONS:
        names += [each.name for each in tree.below(pressed) if each.name]
    return tuple(dict.fromkeys(names[:MOST_NAMES]))


def names_in(tree: ElementTree, box: Box) -> tuple[str, ...]:
    """Return the names of all buttons that overlap a box."""
    there = (each for each in tree.elements if each.name and each.role in BUTTONS and each.on_screen)
    return tuple(dict.fromkeys([each.name for each in there if each.box.intersects(box)][:MOST_NAMES]))


def is_button(tree: ElementTree, at: Point) -> bool:
    """Return whether the element at a point is a button, according to its program."""
    found = pressed_at(tree, at)
    return found is not None and found.role in BUTTONS


def is_single_key(gesture: Gesture) -> bool:
    """Return whether a gesture is Space or Enter alone, which presses the focused control."""
    return isinstance(gesture, Hotkey) and {keysym(key) for key in gesture.keys} in _SINGLE


def with_keys(tree: ElementTree, gesture: Gesture) -> WithKeys | None:
    """Return the focused button that Space or Enter alone presses, or ``None``.

    Enter may also press the default button of its window.
    """
    button = tree.focused() if is_single_key(gesture) else None
    if button is None or button.role not in BUTTONS or not button.on_screen:
        return None
    window = tree.window_of(button)
    enters = isinstance(gesture, Hotkey) and keysym(gesture.keys[0]) == RETURN
    others = [each for each in tree.below(window) if DEFAULT in each.states and each != button] if enters else []
    return WithKeys(button, tuple(others))


def is_only_focus(tree: ElementTree, button: Element) -> bool:
    """Return whether no other element of the button's window claims the focus, apart from the button's ancestors."""
    above = {each.id for each in tree.ancestors(button)}
    window = tree.window_of(button)
    return not any("focused" in each.states and each != button and each.id not in above for each in tree.below(window))


def _pressed(tree: ElementTree, inner: Element, at: Point) -> Element:
    """Return the control that a press on an element hits. An input field inside an expander is a control of its own."""
    around = [each for each in (inner, *tree.ancestors(inner)) if each.box.contains(at)]
    is_entry = False
    for each in around:
        is_entry = is_entry or each.role in ENTRIES
        if each.role in PRESSED and not (is_entry and each.role in BUTTONS):
            return each
    # Editors of Qt and GTK 4 have an area inside them, without a name of its own, that draws their text.
    is_area = inner.role in AREAS and (not inner.name or CLASS_NAME.fullmatch(inner.name) is not None)
    field = next((each for each in around if each.role == FIELD), None)
    if not is_area:
        return inner
    return field or _labelled_by(tree, around) or _drawn_by(tree, inner) or inner


def _labelled_by(tree: ElementTree, around: list[Element]) -> Element | None:
    """Return the only control in the innermost of these areas if a label is around it, as a press there is for it.

    Web pages hide the control of a chooser, or make it tiny, and draw its area themselves. An icon outside that area is
    not part of the control, although it is in the same label.
    """
    inside = [each for each in tree.below(around[0]) if each.role in LABELLED]
    is_in_label = any(each.role == "label" and not each.name for each in around)
    return inside[0] if is_in_label and len(inside) == 1 else None


def _drawn_by(tree: ElementTree, area: Element) -> Element | None:
    """Return the only control of an area's parent that has this empty area over its middle: the area draws the control.

    An icon at the end of a field is not part of the field. An area over a whole form does not draw one control.
    """
    above = tree.parent(area)
    if above is None or any(True for _ in tree.below(area)):
        return None
    beside = [each for each in tree.below(above) if each.role in LABELLED and each.on_screen]
    found = [each for each in beside if each.box.encloses(area.box) and area.box.contains(each.box.center)]
    return found[0] if len(found) == 1 else None
