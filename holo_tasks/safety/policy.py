"""Which actions are allowed: read-only until a person trusts the agent with the mouse and keyboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from holo_tasks.core.actions import ACTING, AnyCall, label
from holo_tasks.core.gestures import Gesture
from holo_tasks.core.permit import Permit

Trust: TypeAlias = Literal["read", "act"]


@dataclass(frozen=True)
class TrustPolicy:
    """``read`` refuses every input event, moving the pointer included; ``act`` allows the whole toolbox."""

    trust: Trust = "read"

    def permit(self, call: AnyCall, gesture: Gesture) -> Permit:
        if self.trust == "act" or not isinstance(call, ACTING):
            return Permit(True, f"allow={self.trust}")
        return Permit(
            False,
            f"The agent wanted to {label(call)}, but this run is read-only; allow input with --allow act "
            '(or allow="act") if you trust it.',
        )
