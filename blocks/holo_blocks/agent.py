"""Open an agent for a flow from three blocks: model, desktop and evidence."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack, cast

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
from holo_tasks.core.elements.inventory import Discover
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.limits.budget import Limits
from holo_tasks.core.network import Network, network_option
from holo_tasks.core.person import HandOff
from holo_tasks.core.renamed_arguments import renamed
from holo_tasks.core.screen.monitors import monitor_option
from holo_tasks.core.screen.remote_screen import Remote
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.this_machine import loopback_address
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.programs.app_setting import AppSetting
from holo_tasks.desktop.sandbox.folders import check_evidence
from holo_tasks.live_view.view import LiveView, open_live_view
from holo_tasks.loop.ask_model.corrections import CORRECTIONS
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.models.encoding import Tier
from holo_tasks.prefect_server.local_only import check_rest, enter_late
from holo_tasks.run.desktops.lazy_desktop import Closable, LazyDesktop
from holo_tasks.run.desktops.seat import held
from holo_tasks.run.hooks import Hooks
from holo_tasks.run.prefect_edge.artifacts import publish_link
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.run_options import MAX_STEPS, RunOptions
from holo_tasks.safety.policy import Trust
from holo_tasks.safety.records.ledger import Claim
from holo_tasks.safety.records.seats import Seat

S3_BUCKET = "s3-bucket/"
"""Start of the names of S3Bucket blocks of prefect-aws."""
P = ParamSpec("P")
B = TypeVar("B", bound=Block)
Opened = TypeVar("Opened")


class _Opened(AbstractAsyncContextManager[Opened]):
    """An async context manager that refuses to be entered by a plain `with`."""

    def __init__(self, opened: AbstractAsyncContextManager[Opened], name: str) -> None:
        self._opened, self._name = opened, name

    async def __aenter__(self) -> Opened:
        return await self._opened.__aenter__()

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._opened.__aexit__(*raised)

    def __enter__(self) -> NoReturn:
        raise InvalidUsage(f"Open the agent by `async with {self._name}(…)`, in a flow that is `async def`.")

    def __exit__(self, *raised: object) -> None:
        """Required so that `__enter__` is called at all."""


def _opened(
    function: Callable[P, AbstractAsyncContextManager[Opened]],
) -> Callable[P, AbstractAsyncContextManager[Opened]]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> AbstractAsyncContextManager[Opened]:
        return _Opened(function(*args, **kwargs), function.__name__)

    return opened


@renamed(
    token="key=",
    rules="rules= of the desktop block, or of its copy",
    redaction="redaction= of the desktop block, or of its copy",
    secrets="named_secrets= of the desktop block, or of its copy",
    local_only="local_only= of the model block, or set HOLO_LOCAL_ONLY",
)
@_opened
@asynccontextmanager
async def holo_agent(
    title: str,
    *,
    model: HoloModel | str,
    desktop: HoloDesktop | str,
    audit: AuditBucket | Block | str,
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
    check_answers: bool = True,
    network: Network | None = None,
    seat: Seat | str | None = None,
    remote: Remote | None = None,
) -> AsyncIterator[Run]:
    """Open an agent for the sub-goals inside. Yields the `Run`.

    ``title`` names the run. ``model``, ``desktop``, ``audit`` and ``advisors`` are blocks, or the names of saved
    blocks. Rules, redaction and secrets come from the desktop block. The model block says whether all services must
    be on this machine. ``advisors`` are further models, by name, that `judge` can ask.

    ``monitor`` is the name or the number of the only monitor that the agent sees and uses. ``network`` is the
    network of the program: "none", "host", or a list of hosts with their ports. Both replace the desktop block's.

    ``seat`` limits the number of agents that use something at a time, such as ``Seat("SAP login", of=3)``. A name
    alone allows one agent. The agent waits for the seat before its desktop starts, and releases it after the
    desktop is closed. If the seat is lost, input stops.

    ``remote`` is the screen of another machine, `Vnc` or `Rdp`. It fills a new desktop of the block's size in place
    of the program.

    The other parameters are those of `RunOptions`. Without ``allow="act"`` the agent only looks. All settings are
    checked before anything starts. The desktop starts when it is first needed. Everything is closed at the end of
    the block.
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
        "check_answers": check_answers,
    }
    async with AsyncExitStack() as stack:
        wanted = _seat_of(seat)
        made = await _prepared(stack, model, desktop, audit, advisors or {}, (monitor, network, remote), options)
        views, seated = AsyncExitStack(), AsyncExitStack()
        taken: list[Claim] = []

        async def start() -> VirtualDesktop | AttachedDesktop:
            if wanted is not None and not taken:
                taken.append(await seated.enter_async_context(held(wanted)))
                run.switch.add_claim(taken[0])
            return await made.start(views)

        screen = LazyDesktop(start, rebuilt=made.block.makes_its_own)
        screen.far, screen.password = made.far, remote.secret if remote else None
        try:
            async with open_agent(title=title, desktop=screen, **made.opened) as run:
                run.live_view = made.block.live_view
                run.close_desktop = partial(_close, views, screen)
                yield run
        finally:
            try:
                await _close(views, screen)
            finally:
                await seated.aclose()


async def _close(views: AsyncExitStack, desktop: Closable) -> Sequence[str]:
    """Close a desktop after its live view. Return the titles of dialogs that its programs opened meanwhile."""
    try:
        await views.aclose()
    finally:
        titles = await desktop.close()
    return titles or ()


class Options(TypedDict, total=False):
    """The parameters that `holo_agents` passes to `RunOptions`."""

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
    check_answers: bool


@_opened
@asynccontextmanager
async def holo_agents(
    title: str,
    *,
    desktops: int,
    model: HoloModel | str,
    desktop: HoloDesktop | str,
    audit: AuditBucket | Block | str,
    spares: int = 0,
    fresh: Fresh = "flow",
    advisors: Mapping[str, HoloModel | str] | None = None,
    monitor: str | int = "",
    network: Network | None = None,
    seat: Seat | str | None = None,
    **options: Unpack[Options],
) -> AsyncIterator[Agents]:
    """Open several agents in one flow process, each on its own virtual desktop. Yields the `Agents`.

    `Agents.map` works on items. All agents are one run with one trace and one kill switch, and they share
    ``limits``. A desktop starts when an item needs it, and a broken one is replaced. ``spares`` is the number of
    additional desktops that are kept started for that.

    ``fresh`` says when a desktop is new. With "item", each item gets a new one. With "flow", a desktop is kept for
    the next items, also after a failure. With "never", it is also kept for the next agents with the same block,
    until the event loop ends.

    The desktop block must not name a display, because a display exists only once. Each desktop holds a ``seat``,
    also a spare one. Seats are released when the agents end. A desktop that loses its seat stops alone. The other
    parameters are those of `holo_agent`.
    """
    check_desktops(desktops, spares, fresh)
    wanted = _seat_of(seat)
    async with AsyncExitStack() as stack:
        made = await _prepared(stack, model, desktop, audit, advisors or {}, (monitor, network, None), options)
        made.seat = wanted
        if not made.block.makes_its_own:
            raise InvalidUsage(
                "The desktop block names a display, which several agents cannot share: use holo_agent()."
            )
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
    """The checked blocks: the arguments of a run (``opened``), and the start of its desktops."""

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
        """The address of the remote screen on the desktop. Empty if the programs run on this machine."""
        return AppSetting.of(self.remote or self.block.app, os.environ, alone=True).far

    async def start(self, views: AsyncExitStack) -> VirtualDesktop | AttachedDesktop:
        """Start a desktop, and its live view if the block says "always"."""
        desktop = await self.block.start(self.secrets, monitor=self.monitor, network=self.network, remote=self.remote)
        if self.block.live_view == "always":
            try:
                view = await views.enter_async_context(open_live_view(desktop))
            except BaseException:
                await desktop.close()
                raise
            current_run().run_in_background(_publish_live_view(view))
        return desktop

    async def start_alone(self) -> VirtualDesktop | AttachedDesktop:
        """Start one of several desktops. It may end before the run does."""
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
        """Return the claim on the desktop's seat, if it has one. The desktop may be used while the claim is held."""
        seated = self.seats.get(id(desktop))
        return () if seated is None else (seated[1],)

    async def end(self, desktop: Closable) -> Sequence[str]:
        """Close one of several desktops, with its live view and its seat. Return the titles as `_close` does."""
        seated = self.seats.get(id(desktop))
        try:
            return await _close(self.views.pop(id(desktop), AsyncExitStack()), desktop)
        finally:
            if seated is not None:
                await seated[0].aclose()
                del self.seats[id(desktop)]

    @property
    def same(self) -> str:
        """Digest of the settings of a desktop. Runs with the same digest may share desktops.

        Empty if this run's desktops cannot be shared, because they have a live view or a seat until the run
        ends.
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
    audit: AuditBucket | Block | str,
    advisors: Mapping[str, HoloModel | str],
    instead: tuple[str | int, Network | None, Remote | None],
    options: Options,
) -> _Prepared:
    """Check everything that can be checked before the start.

    ``instead`` are the monitor, the network and the remote screen that replace the desktop block's.
    """
    remote = instead[2]
    monitor, network = monitor_option(instead[0]), network_option(instead[1])
    model, desktop = await _block(HoloModel, model), await _block(HoloDesktop, desktop)
    destination = (await _audit_bucket(audit)).destination()
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
    await retry_async_while_unavailable(lambda: asyncio.to_thread(destination.check))
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


def _seat_of(seat: Seat | str | None) -> Seat | None:
    return Seat(seat) if isinstance(seat, str) else seat


async def _block(kind: type[B], given: B | str) -> B:
    """Return a block. Loads it if its name is given."""
    if isinstance(given, str):
        return await load_block(kind, given)
    if not isinstance(given, kind):
        raise InvalidUsage(
            f"{given!r} is not a block of the kind {kind.__name__}: give one, or the name of a saved one."
        )
    return given


async def _audit_bucket(given: AuditBucket | Block | str) -> AuditBucket:
    """Return the place of the evidence. S3Bucket blocks of prefect-aws are also accepted, by ``s3-bucket/NAME``."""
    if isinstance(given, str) and given.startswith(S3_BUCKET):
        require_extra("aws", "prefect-aws", f"The block {given!r}", "prefect_aws")
        from prefect_aws import S3Bucket

        given = await load_block(S3Bucket, given.removeprefix(S3_BUCKET))
    if isinstance(given, Block) and f"{given.get_block_type_slug()}/" == S3_BUCKET:
        return AuditBucket.from_s3_bucket(given)
    return await _block(AuditBucket, cast("AuditBucket | str", given))


async def _publish_live_view(view: LiveView) -> None:
    await publish_link("live-view", view.watch_url, "Watch the agent's desktop until the run ends")
