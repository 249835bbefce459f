"""One round: several desktops on some machines file a list of reports, and the results are judged."""

from __future__ import annotations

import asyncio
import io
import json
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import load

from tests.bench.fleet.killing import Killer
from tests.bench.fleet.machines import POOL, X_SERVERS, Machine, command_of
from tests.bench.fleet.parts import Parts
from tests.bench.fleet.program import filed
from tests.bench.fleet.watching import DESKTOP, RUN, Watch

DEPLOYMENT = "file reports/fleet"
LOOK_S, TELL_S, JANITOR_S = 0.5, 30.0, 15.0


@dataclass(frozen=True)
class Asked:
    """Parameters of a round, its key in the journal. ``done`` is the number of items done before."""

    by: str
    desktops: int
    workers: int
    items: int
    model_s: float
    kills: int = 0
    done: int = 0
    seed: int = 1
    faults: str = ""

    @property
    def disturbed(self) -> bool:
        return bool(self.kills or self.faults)

    @property
    def name(self) -> str:
        more = f", {self.kills} kills" if self.kills else ""
        more += f", {self.faults.replace(' ', ', ')} broken" if self.faults else ""
        more += f", {self.done:,} done before" if self.done else ""
        how = f"a model of {self.model_s:g} s" if self.by == "model" else "a compiled playbook"
        return f"{self.items:,} items by {how}, {self.desktops} desktops on {self.workers} machines{more}"


@dataclass
class Came:
    """The results of a round."""

    an_hour: float = 0.0
    wall_s: float = 0.0
    first_s: float = 0.0
    done: int = 0
    failed: int = 0
    doubled: int = 0
    lost: int = 0
    desktop_s: list[float] = field(default_factory=list)
    api_item_s: float = 0.0
    item_s: float = 0.0
    cpu_s: dict[str, float] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)
    desktops_seen: int = 0
    kills: list[dict[str, Any]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    load: str = ""


class Round:
    """Sets up machines, lets them work through the list, and judges the results."""

    def __init__(self, parts: Parts, asked: Asked, number: int) -> None:
        self.parts, self.asked = parts, asked
        self.name = f"reports-{number}"
        self.folder = parts.folder / f"round-{number}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log, self.told_file = self.folder / "filed.jsonl", self.folder / "told.jsonl"
        each, more = divmod(asked.desktops, asked.workers)
        env = {**parts.env, "FLEET_LOG": str(self.log), "FLEET_TOLD": str(self.told_file)}
        self.machines = [
            Machine(f"holo-{number}-{one + 1}", each + (one < more), self.folder / f"machine-{one + 1}", env)
            for one in range(asked.workers)
        ]
        self.items = [f"R-{number}{one:06}" for one in range(asked.items)]  # new items in each round

    async def work(self) -> Came:
        """Run the whole round."""
        await self._prepare()
        for machine in self.machines:
            machine.start()
        watch = None
        try:
            for machine in self.machines:
                await asyncio.to_thread(machine.wait)
            tops = lambda: [one.process.pid for one in self.machines if one.process is not None]  # noqa: E731
            watch = Watch(self.parts.kinds, tops)
            began = time.time()
            kills = await self._worked()
            wall_s = time.time() - began
            watch.close()
            left = await self._left(began)
        finally:
            for machine in self.machines:
                await asyncio.to_thread(machine.stop)
        return await self._judged(began, wall_s, watch, kills, left)

    async def _prepare(self) -> None:
        from tests.bench.fleet.blocks import save_blocks  # Prefect knows the address of its server by now

        await save_blocks(self.parts, self.log)
        listed = _list(self.name)
        rows = [{"report": one} for one in self.items]
        keys = [listed.item(row, row["report"]) for row in rows]
        await listed.add_all(keys)
        if self.asked.done:
            await asyncio.to_thread(self._done_before, self.items[: self.asked.done])

    def _done_before(self, items: list[str]) -> None:
        """Record items as done, as an earlier run leaves them on the list."""
        import sqlalchemy as sa

        from holo_tasks.safety.records.work_items import WORK_ITEMS

        columns = WORK_ITEMS.c
        values = {"state": "done", "status": "done", "token": columns.key, "ended": "2026-01-01T00:00:00+00:00"}
        with _store().transaction() as db:
            mine = (columns.list == self.name, columns.key <= items[-1])
            db.execute(sa.update(WORK_ITEMS).where(*mine).values(**values))

    async def _worked(self) -> list[dict[str, Any]]:
        """Let the fleet work through the list, with kills if there are any."""
        from work_through import work_through

        asked = self.asked
        to_do = asked.items - asked.done
        batch = max(1, math.ceil(to_do / asked.workers))
        chance, faults = random.Random(asked.seed), asked.faults.split()
        killer = Killer(self.machines, asked.kills, to_do, self.log, self._taken, chance, self.parts, faults)
        beside = [
            asyncio.create_task(self._tell(to_do)),
            *([asyncio.create_task(killer.work()), asyncio.create_task(self._janitor()),
               asyncio.create_task(self._elsewhere(killer))] if asked.disturbed else []),
        ]  # fmt: skip
        parameters = {"by": asked.by, "seats": asked.desktops}
        try:
            await work_through(
                self.name, DEPLOYMENT, batch=batch, at_once=asked.workers, queues=None, parameters=parameters
            )
            for one in beside:
                if one.done() and not one.cancelled():
                    one.result()
            await self._last_look(killer)
        finally:
            for one in beside:
                one.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        return [asdict(one) for one in killer.done]

    async def _janitor(self) -> None:
        from janitor import janitor

        while True:
            await asyncio.sleep(JANITOR_S)
            try:
                await janitor()
            except Exception as error:  # a service is down: the next janitor run catches up
                print(f"    the janitor could not work: {type(error).__name__}", flush=True)

    def _taken(self) -> Mapping[str, tuple[str, str]]:
        """Return the machine and process that work on each item."""
        import sqlalchemy as sa

        from holo_tasks.safety.records.ledger import CLAIMS, host_and_pid
        from holo_tasks.safety.records.work_items import WORK_ITEMS

        items, claims = WORK_ITEMS.c, CLAIMS.c
        found = sa.select(items.key, claims.holder).where(
            items.list == self.name, items.state == "taken", claims.token == items.worker
        )
        with _store().transaction() as db:
            return {row.key: host_and_pid(row.holder) for row in db.execute(found)}

    async def _elsewhere(self, killer: Killer) -> None:
        """Record when the last item of each kill is done."""
        while True:
            await self._last_look(killer)
            await asyncio.sleep(LOOK_S)

    async def _last_look(self, killer: Killer) -> None:
        from holo_tasks.machine.patience import retry_async_while_unavailable

        waiting = [one for one in killer.done if one.elsewhere_s is None]
        if not waiting:
            return
        states = await retry_async_while_unavailable(lambda: asyncio.to_thread(self._states))
        for one in waiting:
            if all(states.get(item) not in ("ready", "taken") for item in one.had):
                one.elsewhere_s = time.time() - one.at

    def _states(self) -> dict[str, str]:
        import sqlalchemy as sa

        from holo_tasks.safety.records.work_items import WORK_ITEMS

        columns = WORK_ITEMS.c
        with _store().transaction() as db:
            rows = db.execute(sa.select(columns.key, columns.state).where(columns.list == self.name))
            return {row.key: row.state for row in rows}

    async def _tell(self, to_do: int) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(TELL_S)
            there = len(filed(self.log))
            print(f"    {there:,} of {to_do:,} filed after {time.monotonic() - began:.0f} s ({load()})", flush=True)

    async def _left(self, began: float) -> list[str]:
        """Return leftovers of the finished work: slots, seats and X servers created since its begin."""
        from holo_tasks.safety.records.seats import Seats
        from janitor import janitor

        left: list[str] = []
        ended = time.time()
        for _ in range(60):
            found = await janitor() if self.asked.disturbed else {}
            seats = [one for one in await asyncio.to_thread(Seats(_store()).all) if one.taken]
            servers = [
                pid
                for machine in self.machines
                for pid in machine.processes()
                if command_of(pid).split("/")[-1].startswith(X_SERVERS) or "holo_tasks.desktop" in command_of(pid)
            ]
            runs = [pid for machine in self.machines for pid in machine.runs()]
            left = [f"{len(seats)} seats"] * bool(seats) + [f"{len(servers)} desktops' processes"] * bool(servers)
            left += [f"{len(runs)} flow runs' processes"] * bool(runs) + await _slots(began)
            if not left and not found.get("items"):
                print(f"    nothing was left of it {time.time() - ended:.0f} s after its end", flush=True)
                return []
            await asyncio.sleep(1.0)
        return left

    async def _judged(
        self, began: float, wall_s: float, watch: Watch, kills: list[dict[str, Any]], left: list[str]
    ) -> Came:
        states = await asyncio.to_thread(self._states)
        lines = filed(self.log)
        times = Counter(str(line["report"]) for line in lines)
        new = self.items[self.asked.done :]
        done = [item for item in new if states[item] == "done"]
        told = [json.loads(line) for line in self.told_file.read_text().splitlines()]
        items = [one for one in told if one["what"] == "item"]
        ats = sorted(float(str(line["at"])) for line in lines)
        runs = [one["at"] for one in told if one["what"] == "run"]
        took_s = ats[-1] - min(runs) if ats else math.inf
        api = {one["pid"]: one["api_s"] for one in items}
        each = len(done) / max(took_s, 0.001)
        return Came(
            an_hour=3600 * each,
            wall_s=wall_s,
            first_s=(ats[0] - began) if ats else math.inf,
            done=len(done),
            failed=len(new) - len(done),
            doubled=sum(count - 1 for count in times.values()),
            lost=sum(not times[item] for item in done),
            desktop_s=[one["seconds"] for one in told if one["what"] == "desktop"],
            api_item_s=sum(api.values()) / max(1, len(items)),
            item_s=self.asked.desktops / each if each else math.inf,
            cpu_s={part: round(seconds, 1) for part, seconds in watch.cpu_s.items()},
            memory_mb={part: round(mb) for part, mb in watch.memory_mb.items()},
            desktops_seen=watch.desktops,
            kills=kills,
            left=left,
            errors=sorted({one["error"] for one in items if one["error"]})[:10],
            load=load(),
        )


async def deploy(parts: Parts) -> None:
    """Create the pool, and the deployment of the flow that files reports."""
    import sys

    from prefect import flow
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists

    root = Path(__file__).parents[3]
    async with get_client() as client:
        with suppress(ObjectAlreadyExists):
            await client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
    source: Any = await flow.from_source(source=str(root), entrypoint="tests/bench/fleet/filing.py:file_reports")
    # An explicit command avoids a process that looks for a project's environment first.
    variables = {"command": f"{sys.executable} -m prefect.engine", "working_dir": str(root)}
    with redirect_stdout(io.StringIO()):  # it prints the next steps
        await source.deploy(
            name=DEPLOYMENT.partition("/")[2], work_pool_name=POOL, job_variables=variables, ignore_warnings=True
        )


async def _slots(began: float) -> list[str]:
    """Return this round's flow runs that Prefect considers running; others may have left some on its server."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterExpectedStartTime,
        FlowRunFilterState,
        FlowRunFilterStateName,
    )

    state = FlowRunFilterState(name=FlowRunFilterStateName(any_=["Running", "Pending", "Cancelling"]))
    since = FlowRunFilterExpectedStartTime(after_=datetime.fromtimestamp(began, UTC))
    async with get_client() as client:
        found = await client.read_flow_runs(flow_run_filter=FlowRunFilter(state=state, expected_start_time=since))
    mine = [run for run in found if run.deployment_id is not None or run.parent_task_run_id is None]
    return [f"{len(mine)} flow runs that Prefect considers running"] if mine else []


def _list(name: str) -> Any:
    from holo_tasks import WorkList

    return WorkList(name)


def _store() -> Any:
    from holo_tasks.run.items.business_item import ItemRecords

    return ItemRecords.of_current_run().ledger.store


def memory_of_a_desktop(came: Came) -> tuple[float, float]:
    """Return a desktop's memory without its program, and its share of the flow run's process, in MB."""
    seen = max(1, came.desktops_seen)
    return came.memory_mb.get(DESKTOP, 0.0) / seen, came.memory_mb.get(RUN, 0.0) / seen


def median(seconds: list[float]) -> float:
    """Return the median; not a number for an empty list."""
    return statistics.median(seconds) if seconds else math.nan
