"""Skip work that was already done: create no flow or task run, and report all skips in one log line and one table.

`Skipping` collects the skipped work of a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from prefect import get_run_logger
from prefect.exceptions import MissingContextError

from holo_tasks.core import events
from holo_tasks.core.errors import StoreLost
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.loop.services import Services
from holo_tasks.run.prefect_edge.artifacts import publish_table
from holo_tasks.safety.scrubbing import scrub_text

if TYPE_CHECKING:
    from holo_tasks.safety.records.items import Items
    from holo_tasks.safety.records.ledger import Finished

logger = logging.getLogger("holo_tasks")
AT_ONCE = 200
"""Number of skips in one record of the trace, and rows in the table."""

LONGEST = 100_000
"""Approximate limit in characters for one record; the last skip may exceed it."""


class SkippingRun(Protocol):
    """The part of a run that `Skipping` needs."""

    run_id: str
    outside: Services
    items: Items
    resumed: set[str]

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a background task that only the end of the run waits for."""
        ...


class Skipping:
    """Skipped work of a run, reported before the next work begins so that the order is kept."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[events.DoneBefore] = []
        """The first skips, for the table."""
        self._waiting: list[events.DoneBefore] = []
        self._last: events.DoneBefore | None = None
        self._size = 0
        self._since = 0
        """Number of skips since the last log line."""

    async def add(self, run: SkippingRun, token: str, goal: str, title: str, found: Finished) -> None:
        """Add a piece of skipped work, and write the pending ones to the trace if they are many."""
        digest = hashlib.sha256(found.result.encode()).hexdigest()
        done = events.DoneBefore(token=token, goal=goal, title=title, trace=found.trace, sha256=digest)
        run.resumed.add(token)
        self.count += 1
        self._since += 1
        self._waiting.append(done)
        self._last = done
        if len(self.first) < AT_ONCE:
            self.first.append(done)
        self._size += len(token) + len(title) + len(found.trace)
        if len(self._waiting) >= AT_ONCE or self._size >= LONGEST:
            await self._write(run)

    async def report(self, run: SkippingRun) -> None:
        """Write the pending skips to the trace, and log one line about them."""
        if not self._since or self._last is None:
            return
        since, self._since = self._since, 0
        await self._write(run)
        if since == 1:
            _log("Already done for %s; evidence: %s", exact(self._last.token), scrub_text(self._last.trace))
        else:
            _log(
                "Already done and not repeated: %d items, the last one %s.",
                since,
                exact(self._last.token),
            )

    async def publish(self, run: SkippingRun) -> None:
        """Publish a table of the first skips in Prefect."""
        rows = [{"item": exact(one.token), "title": one.title, "evidence": one.trace} for one in self.first]
        more = f" The first {len(rows)} are listed." if len(rows) < self.count else ""
        await publish_table(f"done-before-{run.run_id}", rows, f"Done before this run: {self.count:,}.{more}")

    async def _write(self, run: SkippingRun) -> None:
        some, self._waiting, self._size = self._waiting, [], 0
        if not some:
            return
        # Results that were handed out are recorded, even if their consumer was cancelled.
        await run.outside.recorder.record(events.Skipped(items=some))
        run.run_in_background(_settle(run.items, [(one.token, one.goal) for one in some]))


async def _settle(items: Items, works: Sequence[tuple[str, str]]) -> None:
    """Remove finished items from the dead-letter list.

    A run that was killed between storing the result and removing the item leaves it there.
    """
    try:
        await asyncio.to_thread(items.settle_all, works)
    except StoreLost as error:  # the next run that skips the item tries again
        logger.warning("%s", error)


def _log(words: str, *values: object) -> None:
    try:
        get_run_logger().info(words, *values)
    except MissingContextError:
        logger.info(words, *values)
