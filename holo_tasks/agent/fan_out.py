"""Working through a list with as many flow runs as there are workers: Prefect hands them out, the list the items."""

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

from holo_tasks.agent.work_list import WorkList
from holo_tasks.audit.recorder import new_run_id
from holo_tasks.core.errors import InvalidUsage, LimitReached, NeedsPerson
from holo_tasks.core.money import usd
from holo_tasks.core.visible_text import exact
from holo_tasks.machine.patience import awaited, is_away
from holo_tasks.run.artifacts import publish_progress, publish_table, update_progress
from holo_tasks.run.business_item import Books
from holo_tasks.run.flow_context import flow_run_id
from holo_tasks.run.janitor import crashed
from holo_tasks.safety.fleet import ListSeen, look_at_list
from holo_tasks.safety.work_items import PRIORITIES, Counts, Priority

LOOK_S = 2.0
TABLE_S = 60.0
"""So often the table of a list is made anew: Prefect keeps each of them."""
IN_VAIN = 3
"""So many batches one after the other that ended badly, with no item come to an end, are not a matter of chance."""


async def fan_out(
    name: str,
    deployment: str,
    *,
    batch: int = 100,
    at_once: int = 10,
    queues: Mapping[Priority, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Counts:
    """Have runs of a deployment work through a list, at most ``at_once`` at a time; return how the list is in the end.

    The deployment's flow gets ``work_list`` and ``most``, and the other ``parameters``, and works on that many
    items with `WorkList.map`. A run is begun for each ``batch`` of items that are ready, and in the place of each
    that died while any are, in the work queue that ``queues`` names for the most urgent of them; which items it
    takes is decided when it takes them. It begins no run twice, whoever tries this flow run again. Ends when every
    item of the list has come to an end, well or not.

    What workers had that died goes back to the list meanwhile, and their runs become Crashed, which make room for
    others: Prefect alone would take them for Running. A batch that reached a limit is the last: those under way end,
    and `LimitReached` is raised. Some batches one after the other that came to nothing raise `NeedsPerson`.
    """
    if batch < 1 or at_once < 1:
        raise InvalidUsage("batch= and at_once= are 1 or more.")
    if strange := sorted(set(queues or {}) - PRIORITIES.keys()):
        raise InvalidUsage(f"queues= names a work queue for {', '.join(PRIORITIES)}; {strange[0]!r} is no priority.")
    listed = WorkList(name)
    async with get_client() as client:
        batches = _Batches(client, deployment, flow_run_id() or new_run_id(), dict(queues or {}))
        batches.parameters = {**(parameters or {}), "work_list": listed.name, "most": batch}
        while True:
            await awaited(listed.return_lapsed)
            await batches.bury(listed.lost)
            counts = await listed.counts()
            await batches.look(counts)
            if not batches.under_way and (batches.limit or not counts.open):
                break
            # Less than a batch may be left for each of them when some died, and work still for as many as there were.
            instead = len(batches.under_way) + batches.died if counts.ready else 0
            wanted = min(at_once, max(math.ceil(counts.ready / batch), instead))
            while not batches.limit and len(batches.under_way) < wanted and await batches.begin(counts):
                pass
            await batches.tell(counts)
            await asyncio.sleep(LOOK_S)
        await batches.tell(counts, at_last=True)
    if batches.limit:
        raise LimitReached(f"A batch of {exact(name)} has reached a limit, and no more are begun: {batches.limit}")
    return counts


@dataclass
class _Batches:
    """The runs that were begun, and what came of them."""

    client: PrefectClient
    deployment: str
    mine: str
    queues: Mapping[Priority, str]
    parameters: dict[str, Any] = field(default_factory=dict)
    under_way: list[UUID] = field(default_factory=list)
    died: int = 0
    """How many have died and have none in their place yet."""
    limit: str = ""
    _number: int = 0
    _in_vain: int = 0
    _ended: int = 0
    _artifact: UUID | None = None
    _told: float = -1.0
    _next_table_s: float = 0.0

    async def begin(self, counts: Counts) -> bool:
        """Begin one more; False if that cannot be done now."""
        names: tuple[Priority, ...] = get_args(Priority)
        queue = next((self.queues[name] for name in names if name in self.queues and counts.ready_by.get(name)), None)
        try:
            run: FlowRun = await run_deployment(  # type: ignore[misc]
                name=self.deployment,
                parameters=self.parameters,
                idempotency_key=f"{self.mine}/{self._number + 1}",
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

    async def bury(self, lost: Collection[str]) -> None:
        """Let Prefect know of those whose process is gone."""
        for one in self.under_way:
            if str(one) in lost:
                await crashed(self.client, str(one))

    async def look(self, counts: Counts) -> None:
        """Drop those that have ended. Raises `NeedsPerson` when they come to nothing."""
        if counts.ended > self._ended:
            self._in_vain, self._ended = 0, counts.ended
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
            self._in_vain += 1
            if self._in_vain >= IN_VAIN:
                raise NeedsPerson(
                    f"{IN_VAIN} batches have come to nothing one after the other, the last as {state.name}: "
                    f"{state.message} No more are begun; look at their runs, then run this one again."
                )

    async def tell(self, counts: Counts, *, at_last: bool = False) -> None:
        """Show how far the list is."""
        if not (all := counts.open + counts.ended):
            return
        await self._tell_of_all(at_last)
        percent = round(100 * counts.ended / all, 1)
        if percent == self._told or not flow_run_id():
            return
        self._told = percent
        unwell = counts.failed + counts.exhausted + counts.person
        words = f"{counts.done:,} of {all:,} done, {counts.taken:,} under way, {unwell:,} without a result"
        if self._artifact is None:
            self._artifact = await publish_progress(f"list-{self.parameters['work_list']}", percent, words)
        else:
            await update_progress(self._artifact, percent, words)
        get_run_logger().info("%s", words)

    async def _tell_of_all(self, at_last: bool) -> None:
        """Show the figures that `holo-tasks fleet` has of the list, now and then and in the end."""
        if not flow_run_id() or (time.monotonic() < self._next_table_s and not at_last):
            return
        self._next_table_s = time.monotonic() + TABLE_S
        name = self.parameters["work_list"]
        try:
            seen = await asyncio.to_thread(lambda: look_at_list(Books.here().ledger.store, name))
        except InvalidUsage:  # the database is away: who needs it says so
            return
        await publish_table(f"fleet-{name}", figures(seen), f"The list {exact(name)}, at {datetime.now(UTC):%H:%M} UTC")


def figures(seen: ListSeen) -> list[dict[str, str | int]]:
    """Return what there is to know of a list, a row each."""
    counts = seen.counts
    rows: list[tuple[str, int]] = [
        ("ready", counts.ready),
        *((f"ready, {name}", number) for name, number in counts.ready_by.items()),
    ]
    rows += [(name, getattr(counts, name)) for name in ("waiting", "taken", "done", "failed", "exhausted", "person")]
    rows += [("late", counts.late), ("done in the last hour", seen.done_last_hour)]
    rows += [(f"{state}: {status}", number) for (state, status), number in sorted(seen.errors.items())]
    told: list[tuple[str, str | int]] = [*rows, ("cost of an item", usd(seen.cost_item_micro))]
    return [{"what": what, "number": number} for what, number in told]
