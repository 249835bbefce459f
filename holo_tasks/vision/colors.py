"""What colors a piece of a picture has: the one that most of it has, where it has another, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
    Color: TypeAlias = tuple[int, int, int]

_SPARSE = 4


def most_common(pixels: Pixels) -> Color:
    """Return the color, of 0 to 255 each, that most pixels (height x width x 3, one at least) have.

    To count all colors takes sorting all pixels: so the few of a grid name one, and it is that if most have it.
    """
    import cv2

    color = _counted(pixels[::_SPARSE, ::_SPARSE])
    if 2 * cv2.countNonZero(cv2.inRange(pixels, color, color)) > pixels.shape[0] * pixels.shape[1]:
        return color
    return _counted(pixels)


def differing(pixels: Pixels, color: Color, levels: int) -> Mask:
    """Return where a channel of a picture differs from a color by more than some levels."""
    import cv2

    low, high = ([min(255, max(0, one + by)) for one in color] for by in (-levels, levels))
    found: Mask = cv2.inRange(pixels, tuple(low), tuple(high)) == 0
    return found


def bgr_of(rgb: Pixels) -> Pixels:
    """Return a picture with its channels in OpenCV's order, on which OCR was trained; NumPy takes much longer."""
    import cv2
    import numpy as np

    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), np.uint8)


def _counted(pixels: Pixels) -> Color:
    import numpy as np

    colors, counts = np.unique(pixels.astype(np.int32) @ (65536, 256, 1), return_counts=True)
    most = int(colors[counts.argmax()])
    return most >> 16, most >> 8 & 255, most & 255
