"""Pursue one goal on a screen. No flow has to be written for it."""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import Field

from holo_blocks import AuditBucket, holo_agent, load_block
from holo_tasks import HandOff, InvalidUsage, cost_guardrail, flow, named_file, pursue, subgoal
from holo_tasks.audit import write_report


@subgoal(title="{goal}", key="{token}")
async def pursue_goal(goal: str, token: str | None) -> str:
    """Work on the goal until it is answered."""
    answer: str = await pursue(goal)
    return answer


@flow(name="Run a goal", flow_run_name="{goal}", persist_result=False)
@cost_guardrail(max_cost_usd="{max_cost_usd}", timeout_seconds="{timeout_seconds}")
async def run_goal(
    goal: str = Field(
        description="The goal in plain words. For example: open the customer list and tell me how many there are.",
        min_length=1,
        max_length=100_000,
    ),
    allow: Literal["read", "act"] = Field(
        default="read",
        description="read only looks and answers. act may also use the mouse and the keyboard, unless the rules of the "
        "desktop block say read.",
    ),
    model: str = Field(default="holo", description="Name of a Holo Model block."),
    desktop: str = Field(default="holo", description="Name of a Holo Desktop block."),
    audit: str = Field(default="holo", description="Name of a Holo Audit Bucket block."),
    max_steps: int = Field(default=50, ge=1, le=10_000, description="The most steps of the agent."),
    max_cost_usd: float = Field(default=0.50, ge=0, description="The cost limit. The run stops before it costs more."),
    timeout_seconds: float = Field(default=600, gt=0, description="The time limit of the run, in seconds."),
    token: str | None = Field(
        default=None,
        description="Identifies the business item. A second run with the same token returns the first answer.",
    ),
    hand_off_seconds: float = Field(
        default=0,
        ge=0,
        le=HandOff.LONGEST_SECONDS,
        description="How long to wait for a person if the agent asks for one. 0 ends the run at that point.",
    ),
    report: str | None = Field(
        default=None,
        description="Name of an HTML report of the run, in the folder HOLO_REPORTS of the machine that runs the flow.",
    ),
) -> str:
    """Pursue a goal on a screen and return the answer. Mouse and keyboard are only used if that is allowed."""
    if not goal.strip():
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    page = await asyncio.to_thread(named_file, report, ".html") if report else None
    bucket = await load_block(AuditBucket, audit)
    async with holo_agent(
        goal[:200],
        model=model,
        desktop=desktop,
        audit=bucket,
        allow=allow,
        max_steps=max_steps,
        handoff=HandOff(hand_off_seconds) if hand_off_seconds else False,
    ) as run:
        run.answer = answer = await pursue_goal(goal, token or None)
    if page:
        await asyncio.to_thread(write_report, bucket.trace(run.trace), page)
    return answer


if __name__ == "__main__":
    # Each run has its own desktop. Runs that wait for a person count too.
    run_goal.serve(name="run-goal", limit=4)
