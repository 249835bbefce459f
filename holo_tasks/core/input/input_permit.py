"""The permit for one gesture, which the process with the mouse and keyboard checks before each input event."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.screen.geometry import Box


@dataclass(frozen=True)
class InputPermit:
    """A permit for one gesture, valid once.

    The process that owns the mouse checks all of these conditions before every input event of the gesture:

    * the gesture has the digest ``gesture``;
    * the monotonic clock is before ``expires_s``;
    * the window that gets the input belongs to ``owner`` (an `Owner.name`; empty for any owner);
    * the screen at the target looks as in the frame with the number ``frame`` (0 for any frame);
    * so do the boxes ``held``, which show the business item that the action is about;
    * a typed secret appears in ``field``, if that is given.

    ``codes`` pairs the names of seeds with the time windows whose codes may be typed. These codes are reserved for this
    gesture on all machines that share the database.
    """

    gesture: str
    expires_s: float
    owner: str = ""
    frame: int = 0
    field: Box | None = None
    codes: tuple[tuple[str, int], ...] = ()
    held: tuple[Box, ...] = ()


def gesture_digest(gesture: Gesture) -> str:
    """Return a digest of a gesture that covers its type and every field."""
    return hashlib.sha256(repr(gesture).encode()).hexdigest()
