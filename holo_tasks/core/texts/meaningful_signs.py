"""Compare the signs of two texts that have the same letters and digits, such as *A+* and *A-*, or *5* and *-5*.

Other punctuation is decoration: the dots of a menu entry, a colon, the ``*`` of a required field, the icon *+* before
a word. OCR loses it, and it adds or loses spaces. So a sign counts only next to its word, or if the other text has
another sign in its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

_DASHES = str.maketrans("−–—‐", "----")
_AFTER = re.compile(r"([^\W_]+)( ?)(\+[-+]*|#+|%|-)(?=(\w?))")
_BEFORE = re.compile(r"(?<!\w)([<>]=|[-+<>≤≥±])( ?)(?=\d)|(?<=\w)([-+<>≤≥±])(?=\d)")
_CURRENCY = re.compile(r"[€$£¥%]")
_ANY = re.compile("[-+#%<>≤≥±€$£¥]")
_ENDS = re.compile(r" ?[-+#%]+(?!\w)")
_BEGINS = re.compile(r"(?:(?<!\w)[-+±]|[<>≤≥±]=? ?)$")
LONGEST_GRADE = 3
"""The most letters of a word whose last sign may be a minus, as in *BBB-*."""


def signs_differ(one: str, other: str) -> bool:
    """Return whether two texts with the same letters and digits mean different things, because of their signs."""
    if not (_ANY.search(one.translate(_DASHES)) or _ANY.search(other.translate(_DASHES))):
        return False
    mine, theirs = _signs(one), _signs(other)
    currencies = [{*_CURRENCY.findall(text)} for text in (one, other)]
    return (all(currencies) and currencies[0] != currencies[1]) or any(
        not (_is_part(sure, there) and _is_part(also, here)) or (len(here) == len(there) and here != there)
        for (sure, here), (also, there) in zip(mine, theirs, strict=True)
    )


def keeps_signs(value: str, text: str) -> bool:
    """Return whether a value is in a text with its own signs: *A+* is not in *Grade: A-*, and *C* is not in *C++*."""
    value, text = (unicodedata.normalize("NFC", each).translate(_DASHES) for each in (value, text))
    words = [re.escape(word) for word in re.findall(r"[^\W_]+", value)]
    pattern = r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])"
    pieces = [_with_signs(text, found) for found in re.finditer(pattern, text, re.IGNORECASE)] if words else []
    return not pieces or not all(signs_differ(value, piece) for piece in pieces)


def _with_signs(text: str, found: re.Match[str]) -> str:
    before, after = _BEGINS.search(text[: found.start()]), _ENDS.match(text[found.end() :])
    return (before[0] if before else "") + found[0] + (after[0] if after else "")


@lru_cache(maxsize=4096)
def _signs(text: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return the signs after words and those before numbers: first the ones that count, then all of them."""
    text = re.sub(r"(?<=\+) (?=\+)", "", text.translate(_DASHES)).strip()
    after, before = [*_AFTER.finditer(text)], [*_BEFORE.finditer(text)]
    sure_after = (each[3] for each in after if not each[2] and not each[4] and _counts(each, text))
    sure_before = (each[1] for each in before if each[1] and (not each[2] or each[1] not in "+-"))
    return (
        (tuple(sure_after), tuple(each[3] for each in after)),
        (tuple(sure_before), tuple(each[1] or each[3] for each in before)),
    )


def _counts(sign: re.Match[str], text: str) -> bool:
    """Return whether a sign right after a word belongs to it. A minus may be a dash, but not after a grade."""
    is_grade = sign[1].isalpha() and len(sign[1]) <= LONGEST_GRADE and sign.end(3) == len(text)
    return sign[3] != "-" or is_grade


def _is_part(signs: Sequence[str], of: Sequence[str]) -> bool:
    """Return whether signs are in a longer series, in the same order."""
    rest: Iterator[str] = iter(of)
    return all(sign in rest for sign in signs)
