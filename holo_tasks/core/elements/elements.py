"""The elements of programs' user interfaces, from their accessibility trees, and the search for one.

Programs can publish any text, so it is text from outside. Whoever creates an `ElementTree` cleans and limits names, and
clips boxes to the screen. An element is only a candidate: its place is verified on pixels before input.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from holo_tasks.core.elements.matching_names import best_named
from holo_tasks.core.elements.role_names import role_of
from holo_tasks.core.screen.geometry import Box, Point

SHOWING, FOCUSED, ACTIVE, READ_ONLY, EDITABLE = "showing", "focused", "active", "read only", "editable"
CURRENT = frozenset({"tab", "cell", "row", "list item", "tree item"})
"""Roles of entries. A list may mark its current entry as focused."""
FOCUSABLE, MODAL = "focusable", "modal"
COVERED = "covered"
"""State added by this library: another program's window covers the element's middle, so a press would not reach it."""
TOO_LATE = "it did not answer in time"
"""The note of an application whose elements may be those of a moment ago."""
PASSWORD, TEXT_FIELD = "password field", "text field"
NOWHERE = Box(0, 0, 0, 0)
"""The box of an element that is not on the screen."""

DIALOGS = frozenset({"dialog", "alert", "alert dialog", "file chooser", "color chooser"})
"""Roles of windows, and of parts of a page, that lie over the rest of their program."""

LISTS = frozenset({"table", "tree table", "tree", "list"})
ROWS = frozenset({"row", "list item", "tree item"})
CARDS = frozenset({"article"})
CELLS = frozenset({"cell", "row header"})
HEADINGS = frozenset({"column header"})
"""Roles of tables and lists and their parts. A card has the contents of a row in any arrangement, below a heading."""

SHEET = frozenset({"editable", "manages descendants"})
"""States of the table of a spreadsheet, and of no other table."""
POPUPS = DIALOGS | {"menu", "popup menu", "tool tip"}
"""Roles of what a page draws over a modal dialog."""
ALERTS = frozenset({"alert", "alert dialog"})
FEWEST_HEADINGS = 3
PRESSED_OR_FILLED = frozenset({"text field", "spin button", "combo box", "button", "link", "check box", "radio button"})
OPTIONS = frozenset({"list item", "menu item", "tree item"})
SELECTABLE = "selectable"
TEXTS = frozenset({"label", "heading", "paragraph"})

PLACE_NAME = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
"""Name of a cell of a spreadsheet, such as ``B12``."""
DAY = re.compile(r"0?[1-9]|[12]\d|3[01]")
MOST_DAYS = 93
CLASS_NAME = re.compile(r"(?:Gtk|Adw)[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,}")
"""The name of a class. GTK 4.8 reports it for a control without a name, as “GtkButton”."""
How = Literal["cache", "walk", "none"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a program's user interface, from its accessibility tree.

    ``id`` is its index in this tree, and ``parent`` its parent's index, or -1. ``states`` are AT-SPI's, in lower case.
    ``box`` is its visible part in screen pixels; it is empty (`NOWHERE`) if no part is visible or its place is unknown.
    ``value`` is the content of a field. The value of a ``protected`` element, such as a password field, is never read;
    its name is. ``shortcut`` is the key combination of a menu entry, such as ``Ctrl+S``, whether the menu is open or
    not.
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
        """Whether it is visible and can be pressed: it shows, has pixels, and no other program covers it."""
        return SHOWING in self.states and self.box.area > 0 and COVERED not in self.states


class SheetPlace(NamedTuple):
    """The place of a cell in a spreadsheet: 7 and B for ``B7``."""

    row: int
    column: str


@dataclass(frozen=True, slots=True)
class Application:
    """A program that shows a window, and how its elements were read.

    ``how`` is "cache" if all elements came in one answer, and "walk" if they were queried one by one. It is "none" if
    the program publishes nothing usable; ``note`` then gives the reason. ``scale`` is the number of screen pixels per
    pixel of the program, computed from the X server's window boxes; 1 if unknown.
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

    Each element comes after its parent. The elements of a window come after those of the windows below it. ``complete``
    is false if something is missing; ``why_not`` is then a sentence with the reason. With ``moving``, boxes may be
    slightly out of date: a program has just redrawn its elements, and some programs update their tree late.
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
                raise ValueError(f"element {place} of a tree has the id {element.id} and the parent {element.parent}")

    def is_late(self, pid: int) -> bool:
        """Return whether the elements of a process may be those of a moment ago, because it did not answer in time."""
        notes = [app.note for app in self.applications if app.pid == pid]
        return TOO_LATE in notes or (not self.applications and TOO_LATE in self.why_not)

    def find(
        self,
        role: str | None = None,
        name: str | None = None,
        within: Box | Element | None = None,
        *,
        hidden: bool = False,
    ) -> list[Element]:
        """Return the elements on the screen with this role and name, inside a box or below another element.

        Exact matches of the name count first. Without any, names are compared without case, spaces and trailing
        punctuation. A ``*`` matches anything, and nothing else matches a part of a name: “Save” does not match “Don't
        save”. Several results mean that the description is ambiguous. With ``hidden``, elements off the screen count as
        well. The chosen option of a closed combo box counts only if no other element matches.
        """
        wanted = None if role is None else role_of(role)
        found = [
            element
            for element in self._within(within)
            if (hidden or element.on_screen) and (wanted is None or element.role == wanted)
        ]
        named = found if name is None else best_named(found, name)
        return [each for each in named if each.id not in self._folded] or named

    def fields(self, role: str) -> list[Element]:
        """Return the fields of this role on the screen that accept text, whatever their names are."""
        return [each for each in self.find(role) if READ_ONLY not in each.states]

    def at(self, point: Point, pid: int | None = None) -> Element | None:
        """Return the innermost visible element at a point.

        ``pid`` restricts the search to the process of the window there.

        It is the smallest element of the topmost window, and the deepest of several equal ones. The page of a browser
        below a modal dialog or below the open list of a combo box does not count, nor do the elements below a popup.
        A press on a closed combo box is not one on its chosen option.
        """
        found: Element | None = None
        over = self._modal_dialogs_at(point)
        option = self._open_option_at(point, over)
        lifted = self._popup_at(point, over) or option
        inside = set() if lifted is None else {lifted.id, *(each.id for each in self.below(lifted))}
        for element in self.elements:
            if lifted is not None and self._tops[element.id] == self._tops[lifted.id] and element.id not in inside:
                continue
            if not (element.on_screen and element.box.contains(point)) or pid not in (None, element.pid):
                continue
            if element.id in self._folded:
                continue
            dialog = over.get(self._tops[element.id], 0)
            if element.id < dialog or (lifted is None and element.id in self._behind.get(dialog, ())):
                continue
            if found is None or self._tops[element.id] != self._tops[found.id] or element.box.area <= found.box.area:
                found = element
        if found is None or found.id not in self._empty_windows:
            return found if found is None or lifted is not None else self._control_over(found, point)
        # Chromium publishes the options of an open list in the window of its page.
        is_of_window = option is not None and option.pid == found.pid and found.box.contains(option.box.center)
        return option if is_of_window else self._in_empty_window(found, point)

    def _control_over(self, found: Element, point: Point) -> Element:
        """Return the control at a point in a layer of the page over a text or a cell; the element itself without one.

        Many pages draw a dialog of areas. A control of the page may be in a popup over the layer, as an option is.
        """
        around = (found, *self.ancestors(found)[:2])
        if any(each.role in PRESSED_OR_FILLED or SELECTABLE in each.states for each in around):
            return found
        later = (each for each in self.elements[found.id + 1 :] if each.role in PRESSED_OR_FILLED and each.on_screen)
        here = [each for each in later if each.box.contains(point) and self._is_in_layer_over(each, found)]
        return min(here, key=lambda each: each.box.area, default=found)

    def _is_in_layer_over(self, control: Element, found: Element) -> bool:
        """Return whether a later part of a page with a control covers the page, or lies over the part of an element.

        Scrolled contents reach an edge of a part around both. A layer partly over the other part has the keyboard.
        """
        below, over = [found, *self.ancestors(found)], [control, *self.ancestors(control)]
        places = {each.id: place for place, each in enumerate(below)}
        height, common = next(((n, places[each.id]) for n, each in enumerate(over) if each.id in places), (0, 0))
        page = next((place for place, each in enumerate(below) if each.role == "document"), 0)
        if not (height and 0 < common <= page):
            return False
        part, layer, whole = below[common - 1].box, over[height - 1].box, below[page].box
        both = (whole, *(each.box for each in below[common:page] if each.box.encloses(part)))
        floats = part.encloses(found.box) and all(box.top < layer.top and layer.bottom < box.bottom for box in both)
        held = floats and any(FOCUSED in each.states for each in self.below(over[height - 1]))
        return part.encloses(layer) or layer.encloses(whole) or (held and over[height - 1].role not in ROWS)

    def _popup_at(self, point: Point, over: Mapping[int, int]) -> Element | None:
        """Return the last popup at a point. Swing draws its popups over the other elements of the same window.

        ``over`` are the modal dialogs at the point. A popup below its window's dialog does not count.
        """
        popups = (each for each in self.elements if each.role == "popup menu" and each.on_screen and each.parent >= 0)
        here = (each for each in popups if each.box.contains(point) and each.id >= over.get(self._tops[each.id], 0))
        return max(here, key=lambda each: each.id, default=None)

    def _in_empty_window(self, window: Element, point: Point) -> Element:
        """Return the element at a point of the menu that has the place of an empty window; the window without one.

        GTK 3 publishes the menu of a combo box in the window behind it, and its own window without anything in it.
        """
        menus = [each for each in self.find("menu") if each.pid == window.pid and each.box == window.box]
        parts = (part for menu in menus for part in (menu, *self.below(menu)))
        inside = (each for each in parts if each.on_screen and each.box.contains(point))
        return min(inside, key=lambda each: (each.box.area, -each.id), default=window)

    @cached_property
    def _folded(self) -> frozenset[int]:
        """The ids of the options that closed combo boxes report at their own places, as Chromium does.

        An option elsewhere is in an open list, even if the state of its combo box is late.
        """
        boxes = (each for each in self.elements if each.role == "combo box" and each.on_screen)
        closed = [each for each in boxes if "expandable" in each.states and "expanded" not in each.states]
        inside = ((box, each) for box in closed for each in self.below(box) if each.role in ("list item", "menu item"))
        return frozenset(each.id for box, each in inside if each.on_screen and box.box.encloses(each.box))

    @cached_property
    def _empty_windows(self) -> frozenset[int]:
        """The ids of the windows without a name and without elements."""
        tops = (each for each in self.elements if each.parent < 0)
        return frozenset(each.id for each in tops if not (each.name or each.id in self._children))

    def _open_option_at(self, point: Point, over: Mapping[int, int]) -> Element | None:
        """Return the option at a point in the open list of a combo box. A page draws it over its other elements.

        ``over`` are the modal dialogs at the point. A combo box below its window's dialog does not count.
        """
        opened = (each for each in self.elements if each.role == "combo box" and "expanded" in each.states)
        opened = (each for each in opened if each.id >= over.get(self._tops[each.id], 0))
        options = (option for each in opened for option in self._open_options(each) if option.box.contains(point))
        return max(options, key=lambda option: option.id, default=None)

    def chooser_of(self, option: Element) -> Element | None:
        """Return the combo box whose open list has an option, or ``None``."""
        opened = [each for each in self.elements if each.role == "combo box" and "expanded" in each.states]
        return next((each for each in reversed(opened) if option in self._open_options(each)), None)

    def _open_options(self, combo: Element) -> list[Element]:
        """Return the visible options in a combo box, or else those of the nearest list after it."""
        options = [
            each
            for each in self.elements[combo.id + 1 :]
            if each.role in ("list item", "menu item") and "selectable" in each.states
            if self._tops[each.id] == self._tops[combo.id] and each.on_screen
        ]
        inside = {each.id for each in self.below(combo)}
        if own := [each for each in options if each.id in inside]:
            return own
        lists = [next((it for it in self.ancestors(each) if it.role in ("list", "menu")), each) for each in options]
        after = (around for around in lists if around.id > combo.id)
        nearest = min(after, key=lambda around: (around.box.gap(combo.box), -around.id), default=None)
        return [each for each, around in zip(options, lists, strict=True) if around == nearest]

    def _modal_dialogs_at(self, point: Point) -> dict[int, int]:
        """Return the last modal dialog at a point in each window, as the indexes of both."""
        found = (each for each in self.dialogs() if MODAL in each.states and each.box.contains(point))
        return {self._tops[each.id]: each.id for each in found}

    @cached_property
    def _behind(self) -> Mapping[int, Collection[int]]:
        """The ids of the elements that come after a modal dialog of a page and are behind it, by the id of the dialog.

        Such a part of the page encloses the dialog, and the keyboard is not in it. Otherwise it is a layer that the
        page draws over the dialog. What else is drawn over a dialog, such as a list, is in a popup.
        """
        found: defaultdict[int, set[int]] = defaultdict(set)
        held = {up.id for each in self.elements if FOCUSED in each.states for up in (each, *self.ancestors(each))}
        for dialog in (each for each in self.dialogs() if MODAL in each.states):
            above = [each for each in self.ancestors(dialog) if each.parent >= 0]
            parts = [part for each in above for part in self.children(each) if part.id > dialog.id]
            parts = [part for part in parts if part.id not in held]
            while parts:
                part = parts.pop()
                if part.role not in POPUPS and (part.box.encloses(dialog.box) or part.parent in found[dialog.id]):
                    found[dialog.id].add(part.id)
                    parts += self.children(part)
        return found

    def focused(self) -> Element | None:
        """Return the element that has the keyboard focus.

        If several claim it, return the last one of the active window. Qt marks the current entry of a closed combo box
        as focused, so elements that are not on the screen come last. It also marks the current entry of each list. Such
        an entry counts only if something around it also claims the focus, or if nothing else does.

        Returns ``None`` if several fields side by side claim it, as all fields of a form in LibreOffice do.
        """
        found = self.claiming_focus()
        last = next(iter(reversed([each for each in found if not self.is_current_entry(each)] or found)), None)
        return None if last is not None and any(self._are_fields_of_a_form(last, each) for each in found) else last

    def claiming_focus(self) -> list[Element]:
        """Return the elements that claim the keyboard focus: those on the screen and in the active window, if any."""
        focused = [element for element in self.elements if FOCUSED in element.states]
        found = [element for element in focused if element.on_screen] or focused
        return [each for each in found if ACTIVE in self.elements[self._tops[each.id]].states] or found

    def _are_fields_of_a_form(self, one: Element, other: Element) -> bool:
        """Return whether two elements are different text fields in the same container."""
        return one.id != other.id and one.role == other.role == TEXT_FIELD and one.parent == other.parent

    def is_current_entry(self, element: Element) -> bool:
        """Return whether an element is an entry of a list or table, around which nothing claims the keyboard focus."""
        return element.role in CURRENT and not any(FOCUSED in above.states for above in self.ancestors(element))

    def parent(self, element: Element) -> Element | None:
        """Return the parent of an element, or ``None``."""
        return self.elements[element.parent] if element.parent >= 0 else None

    def ancestors(self, element: Element) -> list[Element]:
        """Return the ancestors of an element, from its parent up to its window."""
        found = []
        while (above := self.parent(element)) is not None:
            found.append(above)
            element = above
        return found

    def children(self, element: Element) -> list[Element]:
        """Return the children of an element."""
        return [self.elements[each] for each in self._children.get(element.id, ())]

    def below(self, element: Element) -> Iterator[Element]:
        """Yield all descendants of an element."""
        below = list(reversed(self.children(element)))
        while below:
            yield (one := below.pop())
            below += reversed(self.children(one))

    def window_of(self, element: Element) -> Element:
        """Return the window of an element; a window returns itself."""
        return self.elements[self._tops[element.id]]

    def single(self, found: Sequence[Element]) -> list[Element]:
        """Return the elements that contain no other of the given elements: a heading and its text are one target."""
        around = {above.id for each in found for above in self.ancestors(each)}
        return [each for each in found if each.id not in around]

    def in_front(self, found: Sequence[Element]) -> list[Element]:
        """Return the given elements in the topmost of their windows. In one window, those in the last dialog count."""
        if len(found) < 2:
            return list(found)
        tops = [self._tops[each.id] for each in found]
        there = [each for each, top in zip(found, tops, strict=True) if top == max(tops)]
        dialogs = [-1 if (dialog := self.dialog_of(each)) is None else dialog.id for each in there]
        return [each for each, dialog in zip(there, dialogs, strict=True) if dialog == max(dialogs)]

    def row_of(self, element: Element) -> list[Element]:
        """Return the named elements in the row of an element, in order, without its own parts.

        That is a row of a table, an item of a list, or a card of a page, such as a post of a blog. Of a card only the
        headings count, because its text may name other items. Some toolkits report cells without rows. There the cells
        of the table at the same height count. Returns an empty list for an element elsewhere.
        """
        above = [element, *self.ancestors(element)]
        cell = next((each for each in above if each.role in CELLS), element)
        kinds = ROWS if cell.role in CELLS else ROWS | CARDS
        row = next((each for each in above if each.role in kinds), None)
        if row is not None and (inside := [*self.below(row)]):
            found = [each for each in inside if each.role == "heading"] if row.role in CARDS else inside
        elif cell.role not in CELLS:
            return []
        else:
            siblings = (each for each in self.elements if each.parent == cell.parent and each.role in CELLS)
            found = [each for each in siblings if each.on_screen and is_level(each.box, cell.box)]
        own = {cell.id, *(each.id for each in self.below(cell))} | {each.id for each in above}
        return [each for each in found if each.id not in own and self.text_on(each) and SHOWING in each.states]

    def place_in_sheet(self, element: Element) -> SheetPlace | None:
        """Return the place of a cell in a spreadsheet, which the cell's name says; ``None`` for any other element."""
        above = self.parent(element)
        found = PLACE_NAME.fullmatch(element.name) if element.role == "cell" else None
        if found is None or above is None or not above.states >= SHEET:
            return None
        return SheetPlace(int(found[2]), found[1])

    def text_on(self, element: Element) -> str:
        """Return the text that is written on an element. The cell of a spreadsheet shows its value, not its name."""
        return element.value if self.place_in_sheet(element) is not None else element.name

    def sheet_of(self, element: Element) -> Mapping[SheetPlace, Element]:
        """Return the filled cells in the spreadsheet of a cell. Returns an empty mapping for any other element."""
        return self._sheets.get(element.parent, {}) if self.place_in_sheet(element) is not None else {}

    def is_in_next_row(self, element: Element) -> bool:
        """Return whether a cell is in the row right below the last filled row of its spreadsheet."""
        place, filled = self.place_in_sheet(element), self.sheet_of(element)
        return place is not None and bool(filled) and place.row == 1 + max(each.row for each in filled)

    def _heading_in_sheet(self, element: Element) -> Element | None:
        """Return the topmost filled cell of a cell's column, if it is above the cell and has no digit."""
        place, filled = self.place_in_sheet(element), self.sheet_of(element)
        if place is None:
            return None
        top = min((each for each in filled if each.column == place.column), default=place)
        found = filled.get(top)
        is_heading = found is not None and top.row < place.row and not any(map(str.isdigit, found.value))
        return found if is_heading else None

    def heading_of(self, element: Element) -> Element | None:
        """Return the column header above an element of a table, or ``None``.

        In a spreadsheet it is the topmost text of the column.
        """
        if self.place_in_sheet(element) is not None:
            return self._heading_in_sheet(element)
        above = [element, *self.ancestors(element)]
        middle = next((each for each in above if each.role in CELLS), element).box.center
        tables = {each.id for each in above[1:]}
        headings = (each for each in self.elements if each.role in HEADINGS and each.on_screen and each.name)

        def is_over(each: Element) -> bool:
            return each.box.left <= middle.x < each.box.right and each.box.bottom <= middle.y

        over = filter(is_over, headings)
        found = [each for each in over if not tables.isdisjoint(up.id for up in self.ancestors(each))]
        first = (each for each in above if each.id in self._heading_rows)
        row = next((self._heading_rows[each.id] for each in first), [])
        found = found or [each for each in row if is_over(each)]
        return max(found, key=lambda each: each.box.top, default=None)

    @cached_property
    def _heading_rows(self) -> dict[int, list[Element]]:
        """The named cells of the first row of each table without column headers, if all are labels, by table."""
        rows = {}
        for table in (each for each in self.elements if each.role == "table" and each.on_screen):
            inside = [each for each in self.below(table) if each.on_screen and each.name]
            cells = [each for each in inside if each.role in CELLS]
            top = min((each.box.top for each in cells), default=0)
            first = [each for each in cells if each.box.top == top]
            names, others = [each.name for each in first], {each.name for each in cells if each.box.top > top}
            are_labels = others.isdisjoint(names) and not any(map(str.isdigit, "".join(names)))
            if are_labels and others and len({*names}) == len(names) >= FEWEST_HEADINGS:
                rows[table.id] = [] if any(each.role in HEADINGS for each in inside) else first
        return rows

    def dialogs(self) -> list[Element]:
        """Return the dialogs on the screen, from back to front."""
        return [each for each in self.elements if each.on_screen and self.is_dialog(each)]

    def dialog_of(self, element: Element) -> Element | None:
        """Return the innermost dialog around an element, or ``None``."""
        return next((above for above in self.ancestors(element) if self.is_dialog(above)), None)

    def is_dialog(self, element: Element) -> bool:
        """Return whether an element lies over the rest of its program, so that it would take a press or keys."""
        return element.role in DIALOGS and element.id not in self._bars

    def title_of(self, dialog: Element, known: Callable[[Element], Element] = lambda element: element) -> str:
        """Return the text that identifies a dialog: its name, or its first text if it has none.

        All questions of a toolkit have the same name, so alerts are identified by their first text. ``known`` removes
        the hidden texts of an element.
        """
        name = known(dialog).name
        texts = (known(each).name for each in self.below(dialog) if each.role in TEXTS and each.on_screen)
        first = next(filter(None, texts), "")
        return (first or name) if dialog.role in ALERTS else (name or first)

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
    def days_below(self) -> Mapping[tuple[int, str], Sequence[Element]]:
        """The elements that are named like a day of a month, by the index of each container around them and their role.

        A container with more than the days of three months, such as a sheet of numbers, has only some of them.
        """
        found: dict[tuple[int, str], list[Element]] = {}
        for element in self.elements:
            if len(element.name) > 2 or not DAY.fullmatch(element.name):
                continue
            for above in self.ancestors(element):
                days = found.setdefault((above.id, element.role), [])
                if len(days) > MOST_DAYS:
                    break  # the containers around it are as full
                days.append(element)
        return found

    @cached_property
    def _bars(self) -> frozenset[int]:
        """The ids of the alerts that are bars, such as the information bar of a browser, or messages of a page.

        A bar is a part of a window or page with other contents, and leaves those uncovered. It is not modal and does
        not have the keyboard. A question that hides the contents below it has no contents around it, so it is a dialog.
        """
        alerts = [each for each in self.elements if each.role in ALERTS and each.parent >= 0 and each.on_screen]
        return frozenset(each.id for each in alerts if MODAL not in each.states and self._is_beside_contents(each))

    def _is_beside_contents(self, alert: Element) -> bool:
        above, inside = self.ancestors(alert), {alert.id, *(each.id for each in self.below(alert))}
        if any(FOCUSED in self.elements[each].states for each in inside):
            return False
        place = next((each for each in above if each.role.startswith("document")), above[-1])
        around = inside | {each.id for each in above}
        others = [each for each in self._contents if each.id not in around]
        here = any(place in self.ancestors(each) for each in others)
        top = self._tops[alert.id]
        covered = (each for each in others if self._tops[each.id] == top and each.box.intersects(alert.box))
        # The message of a page lies over the bars of its browser.
        messages = {each.id for each in self.elements if each.role == "dialog" and each.parent == top}
        messages = messages if any(self._tops[each.id] == top for each in self.find("document")) else set()
        return here and all(any(up.id in messages for up in self.ancestors(each)) for each in covered)

    @cached_property
    def _contents(self) -> list[Element]:
        """The innermost elements on the screen that have a text or can have the keyboard."""
        held = {each.parent for each in self.elements if each.on_screen}
        shown = (each for each in self.elements if each.on_screen and each.id not in held)
        return [each for each in shown if each.name or each.value or FOCUSABLE in each.states]

    @cached_property
    def _sheets(self) -> dict[int, dict[SheetPlace, Element]]:
        """For each spreadsheet, its filled cells by their places."""
        found: dict[int, dict[SheetPlace, Element]] = {}
        for element in self.elements:
            if element.value and (place := self.place_in_sheet(element)) is not None:
                found.setdefault(element.parent, {})[place] = element
        return found

    @cached_property
    def _tops(self) -> list[int]:
        """For each element, the index of its window."""
        found: list[int] = []
        for element in self.elements:
            found.append(element.id if element.parent < 0 else found[element.parent])
        return found


def in_rows(found: Sequence[Element]) -> list[Element]:
    """Return elements in reading order: rows from top to bottom, and each row from left to right."""
    rows: list[list[Element]] = []
    for each in sorted(found, key=lambda one: one.box.top):
        if rows and is_level(rows[-1][0].box, each.box):
            rows[-1].append(each)
        else:
            rows.append([each])
    return [each for row in rows for each in sorted(row, key=lambda one: one.box.left)]


def is_level(one: Box, other: Box) -> bool:
    """Return whether two boxes are on one row: the middle of the less high box is within the other's height."""
    low, high = sorted((one, other), key=lambda box: box.height)
    return high.top <= low.center.y < high.bottom
