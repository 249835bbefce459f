"""Reuse certain texts for the same letters in a box with another margin.

The detector's boxes around one text differ by some pixels from picture to picture. `KnownLetters` is used by
`ocr_reader`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holo_tasks.vision.ocr import Ocr, Pixels

SURE, LEAST_LETTERS = 0.9, 3
"""Confidence and length from which a text is reused. A single sign may need its place in the row: a comma is a low
apostrophe.
"""
_KNOWN_LETTERS = 4096


class KnownLetters:
    """Reads pieces with an engine, and caches certain texts by the pixels of their letters."""

    def __init__(self, ocr: Ocr) -> None:
        self._ocr = ocr
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def read(self, piece: Pixels) -> tuple[str, float]:
        """Return the text of a piece of a picture, and the confidence from 0 to 1."""
        key = _letters_key(piece)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        found = self._ocr.read(piece)
        if found[1] >= SURE and len(found[0]) >= LEAST_LETTERS:
            self._known[key] = found
            if len(self._known) > _KNOWN_LETTERS:
                self._known.popitem(last=False)
        return found


def _letters_key(piece: Pixels) -> bytes:
    """Return the cache key of a piece without its margin: the rows and columns at the edges that have only one color.

    The color of the margin is a part of the key.
    """
    ground = piece[0, 0]
    drawn = (piece != ground).any(axis=2)
    rows, columns = drawn.any(axis=1).nonzero()[0], drawn.any(axis=0).nonzero()[0]
    letters = piece[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] if len(rows) else piece
    shape = repr((letters.shape, ground.tolist())).encode()
    return hashlib.blake2b(letters.tobytes(), digest_size=16).digest() + shape
