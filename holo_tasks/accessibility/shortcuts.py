"""The keys that entries of menus say they go by: each toolkit writes them in its own way."""

from __future__ import annotations

import re

MODIFIERS = {"primary": "Ctrl", "control": "Ctrl", "ctrl": "Ctrl", "alt": "Alt", "shift": "Shift", "super": "Super"}
LONGEST = 200
_SIGNED = re.compile(r"<([A-Za-z]+)>")
_KEY = re.compile(r"[^\s+;<>]|\+|[A-Za-z_]{2,12}|F\d{1,2}")
_ALONE = re.compile(r"F\d{1,2}|Delete|Del|Insert|Ins|Home|End|Page_Up|Page_Down|PgUp|PgDown|Escape|Esc")


def shortcut_of(told: str) -> str:
    """Return the keys of what a program tells of them, as ``Ctrl+S``; empty for what are no keys, or leads a menu only.

    GTK tells three things, with semicolons between: the letter in the open menu, the way there, and the shortcut.
    Others tell the shortcut alone.
    """
    if len(told) > LONGEST:
        return ""
    written = _SIGNED.sub(lambda sign: f"{sign[1]}+", told.split(";")[-1]).strip()
    before, _, last = written.rpartition("+")
    key = last or ("+" if before.endswith("+") else "")
    held = [MODIFIERS.get(each.strip().lower(), "") for each in before.split("+") if each.strip()]
    if not all(held) or len(held) > 3 or not _KEY.fullmatch(key) or not key.isprintable():
        return ""
    if not held and not _ALONE.fullmatch(key):
        return ""
    return "+".join([*held, key.upper() if len(key) == 1 else key])
