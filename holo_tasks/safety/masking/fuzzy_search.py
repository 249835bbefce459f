"""Approximate search for known secrets and names in OCR text.

It allows for confused, missing and spaced characters. `masking.texts` uses it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_CONFUSED = str.maketrans("oqdil|!jzsbg9$uw", "00011111258665vv")
"""Characters that OCR confuses, each group mapped to one character: 0 O Q D, 1 I l | ! j, 2 Z, 5 S $, 8 B, 6 G 9, u v
w.
"""
_IGNORED = set(" \t\n.,;:'`´’‘\"“”-–—_·~^°")
"""Characters that OCR often loses or invents, so they are ignored."""
_LONGEST_EXACT, _CHARACTERS_PER_ERROR = 4, 5
"""A secret of at most `_LONGEST_EXACT` characters must match without errors after folding.

A longer secret may have one error per `_CHARACTERS_PER_ERROR` characters. `texts` searches a shorter one, of less than
four characters, as a whole word instead.
"""
_PIECE_LENGTH = 8
"""Number of consecutive characters of a longer secret that count as a leak.

A field may show only the end of a text, for example.
"""


@dataclass(frozen=True)
class Folded:
    """A text in which confused characters are the same, and the range of the original text for each character."""

    text: str
    places: tuple[tuple[int, int], ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original text for a range of the folded text."""
        return self.places[start][0], self.places[end - 1][1]


def folded_secret(text: str) -> Folded:
    """Fold a text for the search of secrets.

    Confused characters become equal; spaces and small punctuation are removed.
    """
    return _folded(text, lambda character: character not in _IGNORED, _CONFUSED)


def folded_name(text: str) -> Folded:
    """Fold a text for the search of names: without accents, case, spaces and punctuation."""
    return _folded(text, str.isalpha, {})


def _folded(text: str, keeps: Callable[[str], bool], same: dict[int, int]) -> Folded:
    kept: list[str] = []
    places: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        for plain in unicodedata.normalize("NFKD", character.casefold()):
            if not unicodedata.combining(plain) and keeps(plain):
                if plain == "n" and kept[-1:] == ["r"]:  # OCR confuses "rn" with "m"
                    kept[-1], places[-1] = "m", (places[-1][0], place + 1)
                    continue
                kept.append(plain.translate(same))
                places.append((place, place + 1))
    return Folded("".join(kept), tuple(places))


def secret_in(secret: str, seen: Folded) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the original text that hold a secret, or a long piece of a secret."""
    yield from folded_secret_in(folded_secret(secret).text, seen)


def folded_secret_in(wanted: str, seen: Folded, *, without_errors: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the original text that hold ``wanted``, a folded secret, or one of its long pieces.

    With ``without_errors``, only the whole secret counts, and all its folded characters must match.
    """
    if not wanted:
        return
    allowed = 0 if without_errors or len(wanted) <= _LONGEST_EXACT else max(1, len(wanted) // _CHARACTERS_PER_ERROR)
    for start, end in approximate(wanted, seen.text, allowed):
        yield seen.span(start, end)
    if len(wanted) > _PIECE_LENGTH and not without_errors:
        for n in range(len(wanted) - _PIECE_LENGTH + 1):
            piece, start = wanted[n : n + _PIECE_LENGTH], -1
            while (start := seen.text.find(piece, start + 1)) >= 0:
                yield seen.span(start, start + _PIECE_LENGTH)


def name_in(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text that hold a name as whole words, with the last name at the end or at the beginning.

    Spaces are ignored in the search. A range counts only if no letter stands directly before or after it. For names of
    more than 12 letters this is not required.
    """
    seen, parts = folded_name(text), name.split()
    for order in {tuple(parts), tuple(parts[-1:] + parts[:-1])}:
        wanted = folded_name(" ".join(order)).text
        allowed = len(wanted) // 8
        for start, end in approximate(wanted, seen.text, allowed) if wanted else ():
            first, last = seen.span(start, end)
            whole = not (text[first - 1 : first].isalpha() or text[last : last + 1].isalpha())
            if whole or (allowed and len(wanted) > 12):
                yield first, last


def approximate(wanted: str, text: str, allowed: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text that match with at most ``allowed`` wrong, missing or extra characters.

    This is Sellers' algorithm. The fuzzy patterns of `regex` are not used, because they return only one of several
    overlapping matches. Here the time is bounded by the product of both lengths.
    """
    if allowed == 0:
        start = -1
        while (start := text.find(wanted, start + 1)) >= 0:
            yield start, start + len(wanted)
        return
    # With so few errors, at least one piece of the text must match exactly.
    size = len(wanted) // (allowed + 1)
    if not any(wanted[n * size : (n + 1) * size] in text for n in range(allowed + 1)):
        return
    # Each cell holds the number of errors and the start of the match.
    before = [(cost, 0) for cost in range(len(wanted) + 1)]
    for end, character in enumerate(text, start=1):
        row = [(0, end)]
        for n, letter in enumerate(wanted, start=1):
            diagonal, left, above = before[n - 1], row[n - 1], before[n]
            row.append(
                min(
                    (diagonal[0] + (letter != character), diagonal[1]),
                    (above[0] + 1, above[1]),
                    (left[0] + 1, left[1]),
                    key=lambda cell: cell[0],
                )
            )
        cost, start = row[-1]
        if cost <= allowed and start < end:
            yield start, end
        before = row
