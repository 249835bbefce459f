#!/usr/bin/env python3
"""Pause a work pool and wait for its running flow runs, before its workers are replaced.

The exit code is 0 if no run is left, and 1 if runs are left after the given time. After `prefect work-pool resume` the
new workers take the waiting runs.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import StateType

AT_WORK = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
LOOK_S = 2.0


async def drained(pool: str, seconds: float) -> list[str]:
    """Pause the pool and wait. Return the names of the runs that still run after a number of seconds."""
    these = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=AT_WORK)))
    of_pool = WorkPoolFilter(name=WorkPoolFilterName(any_=[pool]))
    until = time.monotonic() + seconds
    async with get_client() as client:
        await client.update_work_pool(pool, WorkPoolUpdate(is_paused=True))
        while True:
            runs = await client.read_flow_runs(flow_run_filter=these, work_pool_filter=of_pool)
            if not runs or time.monotonic() >= until:
                return sorted(run.name for run in runs)
            await asyncio.sleep(LOOK_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pool", nargs="?", default="desktops")
    parser.add_argument("--seconds", type=float, default=600, help="longest wait for running flow runs")
    given = parser.parse_args()
    if left := asyncio.run(drained(given.pool, given.seconds)):
        raise SystemExit(f"drain.py: the pool {given.pool} is paused; these runs still run: {', '.join(left)}")


if __name__ == "__main__":
    main()
