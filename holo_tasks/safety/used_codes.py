"""One-time codes that were set aside to be typed, in the shared database: each once on all machines that share it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping

import sqlalchemy as sa

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.totp import AHEAD, LEFT_S, Totp
from holo_tasks.safety.store import TABLES, Store, add

ON_ITS_WAY_S = 4.0
"""So long a gesture may be on its way to the hands, which begin with no code that is nearly over."""
USED = sa.Table(
    "used_codes",
    TABLES,
    sa.Column("seed", sa.Text, primary_key=True),  # its digest
    sa.Column("last", sa.BigInteger, nullable=False),
)


class UsedCodes:
    """Sets codes aside. Of each seed the database holds a digest, and the last window that was given out.

    Windows go by this machine's clock, as codes do.
    """

    def __init__(
        self,
        store: Store,
        seeds: Mapping[str, Totp],
        now_s: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._store, self._seeds = store, seeds
        self._now_s, self._sleep = now_s, sleep

    async def take(self, names: Collection[str]) -> tuple[tuple[str, int], ...]:
        """Set a code of each of these seeds aside; wait for the next one where this one is used or nearly over."""
        return tuple([(name, await self._taken(name)) for name in sorted(names) if name in self._seeds])

    async def _taken(self, name: str) -> int:
        seed, waited_s = self._seeds[name], 0.0
        left_s = min(LEFT_S + ON_ITS_WAY_S, seed.period_s / 2)
        while True:
            window, wait_s = seed.given(self._now_s(), await asyncio.to_thread(self._last, seed), left_s)
            if not wait_s and await asyncio.to_thread(self._take, seed, window):
                return window
            waited_s += wait_s
            if waited_s > 2.0 * seed.period_s + left_s:
                raise SecretRefused(
                    f"The code of {name!r} is not typed: each is good once, and others type the next ones. "
                    "Have one run at a time use this login, by a seat. Nothing was typed."
                )
            await self._sleep(wait_s)

    def _last(self, seed: Totp) -> int:
        with self._store.transaction() as db:
            found = db.execute(sa.select(USED.c.last).where(USED.c.seed == seed.identity)).scalar_one_or_none()
        return -1 if found is None else int(found)

    def _take(self, seed: Totp, window: int) -> bool:
        """Take a window, unless somebody has it."""
        free = (USED.c.last < window) | (USED.c.last > window + AHEAD)
        with self._store.transaction() as db:
            add(db, USED, seed=seed.identity, last=-1)
            taken = sa.update(USED).where((USED.c.seed == seed.identity) & free).values(last=window)
            return db.execute(taken).rowcount == 1
