"""From three blocks to a running agent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import wraps
from typing import Any, NoReturn, ParamSpec

from prefect.settings import get_current_settings

from holo_blocks.audit_bucket import AuditBucket
from holo_blocks.desktop import HoloDesktop
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
from holo_tasks.run.lazy_desktop import LazyDesktop
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.secret_sources import SecretSpec
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust

P = ParamSpec("P")


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


@renamed(token="key=")
@_opened
@asynccontextmanager
async def holo_agent(
    *,
    title: str,
    model: HoloModel,
    desktop: HoloDesktop,
    audit: AuditBucket,
    allow: Trust | None = None,
    rules: Rules | None = None,
    redaction: Redaction | None = None,
    key: str = "",
    limits: Limits | None = None,
    max_steps: int = 50,
    max_corrections: int = CORRECTIONS,
    image_quality: Tier = "default",
    advisors: Mapping[str, HoloModel] | None = None,
    cache_decisions: bool = False,
    local_only: bool = False,
    secrets: Sequence[SecretSpec | str] = (),
    handoff: HandOff | bool = False,
) -> AsyncIterator[Run]:
    """Bring up model and evidence, and the desktop once it is needed, for the sub-goals inside.

    Looks only, unless ``allow="act"``. ``rules`` and ``redaction`` take the place of those of the desktop block.
    ``key`` names the business item. ``advisors`` are further models, by name, that `judge` can ask.
    ``cache_decisions`` reuses decisions of the model where all that it was shown is the same. ``local_only``, like the
    model block's field and ``HOLO_LOCAL_ONLY``, refuses whatever is not on this machine. ``secrets`` name more that may
    be typed as {{secret:NAME}} besides those of the desktop block: as `SecretSpec`, or as ``NAME`` or ``NAME=PROGRAM``.
    ``max_corrections`` is how often, each step, the model is told what is wrong with its reply; each is a call.
    ``handoff`` waits for a person where the model asks for one and where an action needs a yes.
    What can be checked is checked before anything is started; everything is taken down again when this is left.
    """
    destination = audit.destination()
    profile = model.profile()
    async with AsyncExitStack() as stack:
        endpoint = model.endpoint(local_only=local_only)
        stack.push_async_callback(endpoint.close)
        here = endpoint.local_only
        prefect_url = get_current_settings().api.url
        if here:
            enter_late(os.environ, prefect_url)
            desktop.check_here()
        named = {
            name: await stack.enter_async_context(each.advisor(local_only=here))
            for name, each in (advisors or {}).items()
        }
        if here:
            destination = await asyncio.to_thread(check_rest, destination, prefect_url)
        known = await desktop.resolved_secrets(
            one if isinstance(one, SecretSpec) else SecretSpec.parse(one) for one in secrets
        )
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
                rules=rules or desktop.rules,
                redaction=redaction or desktop.redaction,
                key=key,
                limits=limits,
                max_steps=max_steps,
                max_corrections=max_corrections,
                image_quality=image_quality,
                advisors=named,
                cache_decisions=cache_decisions,
                secrets=known,
                handoff=handoff,
            ) as run:
                run.live_view = desktop.live_view
                yield run
        finally:
            await views.aclose()
            await screen.close()


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
