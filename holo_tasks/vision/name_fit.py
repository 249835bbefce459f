"""Compare a text that OCR read on a control with the control's name.

`element_check` uses it to find out whether the picture contradicts the accessibility tree.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from holo_tasks.vision.screen_text import ALIKE, LIKENESS, NEGATIONS, digits, plain, without_icon

SHORT, SHORT_LIKENESS = 4, 0.6
"""Letters below which a name is short, and the least likeness of two short names."""
SURE = 0.99
_CUT_OFF = re.compile(r"(?:…|\.\.)\s*$")
_SHORTCUT = re.compile(r"(?:ctrl|shift|alt|super|meta|cmd|f\d+|.*\+.*|\W+|\d+)", re.IGNORECASE)


def agrees(name: str, read: str) -> bool:
    """Return whether a text that was read may be this name."""
    return fit(name, read) >= LIKENESS


def fit(name: str, read: str) -> float:
    """Return from 0 to 1 how well a text that was read fits the name on a control.

    Letters may differ a little. Digits may not, except for those that look like a letter. A keyboard shortcut, a count
    or a symbol may follow the name, and a symbol may precede it. An ellipsis replaces the rest of the name.
    """
    wanted, seen = plain(name), plain(read)
    if not wanted or not seen:
        return 0.0
    if wanted == seen:
        return 1.0
    if _alike(wanted) == _alike(seen):
        return SURE
    if read.rstrip().endswith(("…", "...")) and len(seen) >= SHORT and wanted.startswith(seen):
        return 0.95
    if (
        _with_shortcut(name, read)
        or _with_lettered_icon(name, read)
        or (len(wanted) >= SHORT and not digits(wanted) and seen[1:] == wanted)
    ):
        return 0.95
    if plain(without_icon(read)) == wanted:
        return 0.97
    if digits(wanted) != digits(seen):
        return 0.0
    matcher = SequenceMatcher(None, wanted, seen, autojunk=False)
    if matcher.real_quick_ratio() < SHORT_LIKENESS:
        return 0.0
    ratio = min(0.98, matcher.ratio())
    if min(len(wanted), len(seen)) >= SHORT:
        return ratio
    return max(ratio, LIKENESS) if ratio >= SHORT_LIKENESS and len(wanted) == len(seen) else 0.0


def fit_pressed(name: str, read: str) -> float:
    """Return from 0 to 1 how well a text fits the name on a button or a similar control.

    The line below a letter that is a shortcut makes a Q of an O. A key in a list has no shortcut.
    """
    with_line = plain(without_icon(read).replace("Q", "O")) == plain(name.replace("Q", "O")) != ""
    return max(fit(name, read), 0.95 if with_line else 0.0)


def fit_cut_off(name: str, read: str) -> float:
    """Return from 0 to 1 how well a text with an ellipsis fits the beginning of a name.

    OCR may have taken a letter for one that looks alike. A lost letter may make another name: the ``Vanilla ic…`` of an
    ice cream is not *Vanilla rice*.
    """
    wanted, seen = plain(name), plain(read)
    if wanted == seen != "":
        return 1.0  # a menu or an icon of three dots may follow the name
    if not is_cut_off(read) or not SHORT <= len(seen) <= len(wanted):
        return 0.0
    head = wanted[: len(seen)]
    if head == seen:
        return 0.95
    is_alike = all(
        one == other or any({one, other} <= group for group in ALIKE) for one, other in zip(head, seen, strict=True)
    )
    return 0.94 if digits(head) == digits(seen) and is_alike else 0.0


def is_cut_off(read: str) -> bool:
    """Return whether a text that was read ends with an ellipsis, or with the dots of one that OCR left."""
    return _CUT_OFF.search(read) is not None


def day_in(name: str) -> str:
    """Return the number in the name of a day of a calendar, as in “3” and “Sunday, January 3, 2027”; empty if unclear.

    A day with a year is certain only if the month is a word.
    """
    day, *year = sorted(re.findall(r"\d+", name), key=len) or [""]
    is_day = name.strip() == day if not year else [*map(len, year)] == [4]
    return day if is_day and len(day) <= 2 else ""


def _alike(text: str) -> str:
    """Return the text with one letter in place of each group of letters and digits that look the same."""
    return text.translate(str.maketrans("01il5s8b", "olllssbb"))


def _with_lettered_icon(name: str, read: str) -> bool:
    """Return whether a text is the name after an icon that OCR reads as a short word, such as *V2*.

    Two digits may be a count, and a syllable such as *no* reverses the meaning.
    """
    icon, _, rest = read.strip().partition(" ")
    is_icon = len(icon) <= 2 and icon.isalnum() and not icon.isdigit() and icon.casefold() not in NEGATIONS
    return is_icon and len(plain(name)) >= SHORT and plain(rest) == plain(name)


def _with_shortcut(name: str, read: str) -> bool:
    words, count = read.split(), len(name.split())
    return (
        len(words) > count
        and plain(" ".join(words[:count])) == plain(name)
        and all(_SHORTCUT.fullmatch(word) for word in words[count:])
    )
