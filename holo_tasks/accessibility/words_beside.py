"""Name the check boxes and radio buttons of a page that only have their words beside them: `with_words_beside`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.elements.elements import Element, is_level

SIGNS = frozenset({"check box", "radio button"})
FARTHEST = 24
"""Largest distance in pixels of a control and its words."""


def with_words_beside(made: Sequence[Element]) -> list[Element]:
    """Return a window's elements, in which controls without a name have the words on their right as their name.

    An old page writes ``<input type=radio> Cash``, so nothing connects the two. All controls of such a line need words,
    and the line begins with a control or with a label that ends with a colon. Otherwise the words may be those of the
    next control, as words that end with a colon are.
    """
    names: dict[int, str] = {}
    children: dict[int, list[Element]] = {each.parent: [] for each in made if _is_unnamed(each)}
    for each in made if children else ():
        if each.parent in children and each.on_screen:
            children[each.parent].append(each)
    for parts in children.values():
        for sign in (each for each in parts if _is_unnamed(each) and each.id not in names):
            names |= _names_in(sorted((each for each in parts if is_level(each.box, sign.box)), key=_left))
    return [replace(each, name=names[each.id]) if names.get(each.id) else each for each in made]


def _is_unnamed(element: Element) -> bool:
    return element.role in SIGNS and not element.name and element.on_screen


def _left(element: Element) -> int:
    return element.box.left


def _names_in(line: Sequence[Element]) -> dict[int, str]:
    """Return the words of each control in a line of text, by its id. They are empty unless all of them are certain."""
    signs = [place for place, each in enumerate(line) if each.role in SIGNS]
    begins = signs[0] == 0 or (signs[0] == 1 and line[0].name.rstrip().endswith(":"))
    names = {line[place].id: _words_after(line, place) for place in signs}
    return names if begins and all(names.values()) else dict.fromkeys(names, "")


def _words_after(line: Sequence[Element], place: int) -> str:
    sign, after = line[place], line[place + 1] if place + 1 < len(line) else None
    is_words = after is not None and after.role == "label" and sign.box.gap(after.box) <= FARTHEST
    words = "" if after is None or sign.name or not is_words else " ".join(after.name.split())
    return "" if words.endswith(":") else words
