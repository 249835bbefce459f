"""A one-time code is reserved once over all machines that share the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from holo_tasks import pursue
from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.secrets.totp import Totp
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.used_codes import USED, UsedCodes
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
OTP = Totp.read(SEED, "otp")
NOW_S = 1_800_000_000.0  # a window of 30 s begins


class Machine:
    """A machine with the shared database. Its clock advances while it waits, and ``meanwhile`` runs in that time."""

    def __init__(self, store: Store) -> None:
        self.now_s, self.slept = NOW_S, list[float]()
        self.meanwhile: Callable[[], object] = lambda: None
        self.codes = UsedCodes(store, {"otp": OTP}, lambda: self.now_s, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        self.meanwhile()

    async def take(self) -> int:
        ((name, window),) = await self.codes.take({"otp", "password"})
        assert name == "otp"
        return window


@pytest.fixture
def machines(store_url: str) -> tuple[Machine, Machine]:
    return Machine(Store(store_url)), Machine(Store(store_url))


async def test_a_reserved_code_makes_the_other_machine_wait(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    first = await here.take()
    assert (first, here.slept) == (OTP.window(NOW_S), [])
    assert (await there.take(), there.slept) == (first + 1, [30.0])
    here.now_s = NOW_S + 24  # the code might expire before it is typed
    assert (await here.take(), here.slept) == (first + 2, [36.0])


async def test_concurrent_reservations_get_different_windows(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    each = [here, there, *(Machine(here.codes._store) for _ in range(2))]
    taken = await asyncio.gather(*(asyncio.to_thread(one.codes._reserve, OTP, 5) for one in each))
    assert sorted(taken) == [False, False, False, True]


async def test_a_code_is_refused_if_others_take_every_next_one(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    await there.take()
    here.meanwhile = lambda: there.codes._reserve(OTP, OTP.window(here.now_s))
    with pytest.raises(SecretRefused, match=r"other runs use the next ones.*seat.*Nothing was typed"):
        await here.take()
    assert sum(here.slept) <= 97


async def test_a_clock_set_back_blocks_nobody_and_no_seed_is_stored(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    there.now_s += 3600
    await there.take()
    assert (await here.take(), here.slept) == (OTP.window(NOW_S), [])
    with here.codes._store.transaction() as db:
        (row,) = db.execute(sa.select(USED)).all()
    assert SEED.lower() not in str(row).lower()


async def test_the_typed_code_is_the_reserved_one(prefect: str, tmp_path: Path) -> None:
    desktop, secrets = PaintedDesktop(), {"otp": Secret("otp", SEED, "/usr/bin/painted", totp=True)}
    replies = [step("write", content="{{totp:otp}}"), step("answer", content="done")]
    with ScriptedModel(replies) as model:
        async with agent(model, desktop, tmp_path, secrets=secrets) as run:
            await pursue("Type the code {{totp:otp}}.")
            (input_permit,) = (input_permit for input_permit in desktop.slips if input_permit is not None)
            ((name, window),) = input_permit.codes
            assert name == "otp"
            assert run.outside.one_time is not None
            assert not run.outside.one_time._reserve(OTP, window), "it is used up"  # type: ignore[attr-defined]
