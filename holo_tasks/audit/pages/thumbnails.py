"""Make smaller copies of pictures, with marks drawn on them. The originals are not changed.

A mark is a ring at a click, pointer movement or written field, or an arrow for a drag or scroll (`gesture_marks`).
`smaller` is used by reports and hand-offs, `thumbnail` by the timeline.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, UnidentifiedImageError

from holo_tasks.audit.pages.gesture_marks import Arrow, Mark, Ring

_MAX_PIXELS = 60_000_000
_INK = (225, 0, 100)
_PAPER = (255, 255, 255)
_OVERSAMPLE = 3
_MARGIN = 16
"""Largest distance in pixels of the small picture that a mark extends from its points."""
_DECODED = 256
"""Least width at which a picture for a thumbnail is decoded: a quarter of most screens, which needs no scaling."""
_THUMBNAILS = ((340, 62), (320, 50), (280, 45), (240, 40), (200, 32), (160, 28))


@dataclass(frozen=True)
class Copy:
    """A JPEG made from a stored picture."""

    data: bytes
    width: int
    height: int


def smaller(
    data: bytes,
    *,
    width: int = 960,
    quality: int = 70,
    drawn: Sequence[Mark] = (),
    shown: tuple[int, int, int, int] | None = None,
) -> Copy | None:
    """Re-encode a picture to at most ``width`` pixels across, with marks as in `thumbnail`.

    Returns ``None`` if the data is not a picture.
    """
    image = _open(data)
    if image is None:
        return None
    left, top, across, down = shown or (0, 0, *image.info["size"])
    small = _scale(image, width)
    _draw(small, [mark.moved(-left, -top) for mark in drawn], small.width / across, small.height / down)
    return _jpeg(small, quality)


def thumbnail(
    data: bytes, drawn: Sequence[Mark], shown: tuple[int, int, int, int] | None, *, most_bytes: int
) -> Copy | None:
    """Return a small picture with marks, if possible of at most ``most_bytes``. Returns ``None`` if the data is not a
    picture.

    Marks are in screen pixels. ``shown`` is the part of the screen that the picture shows (left, top, width, height).
    Without it, the picture shows the whole screen at its own size.
    """
    image = _open(data, at_least=_DECODED)
    if image is None:
        return None
    left, top, across, down = shown or (0, 0, *image.info["size"])
    moved = [mark.moved(-left, -top) for mark in drawn]
    copy = None
    for width, quality in _THUMBNAILS:
        small = _scale(image, width)
        _draw(small, moved, small.width / across, small.height / down)
        copy = _jpeg(small, quality)
        if len(copy.data) <= most_bytes:
            break
    return copy


def _open(data: bytes, *, at_least: int = 0) -> Image.Image | None:
    """Decode a picture, or return ``None``. Its ``info["size"]`` is the full size, even if ``at_least`` allows a
    smaller decode."""
    try:
        image = Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP"))
        if image.width * image.height > _MAX_PIXELS:
            return None
        size = image.size
        if at_least:
            image.draft("RGB", (at_least, 1))  # decode a JPEG at a fraction of its size, which is faster
        image.load()
        plain = image if image.mode == "RGB" else image.convert("RGB")  # convert() would copy
        plain.info["size"] = size
        return plain
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return None


def _scale(image: Image.Image, width: int) -> Image.Image:
    if image.width <= width:
        return image.copy()
    height = max(1, round(image.height * width / image.width))
    # A sharper filter takes more than twice as long, and scaling takes most of a report's time.
    return image.resize((width, height), Image.Resampling.HAMMING)


def _jpeg(image: Image.Image, quality: int) -> Copy:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True)
    return Copy(out.getvalue(), image.width, image.height)


def _draw(image: Image.Image, drawn: Sequence[Mark], across: float, down: float) -> None:
    """Draw marks with a light edge. They are drawn enlarged and scaled down for smooth lines, only where marks are."""
    left, top, right, bottom = _bounds(drawn, image, across, down)
    if left >= right or top >= bottom:
        return
    size = right - left, bottom - top
    big = size[0] * _OVERSAMPLE, size[1] * _OVERSAMPLE
    ink = Image.new("L", big, 0)
    edge = Image.new("L", big, 0)
    corner = left * _OVERSAMPLE, top * _OVERSAMPLE
    for layer, grow in ((ImageDraw.Draw(edge), 4), (ImageDraw.Draw(ink), 0)):
        for mark in drawn:
            _draw_mark(layer, mark, across * _OVERSAMPLE, down * _OVERSAMPLE, grow, corner)
    for layer_image, color in ((edge, _PAPER), (ink, _INK)):
        image.paste(color, (left, top), layer_image.resize(size, Image.Resampling.BOX))


def _bounds(drawn: Sequence[Mark], image: Image.Image, across: float, down: float) -> tuple[int, int, int, int]:
    """Return the part of a picture that the marks cover: left, top, right, bottom."""
    points = [point for mark in drawn for point in _points(mark)]
    if not points:
        return 0, 0, 0, 0
    xs, ys = [int(x * across) for x, _ in points], [int(y * down) for _, y in points]
    left, top = max(0, min(xs) - _MARGIN), max(0, min(ys) - _MARGIN)
    return left, top, min(image.width, max(xs) + _MARGIN), min(image.height, max(ys) + _MARGIN)


def _points(mark: Mark) -> list[tuple[int, int]]:
    match mark:
        case Ring(x, y):
            return [(x, y)]
        case Arrow(x1, y1, x2, y2):
            return [(x1, y1), (x2, y2)]


def _draw_mark(
    layer: ImageDraw.ImageDraw, mark: Mark, across: float, down: float, grow: int, corner: tuple[int, int]
) -> None:
    width = 6 + grow
    left, top = corner
    match mark:
        case Ring(x, y):
            x_, y_, radius = (x + 0.5) * across - left, (y + 0.5) * down - top, 24
            box = (x_ - radius - grow / 2, y_ - radius - grow / 2, x_ + radius + grow / 2, y_ + radius + grow / 2)
            layer.ellipse(box, outline=255, width=width)
            layer.ellipse((x_ - 4 - grow / 2, y_ - 4 - grow / 2, x_ + 4 + grow / 2, y_ + 4 + grow / 2), fill=255)
        case Arrow(x1, y1, x2, y2):
            start = ((x1 + 0.5) * across - left, (y1 + 0.5) * down - top)
            end = ((x2 + 0.5) * across - left, (y2 + 0.5) * down - top)
            layer.line((start, end), fill=255, width=width)
            angle = math.atan2(end[1] - start[1], end[0] - start[0])
            for side in (angle + 2.6, angle - 2.6):
                tip = (end[0] + 26 * math.cos(side), end[1] + 26 * math.sin(side))
                layer.line((end, tip), fill=255, width=width)
