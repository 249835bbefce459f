"""Notes of flow runs whose end Prefect has not heard: what they are called, and for how long they are kept."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from holo_tasks.machine import pending_notes

FLOW_RUN = "flow-run"
KEPT = timedelta(days=7)
"""After that nobody asks any more how a flow run ended, and its server may never come back."""


def give_up_late(home: Path) -> list[str]:
    """Throw away the notes of flow runs whose Prefect was not there for too long; return what there is to say of it."""
    told = []
    for note in pending_notes.left(home, FLOW_RUN):
        if note.age_s(time.time()) > KEPT.total_seconds():
            note.drop()
            told.append(
                f"For {KEPT.days} days its Prefect was not there to hear that flow run {note.says.get('flow_run_id')} "
                "has ended; nobody tells it any more."
            )
    return told
