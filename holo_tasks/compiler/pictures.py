"""What has no words, said by a small picture of it: cut out of a recording, and only where it shows no text at all."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.compiler.recording import Done, Picture, Recording
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.vision.outlines import areas_of, drawings_of, edges_of
from holo_tasks.vision.screen_text import Sight

if TYPE_CHECKING:
    from PIL import Image

SMALLEST, LARGEST = 8, 96
"""So large is what is cut out, in pixels of either side."""
AROUND, BESIDE = 3, 4
"""So much of the ground around goes with it, and so far beside it a press is still on it."""
DIGITS = 8


@dataclass(frozen=True)
class Pictures:
    """Cuts pictures of what was pressed into a folder.

    ``sights`` are all pictures of the recordings, read; ``opened`` gives one's pixels.
    """

    folder: Path
    name: str
    sights: Mapping[Picture, Sight]
    opened: Callable[[Picture], Image.Image]

    def with_pictures(self, chosen: Sequence[Recording]) -> list[Recording]:
        """Return recordings with a picture of each thing that was pressed and has no words, where one tells it."""
        known: list[Path] = []
        return [replace(one, steps=tuple(self._with_picture(step, known) for step in one.steps)) for one in chosen]

    def _with_picture(self, step: Done, known: list[Path]) -> Done:
        if len(step.points) != 1 or step.before.sent != Size(step.before.area.width, step.before.area.height):
            return step  # of a screen that was made smaller nobody knows the pixels
        at, sight = step.points[0], self.sights[step.before]
        if target_at(at, sight, {}) is not None:
            return step
        for file in known:
            if self._is_only(file, step.before, at):
                return replace(step, picture=file)
        for data in self._cut(step.before, at, sight):
            file = self.folder / f"{self.name}-{hashlib.sha256(data).hexdigest()[:DIGITS]}.png"
            file.write_bytes(data)
            if self._tells(file, step.before, at):
                known.append(file)
                return replace(step, picture=file)
        return step

    def _cut(self, on: Picture, at: Point, sight: Sight) -> Iterator[bytes]:
        """Yield what is drawn at a point as PNG files, the smallest first; nothing with a text or a mask on it."""
        import numpy as np

        screen = self.opened(on)
        pixels = np.asarray(screen)
        edges = edges_of(pixels)
        boxes = [*drawings_of(edges), *(area.box for area in areas_of(pixels, edges))]
        area = on.area
        masked = [Box(box.left - area.left, box.top - area.top, box.width, box.height) for box in on.masks]
        hides = [*masked, *(line.box for line in sight.lines)]
        there = {box for box in boxes if box.grown(BESIDE).contains(at)}
        for box in sorted(there, key=lambda box: box.area):
            cut = box.grown(AROUND).intersection(Box(0, 0, *screen.size))
            low, high = sorted((box.width, box.height))
            if cut is None or low < SMALLEST or high > LARGEST or any(map(cut.intersects, hides)):
                continue
            with io.BytesIO() as file:
                screen.crop((cut.left, cut.top, cut.right, cut.bottom)).save(file, format="PNG")
                yield file.getvalue()

    def _tells(self, file: Path, on: Picture, at: Point) -> bool:
        """Say whether a picture is of what is at a point, and is nowhere twice in the recordings."""
        try:
            return self._is_only(file, on, at) and all(len(sight.pictures(file)) <= 1 for sight in self.sights.values())
        except InvalidUsage:  # it is about one color
            return False

    def _is_only(self, file: Path, on: Picture, at: Point) -> bool:
        places = self.sights[on].pictures(file)
        return len(places) == 1 and places[0].box.contains(at)
