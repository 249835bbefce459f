"""Names of keys, and the keysym for every key and character."""

from __future__ import annotations

from holo_tasks.core.errors import InvalidUsage

RETURN, TAB, ESC = 0xFF0D, 0xFF09, 0xFF1B
SHIFT, CONTROL, CAPS_LOCK = 0xFFE1, 0xFFE3, 0xFFE5
HOME, END, DELETE = 0xFF50, 0xFF57, 0xFFFF
LEFT, RIGHT, F2 = 0xFF51, 0xFF53, 0xFFBF
LOCKS = frozenset((CAPS_LOCK, 0xFF7F, 0xFF14))

MODIFIERS = {
    "ctrl": CONTROL,
    "alt": 0xFFE9,
    "shift": SHIFT,
    "super": 0xFFEB,
    "altgr": 0xFE03,
}
NAMED = {
    **MODIFIERS,
    "enter": RETURN,
    "esc": ESC,
    "tab": TAB,
    "space": 0x20,
    "backspace": 0xFF08,
    "delete": DELETE,
    "insert": 0xFF63,
    "home": HOME,
    "end": END,
    "pageup": 0xFF55,
    "pagedown": 0xFF56,
    "left": LEFT,
    "up": 0xFF52,
    "right": RIGHT,
    "down": 0xFF54,
    "printscreen": 0xFF61,
    "pause": 0xFF13,
    "menu": 0xFF67,
    "capslock": CAPS_LOCK,
    "numlock": 0xFF7F,
    "scrolllock": 0xFF14,
    **{f"f{n}": 0xFFBD + n for n in range(1, 25)},
}
ALIASES = {
    "control": "ctrl",
    "ctl": "ctrl",
    "ctrlleft": "ctrl",
    "option": "alt",
    "altleft": "alt",
    "shiftleft": "shift",
    "win": "super",
    "windows": "super",
    "cmd": "super",
    "command": "super",
    "meta": "super",
    "altright": "altgr",
    "return": "enter",
    "escape": "esc",
    "spacebar": "space",
    "bksp": "backspace",
    "back": "backspace",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "prior": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "next": "pagedown",
    "arrowleft": "left",
    "arrowup": "up",
    "arrowright": "right",
    "arrowdown": "down",
    "leftarrow": "left",
    "uparrow": "up",
    "rightarrow": "right",
    "downarrow": "down",
    "print": "printscreen",
    "prtsc": "printscreen",
    "prtscr": "printscreen",
    "apps": "menu",
    "contextmenu": "menu",
    "break": "pause",
    "caps": "capslock",
    "num": "numlock",
    "plus": "+",
    "minus": "-",
    "comma": ",",
    "period": ".",
    "slash": "/",
}


def keysym(name: str) -> int:
    """Return the keysym of a key, given by its name or by the character it types.

    Case, spaces, hyphens and underscores in names are ignored.
    """
    if len(name) == 1 and name.isprintable():
        return of_character(name)
    plain = "".join(letter for letter in name.lower() if letter not in " _-")
    plain = ALIASES.get(plain, plain)
    if plain in NAMED:
        return NAMED[plain]
    if len(plain) == 1 and plain.isprintable():
        return of_character(plain)
    raise InvalidUsage(
        f"There is no key called {name!r}: use one character, or one of "
        f"{', '.join(key for key in NAMED if key not in FUNCTION_KEYS)}, f1 to f24."
    )


FUNCTION_KEYS = frozenset(f"f{n}" for n in range(1, 25))


def of_character(character: str) -> int:
    """Return the keysym of a character (X11 protocol, appendix A)."""
    if character in "\n\r":
        return RETURN
    if character == "\t":
        return TAB
    code = ord(character)
    if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF:
        return code
    if code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        raise InvalidUsage("The text holds a control character or half a character that no key can type.")
    return 0x01000000 + code


def small(keysym: int) -> int:
    """Return the keysym of the lower-case letter for an upper-case one; other keysyms unchanged."""
    if 0x20 <= keysym <= 0xFF or keysym > 0x01000000:
        letter = chr(keysym & 0xFFFFFF).lower()
        return of_character(letter) if len(letter) == 1 else keysym
    return keysym
