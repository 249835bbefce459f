"""Benchmark the agents on suites of tasks, with a model or with an oracle in its place. Each suite judges its results.

`make benchmark` runs it on this machine (`flows/benchmarks/__main__.py`). As a deployment, it takes its model and its
evidence from blocks. Without a model, an oracle that knows the positions of all controls decides. Then everything
except the model is measured, and every page says so. Each task with each seed is an item that is done once, so a killed
benchmark continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from prefect import get_run_logger
from pydantic import Field

from benchmarks.evidence import took_by_key
from benchmarks.figures import row, rows_by
from benchmarks.ledger import Ledger
from benchmarks.miniwob import MiniWob
from benchmarks.nasty.suite import CLERK, Nasty
from benchmarks.office.suite import Office
from benchmarks.oracle import Oracle, serving
from benchmarks.page import past_rows, write_page
from benchmarks.results import PAGE, Kept, Plan, Shelf
from benchmarks.suite import Suite
from benchmarks.values import Item, Outcome, Result, Took
from benchmarks.work import Bench, outcome_of, worked_on, working_on
from holo_blocks import AuditBucket, HoloModel, holo_agents, load_block
from holo_tasks import InvalidUsage, flow, publish_markdown, publish_table, reports_folder

PLAYBOOK = Path(__file__).with_name("expense_audit.playbook.yaml")
MOST_STEPS = 60


@flow(name="Benchmark", flow_run_name="benchmark {name}", persist_result=False)
async def benchmark(
    suites: tuple[str, ...] = Field(
        default=("miniwob",), min_length=1, description="The suites: miniwob, miniwob-clock, ledger, nasty, office."
    ),
    tasks: tuple[str, ...] = Field(default=(), description="The tasks of these suites. Empty means all."),
    seeds: int = Field(default=1, ge=1, le=1000, description="The number of seeds for each task."),
    first_seed: int = Field(default=0, ge=0, description="The first seed."),
    scales: tuple[float, ...] = Field(default=(1.0,), min_length=1, description="Scales of the display."),
    desktops: int = Field(default=1, ge=1, le=100, description="The number of desktops that work at the same time."),
    model: str = Field(default="", description="Name of a Holo Model block. If empty, an oracle decides."),
    audit: str = Field(default="", description="Name of a Holo Audit Bucket block. If empty, a folder is used."),
    compare: str = Field(default="", description="Name of an earlier benchmark for a comparison."),
    tree: bool = Field(default=False, description="Use the accessibility tree of programs."),
    replay: bool = Field(default=False, description="Let playbooks do the work before the model or the oracle."),
    name: str = Field(
        default="",
        description="Name of this benchmark. If empty, an unfinished one continues, or the name is the time.",
    ),
) -> str:
    """Work on every item, store the results, and return the name of the benchmark."""
    shelf = Shelf(reports_folder())
    chosen = [_suite(each, tree=tree, replay=replay) for each in suites]
    decides, who = await _model(model)
    plan = Plan(
        suites=suites,
        tasks=tasks,
        seeds=tuple(range(first_seed, first_seed + seeds)),
        scales=scales,
        model=who,
        tree=tree,
        replay=replay,
    )
    name = name or shelf.unfinished(plan) or f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    place = shelf.begin(name, plan)
    other = shelf.read(compare) if compare else None
    bucket = await load_block(AuditBucket, audit) if audit else AuditBucket(local_folder=str(place / "evidence"))
    outcomes: list[Outcome] = []
    left_out: list[str] = []
    with _deciding_model(decides) as (block, oracle):
        for suite in chosen:
            if why := suite.missing():
                left_out.append(f"{suite.name}: {why}")
            for scale in [each for each in plan.scales if each in suite.scales]:
                items = [Item(suite.name, task, seed, scale) for task in _tasks(suite, plan) for seed in plan.seeds]
                folder = place / f"{suite.name}-{scale:g}"
                folder.mkdir(mode=0o700, exist_ok=True)
                bench = Bench(name, suite, folder, oracle)
                outcomes += await _in_groups(bench, items, block, bucket, desktops)
    if not outcomes:
        raise InvalidUsage(f"There is nothing to do: {'; '.join(left_out) or 'no suite has these tasks and scales'}.")
    results = await asyncio.to_thread(_with_evidence, outcomes)
    await asyncio.to_thread(shelf.keep, name, results)
    await _publish(shelf, Kept(name, plan, results), other, left_out)
    return name


async def _in_groups(
    bench: Bench, items: Sequence[Item], block: HoloModel, bucket: AuditBucket, desktops: int
) -> list[Outcome]:
    """Work on items of one suite at one scale.

    Items with the same program share desktops. Items with different programs are worked on side by side, on
    ``desktops`` desktops in total.
    """
    program = bench.suite.program
    groups = [list(alike) for _, alike in groupby(sorted(items, key=program), program)]
    room = asyncio.Semaphore(max(1, desktops // max(map(len, groups), default=1)))

    async def run_agent(alike: list[Item]) -> list[Outcome]:
        async with room:
            return await _worked_through(bench, alike, block, bucket, desktops)

    try:
        async with asyncio.TaskGroup() as tasks:
            reported = [tasks.create_task(run_agent(alike)) for alike in groups]
    except ExceptionGroup as errors:  # the first error stops all items and is reported
        raise errors.exceptions[0] from None
    return [outcome for each in reported for outcome in each.result()]


async def _worked_through(
    bench: Bench, items: Sequence[Item], block: HoloModel, bucket: AuditBucket, desktops: int
) -> list[Outcome]:
    """Work on items with one program, and return their outcomes in the order of the items."""
    found: dict[Item, Outcome] = {}
    log, suite, first = get_run_logger(), bench.suite, items[0]
    with working_on(bench):
        async with holo_agents(
            f"Benchmark {bench.name}: {suite.name} {suite.program(first)} at {first.scale:g}",
            desktops=min(desktops, len(items)),
            model=block,
            desktop=suite.desktop(bench.folder, first),
            audit=bucket,
            allow="act",
            max_steps=MOST_STEPS,
        ) as agents:
            async for one in agents.map(worked_on, items):
                outcome = outcome_of(bench, one)
                found[one.item] = outcome
                tell = log.info if outcome.good else log.warning
                tell("%s: %s %s", one.item.name, outcome.word, outcome.reason or outcome.judged.why)
    return [found[item] for item in items if item in found]


def _with_evidence(outcomes: Sequence[Outcome]) -> tuple[Result, ...]:
    took = took_by_key({outcome.trace for outcome in outcomes if outcome.trace})
    return tuple(Result(outcome=each, took=took.get((each.trace, each.key), Took())) for each in outcomes)


async def _publish(shelf: Shelf, kept: Kept, other: Kept | None, left_out: Sequence[str]) -> None:
    """Write the page of results and publish tables in Prefect."""
    earlier = [each for each in shelf.all() if each.plan == kept.plan]
    fewest = shelf.fewest()
    page = shelf.place(kept.name) / PAGE
    await asyncio.to_thread(write_page, page, kept, fewest, earlier=earlier, other=other, left_out=left_out)
    whole = row("all", kept.results, fewest)
    suites = rows_by(lambda one: f"{one.outcome.suite} at {one.outcome.scale:g}", kept.results, fewest)
    await publish_table(
        f"benchmark-{kept.name}", [each.cells for each in (*suites, whole)], f"Decided by {kept.plan.conditions}"
    )
    await publish_table("benchmark-history", past_rows(earlier), "Benchmarks with the same options, newest first")
    said = (
        ""
        if kept.plan.model
        else "**No model was measured:** an oracle that knows the positions of all controls decided.\n\n"
    )
    markdown = f"{said}{whole.success} of {whole.items} items. The page: `{page}`"
    await publish_markdown(f"benchmark-page-{kept.name}", markdown, f"Benchmark {kept.name}")


def _suite(name: str, *, tree: bool, replay: bool) -> Suite:
    suites: dict[str, Suite] = {
        suite.name: suite
        for suite in (MiniWob(tree=tree), MiniWob(tree=tree, clock=True), Ledger(replay=replay), Office(), Nasty())
    }
    if name not in suites:
        raise InvalidUsage(f"There is no suite {name!r}. Use one of: {', '.join(suites)}.")
    return suites[name]


def _tasks(suite: Suite, plan: Plan) -> list[str]:
    """Return the selected tasks of a suite. Tasks that the oracle cannot do must be selected by name."""
    return [task for task in plan.tasks if task in suite.every] if plan.tasks else list(suite.tasks)


async def _model(name: str) -> tuple[HoloModel | None, str]:
    """Return the block of the model and its name. Returns ``None`` and an empty name for the oracle."""
    block = await load_block(HoloModel, name) if name else HoloModel.from_environment()
    return block, block.model if block else ""


@contextmanager
def _deciding_model(block: HoloModel | None) -> Iterator[tuple[HoloModel, Oracle | None]]:
    """Yield the block of the model, and the oracle if it is used."""
    if block is not None:
        yield block, None
        return
    with serving(PLAYBOOK, CLERK) as (oracle, base_url):
        yield HoloModel(base_url=base_url, model="rehearsal"), oracle


if __name__ == "__main__":
    benchmark.serve(name="benchmark", limit=1)
