"""Cut small pictures of pressed controls out of recordings, as targets of the playbook.

A control without text gets a picture of its icon. A control with text gets a picture of its words, for screens on which
OCR joins them with others. `compile` uses `Pictures`.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.targets import has_captions, hits, is_of_words, target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.outlines import CLOSELY, areas_of, drawings_of, edges_of, icon_left_of
from holo_tasks.vision.screen_text import WORDS_APART, Sight, matches
from holo_tasks.vision.template_match import places_of, reference

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

SMALLEST, LARGEST, LONGEST = 8, 96, 320
"""Smallest and largest side of an icon, and the largest width of words, in pixels."""
CLOSE = 2
"""Pixels by which OCR may place the left edge of a text wrongly."""
AROUND, BESIDE = 3, 4
"""Pixels of background around a cut picture, and the distance up to which a press still hits the icon."""
LARGEST_SIGN, UNLIKE = 48, 0.95
"""Largest side of a sign in a cell in pixels, and largest likeness of two signs that are clearly different.

A replay takes signs above 0.98 for the same.
"""
DIGITS = 8
INK, GAP = 48, 0.35
"""Levels of 255 by which letters differ from their ground, and the gap between captions, in heights of the text."""


@dataclass(frozen=True)
class Pictures:
    """Cuts pictures of pressed controls and writes them to a folder.

    ``sights`` are the recorded pictures as OCR has read them. ``opened`` returns the pixels of a recorded picture.
    """

    folder: Path
    name: str
    sights: Mapping[Picture, Sight]
    opened: Callable[[Picture], Image.Image]

    def with_pictures(self, chosen: Sequence[Recording]) -> list[Recording]:
        """Return the recordings with a picture of each pressed control.

        A step stays without a picture if none identifies its control.
        """
        known, words = list[Path](), set[Path]()
        return [
            replace(one, steps=tuple(self._with_picture(step, known, words) for step in one.steps)) for one in chosen
        ]

    def _with_picture(self, step: RecordedStep, known: list[Path], words: set[Path]) -> RecordedStep:
        if len(step.points) != 1 or step.before.sent != Size(step.before.area.width, step.before.area.height):
            return step  # the picture was sent in a reduced size, so the pixels are unknown
        at, sight = step.points[0], self.sights[step.before]
        if "image" in step.element and (sign := self._sign(step)) is not None:
            return replace(step, sign=sign)
        target = target_at(at, sight, {})
        if target is not None:
            icon = self._icon_beside_words(step, target, sight)
            return replace(step, picture=self._picture_of_words(step, target, sight, words), icon=icon)
        for file in known:
            if self._is_only(file, step.before, at):
                return replace(step, picture=file)
        drawn = [self._written(data) for data in self._drawings_at(step.before, at, sight)]
        for file in drawn:
            if self._identifies(file, step.before, at, self.sights.values()):
                known.append(file)
                return replace(step, picture=file)
        return replace(step, icon=next(iter(drawn), None))

    def _sign(self, step: RecordedStep) -> Path | None:
        """Return a picture of the small sign that a press replaced with a clearly different one, or ``None``."""
        import numpy as np

        changed, same = step.changed, step.after.area == step.before.area and step.after.sent == step.before.sent
        if changed is None or not same or not changed.contains(step.points[0]):
            return None
        screen, after = self.opened(step.before), np.asarray(self.opened(step.after))
        box = changed.grown(AROUND).cut_to(Box(0, 0, *screen.size))
        if max(box.width, box.height) > LARGEST_SIGN or any(map(box.intersects, _masked(step.before))):
            return None
        file = self._written(_png(screen, box))
        try:
            is_other = not places_of(after[box.top : box.bottom, box.left : box.right], reference(file), UNLIKE)
        except InvalidUsage:  # the picture has nearly one color
            return None
        return file if is_other else None

    def _icon_beside_words(self, step: RecordedStep, target: Target, sight: Sight) -> Path | None:
        """Return a picture of the icon that was pressed left of the words of a target; ``None`` for a press elsewhere.

        In a row of a list the icon may do something else than the words, so the words are not the target.
        """
        at = step.points[0]
        line = next((one for one in sight.lines if one.text == target.text and hits(one.box, at, of_field=False)), None)
        if line is None or step.element.get("role") or not at.x < line.box.left - CLOSE:
            return None
        import numpy as np

        screen = self.opened(step.before)
        box = icon_left_of(np.asarray(screen), at.x, line.box)
        if box is None or any(map(box.intersects, _masked(step.before))):
            return None
        return self._written(_png(screen, box))

    def _picture_of_words(self, step: RecordedStep, target: Target, sight: Sight, known: set[Path]) -> Path | None:
        """Return a picture of the words that were pressed.

        Returns ``None`` if the control can be found by more than its text, or the picture does not identify it.
        """
        at = step.points[0]
        line = next((one for one in sight.lines if one.text == target.text and hits(one.box, at, of_field=False)), None)
        if line is None or step.element.get("role") or not is_of_words(target) or line.box.width > LONGEST:
            return None
        screen = self.opened(step.before)
        hides = [*_masked(step.before), *(one.box for one in sight.lines if one is not line)]
        # With another word next to them, they would be a part of a longer text.
        room, box = round(WORDS_APART * line.box.height), line.box.grown(AROUND)
        wide = Box(line.box.left - room, box.top, line.box.width + 2 * room, box.height)
        cut = wide.intersection(Box(0, 0, *screen.size))
        if cut is None or any(map(cut.intersects, hides)):
            return None
        file = self._written(_png(screen, cut))
        if file not in known:
            # The picture is only used on screens with its words. If a screen shows these once, it has one such picture.
            label = f"*{line.text}*"
            often = [one for one in self.sights.values() if sum(matches(label, other.text) for other in one.lines) > 1]
            if not self._identifies(file, step.before, cut.center, often):
                return None
            known.add(file)
        return file

    def _written(self, data: bytes) -> Path:
        file = self.folder / f"{self.name}-{hashlib.sha256(data).hexdigest()[:DIGITS]}.png"
        file.write_bytes(data)
        return file

    def _drawings_at(self, on: Picture, at: Point, sight: Sight) -> Iterator[bytes]:
        """Yield PNG files of the drawings at a point, the smallest first.

        Drawings with text or masks on them are skipped.
        """
        import numpy as np

        screen = self.opened(on)
        pixels = np.asarray(screen)
        edges = edges_of(pixels)
        boxes = [*drawings_of(edges), *(area.box for area in areas_of(pixels, edges))]
        closer = drawings_of(edges, CLOSELY)
        caption = _caption_at(pixels, at, sight)
        if caption is not None and not any(map(caption.intersects, _masked(on))):
            yield _png(screen, caption.grown(AROUND).cut_to(Box(0, 0, *screen.size)))
        hides = [*_masked(on), *(line.box for line in sight.lines)]
        for box in [*_smallest_first(boxes, at), *_smallest_first(closer, at)]:
            cut = box.grown(AROUND).intersection(Box(0, 0, *screen.size))
            low, high = sorted((box.width, box.height))
            if cut is None or low < SMALLEST or high > LARGEST or any(map(cut.intersects, hides)):
                continue
            yield _png(screen, cut)

    def _identifies(self, file: Path, on: Picture, at: Point, among: Iterable[Sight]) -> bool:
        """Return whether a picture is found only at this point, and at most once on each of ``among``."""
        try:
            return self._is_only(file, on, at) and all(len(sight.pictures(file)) <= 1 for sight in among)
        except InvalidUsage:  # the picture has nearly one color
            return False

    def _is_only(self, file: Path, on: Picture, at: Point) -> bool:
        places = self.sights[on].pictures(file)
        return len(places) == 1 and places[0].box.contains(at)


def _smallest_first(boxes: Iterable[Box], at: Point) -> list[Box]:
    """Return the boxes at a point without repetitions, the smallest first."""
    return sorted({box for box in boxes if box.grown(BESIDE).contains(at)}, key=lambda box: box.area)


def _caption_at(pixels: Pixels, at: Point, sight: Sight) -> Box | None:
    """Return the box of the caption at a point in a text that OCR read from several, such as a menu bar."""
    import numpy as np

    line = next((one for one in sight.lines if one.box.contains(at) and has_captions(one, {})), None)
    if line is None:
        return None
    box = line.box
    part = pixels[box.top : box.bottom, box.left : box.right].astype(int)
    ground = np.median(part.reshape(-1, part.shape[2]), axis=0)
    inked = np.flatnonzero((np.abs(part - ground).max(axis=2) > INK).any(axis=0))
    pieces = np.split(inked, np.flatnonzero(np.diff(inked) > GAP * box.height) + 1)
    own = next((one for one in pieces if one.size and one[0] <= at.x - box.left <= one[-1]), None)
    return None if own is None else Box(box.left + int(own[0]), box.top, int(own[-1] - own[0]) + 1, box.height)


def _masked(on: Picture) -> list[Box]:
    """Return the masked areas of a picture, in its own pixels."""
    return [Box(box.left - on.area.left, box.top - on.area.top, box.width, box.height) for box in on.masks]


def _png(screen: Image.Image, cut: Box) -> bytes:
    with io.BytesIO() as file:
        screen.crop((cut.left, cut.top, cut.right, cut.bottom)).save(file, format="PNG")
        return file.getvalue()
