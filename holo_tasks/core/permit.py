"""Whether an action may go ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core.actions import AnyCall
from holo_tasks.core.gestures import Gesture


@dataclass(frozen=True)
class Permit:
    """A policy's word on one action; ``rule`` says which rule decided, in words a person understands."""

    allowed: bool
    rule: str


class Policy(Protocol):
    """Decides about each action right before it is done."""

    def permit(self, call: AnyCall, gesture: Gesture) -> Permit: ...
