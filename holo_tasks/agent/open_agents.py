"""Bring up a run with several desktops, and work on a list of items on them."""

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
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

import httpx

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.agent.stations import Fresh, Station, Stations, broke
from holo_tasks.audit import Destination
from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core.budget import Guard
from holo_tasks.core.errors import InvalidUsage, Killed, LimitReached, StoreLost, Unavailable
from holo_tasks.core.model import Model
from holo_tasks.core.secret import Secret
from holo_tasks.kill.switch import Held
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import Profile
from holo_tasks.run.all_desktops import AllDesktops
from holo_tasks.run.fair_map import FairMap, Outcome
from holo_tasks.run.lazy_desktop import Closable
from holo_tasks.run.run import Run, current_guard, running_here, surely
from holo_tasks.run.run_options import RunOptions
from holo_tasks.run.spares import Spares

T = TypeVar("T")
R = TypeVar("R")
MOST_DESKTOPS = 100
TRIES = 2
"""How often an item is begun whose desktop breaks each time before anything was done: it may be what breaks it."""


class Agents:
    """Several agents of one run, one on each desktop; `map` gives them work. All are part of ``run``."""

    def __init__(self, run: Run, stations: Stations, desktops: int) -> None:
        self.run = run
        self.desktops = desktops
        self._stations = stations
        self._maps: list[FairMap[Any, Any]] = []

    async def map(
        self, work: Callable[[T], Awaitable[R]], items: Iterable[T] | AsyncIterable[T]
    ) -> AsyncGenerator[Outcome[T, R], None]:
        """Work on each item, on whichever desktop is free, and yield what came of it as it ends: see `Outcome`.

        ``work`` is best a sub-goal with a key: then each item has a flow run and a conversation of its own, and is done
        once. Items are begun in their order, and taken from ``items`` when a desktop is free, so that list may be
        endless; several maps at once share the desktops. What goes wrong with an item is its ``error``, and the others
        go on. The item on a desktop that broke is begun again, once, on another one, if nothing was done for it: if no
        input was sent, or the work only looks (``effect=None``). Else its error says so.

        When a limit of the whole flow is reached, or database, Prefect or evidence are away, no more items are begun;
        those under way are told as they end, and then that error is raised. So it is if no desktop can be started. Who
        leaves the loop early has no more items begun; those under way end before the agents are left.
        """
        here = running_here()
        if here is not None and here.front is self.run:
            raise InvalidUsage("An item has a desktop already, and would wait for another one: give map() all items.")
        around = scopes_around(self.run.guard)
        mapped = FairMap(
            items,
            lambda number, item: self._worked_on(work, number, item),
            at_once=self.desktops,
            ends=lambda error: ends_all(error, around),
        )
        self._maps.append(mapped)
        outcomes = mapped.outcomes()
        try:
            async for told in outcomes:
                yield told
        finally:
            await outcomes.aclose()
            if mapped.over:
                self._maps.remove(mapped)

    async def finish(self) -> None:
        """Begin no more items, and wait for those under way."""
        for mapped in self._maps:
            await mapped.finish()

    async def stop(self) -> None:
        """Stop the items under way."""
        await asyncio.gather(*(mapped.stop() for mapped in self._maps))

    async def _worked_on(self, work: Callable[[T], Awaitable[R]], number: int, item: T) -> Outcome[T, R]:
        only_looks = bool(getattr(work, "only_looks", False))
        tries = 0
        while True:
            tries += 1
            async with self._stations.one() as station:
                found, error = await _tried(station, lambda: work(item), number)
                if error is not None and not station.used:
                    self._stations.check_start()
                again = broke(error) and station.untouched and (only_looks or not station.acted)
            if not again or tries >= TRIES:
                return Outcome(item, number, found, error, tries)


async def _tried(station: Station, call: Callable[[], Awaitable[R]], number: int) -> tuple[R | None, Exception | None]:
    """Work on an item; return what came of it, or what stopped it. A run that is stopped as a whole is cancelled."""
    task = asyncio.ensure_future(station.work(call, number))
    station.switch.begin(task)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await surely(_over(task))
        raise
    if task.cancelled() and not station.switch.whole.why():
        station.broken = True
        return None, Killed(station.switch.reason or "The work on this item was cancelled.")
    try:
        return task.result(), None
    except Exception as error:
        station.broken = broke(error)
        return None, error


async def _over(task: asyncio.Task[Any]) -> None:
    await asyncio.wait({task})


def scopes_around(guard: Guard | None) -> set[str]:
    """Return the names of the scopes around this code; ``guard`` is the innermost one where no other is known."""
    inner = current_guard() or guard
    return {scope.name for scope in inner.lineage()} if inner else set()


def ends_all(error: Exception, around: set[str]) -> bool:
    """Say whether what stopped one item would stop all others, too. ``around`` are the scopes that all share."""
    if isinstance(error, LimitReached):
        return error.scope in around
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
    end: Callable[[Any], Awaitable[None]] | None = None,
    held_for: Callable[[Any], Sequence[Held]] = lambda desktop: (),
    options: RunOptions | None = None,
    dialect: str = "auto",
    advisors: Mapping[str, Model] | None = None,
    secrets: Mapping[str, Secret] | None = None,
    home: Path | None = None,
    began_s: float | None = None,
    same: str = "",
) -> AsyncIterator[Agents]:
    """Open a run on so many desktops; ``start`` brings one up, and ``end`` takes it down again.

    They are started as they are needed; ``held_for`` tells what one may be used for as long as it holds, as its seat.
    So many ``spares`` are kept started for when one breaks or is to be new.
    ``fresh="item"`` gives every item a desktop that nobody has used, "flow" keeps a desktop from item to item, and
    "never" keeps it for the next run whose ``start`` is the ``same``, too, as long as the event loop runs. All else is
    as with `open_agent`: one run, with one trace, one list of limits and one switch that stops it.
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
            supply = Spares(start, end or _close, spares=spares, same=same if fresh == "never" else "")
            stations = Stations(run, supply, everything, secrets or {}, held_for)
            stations.open(desktops, fresh)
            agents = Agents(run, stations, desktops)
            try:
                yield agents
            except BaseException:
                await agents.stop()
                raise
            await agents.finish()
    finally:
        if stations is not None:
            await surely(stations.close())


def check_desktops(desktops: int, spares: int, fresh: str) -> None:
    """Raise `InvalidUsage` for what cannot be."""
    if not 1 <= desktops <= MOST_DESKTOPS:
        raise InvalidUsage(f"desktops= is from 1 to {MOST_DESKTOPS}, not {desktops}.")
    if not 0 <= spares <= desktops:
        raise InvalidUsage(f"spares= is from 0 to the {desktops} desktops, not {spares}.")
    if fresh not in get_args(Fresh):
        kinds = ", ".join(map(repr, get_args(Fresh)))
        raise InvalidUsage(f"fresh= is one of {kinds}, not {fresh!r}.")


async def _close(desktop: Closable) -> None:
    await desktop.close()
