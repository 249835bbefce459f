"""The text cursor right behind what is written in a field: a reader takes it for one more letter.

A letter that was there is worse to lose than a cursor is to read, so what may be either stays. Where letters stand is
told by them, and what is read without the cursor has to be what was read before, less its last sign (`less_its_last`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holo_tasks.core.geometry import Box
from holo_tasks.vision.colors import differing, most_common

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

WIDEST = 3
"""A cursor is a bar no wider than this, in pixels."""
BEYOND = 2
"""So many pixels it goes below the line that letters stand on, or else above the highest of them."""
DESCENDERS = frozenset("gjpqy")
"""Letters that go below that line themselves."""
READ_AS, READ_AS_A_DIGIT = frozenset("lI|]!i"), "1"
"""What a cursor is taken for; for a digit only where it goes below the line that all letters stand on."""
_LIKE = 24
"""Levels of a color by which the paper of a field may differ from itself."""
_BEHIND = 4
"""So many pixels behind a text's box its cursor may be."""


def without_caret(pixels: Pixels, text: str, box: Box, field: Box) -> Pixels | None:
    """Return what is in the box of a text in a field, with paper where the cursor is; None if none is seen there.

    ``pixels`` is the picture, height x width x 3 of 0 to 255; ``text`` was read in ``box``, the cursor as its last
    sign. A cursor is the last thing in the row: a bar of one color, as high as all of the letters and higher.
    """
    import numpy as np

    if text[-1:] not in READ_AS | {READ_AS_A_DIGIT}:
        return None
    left, right = max(box.left, field.left), min(box.right + _BEHIND, field.right)
    first_row, last_row = max(field.top, box.top - box.height // 2), min(field.bottom, box.bottom + box.height // 2)
    part = pixels[first_row:last_row, left:right]
    if part.size == 0:
        return None
    packed = part.astype(np.int32) @ (65536, 256, 1)
    paper = most_common(part)
    ink: Any = differing(part, paper, _LIKE)
    ink[ink.mean(axis=1) > 0.95] = False  # the edge of the field
    columns = ink.any(axis=0).nonzero()[0]
    if not len(columns):
        return None
    last = int(columns[-1])
    rows = ink[:, last].nonzero()[0]
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    first = last
    while first > 0 and _is_bar(packed, ink, first - 1, last, top, bottom):
        first -= 1
    letters = ink[:, :first].any(axis=1).nonzero()[0]
    if last - first >= WIDEST or not len(letters) or not _is_bar(packed, ink, last, last, top, bottom):
        return None
    if not _is_cursor(text, (top, bottom), (int(letters[0]), int(letters[-1]) + 1)):
        return None
    piece = pixels[box.top : box.bottom, box.left : box.right].copy()
    above, before = first_row + top - box.top, left + first - box.left
    piece[max(0, above) : max(0, above + bottom - top), before : before + last + 1 - first] = paper
    return piece


def less_its_last(before: str, after: str) -> bool:
    """Say whether a text is another one less its last sign, and says anything."""
    return after == before[:-1].rstrip() and any(map(str.isalnum, after))


def _is_cursor(text: str, bar: tuple[int, int], letters: tuple[int, int]) -> bool:
    """Say whether a bar behind letters is none of them, by where each begins and ends, from the top.

    No letter with an upright at its end goes below the line that the others stand on. If one of these goes as low, the
    bar has to be higher than all of them, too, where an l ends on the line.
    """
    if bar[0] > letters[0]:
        return False
    if bar[1] >= letters[1] + BEYOND:
        return True
    higher = bar[0] <= letters[0] - BEYOND and bar[1] >= letters[1]
    return higher and text[-1] != READ_AS_A_DIGIT and bool(DESCENDERS & set(text[:-1]))


def _is_bar(packed: Any, ink: Any, column: int, like: int, top: int, bottom: int) -> bool:
    """Say whether a column is all of one color between two rows, that of another column, and empty elsewhere."""
    full = ink[top:bottom, column].all() and int(ink[:, column].sum()) == bottom - top
    return bool(full and (packed[top:bottom, column] == packed[top, like]).all())
