"""End what nobody holds any more, each few minutes and on each machine with desktops."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from prefect import flow, get_run_logger

from holo_tasks.run.business_item import Books
from holo_tasks.run.deadlines import tell_of_deadlines
from holo_tasks.run.janitor import clear
from holo_tasks.run.log_filter import one_line_errors


@flow(name="Janitor", persist_result=False)
async def janitor() -> dict[str, Any]:
    """Put back the items of dead workers, free their seats, end their flow runs, and clear away what desktops left.

    Items, seats and flow runs are those of all machines that share the database; processes and folders are those of the
    machine that this runs on. It ends nothing that anybody holds, and may run as often as one likes. Of lists with open
    items that are due within the hour it tells Prefect (`holo.deadline-near`), for an automation to call somebody.
    """
    one_line_errors()
    found = await clear()
    said = {name: value for name, value in asdict(found).items() if value}
    get_run_logger().info("Ended what nobody held: %s.", said or "there was nothing")
    for due in await asyncio.to_thread(lambda: tell_of_deadlines(Books.here().ledger.store)):
        get_run_logger().warning("%d items of %s are due within the hour, %d are late.", due.near, due.list, due.late)
    return said


if __name__ == "__main__":
    janitor.serve(name="janitor", interval=300, limit=1)
