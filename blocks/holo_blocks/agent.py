"""From three blocks to a running agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from holo_blocks.audit_bucket import AuditBucket
from holo_blocks.desktop import HoloDesktop
from holo_blocks.model import HoloModel
from holo_tasks.agent import open_agent
from holo_tasks.core.budget import Limits
from holo_tasks.lazy import LazyDesktop
from holo_tasks.models.encoding import Tier
from holo_tasks.run import Run
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust


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
    token: str = "",
    limits: Limits | None = None,
    max_steps: int = 50,
    image_quality: Tier = "default",
    advisors: Mapping[str, HoloModel] | None = None,
    cache_decisions: bool = False,
) -> AsyncIterator[Run]:
    """Bring up model and evidence, and the desktop once it is needed, for the sub-goals inside.

    Looks only, unless ``allow="act"``. ``rules`` and ``redaction`` take the place of those of the desktop block.
    ``token`` names the business item. ``advisors`` are further models, by name, that `judge` can ask.
    ``cache_decisions`` reuses decisions of the model where all that it was shown is the same. What can be checked is
    checked before anything is started; everything is taken down again when this is left.
    """
    destination = audit.destination()
    profile = model.profile()
    await asyncio.to_thread(destination.check)
    async with AsyncExitStack() as stack:
        named = {name: await stack.enter_async_context(each.advisor()) for name, each in (advisors or {}).items()}
        endpoint = model.endpoint()
        stack.push_async_callback(endpoint.close)
        screen = LazyDesktop(desktop.start)
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
                secrets={name: str(value) for name, value in desktop.secrets.get_secret_value().items()},
                token=token,
                limits=limits,
                max_steps=max_steps,
                image_quality=image_quality,
                advisors=named,
                cache_decisions=cache_decisions,
            ) as run:
                yield run
        finally:
            await screen.close()
