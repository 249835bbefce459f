"""From three blocks to a running agent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from prefect.blocks.core import Block
from prefect.settings import get_current_settings

from holo_blocks.audit_bucket import AuditBucket
from holo_blocks.desktop import HoloDesktop
from holo_blocks.loading import load_block
from holo_blocks.model import HoloModel
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import HandOff
from holo_tasks.core.renamed import renamed
from holo_tasks.core.secret import Secret
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.live_view.view import LiveView, open_live_view
from holo_tasks.loop.corrections import CORRECTIONS
from holo_tasks.machine.patience import awaited
from holo_tasks.models.encoding import Tier
from holo_tasks.prefect_server.local_only import check_rest, enter_late
from holo_tasks.run.artifacts import publish_link
from holo_tasks.run.hooks import Hooks
from holo_tasks.run.lazy_desktop import LazyDesktop
from holo_tasks.run.run import Run, current_run
from holo_tasks.safety.policy import Trust

P = ParamSpec("P")
B = TypeVar("B", bound=Block)


class _Opened(AbstractAsyncContextManager[Run]):
    """An agent to be entered; a flow that is not async is told so."""

    def __init__(self, opened: AbstractAsyncContextManager[Run]) -> None:
        self._opened = opened

    async def __aenter__(self) -> Run:
        return await self._opened.__aenter__()

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._opened.__aexit__(*raised)

    def __enter__(self) -> NoReturn:
        raise InvalidUsage("An agent is opened by `async with holo_agent(…)`, in a flow that is `async def`.")

    def __exit__(self, *raised: object) -> None:
        """Python looks for this before it enters."""


def _opened(
    function: Callable[P, AbstractAsyncContextManager[Run]],
) -> Callable[P, AbstractAsyncContextManager[Run]]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> AbstractAsyncContextManager[Run]:
        return _Opened(function(*args, **kwargs))

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
    max_steps: int = 50,
    max_corrections: int = CORRECTIONS,
    image_quality: Tier = "default",
    advisors: Mapping[str, HoloModel | str] | None = None,
    cache_decisions: bool = False,
    handoff: HandOff | bool = False,
    hooks: Hooks | None = None,
) -> AsyncIterator[Run]:
    """Bring up model and evidence, and the desktop once it is needed, for the sub-goals inside.

    ``title`` names the run. ``model``, ``desktop``, ``audit`` and ``advisors`` are blocks, or the names of saved ones;
    rules, redaction and secrets are the desktop block's, and the model block says whether all must be on this machine.
    Looks only, unless ``allow="act"``. ``key`` names the business item. ``limits`` hold for the whole run.
    ``advisors`` are further models, by name, that `judge` can ask.
    ``cache_decisions`` reuses decisions of the model where all that it was shown is the same.
    ``max_corrections`` is how often, each step, the model is told what is wrong with its reply; each is a call.
    ``handoff`` waits for a person where the model asks for one and where an action needs a yes. ``hooks`` are told of
    steps, limits, hand-offs and finished items.
    What can be checked is checked before anything is started; everything is taken down again when this is left.
    """
    model, desktop = await _block(HoloModel, model), await _block(HoloDesktop, desktop)
    destination = (await _block(AuditBucket, audit)).destination()
    others = {name: await _block(HoloModel, other) for name, other in (advisors or {}).items()}
    profile = model.profile()
    async with AsyncExitStack() as stack:
        endpoint = model.endpoint()
        stack.push_async_callback(endpoint.close)
        here = endpoint.local_only
        prefect_url = get_current_settings().api.url
        if here:
            enter_late(os.environ, prefect_url)
            desktop.check_here()
        named = {name: await stack.enter_async_context(each.advisor(local_only=here)) for name, each in others.items()}
        if here:
            destination = await asyncio.to_thread(check_rest, destination, prefect_url)
        known = await desktop.resolved_secrets()
        await awaited(lambda: asyncio.to_thread(destination.check))
        views = AsyncExitStack()
        screen = LazyDesktop(lambda: _start(desktop, known, views), rebuilt=desktop.makes_its_own)
        try:
            async with open_agent(
                title=title,
                desktop=screen,
                endpoint=endpoint,
                profile=profile,
                destination=destination,
                dialect=model.dialect,
                allow=allow,
                rules=desktop.rules,
                redaction=desktop.redaction,
                key=key,
                limits=limits,
                max_steps=max_steps,
                max_corrections=max_corrections,
                image_quality=image_quality,
                advisors=named,
                cache_decisions=cache_decisions,
                secrets=known,
                handoff=handoff,
                hooks=hooks,
            ) as run:
                run.live_view = desktop.live_view
                yield run
        finally:
            await views.aclose()
            await screen.close()


async def _block(kind: type[B], given: B | str) -> B:
    """Return a block, which may be given by its name."""
    if isinstance(given, str):
        return await load_block(kind, given)
    if not isinstance(given, kind):
        raise InvalidUsage(f"{given!r} is no {kind.__name__}: give a block of that kind, or the name of a saved one.")
    return given


async def _start(
    block: HoloDesktop, secrets: Mapping[str, Secret], views: AsyncExitStack
) -> VirtualDesktop | AttachedDesktop:
    """Bring the desktop up, and show it to whoever may watch the run."""
    desktop = await block.start(secrets)
    if block.live_view == "always":
        try:
            view = await views.enter_async_context(open_live_view(desktop))
        except BaseException:
            await desktop.close()
            raise
        current_run().do_aside(_tell(view))
    return desktop


async def _tell(view: LiveView) -> None:
    await publish_link("live-view", view.watch_url, "Watch the agent's desktop, for as long as the run lasts")
