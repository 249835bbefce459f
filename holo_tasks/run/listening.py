"""Hearing of what a run does, as it does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core import events
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.frame import Shot
from holo_tasks.core.ports import Recorder
from holo_tasks.safety.handoffs import Handoff


class Listener(Protocol):
    """Who is told what a run does; nothing that it does changes the run."""

    def begins(self, model: str, trace: str) -> None:
        """Hear that a run begins, with which model, and where its evidence is."""
        ...

    def hear(self, event: events.Event) -> None:
        """Hear of an event that was recorded."""
        ...

    def wants(self, handoff: Handoff) -> None:
        """Hear what a person is asked."""
        ...


@dataclass(frozen=True)
class Overheard:
    """Records events, and has others hear those that are recorded."""

    recorder: Recorder
    listeners: Sequence[Callable[[events.Event], None]]

    async def keep(self, shot: Shot | Attachment) -> None:
        await self.recorder.keep(shot)

    async def record(self, event: events.Event) -> None:
        await self.recorder.record(event)
        for hear in self.listeners:
            hear(event)
