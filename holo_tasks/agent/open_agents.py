"""Open a run with several desktops, and work on items on them. `open_agents` returns `Agents`."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

import httpx

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.agent.stations import Fresh, Station, Stations, is_broken_desktop
from holo_tasks.audit import Destination
from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core.errors import InvalidUsage, Killed, LimitReached, StoreLost, Unavailable
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.kill.switch import Held
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import Profile
from holo_tasks.run.desktops.all_desktops import AllDesktops
from holo_tasks.run.desktops.lazy_desktop import Closable
from holo_tasks.run.desktops.spares import Spares
from holo_tasks.run.items.fair_map import FairMap, Outcome
from holo_tasks.run.run import Run, current_guard, record_dialogs, run_to_end, running_here
from holo_tasks.run.run_options import RunOptions

End: TypeAlias = Callable[[Any], Awaitable[Sequence[str] | None]]
"""Ends a desktop. Returns the titles of the dialogs that its programs opened meanwhile, if they are known."""
T = TypeVar("T")
R = TypeVar("R")
MOST_DESKTOPS = 100
MOST_TRIES = 2
"""Most tries of an item whose desktop breaks before any action, since the item itself may be the cause."""


class Agents:
    """The agents of one ``run``, one per desktop. `map` works on items with them."""

    def __init__(self, run: Run, stations: Stations, desktops: int) -> None:
        self.run = run
        self.desktops = desktops
        self._stations = stations
        self._maps: list[FairMap[Any, Any]] = []

    async def map(
        self, work: Callable[[T], Awaitable[R]], items: Iterable[T] | AsyncIterable[T]
    ) -> AsyncGenerator[Outcome[T, R], None]:
        """Work on each item on the next free desktop, and yield its `Outcome` when it ends.

        ``work`` should be a sub-goal with a key: each item then has its own flow run and conversation, and is done
        once. Items are started in order. Each is taken from ``items`` when a desktop is free, so the iterable may be
        endless. Several maps share the desktops.

        An error of an item is in its outcome, and the others go on. If the desktop of an item breaks, the item is tried
        once more on another one, provided that no input was sent or the work only looks (``effect=None``).

        If a limit of the whole flow is reached, if a service (database, Prefect, evidence) is away, or if no desktop
        starts, no more items are started. The outcomes of the items under way are yielded, and then the error is
        raised. After the loop is left early, no more items are started, and those under way end before the agents are
        closed.
        """
        here = running_here()
        if here is not None and here.front is self.run:
            raise InvalidUsage("An item has a desktop already, and would wait for another one: give map() all items.")
        around = scopes_around(self.run.guard)
        mapped = FairMap(
            items,
            lambda number, item: self._work_on_item(work, number, item),
            at_once=self.desktops,
            ends=lambda error: stops_all_items(error, around),
        )
        self._maps.append(mapped)
        outcomes = mapped.outcomes()
        try:
            async for outcome in outcomes:
                yield outcome
        finally:
            await outcomes.aclose()
            if mapped.is_over:
                self._maps.remove(mapped)

    async def finish(self) -> None:
        """Start no more items, and wait for those under way."""
        for mapped in self._maps:
            await mapped.finish()

    async def stop(self) -> None:
        """Cancel the items under way."""
        await asyncio.gather(*(mapped.stop() for mapped in self._maps))

    async def _work_on_item(self, work: Callable[[T], Awaitable[R]], number: int, item: T) -> Outcome[T, R]:
        only_looks = bool(getattr(work, "only_looks", False))
        tries = 0
        while True:
            tries += 1
            async with self._stations.lend() as station:
                found, error = await _try_item(station, lambda: work(item), number)
                if error is not None and not station.used:
                    self._stations.check_start()
                again = is_broken_desktop(error) and station.is_untouched and (only_looks or not station.acted)
            if not again or tries >= MOST_TRIES:
                return Outcome(item, number, found, error, tries)


async def _try_item(
    station: Station, call: Callable[[], Awaitable[R]], number: int
) -> tuple[R | None, Exception | None]:
    """Work on an item. Return its result or its error. A stop of the whole run raises `asyncio.CancelledError`."""
    task = asyncio.ensure_future(station.work(call, number))
    station.switch.begin(task)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await run_to_end(_await_end(task))
        raise
    if task.cancelled() and not station.switch.whole.why():
        station.broken = True
        return None, Killed(station.switch.reason or "The work on this item was cancelled.")
    try:
        return task.result(), None
    except Exception as error:
        station.broken = is_broken_desktop(error)
        return None, error


async def _await_end(task: asyncio.Task[Any]) -> None:
    await asyncio.wait({task})


def scopes_around(guard: Guard | None) -> set[str]:
    """Return the names of the scopes around this code. ``guard`` is the default for the innermost one."""
    inner = current_guard() or guard
    return {scope.name for scope in inner.lineage()} if inner else set()


def stops_all_items(error: Exception, outer_scopes: set[str]) -> bool:
    """Return whether an item's error would stop all other items, such as a limit of one of the ``outer_scopes``."""
    if isinstance(error, LimitReached):
        return error.scope in outer_scopes
    return isinstance(error, EvidenceFailed | StoreLost | Unavailable | httpx.HTTPError)


@asynccontextmanager
async def open_agents(
    *,
    title: str,
    desktops: int,
    start: Callable[[], Awaitable[Closable]],
    endpoint: ModelEndpoint,
    profile: Profile,
    destination: Destination,
    spares: int = 0,
    fresh: Fresh = "flow",
    end: End | None = None,
    held_for: Callable[[Any], Sequence[Held]] = lambda desktop: (),
    options: RunOptions | None = None,
    dialect: str = "auto",
    advisors: Mapping[str, Model] | None = None,
    secrets: Mapping[str, Secret] | None = None,
    home: Path | None = None,
    began_s: float | None = None,
    same: str = "",
) -> AsyncIterator[Agents]:
    """Open a run with up to ``desktops`` desktops. ``start`` starts one, and ``end`` stops it.

    A desktop is started when it is needed. ``held_for`` returns the claims, such as a seat, that a desktop needs while
    it is used. ``spares`` more desktops are kept started, to replace one.

    ``fresh="item"`` gives every item an unused desktop. "flow" keeps a desktop from item to item. "never" also keeps
    it for the next run with the ``same`` key, while the event loop runs. The other parameters are those of
    `open_agent`: there is one run, with one trace, one set of limits and one kill switch.
    """
    check_desktops(desktops, spares, fresh)
    everything, stations = AllDesktops(), None
    try:
        async with open_agent(
            title=title,
            desktop=everything,
            endpoint=endpoint,
            profile=profile,
            destination=destination,
            options=options,
            dialect=dialect,
            advisors=advisors,
            secrets=secrets or {},
            home=home,
            began_s=began_s,
        ) as run:
            supply = Spares(
                start, partial(_end_desktop, run, end or _close), spares=spares, same=same if fresh == "never" else ""
            )
            stations = Stations(run, supply, everything, secrets or {}, held_for)
            stations.open(desktops, fresh)
            run.close_desktop = stations.close
            agents = Agents(run, stations, desktops)
            try:
                yield agents
            except BaseException:
                await agents.stop()
                raise
            await agents.finish()
    finally:
        if stations is not None:
            await run_to_end(stations.close())


def check_desktops(desktops: int, spares: int, fresh: str) -> None:
    """Raise `InvalidUsage` for a value out of range."""
    if not 1 <= desktops <= MOST_DESKTOPS:
        raise InvalidUsage(f"desktops= is from 1 to {MOST_DESKTOPS}, not {desktops}.")
    if not 0 <= spares <= desktops:
        raise InvalidUsage(f"spares= is from 0 to the {desktops} desktops, not {spares}.")
    if fresh not in get_args(Fresh):
        kinds = ", ".join(map(repr, get_args(Fresh)))
        raise InvalidUsage(f"fresh= is one of {kinds}, not {fresh!r}.")


async def _end_desktop(run: Run, end: End, desktop: Closable) -> None:
    """End one desktop, and record the dialogs that its programs opened meanwhile. The trace of a kill has ended."""
    titles = await end(desktop)
    if run.status != "killed":
        with suppress(EvidenceFailed):  # the record of the run's end fails as well
            await record_dialogs(run, titles or ())


async def _close(desktop: Closable) -> Sequence[str] | None:
    return await desktop.close()
