"""Release what dead processes held, every few minutes and on each machine with desktops."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from prefect import get_run_logger

from holo_tasks import announce_deadlines, flow, release_abandoned


@flow(name="Janitor", persist_result=False)
async def janitor() -> dict[str, Any]:
    """Release the items, seats and flow runs of dead workers, and remove the remains of their desktops.

    Items, seats and flow runs are those of all machines with the same database. Processes and folders are those of
    this machine. Nothing that a living process holds is touched, so the flow may run at any time.

    If open items of a list are due within the hour, the flow sends the event `holo.deadline-near` to Prefect. An
    automation can then call a person.
    """
    found = await release_abandoned()
    said = {name: value for name, value in asdict(found).items() if value}
    get_run_logger().info("Released what dead processes held: %s.", said or "nothing")
    for due in await asyncio.to_thread(announce_deadlines):
        get_run_logger().warning("%d items of %s are due within the hour, %d are late.", due.near, due.list, due.late)
    return said


if __name__ == "__main__":
    janitor.serve(name="janitor", interval=300, limit=1)
