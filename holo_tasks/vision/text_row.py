"""One row of text on bare ground: it can be cut out of a small box without a search for where texts are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.geometry import Box
from holo_tasks.vision.colors import differing, most_common

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

EDGE, BARE = 4, 24
"""A frame is no wider than this, in pixels; colors that differ by less, of 255, are those of bare ground."""
INK, FRAMED = 40, 0.6
"""How far the colors of what is written are from the ground, and how much of a line at the end is that of a frame."""
LEAST, HIGHEST = 5, 36
"""How high a row of text is, in pixels."""
ROOM = 4


def is_empty(pixels: Pixels) -> bool:
    """Say whether there is nothing within the frame of a box, in which a text would have to be."""
    inner = pixels[EDGE:-EDGE, EDGE:-EDGE]
    return bool(inner.size) and int(inner.max(axis=(0, 1)).max()) - int(inner.min(axis=(0, 1)).min()) < BARE


def row_in(pixels: Pixels) -> tuple[Pixels, Box] | None:
    """Return what is written in a box on ground of one color, with some of that around it, and where it is in the box.

    None if that is higher than a row of text, or if nothing is there. A frame around it is left out, and it is None
    where nothing keeps the two apart.
    """
    import numpy as np

    for edge in (EDGE, 0):
        inner = pixels[edge : pixels.shape[0] - edge, edge : pixels.shape[1] - edge]
        if min(inner.shape[:2]) < LEAST:
            continue
        ground = most_common(inner)
        ink = differing(inner, ground, INK)
        if edge and (ink[0].any() or ink[-1].any() or ink[:, 0].any() or ink[:, -1].any()):
            continue
        if ink[0].mean() >= FRAMED or ink[-1].mean() >= FRAMED:
            return None
        rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
        if not rows.size or not LEAST <= rows[-1] + 1 - rows[0] <= HIGHEST:
            return None
        box = Box.of_corners(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
        row = np.empty((box.height + 2 * ROOM, box.width + 2 * ROOM, 3), np.uint8)
        row[:] = ground
        row[ROOM:-ROOM, ROOM:-ROOM] = inner[box.top : box.bottom, box.left : box.right]
        return row, box.moved(edge, edge)
    return None
