"""What a script sees and hears of a walk: the screen as it is, read here, and what came of its last step."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.outside import defused
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Did, Told
from holo_tasks.loop.take_picture import Seen
from holo_tasks.loop.walk import Walk
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Sight

SCRIPT = "script"
"""The name of the layer that scripts are."""


class Eyes:
    """Reads the newest screen of a walk, as far as the walk is shown it.

    Targets are found on the screen as it is, which never leaves this machine. Values are read from what may be known
    outside it, because they end up in answers, notes and texts; for that, nothing that is read names a secret.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader or shared_reader()
        self._last: tuple[Seen, Sight] | None = None

    async def sight(self, walk: Walk) -> Sight:
        """Return what is on the screen; its pixels are those of the walk's region."""
        seen = walk.seen
        if seen is None:
            raise InvalidUsage("Look at the screen before deciding.")
        if self._last is None or self._last[0] is not seen:
            self._last = seen, await asyncio.to_thread(self._read, seen, walk.region)
        return self._last[1]

    def _read(self, seen: Seen, region: Box | None) -> Sight:
        sight = self._read_frame(seen.frame, region)
        if seen.redacted.rgb == seen.frame.rgb:
            return sight
        return replace(sight, shown=self._read_frame(seen.redacted, region))

    def _read_frame(self, frame: Frame, region: Box | None) -> Sight:
        from PIL import Image

        part = frame if region is None else frame.crop(region)
        picture = Image.frombuffer("RGB", (part.size.width, part.size.height), part.rgb, "raw", "RGB", 0, 1)
        sight = self._reader.read(picture).sight
        lines = tuple(replace(line, text=defused(line.text)) for line in sight.lines)
        return with_pictures(replace(sight, lines=lines), picture)


class Ears:
    """Hears what came of the step that was given last."""

    def __init__(self) -> None:
        self._given: tuple[Step, int] | None = None

    def gave(self, step: Step, walk: Walk) -> None:
        """Note the step that is to be done next."""
        self._given = step, len(walk.transcript.entries)

    def heard(self, walk: Walk) -> tuple[Step, Told] | None:
        """Return the last step and what came of it; None if none was given, or it was not done after all."""
        given, self._given = self._given, None
        if given is None:
            return None
        step, start = given
        later = walk.transcript.entries[start:]
        for did, told in pairwise(later):
            if isinstance(did, Did) and isinstance(told, Told) and did.step.tool_call == step.tool_call:
                return step, told
        return None


def exactly(point: Point, size: Size) -> tuple[float, float]:
    """Return the coordinates that `core.scaling` brings back to this very pixel, also on screens wider than 1000."""
    return _thousandths(point.x, size.width), _thousandths(point.y, size.height)


def _thousandths(pixel: int, length: int) -> float:
    whole = -(-pixel * 1000 // length)
    return whole if whole <= 1000 and int(whole * length / 1000) == pixel else (pixel + 0.5) * 1000 / length
