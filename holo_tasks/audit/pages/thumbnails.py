"""Smaller copies of pictures for people to look at; the originals stay as they are."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, UnidentifiedImageError

from holo_tasks.audit.pages.gesture_marks import Arrow, Mark, Ring

_MOST_PIXELS = 60_000_000
_INK = (225, 0, 100)
_PAPER = (255, 255, 255)
_OVERSAMPLE = 3
_REACH = 16
"""No mark reaches further than this around its points, in pixels of the picture that it is drawn on."""
_THUMBNAILS = ((340, 62), (320, 50), (280, 45), (240, 40), (200, 32), (160, 28))


@dataclass(frozen=True)
class Copy:
    """A JPEG made from a kept picture."""

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
    """Re-encode a picture to at most ``width`` pixels, with marks on it as in `thumbnail`; None if it is none."""
    image = _opened(data)
    if image is None:
        return None
    left, top, across, down = shown or (0, 0, *image.info["size"])
    small = _scaled(image, width)
    _draw(small, [mark.moved(-left, -top) for mark in drawn], small.width / across, small.height / down)
    return _jpeg(small, quality)


def thumbnail(
    data: bytes, drawn: Sequence[Mark], shown: tuple[int, int, int, int] | None, *, most_bytes: int
) -> Copy | None:
    """A small picture of at most ``most_bytes`` if possible, with marks on it.

    Marks are in screen pixels, ``shown`` is the part of the screen that the picture shows (left, top, width, height);
    None means all of it, in its own size.
    """
    image = _opened(data, at_least=_THUMBNAILS[0][0])
    if image is None:
        return None
    left, top, across, down = shown or (0, 0, *image.info["size"])
    moved = [mark.moved(-left, -top) for mark in drawn]
    copy = None
    for width, quality in _THUMBNAILS:
        small = _scaled(image, width)
        _draw(small, moved, small.width / across, small.height / down)
        copy = _jpeg(small, quality)
        if len(copy.data) <= most_bytes:
            break
    return copy


def _opened(data: bytes, *, at_least: int = 0) -> Image.Image | None:
    """Decode a picture; its ``info["size"]`` is its full size, also when ``at_least`` pixels across will do."""
    try:
        image = Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP"))
        if image.width * image.height > _MOST_PIXELS:
            return None
        size = image.size
        if at_least:
            image.draft("RGB", (at_least, 1))  # a JPEG is decoded at a fraction of its size, which is faster
        image.load()
        plain = image if image.mode == "RGB" else image.convert("RGB")  # which would be a copy
        plain.info["size"] = size
        return plain
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return None


def _scaled(image: Image.Image, width: int) -> Image.Image:
    if image.width <= width:
        return image.copy()
    height = max(1, round(image.height * width / image.width))
    # A sharper filter takes more than twice as long, and most of the time that a report takes.
    return image.resize((width, height), Image.Resampling.HAMMING)


def _jpeg(image: Image.Image, quality: int) -> Copy:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True)
    return Copy(out.getvalue(), image.width, image.height)


def _draw(image: Image.Image, drawn: Sequence[Mark], across: float, down: float) -> None:
    """Draw marks with a light edge, smoothed by drawing them, and no more of the picture, larger first."""
    left, top, right, bottom = _around(drawn, image, across, down)
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


def _around(drawn: Sequence[Mark], image: Image.Image, across: float, down: float) -> tuple[int, int, int, int]:
    """Return the part of a picture that marks are drawn on: left, top, right, bottom."""
    points = [point for mark in drawn for point in _points(mark)]
    if not points:
        return 0, 0, 0, 0
    xs, ys = [int(x * across) for x, _ in points], [int(y * down) for _, y in points]
    left, top = max(0, min(xs) - _REACH), max(0, min(ys) - _REACH)
    return left, top, min(image.width, max(xs) + _REACH), min(image.height, max(ys) + _REACH)


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
