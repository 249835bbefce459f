"""Draw marks: a thin outline around each thing, and a tag with its number at the place where it hides least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.outlines import edges_of

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    from holo_tasks.set_of_mark.marks import Mark

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]

Color: TypeAlias = tuple[int, int, int]

# Four of Okabe and Ito's colors. Color-blind people can distinguish them, and each has a contrast of at least 3:1
# to white and to black.
PALETTE: tuple[Color, ...] = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167))
FONT_SIZE = 14
"""Size of the numbers on a picture with a width of 1280 pixels.

Wider pictures get larger numbers, because they are sent smaller.
"""
_USUAL_WIDTH = 1280
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)

_ON_OTHER_TAG = 60
_ON_CONTENT = 8
_ON_LINE = 1
_ON_OTHER_MARK = 4
_ON_OWN_MARK = 1
_ROUNDS = 3
_FRAME = 4
_LONG = 25
_APART = 3


def draw_marks(picture: Image.Image, marks: Sequence[Mark]) -> Image.Image:
    """Return a copy of a picture with the marks drawn on it. The same marks give the same pixels."""
    from PIL import ImageDraw, ImageFont

    drawn = picture.convert("RGB")
    if drawn is picture:
        drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    scale = _scale(drawn.size)
    font = ImageFont.load_default(size=round(FONT_SIZE * scale))
    outlines = [_outline(mark.box, drawn.size) for mark in marks]
    for mark, box in zip(marks, outlines, strict=True):
        sides = (box.left, box.top, box.right - 1, box.bottom - 1)
        draw.rectangle(sides, outline=color_of(mark.number), width=round(scale))
    for mark, tag in zip(marks, tag_boxes(picture, marks), strict=True):
        fill = color_of(mark.number)
        draw.rectangle((tag.left, tag.top, tag.right - 1, tag.bottom - 1), fill=fill)
        middle = (tag.left + tag.width / 2, tag.top + tag.height / 2)
        draw.text(middle, str(mark.number), fill=ink_on(fill), font=font, anchor="mm")
    return drawn


def color_of(number: int) -> Color:
    """Return the color of a mark's outline and tag."""
    return PALETTE[(number - 1) % len(PALETTE)]


def ink_on(fill: Color) -> Color:
    """Return black or white, whichever has more contrast to a color."""
    return max((_WHITE, _BLACK), key=lambda ink: contrast(ink, fill))


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colors as defined by WCAG, from 1 to 21. Text is legible from 4.5."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def tag_boxes(picture: Image.Image, marks: Sequence[Mark]) -> list[Box]:
    """Return the box of each mark's tag.

    Each tag has some places around and inside its mark. It gets the place where it hides the least of other tags,
    texts, drawings and other marks. The choices depend on each other, so they are repeated in rounds.
    """
    import numpy as np

    if not marks:
        return []
    width, height = picture.size
    places = np.array([_places(mark, picture.size) for mark in marks], np.int32)
    boxes = np.array([(m.box.left, m.box.top, m.box.right, m.box.bottom) for m in marks], np.int32)
    cost = _on_content(places, boxes, _content_sums(picture))
    # A tag that touches another mark seems to belong to that mark.
    on_marks = _overlaps(places[:, :, None], boxes + np.array((-_APART, -_APART, _APART, _APART), np.int32))
    own = np.arange(len(marks))
    on_marks[own, :, own] = 0
    cost += on_marks.sum(axis=2) * _ON_OTHER_MARK + _overlaps(places, boxes[:, None]) * _ON_OWN_MARK
    # Earlier places are preferred.
    cost += np.arange(places.shape[1]) * 3
    off = (places[..., 0] < 0) | (places[..., 1] < 0) | (places[..., 2] > width) | (places[..., 3] > height)
    cost[off] += 10**8
    chosen = places[own, cost.argmin(axis=1)]
    for _ in range(_ROUNDS):
        on_tags = _overlaps(chosen[:, None], chosen[None])
        for n in np.flatnonzero(on_tags.sum(axis=1) > on_tags[own, own]):
            hidden = _overlaps(places[n][:, None], chosen[None])
            hidden[:, n] = 0
            chosen[n] = places[n, (cost[n] + hidden.sum(axis=1) * _ON_OTHER_TAG).argmin()]
    return [Box(int(x), int(y), int(right - x), int(bottom - y)) for x, y, right, bottom in chosen]


def _places(mark: Mark, size: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Return the places for a tag, the usual ones first. All touch the mark's outline."""
    box = _outline(mark.box, size)
    scale = _scale(size)
    width, height = round((8 * len(str(mark.number)) + 5) * scale), round((FONT_SIZE + 2) * scale)
    middle, low = box.top + (box.height - height) // 2, box.bottom - height
    center, far = box.left + (box.width - width) // 2, box.right - width
    corners = [
        (box.left, box.top - height),  # above
        (box.left - width, middle),  # left
        (box.left - width, box.top),
        (box.left - width, box.top - height),
        (box.right, middle),  # right
        (far, box.top - height),
        (box.left, box.bottom),  # below
        (far, box.bottom),
        (box.right, box.top),
        (box.right, low),
        (box.left - width, low),
        (box.right, box.top - height),
        (box.left - width, box.bottom),
        (box.right, box.bottom),
        (center, box.top - height),
        (center, box.bottom),
        (far - 2, middle),  # inside
        (box.left + 2, middle),
        (box.left + 2, box.top + 2),
        (far - 2, box.top + 2),
        (far - 2, low - 2),
        (box.left + 2, low - 2),
    ]
    return [(x, y, x + width, y + height) for x, y in corners]


def _scale(size: tuple[int, int]) -> float:
    return max(1.0, size[0] / _USUAL_WIDTH)


def _outline(box: Box, size: tuple[int, int]) -> Box:
    """Return a box that is one pixel wider on each side, within the picture."""
    return box.grown(1).cut_to(Box(0, 0, *size))


def _content_sums(picture: Image.Image) -> Numbers:
    """Return the summed-area table of the content. Pixels of long lines count less than those of text."""
    import cv2
    import numpy as np

    edges = edges_of(np.asarray(picture.convert("RGB")))
    across = cv2.morphologyEx(edges, cv2.MORPH_OPEN, np.ones((1, _LONG), np.uint8))
    down = cv2.morphologyEx(edges, cv2.MORPH_OPEN, np.ones((_LONG, 1), np.uint8))
    content = np.where(cv2.max(across, down) > 0, np.uint8(_ON_LINE), edges * np.uint8(_ON_CONTENT))
    sums: Any = cv2.integral(content)
    found: Numbers = sums
    return found


def _on_content(places: Numbers, boxes: Numbers, sums: Numbers) -> Numbers:
    """Return the amount of content that each place hides, without the mark's own frame."""
    import numpy as np

    frame = np.array((-_FRAME, -_FRAME, _FRAME, _FRAME))
    outside, inside = (boxes + frame)[:, None], (boxes - frame)[:, None]
    return _count(places, sums) - _count(_common(places, outside), sums) + _count(_common(places, inside), sums)


def _count(areas: Numbers, sums: Numbers) -> Numbers:
    height, width = sums.shape
    left, right = areas[..., 0].clip(0, width - 1), areas[..., 2].clip(0, width - 1)
    top, bottom = areas[..., 1].clip(0, height - 1), areas[..., 3].clip(0, height - 1)
    found: Numbers = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return found


def _common(one: Numbers, other: Numbers) -> Numbers:
    """Return the intersections of boxes (left, top, right, bottom). Empty ones have no size."""
    import numpy as np

    start, end = np.maximum(one[..., :2], other[..., :2]), np.minimum(one[..., 2:], other[..., 2:])
    return np.concatenate([start, np.maximum(start, end)], axis=-1)


def _overlaps(one: Numbers, other: Numbers) -> Numbers:
    """Return the area in pixels that boxes (left, top, right, bottom) share."""
    import numpy as np

    across = np.minimum(one[..., 2], other[..., 2]) - np.maximum(one[..., 0], other[..., 0])
    down = np.minimum(one[..., 3], other[..., 3]) - np.maximum(one[..., 1], other[..., 1])
    found: Numbers = np.maximum(across, 0) * np.maximum(down, 0)
    return found


def _luminance(color: Color) -> float:
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
