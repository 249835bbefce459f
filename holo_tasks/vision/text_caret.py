"""The text cursor right behind what is written in a field: a reader takes it for one more letter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holo_tasks.core.geometry import Box

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

WIDEST = 3
"""A cursor is a bar no wider than this, in pixels."""
BELOW = 2
"""So many pixels it goes below the line that letters stand on; an l or a 1 does not."""
DESCENDERS = frozenset("gjpqy")
_LIKE = 24
"""Levels of a color by which the paper of a field may differ from itself."""
_BEYOND = 4
"""So many pixels beyond a text's box its cursor may be."""


def without_caret(pixels: Pixels, text: str, box: Box, field: Box) -> Pixels | None:
    """Return what is in the box of a text in a field, with paper where the cursor is; None if none is seen there.

    ``pixels`` is the picture, height x width x 3 of 0 to 255; ``text`` was read in ``box``, the cursor perhaps as its
    last sign. What is taken for a cursor is the last thing in the row: a bar of one color that reaches from the height
    of the highest letter to below the line that letters stand on. So does a ``|``, which counts in no comparison.
    """
    import numpy as np

    left, right = max(box.left, field.left), min(box.right + _BEYOND, field.right)
    part = pixels[field.top : field.bottom, left:right].astype(np.int32)
    if part.size == 0:
        return None
    colors, counts = np.unique(part.reshape(-1, 3), axis=0, return_counts=True)
    paper = colors[counts.argmax()]
    ink = np.abs(part - paper).max(axis=2) > _LIKE
    ink[ink.mean(axis=1) > 0.95] = False  # the edge of the field
    columns = ink.any(axis=0).nonzero()[0]
    if not len(columns):
        return None
    last = int(columns[-1])
    rows = ink[:, last].nonzero()[0]
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    first = last
    while first > 0 and _is_bar(part, ink, first - 1, last, top, bottom):
        first -= 1
    if not _is_bar(part, ink, last, last, top, bottom) or last - first >= WIDEST:
        return None
    letters = ink[:, :first].any(axis=1).nonzero()[0]
    if not len(letters):
        return None
    below = 0 if DESCENDERS & set(text[:-1].casefold()) else BELOW
    if top > int(letters[0]) or bottom < int(letters[-1]) + 1 + below:
        return None
    piece = pixels[box.top : box.bottom, box.left : box.right].copy()
    above, before = field.top + top - box.top, left + first - box.left
    piece[max(0, above) : max(0, above + bottom - top), before : before + last + 1 - first] = paper
    return piece


def _is_bar(part: Any, ink: Any, column: int, like: int, top: int, bottom: int) -> bool:
    """Say whether a column is all of one color between two rows, that of another column, and empty elsewhere."""
    full = ink[top:bottom, column].all() and int(ink[:, column].sum()) == bottom - top
    return bool(full and (part[top:bottom, column] == part[top, like]).all())
