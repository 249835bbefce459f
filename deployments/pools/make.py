#!/usr/bin/env python3
"""Make the work pool that deployments/prefect.yaml names, on the server of PREFECT_API_URL, with its queues.

Of two waiting runs, the one in the queue with the smaller number goes first. A second call updates the job template
and keeps the queues. It replaces `prefect work-pool create --base-job-template --overwrite` and
`prefect work-queue create --priority`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate

HERE = Path(__file__).parent
QUEUES = ("urgent", "lists", "default", "later")
"""By priority, the first one goes first; each pool has `default`."""


async def make(kind: str, pool: str) -> str:
    """Make the pool, or update its job template. Return a sentence about the change."""
    template = json.loads((HERE / f"{kind}.json").read_text(encoding="utf-8"))
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name=pool, type=kind, base_job_template=template), overwrite=True)
        made = await client.read_work_pool(pool)
        if made.type != kind:
            raise SystemExit(f"make.py: the pool {pool} is of the type {made.type}: delete it, or name another one")
        known = {queue.name: queue for queue in await client.read_work_queues(work_pool_name=pool)}
        for priority, name in enumerate(QUEUES, 1):
            if name not in known:
                await client.create_work_queue(name=name, work_pool_name=pool, priority=priority)
    return f"The work pool {pool} ({kind}) has the queues {', '.join(QUEUES)}, the most urgent first."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(path.stem for path in HERE.glob("*.json")))
    parser.add_argument("pool", nargs="?", default="desktops")
    given = parser.parse_args()
    print(asyncio.run(make(given.kind, given.pool)))


if __name__ == "__main__":
    main()
