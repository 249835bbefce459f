"""Find regions worth reading on a picture: changed blocks, blocks with content, and light boxes that look like fields.

`ocr_reader` uses it to read only the changed part of a screenshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box, Size

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

BLOCK = 16
TOLERANCE = 20
"""Grey levels by which unchanged pixels may differ. JPEG spreads a change into the blocks around it."""


def flat_blocks(pixels: Pixels) -> Mask:
    """Return a mask of the blocks of 16 x 16 pixels that have one color, and therefore no text."""
    import numpy as np

    whole = _pad_to_blocks(pixels)
    spread = _of_blocks(np.maximum, whole) - _of_blocks(np.minimum, whole)
    found: Mask = spread.max(axis=-1) < TOLERANCE
    return found


def changed_blocks(before: Pixels, after: Pixels) -> Mask:
    """Return a mask of the blocks in which two pictures of one size differ."""
    import cv2
    import numpy as np

    difference: Pixels = np.asarray(cv2.absdiff(before, after), np.uint8)
    found: Mask = _of_blocks(np.maximum, _pad_to_blocks(difference)).max(axis=-1) >= TOLERANCE
    return found


def boxes_of(blocks: Mask, size: Size) -> list[Box]:
    """Return boxes around the marked blocks. Blocks up to two apart share a box."""
    import cv2
    import numpy as np

    if not blocks.any():
        return []
    wide = cv2.dilate(blocks.astype(np.uint8), np.ones((3, 5), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(wide, connectivity=8)
    found = []
    for row in stats[1:]:
        left, top, width, height = (int(value) * BLOCK for value in row[:4])
        found.append(_clip(left, top, width, height, size))
    return _merge_boxes(found)


def grow_regions(regions: Iterable[Box], lines: Iterable[Box], size: Size, *, margin: int) -> list[Box]:
    """Return the regions together with the lines and a margin around them, with overlaps merged."""
    around = [
        _clip(box.left - margin, box.top - margin, box.width + 2 * margin, box.height + 2 * margin, size)
        for box in lines
    ]
    return _merge_boxes([*regions, *around])


def field_boxes(pixels: Pixels) -> tuple[Box, ...]:
    """Return the white rectangles that look like input fields, from top to bottom."""
    import cv2
    import numpy as np

    white = cv2.inRange(pixels, (245, 245, 245), (255, 255, 255))
    # Text leaves holes in a field; closing them keeps the field in one piece.
    white = cv2.morphologyEx(white, cv2.MORPH_CLOSE, np.ones((1, 5), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(white, connectivity=4)
    found = []
    for left, top, width, height, area in stats[1:]:
        if width >= 60 and height >= 12 and width > 1.5 * height and area > 0.6 * width * height:
            found.append(Box(int(left), int(top), int(width), int(height)))
    return tuple(sorted(found, key=lambda box: (box.top, box.left)))


def _pad_to_blocks(pixels: Pixels) -> Pixels:
    """Return the picture extended to whole blocks by repeating its edge pixels."""
    import numpy as np

    low, right = -pixels.shape[0] % BLOCK, -pixels.shape[1] % BLOCK
    return np.pad(pixels, ((0, low), (0, right), (0, 0)), mode="edge") if low or right else pixels


def _of_blocks(most: np.ufunc, pixels: Pixels) -> Pixels:
    """Return the maximum or minimum of each channel in each block.

    The rows of a block are reduced first. Then the two halves of its row are combined until one pixel is left. NumPy is
    many times slower on an axis that is only one pixel long.
    """
    height, width, channels = pixels.shape
    rows = most.reduce(pixels.reshape(height // BLOCK, BLOCK, width * channels), axis=1)
    found: Pixels = rows.reshape(height // BLOCK, width // BLOCK, BLOCK * channels)
    while (half := found.shape[2] // 2) >= channels:
        found = most(found[:, :, :half], found[:, :, half:])
    return found


def _clip(left: int, top: int, width: int, height: int, size: Size) -> Box:
    return Box(left, top, width, height).cut_to(Box.whole(size))


def _merge_boxes(boxes: list[Box]) -> list[Box]:
    """Merge overlapping boxes until none overlap."""
    done: list[Box] = []
    for box in boxes:
        while True:
            other = next((b for b in done if b.intersects(box)), None)
            if other is None:
                break
            done.remove(other)
            box = Box.around((box, other))
        done.append(box)
    return done
