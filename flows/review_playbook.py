"""Decide in Prefect's pages on what is proposed where a playbook does not fit any more."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from prefect import flow
from pydantic import Field

from holo_tasks.agent.reviewing import review_proposals
from holo_tasks.run.log_filter import one_line_errors
from holo_tasks.run.named_files import playbook_named
from holo_tasks.run.secret_filter import HushedName


@flow(name="Review a playbook", flow_run_name=HushedName("{playbook}"), persist_result=False)
async def review_playbook(
    playbook: str = Field(
        description="Name of a playbook in the folder that HOLO_REPORTS names where the flow runs, such as "
        "‘look-up.yaml’; what is proposed for it lies beside it."
    ),
    wait_hours: float = Field(
        default=24, gt=0, le=720, description="How long a person is waited for; what nobody decides on stays open."
    ),
) -> list[dict[str, Any]]:
    """Show each proposal with both pictures, wait for a person's yes or no, and put what they apply into the file."""
    one_line_errors()
    file = await asyncio.to_thread(playbook_named, playbook)
    return [asdict(one) for one in await review_proposals(file, 3600 * wait_hours)]


if __name__ == "__main__":
    review_playbook.serve(name="proposals", limit=20)
