"""From three blocks to a running agent."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack

from prefect.blocks.core import Block
from prefect.settings import get_current_settings

from holo_blocks.audit_bucket import AuditBucket
from holo_blocks.desktop import HoloDesktop
from holo_blocks.loading import load_block
from holo_blocks.model import HoloModel
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.agent.open_agents import Agents, check_desktops, open_agents
from holo_tasks.agent.stations import Fresh
from holo_tasks.audit import Folder
from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.inventory import Discover
from holo_tasks.core.monitors import wanted_monitor
from holo_tasks.core.network import Network, wanted_network
from holo_tasks.core.person import HandOff
from holo_tasks.core.remote_screen import Remote
from holo_tasks.core.renamed import renamed
from holo_tasks.core.secret import Secret
from holo_tasks.core.this_machine import loopback_address
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.sandbox.folders import check_evidence
from holo_tasks.desktop.wanted_program import Wanted
from holo_tasks.live_view.view import LiveView, open_live_view
from holo_tasks.loop.corrections import CORRECTIONS
from holo_tasks.machine.patience import awaited
from holo_tasks.models.encoding import Tier
from holo_tasks.prefect_server.local_only import check_rest, enter_late
from holo_tasks.run.artifacts import publish_link
from holo_tasks.run.hooks import Hooks
from holo_tasks.run.lazy_desktop import Closable, LazyDesktop
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.run_options import MAX_STEPS, RunOptions
from holo_tasks.run.seat import held
from holo_tasks.safety.ledger import Claim
from holo_tasks.safety.policy import Trust
from holo_tasks.safety.seats import Seat

P = ParamSpec("P")
B = TypeVar("B", bound=Block)
Opened = TypeVar("Opened")


class _Opened(AbstractAsyncContextManager[Opened]):
    """An agent to be entered; a flow that is not async is told so."""

    def __init__(self, opened: AbstractAsyncContextManager[Opened], name: str) -> None:
        self._opened, self._name = opened, name

    async def __aenter__(self) -> Opened:
        return await self._opened.__aenter__()

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._opened.__aexit__(*raised)

    def __enter__(self) -> NoReturn:
        raise InvalidUsage(f"An agent is opened by `async with {self._name}(…)`, in a flow that is `async def`.")

    def __exit__(self, *raised: object) -> None:
        """Python looks for this before it enters."""


def _opened(
    function: Callable[P, AbstractAsyncContextManager[Opened]],
) -> Callable[P, AbstractAsyncContextManager[Opened]]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> AbstractAsyncContextManager[Opened]:
        return _Opened(function(*args, **kwargs), function.__name__)

    return opened


@renamed(
    token="key=",
    rules="rules= of the desktop block, or of a copy of it",
    redaction="redaction= of the desktop block, or of a copy of it",
    secrets="named_secrets= of the desktop block, or of a copy of it",
    local_only="local_only= of the model block, or set HOLO_LOCAL_ONLY",
)
@_opened
@asynccontextmanager
async def holo_agent(
    title: str,
    *,
    model: HoloModel | str,
    desktop: HoloDesktop | str,
    audit: AuditBucket | str,
    allow: Trust | None = None,
    key: str = "",
    limits: Limits | None = None,
    max_steps: int = MAX_STEPS,
    max_corrections: int = CORRECTIONS,
    image_quality: Tier = "default",
    advisors: Mapping[str, HoloModel | str] | None = None,
    cache_decisions: bool = False,
    handoff: HandOff | bool = False,
    hooks: Hooks | None = None,
    monitor: str | int = "",
    discover: Discover | bool = False,
    network: Network | None = None,
    seat: Seat | str | None = None,
    remote: Remote | None = None,
) -> AsyncIterator[Run]:
    """Bring up model and evidence, and the desktop once it is needed, for the sub-goals inside.

    ``title`` names the run. ``model``, ``desktop``, ``audit`` and ``advisors`` are blocks, or the names of saved ones;
    rules, redaction and secrets are the desktop block's, and the model block says whether all must be on this machine.
    ``advisors`` are further models, by name, that `judge` can ask. ``monitor`` is the name or the number of the one
    monitor that it sees and touches, and ``network`` what the program reaches ("none", "host", or a list of hosts with
    their ports), both instead of the desktop block's. ``seat`` is what only so many may use at a time, as
    ``Seat("SAP login", of=3)``, or by its name what only one may: it is waited for before the desktop is started, and
    given back when that is closed; input stops when it is lost. ``remote`` is the screen of another machine, `Vnc` or
    `Rdp`, that is shown on all of a new desktop of the block's size instead of its program. All else is as in
    `RunOptions`: looks only, unless ``allow="act"``.
    What can be checked is checked before anything is started; everything is taken down again when this is left.
    """
    options: Options = {
        "allow": allow,
        "key": key,
        "limits": limits,
        "max_steps": max_steps,
        "max_corrections": max_corrections,
        "image_quality": image_quality,
        "cache_decisions": cache_decisions,
        "handoff": handoff,
        "hooks": hooks,
        "discover": discover,
    }
    async with AsyncExitStack() as stack:
        wanted = _wanted(seat)
        made = await _prepared(stack, model, desktop, audit, advisors or {}, (monitor, network, remote), options)
        views, seated = AsyncExitStack(), AsyncExitStack()
        taken: list[Claim] = []

        async def start() -> VirtualDesktop | AttachedDesktop:
            if wanted is not None and not taken:
                taken.append(await seated.enter_async_context(held(wanted)))
                run.switch.take_up(taken[0])
            return await made.start(views)

        screen = LazyDesktop(start, rebuilt=made.block.makes_its_own)
        screen.far, screen.password = made.far, remote.secret if remote else None
        try:
            async with open_agent(title=title, desktop=screen, **made.opened) as run:
                run.live_view = made.block.live_view
                yield run
        finally:
            await views.aclose()
            try:
                await screen.close()
            finally:
                await seated.aclose()


class Options(TypedDict, total=False):
    """What `holo_agents` hands on to `RunOptions`."""

    allow: Trust | None
    key: str
    limits: Limits | None
    max_steps: int
    max_corrections: int
    image_quality: Tier
    cache_decisions: bool
    handoff: HandOff | bool
    hooks: Hooks | None
    discover: Discover | bool


@_opened
@asynccontextmanager
async def holo_agents(
    title: str,
    *,
    desktops: int,
    model: HoloModel | str,
    desktop: HoloDesktop | str,
    audit: AuditBucket | str,
    spares: int = 0,
    fresh: Fresh = "flow",
    advisors: Mapping[str, HoloModel | str] | None = None,
    monitor: str | int = "",
    network: Network | None = None,
    seat: Seat | str | None = None,
    **options: Unpack[Options],
) -> AsyncIterator[Agents]:
    """Bring up model and evidence for several agents, each on a virtual desktop of its own, in one flow process.

    What they work on is given to `Agents.map`, item by item. All are one run: one trace, one switch that stops it, and
    ``limits`` that all desktops together keep. A desktop is started when an item needs it; one that breaks is replaced,
    and so many ``spares`` are kept started for that. ``fresh`` says when a desktop is new: with "item" for each item,
    with "flow" it is kept from item to item, also after one that failed, and with "never" it is also kept for the next
    agents on the same block, as long as the event loop runs. The block has to make its desktops itself: a display that
    is there is only one. Each desktop takes a ``seat``, also a spare one, and no seat outlasts its agents; a desktop
    that loses it stops alone. All else is as with `holo_agent`.
    """
    check_desktops(desktops, spares, fresh)
    wanted = _wanted(seat)
    async with AsyncExitStack() as stack:
        made = await _prepared(stack, model, desktop, audit, advisors or {}, (monitor, network, None), options)
        made.seat = wanted
        if not made.block.makes_its_own:
            raise InvalidUsage("The desktop block names a display, of which there is one: use holo_agent() on it.")
        async with open_agents(
            title=title,
            desktops=desktops,
            start=made.start_alone,
            end=made.end,
            held_for=made.held_for,
            spares=spares,
            fresh=fresh,
            same=made.same,
            **made.opened,
        ) as agents:
            agents.run.live_view = made.block.live_view
            yield agents


@dataclass
class _Prepared:
    """What blocks come to: what a run is ``opened`` with, and how its desktops are started."""

    block: HoloDesktop
    secrets: Mapping[str, Secret]
    monitor: str
    network: str
    remote: Remote | None
    opened: dict[str, Any]
    seat: Seat | None = None
    views: dict[int, AsyncExitStack] = field(default_factory=dict)
    seats: dict[int, tuple[AsyncExitStack, Claim]] = field(default_factory=dict)

    @property
    def far(self) -> str:
        """Where the remote screen is that a desktop shows; empty for one with programs of this machine."""
        return Wanted.of(self.remote or self.block.app, os.environ, alone=True).far

    async def start(self, views: AsyncExitStack) -> VirtualDesktop | AttachedDesktop:
        """Bring a desktop up, and show it to whoever may watch the run."""
        desktop = await self.block.start(self.secrets, monitor=self.monitor, network=self.network, remote=self.remote)
        if self.block.live_view == "always":
            try:
                view = await views.enter_async_context(open_live_view(desktop))
            except BaseException:
                await desktop.close()
                raise
            current_run().do_aside(_tell(view))
        return desktop

    async def start_alone(self) -> VirtualDesktop | AttachedDesktop:
        """Bring up one desktop of several, which may end before the run does."""
        views, seated = AsyncExitStack(), AsyncExitStack()
        claim = await seated.enter_async_context(held(self.seat)) if self.seat is not None else None
        try:
            desktop = await self.start(views)
        except BaseException:
            await seated.aclose()
            raise
        self.views[id(desktop)] = views
        if claim is not None:
            self.seats[id(desktop)] = seated, claim
        return desktop

    def held_for(self, desktop: Closable) -> Sequence[Claim]:
        """Return what such a desktop may be used for as long as it is held."""
        seated = self.seats.get(id(desktop))
        return () if seated is None else (seated[1],)

    async def end(self, desktop: Closable) -> None:
        """Take such a desktop down."""
        try:
            if (views := self.views.pop(id(desktop), None)) is not None:
                await views.aclose()
        finally:
            seated = self.seats.get(id(desktop))
            try:
                await desktop.close()
            finally:
                if seated is not None:
                    await seated[0].aclose()
                    del self.seats[id(desktop)]

    @property
    def same(self) -> str:
        """Tells whether a desktop of another run can be used here: it was made in the same way. Empty if none can be,
        since this run's is shown to somebody, or has a seat, until it ends.
        """
        if self.block.live_view == "always" or self.seat is not None:
            return ""
        values = {name: [secret.value, str(secret)] for name, secret in self.secrets.items()}
        instead = {"monitor": self.monitor, "network": self.network}
        return digest_of({"block": self.block.model_dump(mode="json"), "secrets": values, **instead})


async def _prepared(
    stack: AsyncExitStack,
    model: HoloModel | str,
    desktop: HoloDesktop | str,
    audit: AuditBucket | str,
    advisors: Mapping[str, HoloModel | str],
    instead: tuple[str | int, Network | None, Remote | None],
    options: Options,
) -> _Prepared:
    """Check all that can be checked before anything is started; ``instead`` are a monitor, a network and a remote
    screen that count more than the desktop block's.
    """
    remote = instead[2]
    monitor, network = wanted_monitor(instead[0]), wanted_network(instead[1])
    model, desktop = await _block(HoloModel, model), await _block(HoloDesktop, desktop)
    destination = (await _block(AuditBucket, audit)).destination()
    if isinstance(destination, Folder):
        check_evidence(desktop.folders, destination.path)
    others = {name: await _block(HoloModel, other) for name, other in advisors.items()}
    profile = model.profile()
    given: dict[str, Any] = {**options, "limits": options.get("limits") or Limits()}
    asked = RunOptions(rules=desktop.rules, redaction=desktop.redaction, **given)
    endpoint = model.endpoint()
    stack.push_async_callback(endpoint.close)
    here = endpoint.local_only
    prefect_url = get_current_settings().api.url
    if here:
        enter_late(os.environ, prefect_url)
        desktop.check_here()
        if remote is not None:
            loopback_address(remote.host, socket.getaddrinfo, "the remote screen")
    named = {name: await stack.enter_async_context(each.advisor(local_only=here)) for name, each in others.items()}
    if here:
        destination = await asyncio.to_thread(check_rest, destination, prefect_url)
    known = await desktop.resolved_secrets(starts=remote is not None)
    await awaited(lambda: asyncio.to_thread(destination.check))
    opened = {
        "endpoint": endpoint,
        "profile": profile,
        "destination": destination,
        "options": asked,
        "dialect": model.dialect,
        "advisors": named,
        "secrets": known,
    }
    return _Prepared(desktop, known, monitor, network, remote, opened)


def _wanted(seat: Seat | str | None) -> Seat | None:
    return Seat(seat) if isinstance(seat, str) else seat


async def _block(kind: type[B], given: B | str) -> B:
    """Return a block, which may be given by its name."""
    if isinstance(given, str):
        return await load_block(kind, given)
    if not isinstance(given, kind):
        raise InvalidUsage(f"{given!r} is no {kind.__name__}: give a block of that kind, or the name of a saved one.")
    return given


async def _tell(view: LiveView) -> None:
    await publish_link("live-view", view.watch_url, "Watch the agent's desktop, for as long as the run lasts")
