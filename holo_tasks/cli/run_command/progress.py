"""Progress of a run in a file, for the MCP server that started the run as a process."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holo_tasks.cli.run_command.live_lines import doing
from holo_tasks.core import events
from holo_tasks.machine.private import open_private
from holo_tasks.safety.records.handoffs import Handoff


@dataclass(frozen=True)
class FollowedRun:
    """The id for a run, and the file for its progress."""

    run_id: str
    file: Path


class Progress:
    """Listener of a run's events that writes its progress to a file, without typed text."""

    def __init__(self, file: Path, max_steps: int) -> None:
        self._file = file
        self._told: dict[str, Any] = {"step": 0, "max_steps": max_steps, "cost_micro_usd": 0}

    def on_start(self, model: str, trace: str) -> None:
        self._tell(model=model, trace=trace)

    def on_event(self, event: events.Event) -> None:
        match event:
            case events.RequestSent(purpose="step"):
                picture = event.shots[-1] if event.shots else self._told.get("picture")
                self._tell(step=max(event.step, self._told["step"]), doing="asking the model", picture=picture)
            case events.ReplyReceived():
                spent = self._told["cost_micro_usd"]
                known = spent is not None and event.cost_micro_usd is not None
                self._tell(cost_micro_usd=spent + event.cost_micro_usd if known else None)
            case events.Decided():
                self._tell(step=max(event.step, self._told["step"]), doing=doing(event))
            case events.HandedOver() if event.handoff:
                self._tell(doing="waiting for a person")
            case events.TakenBack():
                self._tell(doing="going on", handoff=None)

    def on_handoff(self, handoff: Handoff) -> None:
        asked = {"id": handoff.id, "question": handoff.question, "choices": list(handoff.choices)}
        self._tell(handoff={**asked, "expires": handoff.expires_at, "live": handoff.live, "picture": handoff.picture})

    def _tell(self, **told: Any) -> None:
        self._told |= told
        draft = self._file.with_name(f".{self._file.name}.part")
        # The run goes on if the file cannot be written.
        with contextlib.suppress(OSError):
            with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as out:
                json.dump(self._told, out)
            draft.replace(self._file)
