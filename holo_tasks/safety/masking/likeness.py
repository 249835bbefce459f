"""A text that is known, found in what OCR read: with letters taken for one another, left out, or spaced apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_SAME = str.maketrans("oqdil|!jzsbg9$uw", "00011111258665vv")
"""Characters that are read for one another, as one of them: 0 O Q D, 1 I l | ! j, 2 Z, 5 S $, 8 B, 6 G 9, u v w."""
_UNREAD = set(" \t\n.,;:'`´’‘\"“”-–—_·~^°")
"""Characters that are lost or made up so easily that they say nothing."""
_EXACT, _PER_MISTAKE = 4, 5
"""A text this short must be read right; of a longer one, a character in so many may be wrong."""
_PIECE = 8
"""So many characters in a row give away too much of a long secret, as where a field shows only its end."""


@dataclass(frozen=True)
class Folded:
    """A text with what OCR confuses made the same, and what each of its characters was: from where to before where."""

    text: str
    places: tuple[tuple[int, int], ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the whole text that a part of this one was."""
        return self.places[start][0], self.places[end - 1][1]


def folded_secret(text: str) -> Folded:
    """Fold a text as OCR may confuse it, spaces and small signs left out."""
    return _folded(text, lambda character: character not in _UNREAD, _SAME)


def folded_name(text: str) -> Folded:
    """Fold a name: without accents, case, spaces and signs."""
    return _folded(text, str.isalpha, {})


def _folded(text: str, keeps: Callable[[str], bool], same: dict[int, int]) -> Folded:
    kept: list[str] = []
    places: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        for plain in unicodedata.normalize("NFKD", character.casefold()):
            if not unicodedata.combining(plain) and keeps(plain):
                if plain == "n" and kept[-1:] == ["r"]:  # side by side they are read as one letter
                    kept[-1], places[-1] = "m", (places[-1][0], place + 1)
                    continue
                kept.append(plain.translate(same))
                places.append((place, place + 1))
    return Folded("".join(kept), tuple(places))


def secret_in(secret: str, seen: Folded) -> Iterator[tuple[int, int]]:
    """Return where a secret, or a long piece of it, stands in a text, as places in the whole text."""
    yield from folded_in(folded_secret(secret).text, seen)


def folded_in(wanted: str, seen: Folded, *, exactly: bool = False) -> Iterator[tuple[int, int]]:
    """Return the same for a secret that is folded already; ``exactly`` without any other mistake."""
    if not wanted:
        return
    allowed = 0 if exactly or len(wanted) <= _EXACT else max(1, len(wanted) // _PER_MISTAKE)
    for start, end in approximate(wanted, seen.text, allowed):
        yield seen.span(start, end)
    if len(wanted) > _PIECE and not exactly:
        for n in range(len(wanted) - _PIECE + 1):
            piece, start = wanted[n : n + _PIECE], -1
            while (start := seen.text.find(piece, start + 1)) >= 0:
                yield seen.span(start, start + _PIECE)


def name_in(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Return where a name stands in a text, family name first or last, as whole words."""
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
    """Return where a text is in another with at most so many characters wrong, missing or too many (Sellers).

    Not by a fuzzy pattern of `regex`, which gives one of the places that overlap; here each counts, and the time is
    bounded by the product of both lengths, whatever is on the screen.
    """
    if allowed == 0:
        start = -1
        while (start := text.find(wanted, start + 1)) >= 0:
            yield start, start + len(wanted)
        return
    # With so few mistakes, one of the pieces is there as it is.
    size = len(wanted) // (allowed + 1)
    if not any(wanted[n * size : (n + 1) * size] in text for n in range(allowed + 1)):
        return
    # Each cell: how many mistakes so far, and where the match began.
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
