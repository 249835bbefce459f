"""Hold a seat: one of a limited number of places for a resource, across all machines.

`seat` is the public context manager. `held` gives the claim without a run.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.run.run import running_here
from holo_tasks.safety.records.ledger import Claim
from holo_tasks.safety.records.seats import GOAL, Seat, Seats

LOOK_S = 1.0
SILENT_S = 5.0
"""Seconds of waiting after which a warning is logged."""
logger = logging.getLogger("holo_tasks")


@asynccontextmanager
async def seat(name: str | Seat, *, of: int = 1) -> AsyncIterator[None]:
    """Hold one of ``of`` seats of a name inside the block; wait until one is free.

    Input passes only while the seat's lease is renewed. A holder that cannot renew in time stops. If its process hangs
    or its machine is gone, another holder gets the seat, and the old one stops for good. Inside `Agents.map` this
    concerns the one item.

    A seat is free when the block ends, or a few seconds after its holder died. Prefect's concurrency limits slow work
    down, but do not guarantee exclusion.
    """
    wanted = name if isinstance(name, Seat) else Seat(name, of)
    run = running_here()
    async with held(wanted) as claim:
        if run is not None:
            run.switch.add_claim(claim)
        try:
            yield
        finally:
            if run is not None:
                run.switch.leave(claim)


@asynccontextmanager
async def held(wanted: Seat) -> AsyncIterator[Claim]:
    """Hold a seat and return its claim. Losing the seat stops nothing by itself: the caller watches the claim."""
    books = await asyncio.to_thread(ItemRecords.of_current_run)
    seats = Seats(books.ledger.store)
    await retry_async_while_unavailable(lambda: asyncio.to_thread(seats.declare, wanted))
    began, warned = time.monotonic(), False

    def waits() -> float:
        nonlocal warned
        if not warned and time.monotonic() - began > SILENT_S:
            warned = True
            logger.warning("All %d seats of %s are taken; waiting for one.", wanted.of, exact(wanted.name))
        return LOOK_S * random.uniform(0.75, 1.25)

    tokens = random.sample(wanted.tokens, wanted.of)  # random order, so that waiters do not all try the same seat
    async with books.ledger.one_of(tokens, GOAL, waits) as claim:
        await asyncio.to_thread(seats.declare, wanted)  # checks that the number of seats is still the same
        claim.lost = f"Its seat of {exact(wanted.name)} was taken over by another worker."
        yield claim
