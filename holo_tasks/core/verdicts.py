"""What an action did to the screen, judged by comparing settled frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from PIL import Image, ImageChops

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box

Outcome: TypeAlias = Literal["changed", "unchanged", "unsettled"]


@dataclass(frozen=True)
class Verdict:
    """``box`` bounds every pixel that differs, in screen pixels; None when nothing changed."""

    outcome: Outcome
    box: Box | None

    @property
    def sentence(self) -> str:
        """The fact, as the model is told it."""
        match self.outcome:
            case "unchanged":
                return "The screen did not change."
            case "unsettled":
                return "The screen is still changing."
            case _:
                return "The screen changed."


def judge(before: Frame, after: Frame) -> Verdict:
    """Compare two frames pixel by pixel; a frame of another size has changed as a whole."""
    box = changed_box(before, after)
    if not after.settled:
        return Verdict("unsettled", box)
    return Verdict("unchanged" if box is None else "changed", box)


def changed_box(before: Frame, after: Frame) -> Box | None:
    """Return the smallest box around every pixel that differs, or None."""
    if before.size != after.size:
        return Box(0, 0, after.size.width, after.size.height)
    if before.rgb == after.rgb:
        return None
    shape = (after.size.width, after.size.height)
    difference = ImageChops.difference(
        Image.frombuffer("RGB", shape, before.rgb, "raw", "RGB", 0, 1),
        Image.frombuffer("RGB", shape, after.rgb, "raw", "RGB", 0, 1),
    )
    found = difference.getbbox()
    if found is None:
        return None
    left, top, right, bottom = found
    return Box(left, top, right - left, bottom - top)
