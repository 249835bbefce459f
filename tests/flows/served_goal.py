"""Serve the flow `run_goal` as a deployment, with blocks made from the JSON of the first argument."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "flows")]

from holo_blocks import AuditBucket, HoloDesktop, HoloModel  # noqa: E402
from run_goal import run_goal  # noqa: E402


async def fill_in(told: dict[str, str]) -> None:
    model = HoloModel(base_url=told["base_url"], model="holo3-1-35b-a3b")
    for block in (model, HoloDesktop(app=told["app"]), AuditBucket(local_folder=told["folder"])):
        await block.asave(told["name"], overwrite=True)


if __name__ == "__main__":
    asyncio.run(fill_in(json.loads(sys.argv[1])))
    run_goal.serve(name="goal")
