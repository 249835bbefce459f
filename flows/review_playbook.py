"""Decide in the Prefect UI on proposed changes of a playbook that no longer fits."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from pydantic import Field

from holo_tasks import flow, named_file, review_proposals


@flow(name="Review a playbook", flow_run_name="{playbook}", persist_result=False)
async def review_playbook(
    playbook: str = Field(
        description="Name of a playbook in the folder HOLO_REPORTS of the machine that runs the flow, such as "
        "‘look-up.yaml’. The proposals are in the same folder."
    ),
    wait_hours: float = Field(
        default=24, gt=0, le=720, description="Hours to wait for a person. Proposals without a decision stay open."
    ),
) -> list[dict[str, Any]]:
    """Show each proposal with both pictures, wait for a person's decision, and apply the accepted ones to the file."""
    file = await asyncio.to_thread(named_file, playbook, ".yaml")
    return [asdict(one) for one in await review_proposals(file, 3600 * wait_hours)]


if __name__ == "__main__":
    review_playbook.serve(name="proposals", limit=20)
