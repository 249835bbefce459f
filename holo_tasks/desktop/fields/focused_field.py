"""Determines the focused control: a text field, a cell, a button, a terminal.

Known terminals and viewers of remote screens are recognized by their program file, all else by the accessibility tree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holo_tasks.core.elements.elements import ACTIVE, EDITABLE, FOCUSED, READ_ONLY, Application, Element, ElementTree
from holo_tasks.core.elements.open_lists import OPTIONS, field_of_list, is_near_list_only
from holo_tasks.core.elements.typed_field import EMPTY
from holo_tasks.core.programs import Owner, is_viewer
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.stop.interrupt import Interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

    from holo_tasks.desktop.elements.element_reader import Elements

Kind = Literal["field", "segment", "cell", "edited cell", "document", "terminal", "no text", "unknown"]
"""Kind of a focused control, by which the caller decides how to type and how to clear.

* ``field``: a text field.
* ``segment``: a part of a date or time field, such as its month. The arrow keys move to the other parts.
* ``cell``: a cell whose text is replaced by typing.
* ``edited cell``: a cell of an office sheet whose text is open.
* ``document``: the text of an office document.
* ``terminal``: a terminal.
* ``no text``: a control that takes no text.
* ``unknown``: none of these for certain, or no tree in time.
"""

MANAGES = "manages descendants"
SPIN_BUTTON = "spin button"
OFFICE, GNUMERIC = "soffice", "gnumeric"
SHEETS = frozenset({"soffice.bin", "gnumeric"})
"""Program files of office suites with sheets."""
TERMINALS = frozenset(
    {
        "xterm", "uxterm", "rxvt", "urxvt", "urxvtd", "st", "alacritty", "kitty", "foot", "wezterm-gui", "konsole",
        "qterminal", "gnome-terminal-server", "kgx", "xfce4-terminal", "lxterminal", "mate-terminal", "terminator",
        "tilix", "terminology", "eterm", "aterm", "mlterm",
    }
)  # fmt: skip
PARAGRAPHS = frozenset({"paragraph", "heading"})
CONTAINERS = frozenset({"table", "tree", "tree table", "list"})
MENUS = frozenset({"menu", "popup menu"})
MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
ITEMS = frozenset({"cell", "list item", "tree item", "row", "column header", "row header"})
NO_TEXT = CONTAINERS | frozenset(
    {
        "button", "toggle button", "check box", "radio button", "combo box", "switch", "slider", "dial", "scroll bar",
        "link", "tab", "tab list", "menu", "menu bar", "menu item", "check menu item", "radio menu item", "popup menu",
        "list item", "tree item", "tool bar", "image", "progress bar", "level bar", "color chooser", "separator",
    }
)  # fmt: skip
"""Roles of controls that take no text."""
CELL_AREAS = frozenset({"cell", "table", "tree table", "canvas", "drawing area"})
"""Roles of areas that may be the cells of a sheet."""
LOWEST_FIELD = 12
"""Smallest height and width, in pixels, of a field in which a person can read a typed text."""
HANGS_S = 3.0
"""Seconds in which a program that hangs is asked again for its elements. Then its control counts as unknown.

Most need 5 to 30 ms, a sheet 200. A slow program that goes on answering is waited for longer.
"""


@dataclass(frozen=True, slots=True)
class Focus:
    """The control with keyboard focus.

    ``kind`` is its `Kind`, and ``name`` its name in messages. ``office`` says that it is a cell of a LibreOffice sheet,
    and ``place`` is the name of the cell whose text is open there. ``value`` is the text of an edited cell. ``tells``
    says that the program's accessibility tree was read. ``viewer`` says that the window shows another machine's screen.
    ``one_line`` says that it is a field of one line, whose table or window may use Ctrl with Home and End for itself.
    ``empty`` says that it is a field in view that certainly holds no text. ``tables`` are the boxes of the tables with
    a current cell that may be open for editing. ``qt_spin`` says that it is a spin box of Qt, as its date fields are.
    """

    kind: Kind
    name: str = ""
    office: bool = False
    place: str = ""
    value: str = ""
    tells: bool = False
    viewer: bool = False
    one_line: bool = False
    empty: bool = False
    tables: tuple[Box, ...] = ()
    qt_spin: bool = False

    @property
    def is_office_cell(self) -> bool:
        """Whether it is a cell of a LibreOffice sheet whose text is not open."""
        return self.kind == "cell" and self.office


class FocusedField:
    """Reads which control is focused."""

    def __init__(self, elements: Elements, owner: Callable[[], Owner], interrupt: Interrupt) -> None:
        self._elements = elements
        self._owner = owner
        self._interrupt = interrupt
        self.tree: ElementTree | None = None
        self.pid = 0

    def read(self) -> Focus:
        """Return the focused control at this moment.

        ``tree`` and ``pid`` are then its program's elements and process, ``tree`` only if they were read.
        """
        owner = self._owner()
        self.tree, self.pid = None, owner.pid
        program = Path(owner.executable).name
        if program in TERMINALS:
            return Focus("terminal", f"the terminal {program}")
        if is_viewer(owner):
            return Focus("unknown", viewer=True)
        until = time.monotonic() + HANGS_S
        while (tree := self._elements.read(self._interrupt, owner.pid)).is_late(owner.pid):
            if time.monotonic() >= until:
                return Focus("unknown")
        self.tree = tree
        return focus_in(tree, owner.pid)

    @property
    def in_sheets(self) -> bool:
        """Whether the focused program is one with sheets. No accessibility tree is read."""
        return Path(self._owner().executable).name in SHEETS


def focus_in(tree: ElementTree, pid: int) -> Focus:
    """Return the focused control in the window of a process."""
    app = _application(tree, pid)
    if app is None or app.how == "none" or tree.is_late(pid):
        return Focus("unknown")
    focused = [each for each in tree.elements if each.pid == pid and FOCUSED in each.states]
    focused = [each for each in focused if ACTIVE in tree.window_of(each).states] or focused
    # Qt also reports the current tab as focused.
    focused = [each for each in focused if each.role != "tab" or not tree.is_current_entry(each)] or focused
    of_list = field_of_list(tree, focused)
    writable = [each for each in focused if _takes_text(each)] or ([] if of_list is None else [of_list])
    if writable:
        is_qt_spin = writable[-1].role == SPIN_BUTTON and app.toolkit.lower().startswith("qt")
        found = replace(_field(tree, writable[-1]), qt_spin=is_qt_spin)
        if writable == [of_list] and found.kind == "field" and not found.empty and is_near_list_only(tree, writable[0]):
            return replace(found, kind="unknown")  # the keys that clear a field would change the entries of the list
        return found
    # Qt still reports the current item of a list as focused when another control has the keyboard.
    controls = [each for each in focused if each.role not in ITEMS]
    known = [each for each in controls if each.role in NO_TEXT]
    if known:
        return _control(app, known[-1])
    if controls:
        sheet = app.name == GNUMERIC and controls[-1].role == "panel"
        read_only = READ_ONLY in controls[-1].states
        kind: Kind = "cell" if sheet else "no text" if read_only else "unknown"
        return Focus(kind, _name(controls[-1]), tells=True)
    if (opened := _open_list(tree, pid, focused)) is not None:
        return Focus("no text", _name(opened), tells=True)
    if focused and app.toolkit.lower().startswith("qt"):
        # Qt does not report the editor of a cell that is open for editing.
        cells = [each for each in focused if each.role == "cell"]
        above = [next((up for up in tree.ancestors(each) if up.role in CONTAINERS), None) for each in cells]
        boxes = tuple(each.box for each in above if each is not None and each.on_screen)
        return Focus("unknown", tells=True, one_line=bool(cells), tables=boxes if all(above) else ())
    if focused:
        return Focus("cell" if focused[-1].role == "cell" else "no text", _name(focused[-1]), tells=True)
    return Focus("unknown", tells=True)


def _application(tree: ElementTree, pid: int) -> Application | None:
    return next((each for each in tree.applications if each.pid == pid), None)


def _takes_text(element: Element) -> bool:
    if element.role in CONTAINERS:
        return False
    sheet = element.role == "cell" and "transient" in element.states
    return element.protected or element.role == SPIN_BUTTON or (EDITABLE in element.states and not sheet)


def _open_list(tree: ElementTree, pid: int, focused: list[Element]) -> Element | None:
    """Return the combo box or the menu whose open list has the keyboard: typing there chooses an entry.

    Qt reports the current entry of a combo box as focused. GTK reports no focus while a menu is open. A page may show
    the entries of its menus all the time.
    """
    for each in focused:
        boxes = [above for above in tree.ancestors(each) if above.role == "combo box"]
        if boxes and each.on_screen and each.role in OPTIONS:
            return boxes[0]
    for each in tree.elements if not focused else ():
        above = tree.ancestors(each) if each.pid == pid and each.on_screen and each.role in MENU_ITEMS else []
        if above and above[0].role in MENUS and not any(up.role == "document" for up in above):
            return above[0]
    return None


def _field(tree: ElementTree, element: Element) -> Focus:
    above = tree.ancestors(element)
    page = next((each for each in above if each.role == "document"), None)
    if element.role == "terminal":
        return Focus("terminal", "a terminal", tells=True)
    if element.role in PARAGRAPHS and page is not None and element.application == OFFICE:
        cell = above[0]
        if cell.role == "panel" and any(map(_is_sheet, tree.below(page))):
            return Focus("edited cell", cell.name, office=True, place=cell.name, value=element.value, tells=True)
        return Focus("document", "a document", tells=True)
    if element.role == SPIN_BUTTON and page is not None:
        return Focus("segment" if _is_segment(tree, element) else "field", _name(element), tells=True)
    if page is not None and _is_surely_empty(tree, element):
        return Focus("field", _name(element), tells=True, empty=True)
    # A sheet in a page may receive its keys in an invisible empty field, or report its cells as editable.
    unsure = page is not None and not element.protected and (not element.value or element.role == "cell")
    one_line = "multi line" not in element.states and (
        any(each.role in CONTAINERS for each in above) or (page is None and "single line" in element.states)
    )
    return Focus("unknown" if unsure else "field", _name(element), tells=True, one_line=one_line)


def _is_surely_empty(tree: ElementTree, element: Element) -> bool:
    """Return whether a field of a page is in view and its program told that it has no characters.

    A field without a value may also hold blanks, or a text that was not read.
    The invisible field in which a sheet receives its keys lies over a cell or out of view, is tiny, or has no name.
    """
    box, kin = element.box, {each.id for each in (*tree.ancestors(element), *tree.below(element))}
    is_plain = element.role in ("text field", "combo box") and element.name and not element.protected
    is_empty = EMPTY in element.states and not element.value
    if not is_plain or not is_empty or "multi line" in element.states or not element.on_screen:
        return False
    over = (each for each in tree.elements if each.role in CELL_AREAS and each.on_screen and each.id not in kin)
    return min(box.width, box.height) >= LOWEST_FIELD and not any(each.box.intersects(box) for each in over)


def _is_segment(tree: ElementTree, element: Element) -> bool:
    """Return whether a spin button is a part of a date or time field: its group has others, and none is editable."""
    group = [each for each in tree.elements if each.parent == element.parent and each.role == SPIN_BUTTON]
    return len(group) > 1 and not any(EDITABLE in each.states for each in group)


def _control(app: Application, control: Element) -> Focus:
    if _is_sheet(control):
        return Focus("cell", "a cell of a sheet", office=app.name == OFFICE, tells=True)
    # Typing in a table of GTK looks for a row, and in a table of Java adds to the text of the cell.
    replaces = control.role == "table" and not app.toolkit.lower().startswith(("gtk", "j2se"))
    return Focus("cell" if replaces else "no text", _name(control), tells=True)


def _is_sheet(element: Element) -> bool:
    return element.role == "table" and element.states >= {EDITABLE, MANAGES}


def _name(element: Element) -> str:
    return f"the {element.role} ‘{element.name}’" if element.name else f"a {element.role or 'control'}"
