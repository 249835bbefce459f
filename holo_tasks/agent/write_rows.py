"""`write_rows`: a Prefect task that writes rows into a workbook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.office.workbook import Workbook
from holo_tasks.run.prefect_edge.secret_filter import ScrubbedRunName

NAME = ScrubbedRunName("rows of {workbook.path.name}")


@task(name="write rows", task_run_name=NAME, cache_policy=NO_CACHE, persist_result=False)
async def write_rows(workbook: Workbook, rows: Sequence[Mapping[str, object]]) -> int:
    """Write rows into a workbook, all or none. Return the number of new ones.

    The workbook's key column identifies a row, so a second write updates it. A re-run may pass all rows again; deleted
    ones come back. Many rows at once take as long as one.
    """
    return await asyncio.to_thread(workbook.upsert_many, rows)
