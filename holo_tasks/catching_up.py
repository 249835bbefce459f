"""What runs left to be done by a later command: items to be filed, flow runs whose end Prefect has not heard.

Loads neither Prefect nor a database where nothing was left: a list of runs is wanted at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from holo_tasks.machine import notes

FLOW_RUN = "flow-run"
KEPT = timedelta(days=7)
"""After that nobody asks any more how a flow run ended, and its server may never come back."""


def catch_up(home: Path) -> Iterator[str]:
    """File items that were noted, and tell Prefect how runs ended; give what there is to say of that."""
    if any(notes.left(home, "item")):
        from holo_tasks.filing import file_noted

        yield from file_noted(home)
    yield from give_up_late(home)
    if any(notes.left(home, FLOW_RUN)):
        from holo_tasks import local_only
        from holo_tasks.prefect_server import configured_api_url, is_up

        if local_only.enter(os.environ):
            local_only.pin_prefect(os.environ)
        url = configured_api_url(os.environ)
        if url and is_up(url):
            import asyncio

            from holo_tasks.untold import tell_untold  # Prefect takes seconds to load

            yield from asyncio.run(tell_untold(home))


def give_up_late(home: Path) -> list[str]:
    """Throw away the notes of flow runs whose Prefect was not there for too long; return what there is to say of it."""
    told = []
    for note in notes.left(home, FLOW_RUN):
        if note.age_s(time.time()) > KEPT.total_seconds():
            note.drop()
            told.append(
                f"For {KEPT.days} days its Prefect was not there to hear that flow run {note.says.get('flow_run_id')} "
                "has ended; nobody tells it any more."
            )
    return told
