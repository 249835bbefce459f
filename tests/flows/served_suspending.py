"""Serve a flow that suspends for a person twice, and fails while a file exists. The first argument has its settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from prefect import flow  # noqa: E402

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent  # noqa: E402
from holo_tasks import Answer, hand_over, pursue, subgoal  # noqa: E402

LOOK, ACCOUNT = "May the entry A-2 be filed?", "Which account is A-2 for?"


@subgoal(title="File {item}", key="{item}")
async def file_entry(item: str, ask: bool = False) -> str:
    goal = f"File {item}."
    if ask:
        told = await hand_over(ACCOUNT, choices=("sales", "travel"), suspend=True)
        goal = f"File {item} for {told.choice}; {told.by} said {told.note}."
    answer: str = await pursue(goal)
    return answer


@flow(persist_result=False)
async def asking() -> str:
    """A nested flow without a suspension of its own."""
    return await file_entry("A-3", True)


@flow(name="suspending", persist_result=False)
async def suspending(base_url: str, folder: str, broken: str, look: bool = True, within: bool = False) -> Any:
    async with holo_agent(
        "a test",
        model=HoloModel(base_url=base_url, model="holo3-1-35b-a3b"),
        desktop=HoloDesktop(),
        audit=AuditBucket(local_folder=str(Path(folder, "runs"))),
    ):
        first = await asking() if within else await file_entry("A-1")
        allowed = await hand_over(LOOK, choices=("yes", "no"), suspend=True) if look else Answer("yes")
        second = await file_entry("A-2", True)
    Path(folder, "ended").write_text(json.dumps([first, allowed.choice, allowed.by, second]))
    if Path(broken).exists():
        raise RuntimeError("broken")


if __name__ == "__main__":
    suspending.serve(name="suspending", parameters=json.loads(sys.argv[1]))
