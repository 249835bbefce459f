"""Type the rows of a CSV file into the form of a desktop program that has no API, each row once."""

import asyncio
import csv

from pydantic import BaseModel

import blocks
from holo_blocks import HoloModel, holo_agent, local_prefect, rehearsal_model
from holo_tasks import NOT_DONE, Effect, Hooks, Limits, NotDone, StepTaken, flow, named_file, pursue, subgoal
from holo_tasks.audit import write_report

ORDERS = blocks.HERE / "orders.csv"
LIMITS = Limits(max_cost_usd=0.50)


class Saved(BaseModel):
    on_file: bool


async def order_on_file(number: str, customer: str, article: str, quantity: str) -> Saved | NotDone:
    """Look whether an interrupted attempt saved the order. Only otherwise it is entered again."""
    found: Saved = await pursue("Find out whether the order whose number the data names is on file.", returns=Saved)
    return found if found.on_file else NOT_DONE


# The key names the business item: an order that was entered once is not entered again. The probe looks for its effect.
@subgoal(
    key="{number}",
    title="Enter order {number}",
    data=["number", "customer", "article", "quantity"],
    effect=Effect(probe=order_on_file),
    limits=Limits(max_actions=25),
)
async def enter(number: str, customer: str, article: str, quantity: str) -> Saved:
    """Enter one order."""
    saved: Saved = await pursue("Enter the order of the data: number, customer, article, quantity.", returns=Saved)
    return saved


def print_step(step: StepTaken) -> None:
    """Print an action of the agent."""
    print(f"  {step.action}", flush=True)


@flow
async def enter_orders(name: str = blocks.NAME) -> int:
    """Enter all orders of the file and return their number. ``name`` is the name of the blocks."""
    with ORDERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    agent = holo_agent(
        "Enter orders",
        model=name,
        desktop=name,
        audit=name,
        allow="act",
        limits=LIMITS,
        hooks=Hooks(on_step=print_step),
    )
    async with agent as run:
        for row in rows:
            await enter(**row)
            print(f"order {row['number']} is on file", flush=True)
    report = named_file("report.html", ".html")
    if run.steps or not report.exists():
        write_report(run.trace, report)
    return len(rows)


if __name__ == "__main__":
    with local_prefect(), rehearsal_model(blocks.HERE / "playbook.yaml") as rehearsal:
        blocks.save(HoloModel.from_environment() or rehearsal)
        asyncio.run(enter_orders())
