"""Join the trees of all programs into one tree, with boxes on the screen. `assemble_tree` is the main function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.application import Application
from holo_tasks.accessibility.drawn_areas import with_drawn_areas
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import (
    Extents,
    View,
    WindowScale,
    are_plausible,
    fit,
    list_fit,
    place,
    popup_fit,
)
from holo_tasks.accessibility.swing import ROOT_PANE, corrected_extents, is_swing, role_name_value
from holo_tasks.accessibility.toolkits import why_no_elements
from holo_tasks.accessibility.words_beside import with_words_beside
from holo_tasks.core.elements import elements
from holo_tasks.core.elements.elements import COVERED, NOWHERE, TOO_LATE, Element, ElementTree
from holo_tasks.core.elements.typed_field import EMPTY, INVALID_ENTRY
from holo_tasks.core.screen.geometry import Box

MISFITS = "its windows are at other positions than it reports"
NOBODY = "No program on this screen reports its elements, so the screen can be read only as a picture."

SCROLLED = {"scroll pane", "viewport", "document", "internal frame"}
"""Roles whose box clips their descendants, whatever extents these report."""
PAGE = "document"
"""Chromium's role of the page in its window."""
POPPED_UP = {"menu", "popup menu", "combo box", "tool tip", "dialog"}
"""Roles whose descendants may show anywhere on the screen."""
POPOVER = "GtkPopover"
"""GTK 4's name of a popup without a name."""


_Values: TypeAlias = tuple[str, str, frozenset[str], Box, int, str, bool, str]


@dataclass(frozen=True, slots=True)
class _Part:
    """A window of a program: the indexes of its elements in the program's list, and its fit to the screen.

    ``others`` has the indexes of all windows of a program of GTK 4 in `View.windows`; it is empty for other programs.
    """

    app: Application
    places: Sequence[int]
    fit: WindowScale | None
    others: frozenset[int]

    @property
    def level(self) -> int:
        return -1 if self.fit is None else self.fit.level


def assemble_tree(found: Sequence[Application], view: View) -> ElementTree:
    """Return one tree of these programs. Elements of the topmost windows come last.

    ``why_not`` of the tree names programs whose elements are missing or not complete.
    """
    parts: list[_Part] = []
    reported: list[elements.Application] = []
    for app in found:
        its = _parts(app, view)
        misfits = any(part.fit is None and app.nodes[part.places[0]].states & protocol.SHOWING for part in its)
        note = (TOO_LATE if app.late else "") or app.note or (MISFITS if misfits else "")
        how = app.how if app.nodes else "none"
        scale = next((part.fit.factor for part in its if part.fit is not None), 1.0)
        reported.append(elements.Application(app.name, app.pid, app.toolkit, how, round(app.took_ms, 1), note, scale))
        parts += (part for part in its if view.bound is None or _is_within(part, view))
    merged: list[Element] = []
    swing = {app: corrected_extents(app.nodes) for app in found if is_swing(app.toolkit)}
    for part in sorted(parts, key=lambda part: part.level):
        merged += _elements_of_window(part, len(merged), view, swing.get(part.app, ()))
    silent: dict[int, str] = {window.pid: window.title for window in view.windows if window.pid}
    for app in found:
        silent.pop(app.pid, None)
    has_reports = merged or any(app.note for app in reported)
    reported += (
        elements.Application(title, pid, "", "none", note=why_no_elements(pid)) for pid, title in silent.items()
    )
    notes = [f"{app.name or f'Process {app.pid}'}: {app.note}." for app in reported if app.note]
    why_not = " ".join(notes if has_reports else [NOBODY, *notes])
    return ElementTree(tuple(merged), tuple(reported), complete=not notes and bool(merged), why_not=why_not)


def _parts(app: Application, view: View) -> list[_Part]:
    """Return the windows of a program. Other toolkits than GTK 4 report menus as parts of the window behind them."""
    fits = [(places, _fit(app, places, view)) for places in _windows(app.nodes)]
    levels = frozenset(found.level for _, found in fits if found is not None and app.in_window)
    return [_Part(app, places, found, levels) for places, found in fits]


def _is_within(part: _Part, view: View) -> bool:
    """Return whether a window reaches into the part of the screen whose elements are reported."""
    return part.fit is not None and view.windows[part.level].framed.intersects(view.area)


def _windows(nodes: Sequence[Node]) -> list[list[int]]:
    """Return for each window of a program the indexes of its elements, the window's own first."""
    found: dict[int, list[int]] = {}
    top: list[int] = []
    for place_in, node in enumerate(nodes):
        top.append(place_in if node.parent < 0 else top[node.parent])
        found.setdefault(top[-1], []).append(place_in)
    return list(found.values())


def _fit(app: Application, places: Sequence[int], view: View) -> WindowScale | None:
    """Return the fit of a window, in Java by its root pane, because Java's windows report no or wrong extents."""
    window = app.nodes[places[0]]
    inside = [node for node in (app.nodes[each] for each in places[1:2]) if node.role == ROOT_PANE]
    extents = (*inside, window)[0].extents
    if extents is None:
        return None
    return fit(extents, window.name, app.pid, view.windows, in_window=app.in_window)


def _elements_of_window(part: _Part, first: int, view: View, swing: Sequence[Extents | None]) -> list[Element]:
    """Return a window's elements with their boxes; their ids start at ``first``.

    ``swing`` holds the corrected extents of all elements of a Java program. It is empty for other programs.
    """
    app, ids, made = part.app, {-1: -1}, []
    panes: dict[int, Box | None] = {-1: None}
    fits, roles = {-1: part.fit}, {-1: ""}
    page = _page_fit(part)
    for number, place_in in enumerate(part.places, first):
        node = app.nodes[place_in]
        ids[place_in] = number
        above = app.nodes[node.parent] if node.parent >= 0 else None
        popup = None
        if app.in_window and above is not None:
            popup = _popup(node, above, app.pid, view)
        elif node.role == "menu" and above is not None and above.role == "combo box":
            popup = _open_list(part, place_in, fits[node.parent], view)
        fits[place_in] = popup or (page if page and node.role == PAGE else fits[node.parent])
        role, name, value = role_name_value(node, roles[node.parent]) if swing else (node.role, node.name, node.value)
        roles[place_in], extents = role, swing[place_in] if swing else node.extents
        box, covered = _box(fits[place_in], part, node, extents, view)
        pane = None if popup and app.in_window else panes[node.parent]
        if pane is not None:
            box = box.intersection(pane) or NOWHERE
        if node.role in POPPED_UP and node.parent >= 0 and not (popup and app.in_window):
            pane = NOWHERE if app.in_window else None  # GTK 4 reports positions relative to the popup
        panes[place_in] = NOWHERE if _is_hidden_view(node) else box if node.role in SCROLLED else pane
        states = protocol.state_names(node.states)
        if covered:
            states |= {COVERED}
        if node.is_empty:
            states |= {EMPTY}
        if node.is_outside:
            states |= {INVALID_ENTRY}
        node.seen = box
        shortcut = node.shortcut or ""
        reported = role, name, states, box, ids[node.parent], value, node.protected, shortcut
        node.element = _updated_element(node.element, number, reported, app)
        made.append(node.element)
    return with_words_beside(with_drawn_areas(made, first))


def _page_fit(part: _Part) -> WindowScale | None:
    """Return the fit of a Chromium page whose window reports scaled pixels, else ``None``.

    Chromium reports its windows and controls in its own pixels, but the elements of a page in screen pixels.
    """
    if part.fit is None or part.fit.factor == 1 or not _is_chromium(part.app):
        return None
    return WindowScale(1.0, 0.0, 0.0, part.fit.level)


def _updated_element(before: Element | None, number: int, reported: _Values, app: Application) -> Element:
    """Return an element with these values; ``before`` itself if it has them already."""
    role, name, states, box, parent, value, protected, shortcut = reported
    if before is not None and (before.id, before.application) == (number, app.name):
        then = before.role, before.name, before.states, before.box, before.parent, before.value
        if (*then, before.protected, before.shortcut) == reported:
            return before
    return Element(number, role, name, states, box, parent, app.name, app.pid, value, protected, shortcut)


def _popup(node: Node, above: Node, pid: int, view: View) -> WindowScale | None:
    """Return the fit of the elements in a popup of GTK 4; ``None`` if the node is not an open popup."""
    may_be = node.role in POPPED_UP or above.role in POPPED_UP or node.name.startswith(POPOVER)
    if not may_be or node.extents is None or above.extents is None:
        return None
    return popup_fit(node.extents, above.extents, pid, view.windows)


def _open_list(part: _Part, place_in: int, around: WindowScale | None, view: View) -> WindowScale | None:
    """Return the fit of the options in an open list of Chromium, or ``None`` if they need no fit of their own.

    A page may move its list after it was opened. Chromium then reports the options where they were before.
    """
    if around is None or around.factor != 1 or not _is_chromium(part.app):
        return None
    nodes = (part.app.nodes[each] for each in part.places)
    return list_fit([each.extents for each in nodes if each.parent == place_in], part.app.pid, view.windows)


def _is_chromium(app: Application) -> bool:
    return app.toolkit.lower().startswith("chrom")


def _is_hidden_view(node: Node) -> bool:
    """Return whether a node is a list, tree or table that is not drawn, such as the one of a closed combo box in Qt.

    Qt reports such a view and its items as showing. The view then reports no size, and the items the place that they
    had in it.
    """
    return bool(node.states & protocol.MANAGES) and node.extents is not None and node.extents[2:] == (0, 0)


def _box(fit: WindowScale | None, part: _Part, node: Node, extents: Extents | None, view: View) -> tuple[Box, bool]:
    """Return an element's box, and whether another window covers it; ``NOWHERE`` if it has no place on the screen."""
    if fit is None or extents is None or not node.states & protocol.SHOWING or not are_plausible(extents):
        return NOWHERE, False
    above = tuple(level for level in part.others if level > fit.level)
    box, covered = place(fit.on_screen(extents), part.app.pid, view.windows, view.area, above)
    return box or NOWHERE, covered
