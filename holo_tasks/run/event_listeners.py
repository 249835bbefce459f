"""Forward a run's events to listeners.

`ForwardingRecorder` wraps the trace recorder. `Listener` is the protocol of an observer, such as the command line's
progress output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core import events
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.ports import Recorder
from holo_tasks.core.screen.frame import Shot
from holo_tasks.safety.records.handoffs import Handoff


class Listener(Protocol):
    """Observer of a run's events. It does not change the run."""

    def on_start(self, model: str, trace: str) -> None:
        """Receive the model's name and the place of the trace when a run begins."""
        ...

    def on_event(self, event: events.Event) -> None:
        """Receive an event that was recorded."""
        ...

    def on_handoff(self, handoff: Handoff) -> None:
        """Receive a hand-off that waits for a person."""
        ...


@dataclass(frozen=True)
class ForwardingRecorder:
    """A recorder that passes each recorded event on to listeners."""

    recorder: Recorder
    listeners: Sequence[Callable[[events.Event], None]]

    async def keep(self, shot: Shot | Attachment) -> None:
        await self.recorder.keep(shot)

    async def record(self, event: events.Event) -> None:
        await self.recorder.record(event)
        for hear in self.listeners:
            hear(event)
