"""One item of a benchmark as a sub-goal with a key, so that finished work is not repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from prefect.exceptions import PrefectHTTPStatusError

from benchmarks.oracle import Oracle
from benchmarks.suite import Suite
from benchmarks.values import Item, Judgement, Outcome
from holo_tasks import (
    DesktopFailed,
    EvidenceFailed,
    HoloError,
    InvalidUsage,
    Killed,
    LimitReached,
    current_run,
    subgoal,
)
from holo_tasks.run.items.fair_map import Outcome as Told
from holo_tasks.run.run import Run


@dataclass(frozen=True)
class Bench:
    """Context of the items of a benchmark."""

    name: str
    suite: Suite
    folder: Path
    """Folder of the suite's programs."""
    oracle: Oracle | None

    def key(self, item: Item) -> str:
        return f"{self.name}/{item.suite}/{item.task}/{item.seed}/{item.scale:g}"


BUSY = 503
"""Status of Prefect's server while its database is locked."""
PAUSES_S: tuple[float, ...] = (1.0, 5.0, 15.0, 30.0)
_bench: ContextVar[Bench | None] = ContextVar("benchmark", default=None)


@contextmanager
def working_on(bench: Bench) -> Iterator[None]:
    """Work on items as part of this benchmark within the context."""
    mark = _bench.set(bench)
    try:
        yield
    finally:
        _bench.reset(mark)


async def worked_on(item: Item) -> Outcome:
    """Work on an item, or return its earlier outcome in this benchmark.

    On a busy machine Prefect's server may fail to register the start. Then the item is started again; its work is still
    done once.
    """
    bench = _bench.get()
    assert bench is not None
    for pause in PAUSES_S:
        try:
            return await attempt(bench.key(item), item.suite, item.task, item.seed, item.scale)
        except PrefectHTTPStatusError as error:
            if error.response.status_code != BUSY:
                raise
            await asyncio.sleep(pause)
    return await attempt(bench.key(item), item.suite, item.task, item.seed, item.scale)


@subgoal(key="{key}", title="{suite} {task} {seed} at {scale}", effect=None, ledger="benchmark")
async def attempt(key: str, suite: str, task: str, seed: int, scale: float) -> Outcome:
    """Set an item up, let the agent work on it, and judge the result from outside.

    Raises an error that does not concern this item alone; a later attempt works on the item again.
    """
    bench, run, item = _bench.get(), current_run(), Item(suite, task, seed, scale)
    assert bench is not None
    async with bench.suite.trial(item, key, run, bench.folder) as trial:
        said: object = None
        status, reason = "answered", ""
        with bench.oracle.plays(trial.goal, trial) if bench.oracle else nullcontext():
            try:
                said = await trial.run_agent()
            except HoloError as error:
                if _not_of_it(error, run):
                    raise
                status, reason = error.status, " ".join(str(error).split())
        judged = await trial.judged(said)
    return Outcome(
        suite=suite,
        task=task,
        seed=seed,
        scale=scale,
        status=status,
        reason=reason,
        judged=judged,
        trace=run.trace,
        key=trial.key,
    )


def outcome_of(bench: Bench, told: Told[Item, Outcome]) -> Outcome:
    """Return the outcome of an item. An item stopped by an error fails, and the others continue."""
    return told.result if told.error is None else _failed(bench, told.item, told.error)


def _failed(bench: Bench, item: Item, error: Exception) -> Outcome:
    """Return the outcome of an item that was never judged."""
    status = error.status if isinstance(error, HoloError) else "error"
    why = Judgement(right=False, why="it was never judged")
    return Outcome(
        suite=item.suite,
        task=item.task,
        seed=item.seed,
        scale=item.scale,
        status=status,
        reason=f"{type(error).__name__}: {' '.join(str(error).split())}",
        judged=why,
        key=bench.key(item),
    )


def _not_of_it(error: HoloError, run: Run) -> bool:
    """Return whether the error does not concern this item alone: the run's budget, its evidence, its desktop, or a
    stop.
    """
    if isinstance(error, LimitReached):
        return error.scope == run.guard.name  # a limit of a flow's own sub-goals is the item's
    return isinstance(error, InvalidUsage | DesktopFailed | EvidenceFailed | Killed)
