"""Release resources whose holder is gone: leased items, seats, dead runs, and leftovers of desktops.

`release_abandoned` does it. The janitor flow calls it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed

from holo_tasks.desktop.session.leftovers import remove_dead_desktops
from holo_tasks.kill.run_registry import running
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.ledger import LEASE_S, RENEW_S
from holo_tasks.safety.records.run_list import RunBook, RunRow
from holo_tasks.safety.records.seats import Seats
from holo_tasks.safety.records.work_items import WorkItems

GONE = "Its process is gone; the janitor has noted that."
LOOKS = 2 + int(LEASE_S / RENEW_S)
"""Number of looks at a worker of another machine before its lease counts as lapsed: one lease, plus one."""


@dataclass(frozen=True)
class ReleasedResources:
    """The resources that were released.

    ``items`` went back to their work lists and ``seats`` became free. ``flow_runs`` were Running without a process.
    ``runs`` were interrupted, and ``desktops`` are the leftovers removed from this machine.
    """

    items: int = 0
    seats: int = 0
    flow_runs: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    desktops: tuple[str, ...] = ()


async def release_abandoned(home: Path | None = None, *, pause_s: float = RENEW_S) -> ReleasedResources:
    """Release what dead workers held, and return a summary. Live holders are not affected.

    Items and seats are checked for all machines that share the database. Processes and folders are checked on this
    machine only. ``pause_s`` is the wait between two looks, in seconds.
    """
    where = home or holo_home()
    store = store_at(where)
    work, seats, items, freed = WorkItems(store), Seats(store), 0, 0
    dead = await _dead_runs(store, where)
    for look in range(LOOKS):
        items += await retry_async_while_unavailable(lambda: asyncio.to_thread(work.return_lapsed))
        freed += await retry_async_while_unavailable(lambda: asyncio.to_thread(seats.release_lapsed))
        if not (work.is_unsure or seats.is_unsure or (dead and not look)):
            break
        await asyncio.sleep(pause_s)
    # A run that had no process at the first look may have registered it since.
    still = {row.run_id for row in await _dead_runs(store, where)} if dead else set()
    dead = [row for row in dead if row.run_id in still]
    book = RunBook(store)
    dead += [
        row
        for flow_run in sorted(work.lost)
        for row in await asyncio.to_thread(book.of_flow_run, flow_run)
        if row.status == "running" and row.run_id not in still
    ]
    for row in dead:
        await asyncio.to_thread(_mark_interrupted, book, row)
    on_paper = sorted({*work.lost, *(row.flow_run_id for row in dead)} - {""})
    async with get_client() as client:
        ended = [one for one in on_paper if await set_crashed(client, one)]
    left = await asyncio.to_thread(remove_dead_desktops)
    return ReleasedResources(items, freed, tuple(ended), tuple(row.run_id for row in dead), tuple(left))


async def _dead_runs(store: Store, home: Path) -> list[RunRow]:
    """Return the open runs of this machine that have no process. A shared database also has other machines' runs:
    return [].
    """
    if not store.local:
        return []

    def look() -> list[RunRow]:
        rows = [row for row in RunBook(store).latest(1000) if row.status == "running"]
        alive = {run.run_id for run in running(home)}
        return [row for row in rows if row.run_id not in alive]

    return await asyncio.to_thread(look)


def _mark_interrupted(book: RunBook, row: RunRow) -> None:
    why = "its process ended without closing it"
    book.ended(row.run_id, status="interrupted", reason=why, steps=row.steps, spent_micro=None)


async def set_crashed(client: PrefectClient, flow_run_id: str) -> bool:
    """Set a flow run without a process to Crashed; return whether that was done.

    Returns ``False`` if the flow run is final, scheduled, paused or unknown, or if Prefect is unreachable.
    """
    try:
        found = await client.read_flow_run(UUID(flow_run_id))
        if found.state is None or found.state.is_final() or found.state.is_scheduled() or found.state.is_paused():
            return False
        await client.set_flow_run_state(found.id, Crashed(message=GONE), force=True)
    except (ObjectNotFound, ValueError, httpx.HTTPError):
        return False
    return True
