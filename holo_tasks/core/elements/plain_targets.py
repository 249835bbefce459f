"""Recognize descriptions that give only a role and a name, such as “the Search button”.

Other descriptions, such as “the button next to the date” or “the search button”, need a look at the screen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELDS = ("text field", "password field", "spin button")
_MENU_ITEMS = ("menu item", "check menu item", "radio menu item")
_ROLES = {
    "button": ("button", "toggle button"),
    "push button": ("button",),
    "toggle button": ("toggle button",),
    "link": ("link",),
    "tab": ("tab",),
    "menu": ("menu",),
    "menu item": _MENU_ITEMS,
    "menu entry": _MENU_ITEMS,
    "check box": ("check box",),
    "checkbox": ("check box",),
    "radio button": ("radio button",),
    "combo box": ("combo box",),
    "drop-down": ("combo box",),
    "dropdown": ("combo box",),
    "field": _FIELDS,
    "text field": _FIELDS,
    "input field": _FIELDS,
    "entry field": _FIELDS,
    "text box": _FIELDS,
    "password field": ("password field",),
}
MOST_CHARACTERS = 60
_WORDS = "|".join(sorted(map(re.escape, _ROLES), key=len, reverse=True))
_NAME = r"[‘“\"'](?P<{0}>[^‘’“”\"']+)[’”\"']|(?P<{1}>(?!The )[A-Z0-9À-ÖØ-Þ][^‘“”\",;:()]*)"
_NAME_FIRST = re.compile(rf"(?:[Tt]he )?(?:{_NAME.format('quoted', 'plain')}) (?P<role>{_WORDS})")
_ROLE_FIRST = re.compile(
    rf"(?:[Tt]he )?(?P<role>(?i:{_WORDS}))(?: (?:named|called|labell?ed))? (?:{_NAME.format('quoted', 'plain')})"
)


@dataclass(frozen=True)
class PlainTarget:
    """An element, given by its possible roles and its name."""

    roles: tuple[str, ...]
    name: str


def plain_target(description: str) -> PlainTarget | None:
    """Return the role and name in a description, or ``None`` if it is worded in any other way.

    The name must be in quotation marks, or begin with a capital letter or a digit.
    """
    words = " ".join(description.split()).rstrip(".")
    found = _NAME_FIRST.fullmatch(words) or _ROLE_FIRST.fullmatch(words)
    if found is None:
        return None
    name = (found["quoted"] or found["plain"]).strip()
    return PlainTarget(_ROLES[found["role"].lower()], name) if 0 < len(name) <= MOST_CHARACTERS else None
