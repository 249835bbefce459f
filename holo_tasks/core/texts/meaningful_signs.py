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
from itertools import product

_SAME = str.maketrans("−–—‐‹›", "----<>")
_AFTER = re.compile(r"(?<![^\W_])([^\W_]+)( ?)(\+[-+]*|#+|%|-)(?=(\w?))")
_BEFORE = re.compile(r"(?<!\w)([<>]=|[-+<>≤≥±])( ?)(?=(?:[€$£¥] ?)?\d)|(?<=\w)([-+<>≤≥±])(?=\d)")
_CURRENCY = re.compile(r"[€$£¥%]")
_ANY = re.compile("[-+#%<>≤≥±€$£¥]")
_ENDS = re.compile(r" ?[-+#%]+(?!\w)")
_BEGINS = re.compile(r"(?:(?<!\w)[-+](?:[€$£¥] ?)?|[<>≤≥±]=? ?)$")
_AMOUNT = re.compile(r"\d[.,]\d\d-")
_ARROWS = "+-<>"
"""Signs that are often no part of the number after a space, as in *Orders > 12* and *< 2026 >*."""
LONGEST_GRADE = 3
"""The most capitals of a word whose last sign may be a minus, as in *BBB-*."""


def signs_differ(one: str, other: str) -> bool:
    """Return whether two texts with the same letters and digits mean different things, because of their signs."""
    one, other = _unified(one), _unified(other)
    if not (_ANY.search(one) or _ANY.search(other)):
        return False
    currencies = [{*_CURRENCY.findall(text)} for text in (one, other)]
    return (all(currencies) and currencies[0].isdisjoint(currencies[1])) or any(
        not (_is_part(sure, there) and _is_part(also, here)) or (len(here) == len(there) and here != there)
        for (sure, here), (also, there) in zip(_signs(one), _signs(other), strict=True)
    )


def keeps_signs(value: str, label: str, text: str) -> bool:
    """Return whether a value that a label with ``*`` has is in a text with the same signs.

    *A+* is not in *Grade: A-*, and *C* is not in *C++*. A percent sign after the value may be a part of the ``*``.
    """
    value, label, text = _unified(value), _unified(label), _unified(text)
    words = [re.escape(word) for word in re.findall(r"[^\W_]+", value)]
    if not words or not (_ANY.search(label) or _ANY.search(text)):
        return True
    pattern = re.compile(r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])", re.IGNORECASE)
    wanted, seen = ([_with_signs(each, found) for found in pattern.finditer(each)] for each in (label, text))
    pairs = ((one, other if "%" in one else other.rstrip(" %")) for one, other in product(wanted, seen))
    return not (wanted and seen) or not all(signs_differ(one, other) for one, other in pairs)


def _with_signs(text: str, found: re.Match[str]) -> str:
    before, after = _BEGINS.search(text[: found.start()]), _ENDS.match(text[found.end() :])
    return (before[0] if before else "") + found[0] + (after[0] if after else "")


@lru_cache(maxsize=4096)
def _unified(text: str) -> str:
    """Return a text with one form of each space, dash and arrow."""
    return unicodedata.normalize("NFKC", text).translate(_SAME)


@lru_cache(maxsize=4096)
def _signs(text: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return the signs after words and those before numbers: first the ones that count, then all of them."""
    text = re.sub(r"(?<=\+) (?=\+)", "", text).strip()
    after, before = [*_AFTER.finditer(text)], [*_BEFORE.finditer(text)]
    sure_after = (each[3] for each in after if not each[2] and not each[4] and _counts(each, text))
    sure_before = (each[1] for each in before if each[1] and (not each[2] or each[1] not in _ARROWS))
    return (
        (tuple(sure_after), tuple(each[3] for each in after)),
        (tuple(sure_before), tuple(each[1] or each[3] for each in before)),
    )


def _counts(sign: re.Match[str], text: str) -> bool:
    """Return whether a sign right after a word belongs to it.

    A minus may be a dash, but not at the end of a text after a grade, or after an amount such as *5.00-*.
    """
    if sign[3] != "-":
        return True
    is_grade = sign[1].isupper() and sign[1].isalpha() and len(sign[1]) <= LONGEST_GRADE
    return sign.end(3) == len(text) and (is_grade or _AMOUNT.search(text, max(0, sign.end(3) - 5)) is not None)


def _is_part(signs: Sequence[str], of: Sequence[str]) -> bool:
    """Return whether signs are in a longer series, in the same order."""
    rest: Iterator[str] = iter(of)
    return all(sign in rest for sign in signs)
