"""Parse the keyboard shortcuts of menu entries, which each toolkit writes in its own format."""

from __future__ import annotations

import re

MODIFIERS = {"primary": "Ctrl", "control": "Ctrl", "ctrl": "Ctrl", "alt": "Alt", "shift": "Shift", "super": "Super"}
LONGEST = 200
_SIGNED = re.compile(r"<([A-Za-z]+)>")
_KEY = re.compile(r"[^\s+;<>]|\+|[A-Za-z_]{2,12}|F\d{1,2}")
_ALONE = re.compile(r"F\d{1,2}|Delete|Del|Insert|Ins|Home|End|Page_Up|Page_Down|PgUp|PgDown|Escape|Esc")


def shortcut_of(reported: str) -> str:
    """Return a program's key binding as ``Ctrl+S``; empty if it is invalid or only opens the entry in its menu.

    GTK gives three values with semicolons between them: the letter in the open menu, the keys that lead there, and the
    shortcut. Other toolkits give the shortcut only.
    """
    if len(reported) > LONGEST:
        return ""
    written = _SIGNED.sub(lambda sign: f"{sign[1]}+", reported.split(";")[-1]).strip()
    before, _, last = written.rpartition("+")
    key = last or ("+" if before.endswith("+") else "")
    held = [MODIFIERS.get(each.strip().lower(), "") for each in before.split("+") if each.strip()]
    if not all(held) or len(held) > 3 or not _KEY.fullmatch(key) or not key.isprintable():
        return ""
    if not held and not _ALONE.fullmatch(key):
        return ""
    return "+".join([*held, key.upper() if len(key) == 1 else key])
