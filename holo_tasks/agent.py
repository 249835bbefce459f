"""Bring up what a run needs besides a desktop, and take it down again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from prefect.context import FlowRunContext

from holo_tasks.audit import Destination
from holo_tasks.core.budget import Limits
from holo_tasks.core.model import Model
from holo_tasks.core.ports import Desktop
from holo_tasks.home import holo_home
from holo_tasks.models.asked import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.encoding import ENCODERS, Tier
from holo_tasks.models.profile import Profile
from holo_tasks.quiet import one_line_errors
from holo_tasks.run import Run, check_terms, new_run_id, open_run
from holo_tasks.safety.ledger import Ledger
from holo_tasks.safety.policy import Trust, TrustPolicy
from holo_tasks.safety.redaction import NothingToRedact


@asynccontextmanager
async def open_agent(
    *,
    title: str,
    desktop: Desktop,
    endpoint: ModelEndpoint,
    profile: Profile,
    destination: Destination,
    dialect: str = "auto",
    advisors: Mapping[str, Model] | None = None,
    cache_decisions: bool = False,
    allow: Trust = "read",
    limits: Limits | None = None,
    max_steps: int = 50,
    image_quality: Tier = "default",
    home: Path | None = None,
) -> AsyncIterator[Run]:
    """Open a run on a desktop that is up, with the usual doors: looks only, unless ``allow="act"``.

    ``advisors`` are further models, by name, that `judge` can ask. ``cache_decisions`` lets the model's decisions be
    reused where everything it was shown is the same (`caching.SAME_DECISION`).

    The trace is closed, and delivered or safely spooled, when this is left.
    """
    one_line_errors()
    model = model_at(endpoint, profile, dialect)
    for asked in (model, *(advisors or {}).values()):
        check_terms(asked.name, asked.price, limits or Limits(), max_steps)
    where = home or holo_home()
    recorder = await asyncio.to_thread(lambda: destination.open(new_run_id(), home=where))
    run: Run | None = None
    try:
        async with open_run(
            run_id=recorder.run_id,
            title=title,
            desktop=desktop,
            model=model,
            encoder=ENCODERS[image_quality],
            redactor=NothingToRedact(),
            policy=TrustPolicy(allow),
            recorder=recorder,
            trace=recorder.uri,
            folder=recorder.folder,
            limits=limits or Limits(),
            advisors=advisors,
            cache_decisions=cache_decisions,
            ledger=Ledger(where / "ledger.db"),
            max_steps=max_steps,
            flow_run_id=flow_run_id(),
        ) as run:
            yield run
    finally:
        delivery = await recorder.close()
        if run is not None:
            run.delivery = delivery


def flow_run_id() -> str:
    """Return the id of the Prefect flow run this code is in, or an empty string."""
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context and context.flow_run else ""
