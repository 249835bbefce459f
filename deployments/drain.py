#!/usr/bin/env python3
"""Have the workers of a pool take nothing more, and wait for what they have at work, before they are replaced.

Ends with 0 when nothing is at work, with 1 when something still is after the time given. `prefect work-pool resume`
has the new workers take up what waits.
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
    """Pause the pool and wait; return the names of the runs that are at work after so many seconds."""
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
    parser.add_argument("--seconds", type=float, default=600, help="how long to wait for what is at work")
    given = parser.parse_args()
    if left := asyncio.run(drained(given.pool, given.seconds)):
        raise SystemExit(f"drain.py: the pool {given.pool} is paused; still at work: {', '.join(left)}")


if __name__ == "__main__":
    main()
