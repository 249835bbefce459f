"""`fan_out`: work on a list with several flow runs. Prefect assigns the runs to workers, the list assigns the items."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, get_args
from uuid import UUID

from prefect import get_run_logger
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from holo_tasks.agent.lists.work_list import WorkList
from holo_tasks.audit.recorder import new_run_id
from holo_tasks.core.errors import InvalidUsage, LimitReached, NeedsPerson
from holo_tasks.core.limits.money import usd
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine.patience import is_away, retry_async_while_unavailable
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.run.janitor import set_crashed
from holo_tasks.run.prefect_edge.artifacts import publish_progress, publish_table, update_progress
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.safety.records.fleet import ListState, look_at_list
from holo_tasks.safety.records.work_items import PRIORITIES, Priority, QueueCounts

POLL_S = 2.0
TABLE_S = 60.0
"""Seconds between two tables of a list. Prefect stores each table."""
MOST_FAILED_IN_A_ROW = 3
"""Number of failed batches in a row, without any finished item, after which a person has to look."""


async def fan_out(
    name: str,
    deployment: str,
    *,
    batch: int = 100,
    at_once: int = 10,
    queues: Mapping[Priority, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> QueueCounts:
    """Work on a list with runs of a deployment, at most ``at_once`` at a time. Return the final counts of the list.

    The deployment's flow gets ``work_list``, ``most`` and the other ``parameters``. It works on up to ``most`` items
    with `WorkList.map`, and takes each item only when it is free. A run is started for each ``batch`` of ready items,
    and to replace a run that died. It goes to the work queue that ``queues`` names for the most urgent ready items. A
    retry of this flow run starts no run twice. The function returns when every item is finished or has failed.

    Items of dead workers return to the list, and their runs become Crashed. Prefect alone would keep them as Running.

    Raises `LimitReached` if a batch reached a limit, after the other batches have ended. Raises `NeedsPerson` after
    some failed batches in a row.
    """
    if batch < 1 or at_once < 1:
        raise InvalidUsage("batch= and at_once= must be 1 or more.")
    if strange := sorted(set(queues or {}) - PRIORITIES.keys()):
        raise InvalidUsage(f"queues= names a work queue for {', '.join(PRIORITIES)}; {strange[0]!r} is not a priority.")
    listed = WorkList(name)
    async with get_client() as client:
        batches = _Batches(client, deployment, flow_run_id() or new_run_id(), dict(queues or {}))
        batches.parameters = {**(parameters or {}), "work_list": listed.name, "most": batch}
        while True:
            await retry_async_while_unavailable(listed.return_lapsed)
            await batches.mark_crashed(listed.lost)
            counts = await listed.counts()
            await batches.check_runs(counts)
            if not batches.under_way and (batches.limit or not counts.open):
                break
            # After deaths less than a batch may be left per run, but there is still work for as many runs as before.
            instead = len(batches.under_way) + batches.died if counts.ready else 0
            wanted = min(at_once, max(math.ceil(counts.ready / batch), instead))
            while not batches.limit and len(batches.under_way) < wanted and await batches.begin(counts):
                pass
            await batches.publish_progress(counts)
            await asyncio.sleep(POLL_S)
        await batches.publish_progress(counts, at_last=True)
    if batches.limit:
        raise LimitReached(f"A batch of {exact(name)} has reached a limit, and no more are started: {batches.limit}")
    return counts


@dataclass
class _Batches:
    """The runs of the deployment, and their results."""

    client: PrefectClient
    deployment: str
    own_key: str
    queues: Mapping[Priority, str]
    parameters: dict[str, Any] = field(default_factory=dict)
    under_way: list[UUID] = field(default_factory=list)
    died: int = 0
    """Number of dead runs without a replacement."""
    limit: str = ""
    _number: int = 0
    _failed_in_a_row: int = 0
    _ended: int = 0
    _artifact: UUID | None = None
    _last_percent: float = -1.0
    _next_table_s: float = 0.0

    async def begin(self, counts: QueueCounts) -> bool:
        """Start one more run. Returns false if Prefect is away."""
        names: tuple[Priority, ...] = get_args(Priority)
        queue = next((self.queues[name] for name in names if name in self.queues and counts.ready_by.get(name)), None)
        try:
            run: FlowRun = await run_deployment(  # type: ignore[misc]
                name=self.deployment,
                parameters=self.parameters,
                idempotency_key=f"{self.own_key}/{self._number + 1}",
                work_queue_name=queue,
                timeout=0,
            )
        except ObjectNotFound:
            raise InvalidUsage(f"There is no deployment {self.deployment!r}; its name is flow/deployment.") from None
        except Exception as error:
            if not is_away(error):
                raise
            return False
        self._number += 1
        self.died = max(0, self.died - 1)
        if run.id not in self.under_way:
            self.under_way.append(run.id)
        return True

    async def mark_crashed(self, lost: Collection[str]) -> None:
        """Set the runs of dead processes to Crashed in Prefect."""
        for one in self.under_way:
            if str(one) in lost:
                await set_crashed(self.client, str(one))

    async def check_runs(self, counts: QueueCounts) -> None:
        """Remove the runs that have ended. Raises `NeedsPerson` after `MOST_FAILED_IN_A_ROW` failed ones in a row."""
        if counts.ended > self._ended:
            self._failed_in_a_row, self._ended = 0, counts.ended
        for one in list(self.under_way):
            try:
                state = (await self.client.read_flow_run(one)).state
            except ObjectNotFound:
                state = None
            except Exception as error:
                if not is_away(error):
                    raise
                return
            if state is not None and not state.is_final():
                continue
            self.under_way.remove(one)
            if state is None or state.is_completed():
                continue
            self.died += state.is_crashed()
            if (state.name or "").startswith("Limit"):
                self.limit = str(state.message)
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MOST_FAILED_IN_A_ROW:
                raise NeedsPerson(
                    f"{MOST_FAILED_IN_A_ROW} batches in a row have failed, the last as {state.name}: "
                    f"{state.message} No more are started; look at their runs, then run this one again."
                )

    async def publish_progress(self, counts: QueueCounts, *, at_last: bool = False) -> None:
        """Publish the progress of the list in Prefect."""
        if not (all := counts.open + counts.ended):
            return
        await self._publish_figures(at_last)
        percent = round(100 * counts.ended / all, 1)
        if percent == self._last_percent or not flow_run_id():
            return
        self._last_percent = percent
        unwell = counts.failed + counts.exhausted + counts.person
        words = f"{counts.done:,} of {all:,} done, {counts.taken:,} under way, {unwell:,} without a result"
        if self._artifact is None:
            self._artifact = await publish_progress(f"list-{self.parameters['work_list']}", percent, words)
        else:
            await update_progress(self._artifact, percent, words)
        get_run_logger().info("%s", words)

    async def _publish_figures(self, at_last: bool) -> None:
        """Publish a table with the list's figures of `holo-tasks fleet`, every `TABLE_S` and at the end."""
        if not flow_run_id() or (time.monotonic() < self._next_table_s and not at_last):
            return
        self._next_table_s = time.monotonic() + TABLE_S
        name = self.parameters["work_list"]
        try:
            seen = await asyncio.to_thread(lambda: look_at_list(ItemRecords.of_current_run().ledger.store, name))
        except InvalidUsage:  # the database is away; the next call that needs it raises
            return
        await publish_table(f"fleet-{name}", figures(seen), f"The list {exact(name)}, at {datetime.now(UTC):%H:%M} UTC")


def figures(seen: ListState) -> list[dict[str, str | int]]:
    """Return the figures of a list as rows of a table."""
    counts = seen.counts
    rows: list[tuple[str, int]] = [
        ("ready", counts.ready),
        *((f"ready, {name}", number) for name, number in counts.ready_by.items()),
    ]
    rows += [(name, getattr(counts, name)) for name in ("waiting", "taken", "done", "failed", "exhausted", "person")]
    rows += [("late", counts.late), ("done in the last hour", seen.done_last_hour)]
    rows += [(f"{state}: {status}", number) for (state, status), number in sorted(seen.errors.items())]
    rows_of_table: list[tuple[str, str | int]] = [*rows, ("cost of an item", usd(seen.cost_item_micro))]
    return [{"what": what, "number": number} for what, number in rows_of_table]
