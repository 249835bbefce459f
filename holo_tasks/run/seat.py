"""`seat`: have a place at what only so many may use at a time, for as long as it is needed."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holo_tasks.core.visible_text import exact
from holo_tasks.machine.patience import awaited
from holo_tasks.run.business_item import Books
from holo_tasks.run.run import running_here
from holo_tasks.safety.ledger import Claim
from holo_tasks.safety.seats import GOAL, Seat, Seats

LOOK_S = 1.0
SILENT_S = 5.0
"""Who waits longer is told for what."""
logger = logging.getLogger("holo_tasks")


@asynccontextmanager
async def seat(name: str | Seat, *, of: int = 1) -> AsyncIterator[None]:
    """Have one of the seats of a name inside, of which there are so many on all machines together; wait for one.

    Input is let through only as long as the seat is held: who could not renew it in time stops, and who is given up for
    dead, as its process hangs or its machine is gone, finds somebody else on the seat and stops for good. Inside
    `Agents.map` that is so of the one item. A seat is free again when this is left, or some seconds after its holder is
    gone. Prefect's own concurrency limits are good for slowing down, and do not keep anybody out.
    """
    wanted = name if isinstance(name, Seat) else Seat(name, of)
    run = running_here()
    async with held(wanted) as claim:
        if run is not None:
            run.switch.take_up(claim)
        try:
            yield
        finally:
            if run is not None:
                run.switch.leave(claim)


@asynccontextmanager
async def held(wanted: Seat) -> AsyncIterator[Claim]:
    """Hold a seat, without stopping anything when it is lost: that is for whoever has the claim."""
    books = await asyncio.to_thread(Books.here)
    seats = Seats(books.ledger.store)
    await awaited(lambda: asyncio.to_thread(seats.declare, wanted))
    began, told = time.monotonic(), False

    def waits() -> float:
        nonlocal told
        if not told and time.monotonic() - began > SILENT_S:
            told = True
            logger.warning("All %d seats of %s are taken; one is waited for.", wanted.of, exact(wanted.name))
        return LOOK_S * random.uniform(0.75, 1.25)

    tokens = random.sample(wanted.tokens, wanted.of)  # not all ask for the first one first
    async with books.ledger.one_of(tokens, GOAL, waits) as claim:
        await asyncio.to_thread(seats.declare, wanted)  # nobody has changed the number in between
        claim.lost = f"Its seat of {exact(wanted.name)} is another one's by now."
        yield claim
