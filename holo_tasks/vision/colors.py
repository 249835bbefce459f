"""Compute colors of a piece of a picture: its most common color, and where it differs from a color."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
    Color: TypeAlias = tuple[int, int, int]

_SPARSE = 4


def most_common(pixels: Pixels) -> Color:
    """Return the most common color of a picture, as three channels from 0 to 255.

    Counting all colors means sorting all pixels. So a sparse grid proposes a color, which is accepted if most pixels
    have it.
    """
    import cv2

    color = _counted(pixels[::_SPARSE, ::_SPARSE])
    if 2 * cv2.countNonZero(cv2.inRange(pixels, color, color)) > pixels.shape[0] * pixels.shape[1]:
        return color
    return _counted(pixels)


def mask_of_other_colors(pixels: Pixels, color: Color, levels: int) -> Mask:
    """Return a mask of the pixels in which a channel differs from ``color`` by more than ``levels``."""
    import cv2

    low, high = ([min(255, max(0, one + by)) for one in color] for by in (-levels, levels))
    found: Mask = cv2.inRange(pixels, tuple(low), tuple(high)) == 0
    return found


def bgr_of(rgb: Pixels) -> Pixels:
    """Return a picture in OpenCV's channel order, which the OCR model expects. OpenCV does it much faster than
    NumPy.
    """
    import cv2
    import numpy as np

    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), np.uint8)


def _counted(pixels: Pixels) -> Color:
    import numpy as np

    colors, counts = np.unique(pixels.astype(np.int32) @ (65536, 256, 1), return_counts=True)
    most = int(colors[counts.argmax()])
    return most >> 16, most >> 8 & 255, most & 255
