"""Reserve one-time codes (TOTP) in the shared database, so that each code is typed once over all machines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping

import sqlalchemy as sa

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.secrets.totp import AHEAD, LEFT_S, Totp
from holo_tasks.safety.database.store import TABLES, Store, add

TYPING_DELAY_S = 4.0
"""Seconds between the reservation of a code and its typing at most. Codes that expire sooner are not reserved."""
USED = sa.Table(
    "used_codes",
    TABLES,
    sa.Column("seed", sa.Text, primary_key=True),  # its digest
    sa.Column("last", sa.BigInteger, nullable=False),
)


class UsedCodes:
    """Reserves one-time codes. The database holds a digest of each seed and the last time window that was used.

    Time windows follow this machine's clock, as the codes do.
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
        """Reserve a code for each named seed; return the names with their time windows.

        Waits for the next code if the current one is used or about to expire. Raises `SecretRefused` after about two
        periods, if other runs keep taking the codes.
        """
        return tuple([(name, await self._last_reserved(name)) for name in sorted(names) if name in self._seeds])

    async def _last_reserved(self, name: str) -> int:
        seed, waited_s = self._seeds[name], 0.0
        left_s = min(LEFT_S + TYPING_DELAY_S, seed.period_s / 2)
        while True:
            window, wait_s = seed.given(self._now_s(), await asyncio.to_thread(self._last, seed), left_s)
            if not wait_s and await asyncio.to_thread(self._reserve, seed, window):
                return window
            waited_s += wait_s
            if waited_s > 2.0 * seed.period_s + left_s:
                raise SecretRefused(
                    f"The code of {name!r} was not typed: each code is valid once, and other runs use the next ones. "
                    "Let one run at a time use this login, with a seat. Nothing was typed."
                )
            await self._sleep(wait_s)

    def _last(self, seed: Totp) -> int:
        with self._store.transaction() as db:
            found = db.execute(sa.select(USED.c.last).where(USED.c.seed == seed.identity)).scalar_one_or_none()
        return -1 if found is None else int(found)

    def _reserve(self, seed: Totp, window: int) -> bool:
        """Reserve a time window; return whether it was free."""
        free = (USED.c.last < window) | (USED.c.last > window + AHEAD)
        with self._store.transaction() as db:
            add(db, USED, seed=seed.identity, last=-1)
            taken = sa.update(USED).where((USED.c.seed == seed.identity) & free).values(last=window)
            return db.execute(taken).rowcount == 1
