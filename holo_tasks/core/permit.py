"""Whether an action may go ahead."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core.actions import AnyCall
from holo_tasks.core.gestures import Gesture


@dataclass(frozen=True)
class Slip:
    """What the process that owns the mouse is shown with a gesture, and checks before every event of it.

    It is good for exactly the gesture with this digest, until ``expires_s`` on the monotonic clock, while the window
    that gets the input belongs to ``owner`` (an executable's path; empty for any).
    """

    gesture: str
    expires_s: float
    owner: str = ""


@dataclass(frozen=True)
class Permit:
    """A policy's word on one action; ``rule`` says which rule decided, in words a person understands.

    ``owner`` is the program that the action was allowed in, empty if that did not matter.
    """

    allowed: bool
    rule: str
    owner: str = ""

    def slip(self, gesture: Gesture, expires_s: float) -> Slip:
        """Return what the hands are shown."""
        return Slip(gesture_digest(gesture), expires_s, self.owner)


class Policy(Protocol):
    """Decides about each action right before it is done."""

    def permit(self, call: AnyCall, gesture: Gesture) -> Permit: ...


def gesture_digest(gesture: Gesture) -> str:
    """Return a digest of a gesture: of every field, and of what kind it is."""
    return hashlib.sha256(repr(gesture).encode()).hexdigest()
