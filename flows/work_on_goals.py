"""Work on the goals of a work list, on several desktops at the same time."""

from __future__ import annotations

from typing import Literal

from prefect import get_run_logger
from pydantic import Field

from holo_blocks import holo_agents
from holo_tasks import WorkList, cost_guardrail, flow
from run_goal import pursue_goal


@flow(name="Work on goals", flow_run_name="{work_list}", persist_result=False)
@cost_guardrail(max_cost_usd="{max_cost_usd}")
async def work_on_goals(
    work_list: str = Field(
        default="goals",
        min_length=1,
        max_length=300,
        description="Name of the list. Each item has a goal, and a token for which the goal is pursued once.",
    ),
    most: int = Field(default=100, ge=1, description="The most items that this run takes."),
    desktops: int = Field(default=1, ge=1, le=100, description="The number of desktops that work at the same time."),
    allow: Literal["read", "act"] = Field(
        default="read",
        description="read only looks and answers. act may also use the mouse and the keyboard, unless the rules of the "
        "desktop block say read.",
    ),
    model: str = Field(default="holo", description="Name of a Holo Model block."),
    desktop: str = Field(default="holo", description="Name of a Holo Desktop block, which starts a program."),
    audit: str = Field(default="holo", description="Name of a Holo Audit Bucket block."),
    max_steps: int = Field(default=50, ge=1, le=10_000, description="The most steps for a goal."),
    max_cost_usd: float = Field(default=20.0, ge=0, description="The cost limit. The run stops before it costs more."),
) -> dict[str, int]:
    """Work on the items of a list that are ready, the most urgent first, and count the results.

    `Work through a list` starts runs of this flow on all machines.
    """
    log, counted = get_run_logger(), {"done": 0, "not done": 0}
    async with holo_agents(
        f"Goals of {work_list}",
        desktops=min(desktops, most),
        model=model,
        desktop=desktop,
        audit=audit,
        allow=allow,
        max_steps=max_steps,
    ) as agents:
        async for one in WorkList(work_list).map(pursue_goal, agents, most=most):
            counted["done" if one.error is None else "not done"] += 1
            if one.error is not None:
                log.warning("%s: %s", one.item.key, one.error)
    return counted


if __name__ == "__main__":
    work_on_goals.serve(name="fleet", limit=1)
