"""Read how many are on hand of each article, off a desktop program that has no API."""

import asyncio
from datetime import date

from pydantic import BaseModel

import blocks
from holo_blocks import HoloModel, holo_agent, local_prefect, rehearsal_model
from holo_tasks import Hooks, Limits, StepTaken, flow, named_file, pursue, subgoal
from holo_tasks.audit import write_report

ARTICLES = ["A-100", "A-200", "B-310"]
LIMITS = Limits(max_cost_usd=0.50)


class Stock(BaseModel):
    on_hand: int


# The key names the business item: work that is finished under a key is not repeated. With effect=None it may be.
@subgoal(
    key="{article} {day}", title="Look up {article}", data=("article",), effect=None, limits=Limits(max_actions=20)
)
async def look_up(article: str, day: date) -> Stock:
    """Look one article up."""
    found: Stock = await pursue("Read how many are on hand of the article that the data names.", returns=Stock)
    return found


def print_step(step: StepTaken) -> None:
    """Print an action of the agent."""
    print(f"  {step.action}", flush=True)


@flow
async def count_stock(articles: list[str] = ARTICLES, name: str = blocks.NAME) -> dict[str, int]:
    """Count articles. ``name`` is the name of the blocks."""
    counted: dict[str, int] = {}
    agent = holo_agent(
        "Count stock",
        model=name,
        desktop=name,
        audit=name,
        allow="act",
        limits=LIMITS,
        hooks=Hooks(on_step=print_step),
    )
    async with agent as run:
        for article in articles:
            counted[article] = (await look_up(article, date.today())).on_hand
            print(f"{article}: {counted[article]} on hand", flush=True)
    report = named_file("report.html", ".html")
    if run.steps or not report.exists():
        write_report(run.trace, report)
    return counted


if __name__ == "__main__":
    with local_prefect(), rehearsal_model(blocks.HERE / "playbook.yaml") as rehearsal:
        blocks.save(HoloModel.from_environment() or rehearsal)
        asyncio.run(count_stock())
