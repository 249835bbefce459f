"""`write_rows`: the step of a flow that keeps a workbook, as a Prefect task."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.office.workbook import Workbook
from holo_tasks.run.secret_filter import HushedName

NAME = HushedName("rows of {workbook.path.name}")


@task(name="write rows", task_run_name=NAME, cache_policy=NO_CACHE, persist_result=False)
async def write_rows(workbook: Workbook, rows: Sequence[Mapping[str, object]]) -> int:
    """Write rows into a workbook, all of them or none; return how many were new.

    A row is known by the workbook's key column, so writing it twice adds nothing: a re-run may give all rows again, and
    one that somebody has deleted comes back. Many at once cost what one does.
    """
    return await asyncio.to_thread(workbook.upsert_many, rows)
