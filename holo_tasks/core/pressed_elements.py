"""What a press is on, as programs tell of their elements: what names it has, and which button has the keyboard.

A tree may lie, and may be late. So nothing here lets anything pass by itself: it adds names that a rule may know, and
who wants to leave others aside holds it against what is read there.
"""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Click, Drag, Gesture, Hotkey, Move, Scroll, Write
from holo_tasks.core.keynames import RETURN, keysym

BUTTONS = frozenset(
    {"button", "toggle button", "check box", "radio button", "switch", "link", "tab"}
    | {"menu item", "check menu item", "radio menu item", "menu"}
)
"""Roles of what a press does something with, and which nobody writes into."""
PRESSED = BUTTONS | {"list item", "tree item", "combo box", "row", "cell", "icon", "column header"}
"""Roles of what a press is on as a whole, whatever in it lies below the pointer."""
SPACE = keysym("space")
_SINGLE = (frozenset({SPACE}), frozenset({RETURN}))
DEFAULT = "is default"
MOST_NAMES = 2_000
"""So many names of a window are looked at; a page may have any number."""


@dataclass(frozen=True)
class WithKeys:
    """What has the keyboard, as the tree says: a button, what else Enter may press, and where the button is."""

    button: Element
    others: tuple[Element, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(element.name for element in (self.button, *self.others) if element.name)


def hit_by(tree: ElementTree, gesture: Gesture) -> Element | None:
    """Return the element that a gesture hits: the one at its first point or, without one, the one with the keyboard."""
    match gesture:
        case Click(at=at) | Drag(start=at) | Move(to=at) | Scroll(at=at) | Write(at=Point() as at):
            return pressed_at(tree, at)
        case Write() | Hotkey():
            return tree.focused()
        case _:
            return None


def pressed_at(tree: ElementTree, at: Point) -> Element | None:
    """Return what a press at a point is on: the innermost element there, or the button that it is the inside of."""
    found = tree.at(at)
    return None if found is None else _pressed(tree, found, at)


def names_at(tree: ElementTree, at: Point) -> tuple[str, ...]:
    """Return what there is at a point is called, from the innermost element to the button that it is in."""
    inner = tree.at(at)
    if inner is None:
        return ()
    pressed = _pressed(tree, inner, at)
    chain = [inner]
    while chain[-1] != pressed and (above := tree.parent(chain[-1])) is not None:
        chain.append(above)
    names = [element.name for element in chain if element.name]
    if not pressed.name and pressed.role in BUTTONS:
        names += [each.name for each in tree.below(pressed) if each.name]
    return tuple(dict.fromkeys(names[:MOST_NAMES]))


def names_in(tree: ElementTree, box: Box) -> tuple[str, ...]:
    """Return what all buttons are called of which something is in a box."""
    there = (each for each in tree.elements if each.name and each.role in BUTTONS and each.on_screen)
    return tuple(dict.fromkeys([each.name for each in there if each.box.intersects(box)][:MOST_NAMES]))


def is_button(tree: ElementTree, at: Point) -> bool:
    """Say whether what is at a point is a button, as its program says."""
    found = pressed_at(tree, at)
    return found is not None and found.role in BUTTONS


def is_single_key(gesture: Gesture) -> bool:
    """Say whether a gesture is a key alone that presses what has the keyboard: Space or Enter."""
    return isinstance(gesture, Hotkey) and {keysym(key) for key in gesture.keys} in _SINGLE


def with_keys(tree: ElementTree, gesture: Gesture) -> WithKeys | None:
    """Return the button that a key alone, Space or Enter, presses because it has the keyboard; None if there is none.

    Enter may press the button of its window that is the default one as well.
    """
    button = tree.focused() if is_single_key(gesture) else None
    if button is None or button.role not in BUTTONS or not button.on_screen:
        return None
    window = tree.window_of(button)
    enters = isinstance(gesture, Hotkey) and keysym(gesture.keys[0]) == RETURN
    others = [each for each in tree.below(window) if DEFAULT in each.states and each != button] if enters else []
    return WithKeys(button, tuple(others))


def alone(tree: ElementTree, button: Element) -> bool:
    """Say whether nothing else in the button's window claims to have the keyboard, but what the button is in."""
    above = {each.id for each in tree.ancestors(button)}
    window = tree.window_of(button)
    return not any("focused" in each.states and each != button and each.id not in above for each in tree.below(window))


def _pressed(tree: ElementTree, inner: Element, at: Point) -> Element:
    found = inner
    for element in (inner, *tree.ancestors(inner)):
        if element.role in PRESSED and element.box.contains(at):
            return element
    return found
