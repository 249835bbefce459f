"""Decide whether a click that changed nothing may be repeated a few pixels away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from holo_tasks.core.input.gestures import Click, Gesture
from holo_tasks.core.input.permit import ReadsTargets, TextReader
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.recheck import NEAR
from holo_tasks.core.screen.verdicts import changed_box

OFFSET = 3
"""Pixels between the first click and its repetition, in both directions."""


def shifted_click(click: Click, screen: Size) -> tuple[Click, int, int]:
    """Return the same click a few pixels away, within the screen, and its offset in x and y."""
    dx = OFFSET if click.at.x + OFFSET < screen.width else -OFFSET
    dy = OFFSET if click.at.y + OFFSET < screen.height else -OFFSET
    return Click(Point(click.at.x + dx, click.at.y + dy), click.button, click.count), dx, dy


async def may_repeat(
    gesture: Gesture | None, before: Frame, after: Frame, labels: Sequence[str], reader: TextReader | None
) -> bool:
    """Return whether a gesture that changed nothing is a plain left click on a target that was declared safe to repeat.

    The text that is read on the target decides. The model's description does not count. A target without readable text
    is not safe.
    """
    if not (isinstance(gesture, Click) and gesture.button == "left" and gesture.count == 1 and labels and reader):
        return False
    if before.size != after.size or not gesture.at.inside(after.size):
        return False
    if changed_box(before.crop(near := _near(gesture.at, after.size)), after.crop(near)) is not None:
        return False
    text = ""
    with suppress(Exception):
        reading = reader.on_target if isinstance(reader, ReadsTargets) else reader
        text = await reading(after, gesture.at)
    return any(fits(label, text) for label in labels)


def fits(label: str, text: str) -> bool:
    """Return whether the whole text equals a label, ignoring case and spacing. ``*`` in the label matches any text."""
    pieces = [re.escape(" ".join(piece.split())) for piece in label.casefold().split("*")]
    seen = " ".join(text.casefold().split())
    return bool(seen) and re.fullmatch(".*".join(pieces), seen) is not None


def _near(at: Point, screen: Size) -> Box:
    return Box.near(at, NEAR, NEAR).cut_to(Box.whole(screen))
