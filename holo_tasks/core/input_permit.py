"""What the hands are shown with a gesture: that it is permitted, this very one, once, for a while."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Gesture


@dataclass(frozen=True)
class Slip:
    """What the process that owns the mouse is shown with a gesture, and checks before every event of it.

    It is good once, for exactly the gesture with this digest, until ``expires_s`` on the monotonic clock, while the
    window that gets the input belongs to ``owner`` (an `Owner.name`; empty for any), and while the screen is, where the
    input goes, as in the frame with the number ``frame`` (0 for any); and in the boxes of ``held``, which say what
    item it is about. A secret in it has to show in ``field``, if that is given, as it is typed. Of a seed that
    ``codes`` names the code of that window alone is typed: it was set aside for this gesture, on all machines that
    share the database.
    """

    gesture: str
    expires_s: float
    owner: str = ""
    frame: int = 0
    field: Box | None = None
    codes: tuple[tuple[str, int], ...] = ()
    held: tuple[Box, ...] = ()


def gesture_digest(gesture: Gesture) -> str:
    """Return a digest of a gesture: of every field, and of what kind it is."""
    return hashlib.sha256(repr(gesture).encode()).hexdigest()
