"""Find boxes with an edge on a frame: windows, buttons, fields and cells.

`Outlines` is used by the wireframe redaction, and `distinct` by `set_of_mark`.
"""

from __future__ import annotations

from collections.abc import Iterable

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.outlines import areas_of, edges_of


class Outlines:
    """Finds boxes; implements `safety.masking.wireframe.OutlineFinder`."""

    def outlines(self, frame: Frame) -> list[Box]:
        """Return the areas of at least 10 x 10 pixels with an edge all around, from small to large."""
        import numpy as np

        pixels = np.frombuffer(frame.rgb, np.uint8).reshape(frame.size.height, frame.size.width, 3)
        found = distinct(area.box for area in areas_of(pixels, edges_of(pixels)))
        return [box for box in found if box.width >= 10 and box.height >= 10]


def distinct(boxes: Iterable[Box]) -> list[Box]:
    """Return boxes from small to large. Of several nearly equal boxes, keep the smallest."""
    found: list[Box] = []
    for box in sorted(boxes, key=lambda box: (box.area, box.top, box.left)):
        if not any(alike(box, other) for other in found):
            found.append(box)
    return found


def alike(one: Box, other: Box) -> bool:
    """Return whether two boxes surround one thing: no side differs by more than a thick border."""
    most = min(6, max(3, min(one.width, one.height, other.width, other.height) // 3))
    return (
        abs(one.left - other.left) <= most
        and abs(one.top - other.top) <= most
        and abs(one.right - other.right) <= most
        and abs(one.bottom - other.bottom) <= most
    )
