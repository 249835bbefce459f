"""Finish work that earlier runs had to postpone: file noted items, and report ended flow runs to Prefect.

`catch_up` is called by `holo-tasks runs`. It imports neither Prefect nor the database unless a note exists, because the
command must answer quickly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holo_tasks.machine import pending_notes
from holo_tasks.run.prefect_edge.flow_run_notes import FLOW_RUN, give_up_late


def catch_up(home: Path) -> Iterator[str]:
    """File noted items and report how flow runs ended; yield a message about each."""
    if any(pending_notes.pending(home, "item")):
        from holo_tasks.run.items.dead_letters import file_noted

        yield from file_noted(home)
    yield from give_up_late(home)
    if any(pending_notes.pending(home, FLOW_RUN)):
        from holo_tasks.prefect_server import local_only
        from holo_tasks.prefect_server.temporary import configured_api_url, is_up

        if local_only.enter(os.environ):
            local_only.pin_prefect(os.environ)
        url = configured_api_url(os.environ)
        if url and is_up(url):
            import asyncio

            from holo_tasks.run.prefect_edge.unreported_runs import report_noted  # Prefect takes seconds to load

            yield from asyncio.run(report_noted(home))
