"""Put items on a list of work, and have as many machines as there are work through it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from prefect import flow
from pydantic import Field

from holo_tasks import WorkList, read_rows
from holo_tasks.agent.fan_out import fan_out
from holo_tasks.run.log_filter import one_line_errors
from holo_tasks.run.named_files import table_named
from holo_tasks.run.secret_filter import HushedName
from holo_tasks.safety.work_items import Priority

_LIST: Any = Field(description="Name of the list.", min_length=1, max_length=300)
_PAYLOAD: Any = Field(description="What the work is given, by name.")
_QUEUES: Any = Field(default=None, description="The work queue for runs that are begun for items of a priority.")
_PARAMETERS: Any = Field(default=None, description="Further parameters of the deployment.")
_PRIORITY: Any = Field(default="normal", description="Which items go first.")
_DEADLINE: Any = Field(default=None, description="Of items of one priority, those with the nearest deadline go first.")
_TRIES: Any = Field(
    default=3, ge=1, le=100, description="How often an item is tried that fails for a technical reason."
)


@flow(name="Work through a list", flow_run_name=HushedName("{work_list}"), persist_result=False)
async def work_through(
    work_list: str = _LIST,
    deployment: str = Field(
        description="The deployment whose runs work on the items, as ‘flow/deployment’. Its flow has the parameters "
        "work_list and most, and gives them to WorkList.map."
    ),
    batch: int = Field(default=100, ge=1, description="How many items a run takes at most."),
    at_once: int = Field(default=10, ge=1, description="How many runs there are at most at a time."),
    queues: dict[Priority, str] | None = _QUEUES,
    parameters: dict[str, Any] | None = _PARAMETERS,
) -> dict[str, int]:
    """Begin runs of a deployment until every item of a list has come to an end, and count what came of them.

    It has no desktop and waits most of the time: let it run beside those that work, on a worker of its own.
    """
    one_line_errors()
    counts = await fan_out(work_list, deployment, batch=batch, at_once=at_once, queues=queues, parameters=parameters)
    return {name: getattr(counts, name) for name in ("done", "failed", "exhausted", "person")}


@flow(name="Add to a list", flow_run_name=HushedName("{key}"), persist_result=False)
async def add_to_list(
    work_list: str = _LIST,
    key: str = Field(description="Names the item; it is added once.", min_length=1, max_length=300),
    payload: dict[str, Any] = _PAYLOAD,
    priority: Priority = _PRIORITY,
    deadline: datetime | None = _DEADLINE,
    most_tries: int = _TRIES,
) -> bool:
    """Put one item on a list; False if it was there already."""
    one_line_errors()
    return await WorkList(work_list).add(payload, key=key, priority=priority, deadline=deadline, most_tries=most_tries)


@flow(name="Add a table to a list", flow_run_name=HushedName("{table}"), persist_result=False)
async def add_table(
    work_list: str = _LIST,
    table: str = Field(
        description="Name of a CSV file or a workbook in the folder that HOLO_REPORTS names where the flow runs. Its "
        "first row names the columns; each other row is an item."
    ),
    key: str = Field(description="What names an item, made of columns: ‘{report}’.", min_length=1, max_length=300),
    priority: Priority = _PRIORITY,
    deadline: datetime | None = _DEADLINE,
    most_tries: int = _TRIES,
) -> int:
    """Put each row of a table on a list, all or none; return how many were not there yet."""
    one_line_errors()
    rows = await asyncio.to_thread(lambda: read_rows(table_named(table)))
    return await WorkList(work_list).add_rows(
        rows, key=key, priority=priority, deadline=deadline, most_tries=most_tries
    )


if __name__ == "__main__":
    from prefect import serve

    serve(*(each.to_deployment(name="list") for each in (work_through, add_to_list, add_table)), limit=20)  # type: ignore[arg-type]
