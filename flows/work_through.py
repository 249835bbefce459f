"""Add items to a work list, and let all machines work through it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from pydantic import Field

from holo_tasks import Priority, WorkList, fan_out, flow, named_file, read_rows

_LIST: Any = Field(description="Name of the list.", min_length=1, max_length=300)
_PAYLOAD: Any = Field(description="The values for the work, by their names.")
_QUEUES: Any = Field(default=None, description="The work queue for runs with items of each priority.")
_PARAMETERS: Any = Field(default=None, description="Further parameters for runs of the deployment.")
_PRIORITY: Any = Field(default="normal", description="Items with a higher priority come first.")
_DEADLINE: Any = Field(default=None, description="Among items of one priority, the nearest deadline comes first.")
_TRIES: Any = Field(
    default=3, ge=1, le=100, description="The most attempts at an item that fails for a technical reason."
)


@flow(name="Work through a list", flow_run_name="{work_list}", persist_result=False)
async def work_through(
    work_list: str = _LIST,
    deployment: str = Field(
        description="The deployment that works on the items, as ‘flow/deployment’. Its flow needs the parameters "
        "work_list and most, and passes them to WorkList.map."
    ),
    batch: int = Field(default=100, ge=1, description="The most items that one run takes."),
    at_once: int = Field(default=10, ge=1, description="The most runs at the same time."),
    queues: dict[Priority, str] | None = _QUEUES,
    parameters: dict[str, Any] | None = _PARAMETERS,
) -> dict[str, int]:
    """Start runs of a deployment until all items of a list are finished, and count the results.

    This flow has no desktop and waits most of the time. Run it on a separate worker.
    """
    counts = await fan_out(work_list, deployment, batch=batch, at_once=at_once, queues=queues, parameters=parameters)
    return {name: getattr(counts, name) for name in ("done", "failed", "exhausted", "person")}


@flow(name="Add to a list", flow_run_name="{key}", persist_result=False)
async def add_to_list(
    work_list: str = _LIST,
    key: str = Field(description="Identifies the item. An item is added once.", min_length=1, max_length=300),
    payload: dict[str, Any] = _PAYLOAD,
    priority: Priority = _PRIORITY,
    deadline: datetime | None = _DEADLINE,
    most_tries: int = _TRIES,
) -> bool:
    """Add one item to a list. Returns ``False`` if the list had it already."""
    return await WorkList(work_list).add(payload, key=key, priority=priority, deadline=deadline, most_tries=most_tries)


@flow(name="Add a table to a list", flow_run_name="{table}", persist_result=False)
async def add_table(
    work_list: str = _LIST,
    table: str = Field(
        description="Name of a CSV file or a workbook in the folder HOLO_REPORTS of the machine that runs the flow. "
        "Its first row names the columns. Each other row is an item."
    ),
    key: str = Field(
        description="The key of an item, with columns in braces: ‘{report}’.", min_length=1, max_length=300
    ),
    priority: Priority = _PRIORITY,
    deadline: datetime | None = _DEADLINE,
    most_tries: int = _TRIES,
) -> int:
    """Add each row of a table to a list, all or none. Returns the number of new items."""
    rows = await asyncio.to_thread(lambda: read_rows(named_file(table, ".csv", ".xlsx")))
    return await WorkList(work_list).add_rows(
        rows, key=key, priority=priority, deadline=deadline, most_tries=most_tries
    )


if __name__ == "__main__":
    from prefect import serve

    serve(*(each.to_deployment(name="list") for each in (work_through, add_to_list, add_table)), limit=20)  # type: ignore[arg-type]
