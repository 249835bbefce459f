"""The boxes of a screen: windows, buttons, fields, cells, by their edges."""

from __future__ import annotations

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box
from holo_tasks.vision.boxes import distinct
from holo_tasks.vision.outlines import areas_of, edges_of


class Outlines:
    """Finds boxes; a `safety.masking.wireframe.OutlineFinder`."""

    def outlines(self, frame: Frame) -> list[Box]:
        """Return what has an edge all around and is large enough to hold a word, from small to large."""
        import numpy as np

        pixels = np.frombuffer(frame.rgb, np.uint8).reshape(frame.size.height, frame.size.width, 3)
        found = distinct(area.box for area in areas_of(pixels, edges_of(pixels)))
        return [box for box in found if box.width >= 10 and box.height >= 10]
