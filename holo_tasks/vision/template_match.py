"""Find a small picture on a screen, at the same scale and in the same colors, with tolerance for antialiasing.

The mean and contrast of every place are compared first, which takes a few milliseconds for a whole screen. Then a few
distinctive pixels of the remaining places are compared, and at last the whole pictures. `places_of` does it, and
`reference` loads a picture.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

LIKENESS = 0.98
SAME_WORDS = 0.993
"""Least likeness of two pictures of the same words.

One different letter in ten words lowers the likeness by more than this. The JPEG quality of recordings, which is that
of the model's pictures, lowers it by less.
"""
LEAST, LARGEST = Size(6, 6), Size(4096, 4096)
LEAST_CONTRAST = 6.0
"""Standard deviation in grey levels. A picture below it has about one color and would match anywhere."""
_SAMPLES = 32
_MOST_PLACES, _MOST_PIXELS = 200, 1_000_000
"""Most places, and most pixels in all, that the last comparison covers, the best places first."""
_BLOCK = 4


@dataclass(frozen=True)
class Reference:
    """A picture to search for; ``pixels`` is height x width x 3."""

    name: str
    pixels: Pixels

    @property
    def size(self) -> Size:
        return Size(self.pixels.shape[1], self.pixels.shape[0])


@dataclass(frozen=True)
class FoundPicture:
    """A place where a picture was found. ``likeness`` is 1.0 only if all pixels are equal."""

    box: Box
    likeness: float


def reference(png: Path | bytes) -> Reference:
    """Load a picture to search for. Raises `InvalidUsage` if it is unreadable, of a wrong size, or almost one color."""
    if isinstance(png, bytes):
        return _load_reference(png, "the picture")
    try:
        stat = png.stat()
        return _from_file(png, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise InvalidUsage(f"The picture {png} cannot be read: {error.strerror or error}.") from None


def places_of(pixels: Pixels, wanted: Reference, likeness: float = LIKENESS) -> list[FoundPicture]:
    """Return where a picture is on a larger one, best place first. Of overlapping places, only the best counts."""
    import numpy as np

    height, width = wanted.pixels.shape[:2]
    if height > pixels.shape[0] or width > pixels.shape[1]:
        return []
    max_difference = 600 * (1 - likeness)
    tops, lefts = _likely(pixels, wanted.pixels, max_difference)
    found: list[FoundPicture] = []
    for top, left in zip(tops.tolist(), lefts.tolist(), strict=True):
        part = pixels[top : top + height, left : left + width]
        rate = _likeness(part, wanted.pixels, max_difference)
        if rate >= likeness - 1e-6:
            same = bool(np.array_equal(part, wanted.pixels))
            found.append(FoundPicture(Box(left, top, width, height), 1.0 if same else min(rate, 0.9999)))
    apart: list[FoundPicture] = []
    for one in sorted(found, key=lambda place: -place.likeness):
        if all(not one.box.intersects(other.box) for other in apart):
            apart.append(one)
    return apart


def place_of(places: Sequence[FoundPicture]) -> Box | None:
    """Return the box of the only place, or of the only exact match among several. Otherwise return ``None``."""
    if len(places) > 1 and not (places[0].likeness == 1.0 and places[1].likeness < 1.0):
        return None
    return places[0].box if places else None


def pixels_of(frame: Frame, within: Box | None = None) -> tuple[Pixels, Box]:
    """Return a frame's pixels, or those of its part ``within``, and the box of these pixels on the screen."""
    import numpy as np

    whole = np.frombuffer(frame.rgb, np.uint8).reshape(frame.size.height, frame.size.width, 3)
    if within is None:
        return whole, Box.whole(frame.size)
    left, top = max(0, within.left), max(0, within.top)
    right, bottom = min(within.right, frame.size.width), min(within.bottom, frame.size.height)
    box = Box(left, top, max(0, right - left), max(0, bottom - top))
    return whole[box.top : box.bottom, box.left : box.right], box


def _likely(pixels: Pixels, wanted: Pixels, max_difference: float) -> tuple[Any, Any]:
    """Return the rows and columns of the top left corners that may match."""
    import cv2
    import numpy as np

    height, width = wanted.shape[:2]
    grey, small = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), cv2.cvtColor(wanted, cv2.COLOR_RGB2GRAY)
    rows, columns = grey.shape[0] - height + 1, grey.shape[1] - width + 1
    # Not sqrBoxFilter, whose sums overflow for large pictures.
    means, squares = (
        np.asarray(cv2.boxFilter(of, cv2.CV_64F, (width, height), anchor=(0, 0)))[:rows, :columns]
        for of in (grey, grey.astype(np.float32) ** 2)
    )
    variance, contrast = squares - means * means, float(small.std())
    low, high = max(0.0, contrast / 1.3 - 2) ** 2, (contrast * 1.3 + 2) ** 2
    fits = (np.abs(means - float(small.mean())) <= max_difference + 1) & (variance >= low - 1) & (variance <= high + 1)
    tops, lefts = np.nonzero(fits)
    places, flat = tops * grey.shape[1] + lefts, grey.ravel()
    samples = _distinctive_pixels(small)
    difference = np.zeros(len(places), np.int16)
    for top, left in samples:
        there = flat[places + (top * grey.shape[1] + left)].astype(np.int16)
        difference += np.abs(there - int(small[top, left]))
        close = difference <= (2 * max_difference + 8) * len(samples)
        if not close.all():
            places, difference = places[close], difference[close]
    best = places[np.argsort(difference, kind="stable")[: max(4, min(_MOST_PLACES, _MOST_PIXELS // small.size))]]
    return best // grey.shape[1], best % grey.shape[1]


def _distinctive_pixels(small: Any) -> list[tuple[int, int]]:
    """Return distinctive pixels: half differ most from the mean, and half are spread over the picture."""
    import numpy as np

    height, width = small.shape
    order = np.argsort(-np.abs(small.astype(float) - float(small.mean())), axis=None, kind="stable")
    standing_out = order[: max(1, order.size // 4)]
    chosen = standing_out[:: max(1, standing_out.size // (_SAMPLES // 2))][: _SAMPLES // 2].tolist()
    chosen += np.linspace(0, height * width - 1, _SAMPLES // 2).astype(int).tolist()
    return [(place // width, place % width) for place in dict.fromkeys(chosen)]


def _likeness(part: Pixels, wanted: Pixels, max_difference: float) -> float:
    """Return the correlation of two pictures, from 0 to 1; 0 if their colors or any small spot differs.

    Details that differ only in color do not count.
    """
    import cv2
    import numpy as np

    difference = cv2.absdiff(part, wanted)
    if sum(cv2.sumElems(difference)) > max_difference * wanted.size:
        return 0.0
    # Another word on the same button correlates well overall, but differs at the letters.
    block = (min(_BLOCK, part.shape[1]), min(_BLOCK, part.shape[0]))
    red, green, blue = cv2.split(difference.astype(np.float32))
    if float(cv2.blur((red + green + blue) / 3, block).max()) > 3 * max_difference + 4:
        return 0.0
    one, other = _without_fine_colors(part), _without_fine_colors(wanted)
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one * one).sum() * (other * other).sum()))
    return max(0.0, float((one * other).sum()) / scale) if scale else 0.0


def _without_fine_colors(pixels: Pixels) -> Any:
    """Return pixels without details that differ only in color, which the JPEG pictures of recordings lose."""
    import cv2
    import numpy as np

    parts = cv2.cvtColor(pixels, cv2.COLOR_RGB2YCrCb)
    parts[:, :, 1:] = cv2.blur(parts[:, :, 1:], (_BLOCK, _BLOCK))
    return cv2.cvtColor(parts, cv2.COLOR_YCrCb2RGB).astype(np.float32)


@lru_cache(maxsize=64)
def _from_file(path: Path, changed_ns: int, size: int) -> Reference:
    return _load_reference(path.read_bytes(), f"the picture {path}")


@lru_cache(maxsize=64)
def _load_reference(data: bytes, name: str) -> Reference:
    try:
        import cv2  # noqa: F401  # fail now, not at the first screen
        import numpy as np
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidUsage(
            "Looking for pictures needs OpenCV and NumPy: pip install 'prefect-holo[rehearsal]'."
        ) from None
    name = name[0].upper() + name[1:]
    try:
        picture = Image.open(io.BytesIO(data), formats=["PNG"])
        width, height = picture.size
        if width < LEAST.width or height < LEAST.height or width > LARGEST.width or height > LARGEST.height:
            raise InvalidUsage(f"{name} has {width}x{height} pixels; from {LEAST} to {LARGEST} can be looked for.")
        if picture.has_transparency_data and picture.convert("RGBA").getchannel("A").getextrema()[0] != 255:
            raise InvalidUsage(f"{name} is transparent in places; cut it out of a screenshot instead.")
        pixels = np.asarray(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise InvalidUsage(f"{name} is not a PNG file; save a part of a screenshot as one.") from None
    if float(pixels.std(axis=(0, 1)).max()) < LEAST_CONTRAST:
        raise InvalidUsage(f"{name} is about one color and would be found anywhere; cut out something with an edge.")
    return Reference(name, pixels)
