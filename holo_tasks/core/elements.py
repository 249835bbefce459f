"""The elements of programs' user interfaces, as their accessibility trees tell them, and how one of them is found.

A program says of itself what it likes, so this is text from outside: whoever makes an `ElementTree` cleans and bounds
names, and cuts boxes to the screen. An element is a candidate only: what is done to it is verified on pixels first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

from holo_tasks.core.geometry import Box, Point

SHOWING, FOCUSED, ACTIVE = "showing", "focused", "active"
COVERED = "covered"
"""A state of our own: another program's window lies above the middle of the element, so a press would not reach it."""
PASSWORD = "password field"
NOWHERE = Box(0, 0, 0, 0)
"""The box of an element that is not on the screen."""

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "push button": "button",
        "push button menu": "button",
        "entry": "text field",
        "text": "text field",
        "textbox": "text field",
        "text box": "text field",
        "editbar": "text field",
        "password text": PASSWORD,
        "password": PASSWORD,
        "static": "label",
        "static text": "label",
        "frame": "window",
        "checkbox": "check box",
        "combobox": "combo box",
        "radio": "radio button",
        "menuitem": "menu item",
        "menubar": "menu bar",
        "page tab": "tab",
        "page tab list": "tab list",
        "tablist": "tab list",
        "listitem": "list item",
        "list box": "list",
        "listbox": "list",
        "option": "list item",
        "table cell": "cell",
        "gridcell": "cell",
        "table row": "row",
        "table column header": "column header",
        "columnheader": "column header",
        "table row header": "row header",
        "rowheader": "row header",
        "treeitem": "tree item",
        "spinbutton": "spin button",
        "progressbar": "progress bar",
        "progress": "progress bar",
        "scrollbar": "scroll bar",
        "statusbar": "status bar",
        "toolbar": "tool bar",
        "tooltip": "tool tip",
        "img": "image",
        "hyperlink": "link",
        "document frame": "document",
        "document web": "document",
        "document text": "document",
        "document spreadsheet": "document",
        "document presentation": "document",
        "document email": "document",
        "filler": "panel",
        "grouping": "group",
    }
)
"""What toolkits, ARIA and people call roles, and what they are called here: by AT-SPI's names otherwise."""

How = Literal["cache", "walk", "none"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a program's user interface, as its accessibility tree tells it.

    ``id`` is its place in the tree of this moment, ``parent`` that of the one it is in, -1 for none. ``states`` are
    AT-SPI's, in lower case. ``box`` is what of it is on the screen, in screen pixels; it is empty (`NOWHERE`) where
    that is nothing, or where nobody can say. ``value`` is what a field holds. One that is ``protected``, as a password
    field is, keeps its name, and its value is never read. ``shortcut`` are the keys that do what an entry of a
    menu does, as ``Ctrl+S``, open or not.
    """

    id: int
    role: str
    name: str
    states: frozenset[str]
    box: Box
    parent: int
    application: str
    pid: int
    value: str = ""
    protected: bool = False
    shortcut: str = ""

    @property
    def on_screen(self) -> bool:
        """Whether it can be seen, and so be acted on: it shows, has pixels there, and no other program covers them."""
        return SHOWING in self.states and self.box.area > 0 and COVERED not in self.states


@dataclass(frozen=True, slots=True)
class Application:
    """A program that shows a window, and how its elements were told.

    ``how`` is "cache" where all came in one answer, "walk" where they were asked for one by one, "none" where the
    program tells nothing that can be used: then ``note`` says why. ``scale`` is how many pixels of the screen one of
    its own is, by the X server's boxes of its windows; 1 where that is not known.
    """

    name: str
    pid: int
    toolkit: str
    how: How
    took_ms: float = 0.0
    note: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class ElementTree:
    """The elements of all programs on a screen at one moment.

    Each stands after the one it is in; those of a window that lies above another one stand after all of that.
    ``complete`` is false where something is missing, and then ``why_not``, a sentence, says what. ``moving`` says that
    boxes may be those of a moment ago: a program has just drawn anew what it tells of, and some lag behind with that.
    """

    elements: tuple[Element, ...] = ()
    applications: tuple[Application, ...] = ()
    took_ms: float = 0.0
    complete: bool = True
    why_not: str = ""
    moving: bool = False

    def __post_init__(self) -> None:
        for place, element in enumerate(self.elements):
            if element.id != place or not -1 <= element.parent < place:
                raise ValueError(f"element {place} of a tree is told as {element.id}, in {element.parent}")

    def find(
        self,
        role: str | None = None,
        name: str | None = None,
        within: Box | Element | None = None,
        *,
        hidden: bool = False,
    ) -> list[Element]:
        """Return the elements on the screen with this role and name, those within a box or below another one.

        Of names those count that are exactly so; if there are none, those that are when case, spaces and closing signs
        are left aside. A ``*`` stands for anything, and there is no other way to find a part of a name: “Save” is not
        “Don't save”. Several mean that it is not clear which one is meant. With ``hidden`` those that are not on the
        screen count as well.
        """
        wanted = None if role is None else role_of(role)
        found = [
            element
            for element in self._within(within)
            if (hidden or element.on_screen) and (wanted is None or element.role == wanted)
        ]
        return found if name is None else _named(found, name)

    def at(self, point: Point, pid: int | None = None) -> Element | None:
        """Return the innermost element that shows at a point; ``pid`` is the process whose window is known to be there.

        Innermost is the smallest of the topmost window there, and of equal ones the deepest.
        """
        found: Element | None = None
        for element in self.elements:
            if not (element.on_screen and element.box.contains(point)) or pid not in (None, element.pid):
                continue
            if found is None or self._tops[element.id] != self._tops[found.id] or element.box.area <= found.box.area:
                found = element
        return found

    def focused(self) -> Element | None:
        """Return the element that gets the keys, as far as programs say: of several the last of the active window.

        Qt marks the current entry of a closed combo box as focused, so elements that are not on the screen come last.
        """
        focused = [element for element in self.elements if FOCUSED in element.states]
        found = [element for element in focused if element.on_screen] or focused
        active = [each for each in found if ACTIVE in self.elements[self._tops[each.id]].states]
        return next(iter(reversed(active or found)), None)

    def parent(self, element: Element) -> Element | None:
        """Return the element that one is in."""
        return self.elements[element.parent] if element.parent >= 0 else None

    def ancestors(self, element: Element) -> list[Element]:
        """Return what an element is in, from its parent up to its window."""
        found = []
        while (above := self.parent(element)) is not None:
            found.append(above)
            element = above
        return found

    def children(self, element: Element) -> list[Element]:
        """Return what is directly in an element."""
        return [self.elements[each] for each in self._children.get(element.id, ())]

    def below(self, element: Element) -> Iterator[Element]:
        """Yield all that is in an element, however deep."""
        below = list(reversed(self.children(element)))
        while below:
            yield (one := below.pop())
            below += reversed(self.children(one))

    def window_of(self, element: Element) -> Element:
        """Return the window that an element is in; that is the element itself if it is one."""
        return self.elements[self._tops[element.id]]

    def _within(self, within: Box | Element | None) -> Iterator[Element]:
        match within:
            case None:
                yield from self.elements
            case Box():
                yield from (each for each in self.elements if each.box.area and within.contains(each.box.center))
            case Element():
                yield from self.below(within)

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for element in self.elements:
            found.setdefault(element.parent, []).append(element.id)
        return found

    @cached_property
    def _tops(self) -> list[int]:
        """For each element which window it is in."""
        found: list[int] = []
        for element in self.elements:
            found.append(element.id if element.parent < 0 else found[element.parent])
        return found


def role_of(told: str) -> str:
    """Return what a role is called here, whoever names it."""
    plain = " ".join(told.replace("-", " ").replace("_", " ").casefold().split())
    return ROLES.get(plain, plain)


def _named(elements: list[Element], name: str) -> list[Element]:
    """Return those whose names are most like this one."""
    if exact := [element for element in elements if element.name == name]:
        return exact
    wanted = _plain(name)
    if not wanted:
        return []
    if "*" not in wanted:
        return [element for element in elements if _plain(element.name) == wanted]
    pattern = re.compile(".*".join(map(re.escape, wanted.split("*"))), re.DOTALL)
    return [element for element in elements if element.name and pattern.fullmatch(_plain(element.name))]


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return " ".join(name.casefold().split()).rstrip(" :….")
