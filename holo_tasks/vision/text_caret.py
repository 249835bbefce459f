"""Remove the text cursor behind the text of a field before OCR, which would read it as a letter.

Losing a real letter is worse than reading a cursor, so doubtful bars stay. The letters show where the base line is. The
result without the cursor must equal the former text without its last character (`less_its_last`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import mask_of_other_colors, most_common

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

WIDEST = 3
"""Largest width of a cursor, in pixels."""
BEYOND = 2
"""Pixels by which a cursor extends below the base line of the letters, or above the highest letter."""
DESCENDERS = frozenset("gjpqy")
"""Letters that extend below the base line."""
READ_AS, READ_AS_A_DIGIT = frozenset("lI|]!i"), "1"
"""Characters that OCR reads for a cursor. The digit counts only if the bar extends below the base line."""
_LIKE = 24
"""Color levels by which the background of a field may vary."""
_BEHIND = 4
"""Pixels behind the box of a text in which its cursor may be."""


def may_end_in_caret(text: str) -> bool:
    """Return whether the last character of a text that was read may be a cursor."""
    return text[-1:] in READ_AS | {READ_AS_A_DIGIT}


def without_caret(pixels: Pixels, text: str, box: Box, field: Box) -> Pixels | None:
    """Return the pixels of a text's box with the cursor painted over, or ``None`` if no cursor is found.

    ``pixels`` is the picture: height x width x 3, values from 0 to 255. ``text`` was read in ``box``, with the cursor
    as its last character. A cursor is the last bar in the row, has one color, and is higher than the letters.
    """
    import numpy as np

    if not may_end_in_caret(text):
        return None
    left, right = max(box.left, field.left), min(box.right + _BEHIND, field.right)
    first_row, last_row = max(field.top, box.top - box.height // 2), min(field.bottom, box.bottom + box.height // 2)
    part = pixels[first_row:last_row, left:right]
    if part.size == 0:
        return None
    packed = part.astype(np.int32) @ (65536, 256, 1)
    paper = most_common(part)
    ink: Any = mask_of_other_colors(part, paper, _LIKE)
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
    """Return whether ``after`` is ``before`` without its last character, and has a letter or digit."""
    return after == before[:-1].rstrip() and any(map(str.isalnum, after))


def _is_cursor(text: str, bar: tuple[int, int], letters: tuple[int, int]) -> bool:
    """Return whether a bar behind letters is a cursor, by the first and last rows of both.

    A letter that ends in an upright never extends below the base line. If a descender goes as low as the bar, the bar
    must be higher than all letters, because an l ends on the base line.
    """
    if bar[0] > letters[0]:
        return False
    if bar[1] >= letters[1] + BEYOND:
        return True
    higher = bar[0] <= letters[0] - BEYOND and bar[1] >= letters[1]
    return higher and text[-1] != READ_AS_A_DIGIT and bool(DESCENDERS & set(text[:-1]))


def _is_bar(packed: Any, ink: Any, column: int, like: int, top: int, bottom: int) -> bool:
    """Return whether a column has one color between two rows, equal to column ``like``, and is empty elsewhere."""
    full = ink[top:bottom, column].all() and int(ink[:, column].sum()) == bottom - top
    return bool(full and (packed[top:bottom, column] == packed[top, like]).all())
