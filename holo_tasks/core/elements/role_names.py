"""Names of the roles of elements: those of toolkits and of ARIA become one name each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "push button": "button",
        "push button menu": "button",
        "entry": "text field",
        "text": "text field",
        "textbox": "text field",
        "text box": "text field",
        "editbar": "text field",
        "password text": "password field",
        "password": "password field",
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
"""Role names of toolkits, ARIA and users, and the names used here. All other roles keep their AT-SPI names."""


def role_of(reported: str) -> str:
    """Return the name used here for a role of a toolkit, ARIA or a user."""
    plain = " ".join(reported.replace("-", " ").replace("_", " ").casefold().split())
    return ROLES.get(plain, plain)
