"""What runs left to be done by a later command: items to be filed, flow runs whose end Prefect has not heard.

Loads neither Prefect nor a database where nothing was left: a list of runs is wanted at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holo_tasks.machine import pending_notes
from holo_tasks.run.untold_notes import FLOW_RUN, give_up_late


def catch_up(home: Path) -> Iterator[str]:
    """File items that were noted, and tell Prefect how runs ended; give what there is to say of that."""
    if any(pending_notes.left(home, "item")):
        from holo_tasks.run.dead_letters import file_noted

        yield from file_noted(home)
    yield from give_up_late(home)
    if any(pending_notes.left(home, FLOW_RUN)):
        from holo_tasks.prefect_server import local_only
        from holo_tasks.prefect_server.temporary import configured_api_url, is_up

        if local_only.enter(os.environ):
            local_only.pin_prefect(os.environ)
        url = configured_api_url(os.environ)
        if url and is_up(url):
            import asyncio

            from holo_tasks.run.untold import tell_untold  # Prefect takes seconds to load

            yield from asyncio.run(tell_untold(home))
