"""Find shapes other than text on a picture: areas with an edge, check boxes, and drawings such as icons.

A button, a field or a table cell is an even area inside an edge. The edge may be a line, a bevel, a shadow or a change
of color. So the picture is cut wherever neighboring pixels differ. Pieces that fill a rectangle, a pill or a circle are
areas. Finely cut regions are drawings.

The main functions are `edges_of`, `areas_of`, `spots_of` and `drawings_of`. `set_of_mark`, the compiler and the field
detection use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    Contour: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]

_STEP, _NOISY_STEP = 9, 24
"""Color levels between neighboring pixels from which they form an edge, in a clean and in a noisy picture.

On pale pages an edge differs by ten, and gradients by two or three. JPEG artefacts around edges exceed that. A picture
is noisy if many pixels differ by less than an edge.
"""
_NOISY = 0.025
_SMALLEST_AREA = 8
_MOST_OF_PICTURE = 0.6
_HIGHEST_PILL = 64
_HIGHEST_CARET = 48
_SMALLEST_SPOT, _LARGEST_SPOT = 10, 26
_SMALLEST_DRAWING, _WIDEST_ICON = 8, 96
APART, CLOSELY = 4, 2
"""Distances in pixels of strokes of one drawing: usually, and in a row of icons with shadows, which nearly touch."""
_THINNEST_DRAWING, _THIN_DRAWING, _LONGEST_DOTS = 3, 6, 24
_LARGEST_DRAWING = 0.25
_BORDER = 3


@dataclass(frozen=True)
class Area:
    """An even area inside an edge. ``contour`` follows its round corners, in pixels of the picture.

    ``caret`` is the box of a text cursor as high as the area, if there is one.
    """

    box: Box
    contour: Contour = field(repr=False, compare=False)
    caret: Box | None = None


def edges_of(pixels: Pixels) -> Pixels:
    """Return an array with 1 where a pixel differs from its right or lower neighbor, else 0."""
    import numpy as np

    found: Pixels = np.zeros(pixels.shape[:2], np.uint8)
    across, down = _differences(pixels[:, 1:], pixels[:, :-1]), _differences(pixels[1:], pixels[:-1])
    sample = across[::4]
    noise = ((sample > 0) & (sample < _STEP)).sum() / max(1, sample.size)
    step = _NOISY_STEP if noise > _NOISY else _STEP
    found[:, :-1] = across >= step
    found[:-1] |= down >= step
    return found


def areas_of(pixels: Pixels, edges: Pixels, *, most: float = _MOST_OF_PICTURE) -> list[Area]:
    """Return the areas, unsorted; areas may contain others. Those that cover more than ``most`` of the picture are left
    out.
    """
    import cv2
    import numpy as np

    _, labels, stats, _ = cv2.connectedComponentsWithStats(1 - edges, connectivity=4)
    left, top, width, height, area = stats.T
    good = (width >= _SMALLEST_AREA) & (height >= _SMALLEST_AREA) & (width * height <= most * edges.size)
    # Exclude the thin gap between two lines of an outline.
    good &= area >= width + height
    good[0] = False
    found = []
    for number in good.nonzero()[0]:
        x, y, w, h = (int(side[number]) for side in (left, top, width, height))
        contour, full = _shape(labels[y : y + h, x : x + w] == number)
        # Text that touches the edge makes dents in the contour.
        hull, hull_full = _hull(contour, (w, h))
        if full >= 0.85 or (hull_full >= 0.75 and full >= 0.8 * hull_full and h <= _HIGHEST_PILL):
            # The last row and column before an edge are edge pixels themselves.
            found.append(Area(Box(x, y, w + 1, h + 1), hull + np.array((x, y), np.int32)))
    return _without_carets(found, pixels)


def spots_of(edges: Pixels) -> list[Box]:
    """Return the boxes of isolated little squares and circles: check boxes and radio buttons, checked or not."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(edges, connectivity=8)
    left, top, width, height, _ = stats.T
    low, high = width.copy(), height.copy()
    low[width > height], high[width > height] = height[width > height], width[width > height]
    good = (low > _SMALLEST_SPOT) & (high <= _LARGEST_SPOT) & ((high - low) * 8 <= high)
    good[0] = False
    found = []
    for number in good.nonzero()[0]:
        x, y, w, h = (int(side[number]) for side in (left, top, width, height))
        if _is_regular(labels[y : y + h, x : x + w] == number):
            # An edge begins one pixel before the shape.
            found.append(Box(x + 1, y + 1, w - 1, h - 1))
    # A ring has an edge on either side.
    return [box for box in found if not any(box is not other and other.encloses(box) for other in found)]


def is_spot_sized(box: Box) -> bool:
    """Return whether a box has the size and shape of a check box."""
    low, high = sorted((box.width, box.height))
    return low >= _SMALLEST_SPOT and high <= _LARGEST_SPOT and (high - low) * 8 <= high


def drawings_of(edges: Pixels, apart: int = APART) -> list[Box]:
    """Return the boxes of drawings. Strokes up to ``apart`` pixels from each other belong to one drawing."""
    import cv2
    import numpy as np

    thick = cv2.dilate(edges, np.ones((apart + 1, apart + 1), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(thick, connectivity=8)
    left, top, width, height, area = stats.T
    dense = area / (width * height)
    begins = apart // 2 + 1
    left, top, width, height = left + begins, top + begins, width - apart - 1, height - apart - 1
    low, high = np.minimum(width, height), np.maximum(width, height)
    good = (low >= _THINNEST_DRAWING) & (high >= _SMALLEST_DRAWING)
    # Exclude large hollow shapes: they are frames.
    good &= (high <= _WIDEST_ICON) | ((dense >= 0.5) & (width * height <= _LARGEST_DRAWING * edges.size))
    good[0] = False
    found = []
    for number in good.nonzero()[0]:
        box = Box(*(int(side[number]) for side in (left, top, width, height)))
        if low[number] >= _THIN_DRAWING or _is_dotted(edges[box.top : box.bottom, box.left : box.right]):
            found.append(box)
    return found


def icon_left_of(pixels: Pixels, x: int, words: Box) -> Box | None:
    """Return the box of the drawing at a column left of words and in their row, such as the icon of a row in a list.

    Columns without an edge separate it from other drawings. Returns ``None`` if nothing of an icon's size is there.
    """
    left, top = max(0, x - _WIDEST_ICON), max(0, words.top)
    edges = edges_of(pixels[top : words.bottom, left : words.left])
    across = _run_at([bool(each) for each in edges.max(axis=0)], x - left, 1)
    if across is None:
        return None
    down = _run_at([bool(each) for each in edges[:, across[0] : across[1]].max(axis=1)], words.center.y - top, 0)
    if down is None:
        return None
    box = Box(left + across[0], top + down[0], across[1] - across[0], down[1] - down[0])
    return box if min(box.width, box.height) >= _SMALLEST_DRAWING else None


def _run_at(drawn: Sequence[bool], at: int, gap: int) -> tuple[int, int] | None:
    """Return the start and the end of the run of drawn places at a place; ``None`` if none is near.

    The run may have gaps up to a length.
    """
    near = [place for place in range(max(0, at - 2), min(len(drawn), at + 3)) if drawn[place]]
    if not near:
        return None
    first = last = near[0]
    while first > 0 and any(drawn[max(0, first - 1 - gap) : first]):
        first -= 1
    while last + 1 < len(drawn) and any(drawn[last + 1 : last + 2 + gap]):
        last += 1
    return first, last + 1


def _is_dotted(piece: Pixels) -> bool:
    """Return whether a thin shape is a row of dots, such as a menu symbol. A line is uniform along its length."""
    height, width = piece.shape
    along = piece if height > width else piece.T
    middle = along[2:-2]
    return len(along) <= _LONGEST_DOTS and not bool((middle == middle[:1]).all())


def without_outlines(edges: Pixels, areas: Iterable[Area]) -> Pixels:
    """Return the edges without those along the contours of ``areas``, including thick borders."""
    import cv2
    import numpy as np

    outlines = np.zeros_like(edges)
    for area in sorted(areas, key=lambda area: -area.box.width * area.box.height):
        contour = [area.contour]
        cv2.drawContours(outlines, contour, -1, 1, thickness=2 * _BORDER + 1)
        # Text may stand close to the inner side.
        cv2.drawContours(outlines, contour, -1, 0, thickness=cv2.FILLED)
        cv2.drawContours(outlines, contour, -1, 1, thickness=1)
    remaining: Pixels = edges & ~outlines
    return remaining


def without_insides(edges: Pixels, boxes: Iterable[Box], *, margin: int = 1) -> Pixels:
    """Return the edges without those inside ``boxes``."""
    remaining = edges.copy()
    for box in boxes:
        top, left = max(0, box.top - margin), max(0, box.left - margin)
        remaining[top : box.bottom + margin, left : box.right + margin] = 0
    return remaining


def _differences(one: Pixels, other: Pixels) -> Pixels:
    """Return the largest difference over the channels, for each pixel of two pictures."""
    import cv2
    import numpy as np

    if not one.size:
        return np.zeros(one.shape[:2], np.uint8)
    red, green, blue = cv2.split(cv2.absdiff(one, other))
    most: Any = cv2.max(cv2.max(red, green), blue)
    found: Pixels = most
    return found


def _shape(piece: Any) -> tuple[Contour, float]:
    """Return the outer contour of a piece, and the share of its rectangle that the contour encloses."""
    import cv2

    height, width = piece.shape
    contours, _ = cv2.findContours(piece.view("uint8"), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    contour = max(contours, key=cv2.contourArea)
    return contour, cv2.contourArea(contour) / ((width - 1) * (height - 1))


def _hull(contour: Contour, size: tuple[int, int]) -> tuple[Contour, float]:
    """Return the convex hull of a contour, and the share of a rectangle of ``size`` that it fills."""
    import cv2

    found: Any = cv2.convexHull(contour)
    hull: Contour = found
    return hull, cv2.contourArea(hull) / ((size[0] - 1) * (size[1] - 1))


def _is_regular(piece: Any) -> bool:
    """Return whether a piece, when filled, is symmetric in both directions. Hardly any letter is."""
    import cv2
    import numpy as np

    contour, fullness = _shape(piece)
    if fullness < 0.7:
        return False
    filled = np.zeros(piece.shape, np.uint8)
    cv2.drawContours(filled, [contour], -1, 1, cv2.FILLED)
    odd = max((filled != filled[::-1]).sum(), (filled != filled[:, ::-1]).sum())
    return bool(odd <= 0.1 * filled.sum())


def _without_carets(areas: list[Area], pixels: Pixels) -> list[Area]:
    """Join fields that a text cursor as high as the field has cut in two."""
    mended = []
    for area in areas:
        caret = _caret_before(area.box, pixels)
        if caret is not None:
            mended.append(_with_part_before(area.box, caret, pixels))
    fields = [area.box for area in mended]
    return mended + [
        area for area in areas if not any(abs(f.top - area.box.top) <= 2 and f.encloses(area.box) for f in fields)
    ]


def _caret_before(area: Box, pixels: Pixels) -> Box | None:
    """Return the box of the text cursor at the left side of an area, or ``None``."""
    if not _SMALLEST_AREA < area.height <= _HIGHEST_CARET or area.left < _SMALLEST_AREA or area.top < 2:
        return None
    ground = pixels[area.top, area.left + 2]
    for at in range(area.left - 1, area.left - 4, -1):
        stroke = pixels[area.top + 2 : area.bottom - 3, at]
        # A cursor does not join the frame, unlike the line between two cells.
        frame = pixels[area.top - 2 : area.top, [at, area.left + 2]]
        if (
            (stroke == stroke[0]).all()
            and (frame[:, 0] == frame[:, 1]).all()
            and not (stroke[0] == ground).all()
            and not (stroke[0] == frame[:, 0]).all(axis=1).any()
        ):
            return Box(at - 2, area.top, area.left - at + 2, area.height)
    return None


def _with_part_before(area: Box, caret: Box, pixels: Pixels) -> Area:
    """Return an area joined with the part left of its text cursor."""
    # The top row of a field is free of text.
    row = (pixels[area.top, : area.left] == pixels[area.top, area.left + 2]).all(axis=1)
    row[caret.left - 1 :] = True
    left = 0 if row.all() else area.left - int(row[::-1].argmin())
    whole = Box(left, area.top, area.right - left, area.height)
    return Area(whole, _rectangle(whole), caret)


def _rectangle(box: Box) -> Contour:
    import numpy as np

    right, bottom = box.right - 2, box.bottom - 2
    corners = [(box.left, box.top), (right, box.top), (right, bottom), (box.left, bottom)]
    return np.array(corners, np.int32).reshape(-1, 1, 2)
