"""Name the notes about flow runs whose end could not be reported to Prefect, and delete expired ones.

`unreported_runs` writes these notes. `deferred_reports` checks for them without importing Prefect.
"""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from holo_tasks.machine import pending_notes

FLOW_RUN = "flow-run"
KEPT = timedelta(days=7)
"""Age at which a note expires. By then the end of the flow run is of no interest, and its server may be gone for good.
"""


def give_up_late(home: Path) -> list[str]:
    """Delete expired notes; return a message for each."""
    messages = []
    for note in pending_notes.pending(home, FLOW_RUN):
        if note.age_s(time.time()) > KEPT.total_seconds():
            note.drop()
            messages.append(
                f"For {KEPT.days} days no Prefect server took the report that flow run {note.says.get('flow_run_id')} "
                "has ended; the note was deleted."
            )
    return messages
