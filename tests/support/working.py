"""Processes that compete for the same business item."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Semaphore
from pathlib import Path
from threading import Thread
from typing import Any

from holo_tasks.core.errors import HoloError, InvalidUsage, Killed
from holo_tasks.machine.clock import boot_s
from holo_tasks.safety.database.store import add
from holo_tasks.safety.records import ledger as ledgers
from holo_tasks.safety.records.ledger import Claim, Ledger
from tests.support.spending import open_store

LEASE_S, RENEW_S = 1.5, 0.3
GOAL = "flag"
AT_ONCE = 5
"""How many claim again after a turn: all at once would mostly delay each other."""


def hasten() -> None:
    """Shorten the leases in this process."""
    ledgers.LEASE_S, ledgers.RENEW_S = LEASE_S, RENEW_S


class LookThenTake(Ledger):
    """A naive ledger that the tests must catch: it checks whether an item is free, and takes it afterwards."""

    def _try_claim(self, token: str, goal: str, *others: Any) -> Claim:
        with self._store.transaction() as db:
            row = db.execute(ledgers.CLAIMS.select().where(ledgers.CLAIMS.c.token == token)).one_or_none()
            now, era = self._store.now_s(db), self._store.era
            if row is not None:
                self._is_free(row, now, ledgers.IdleWatch())
        time.sleep(0.01)  # delay, as with a distant database
        with self._store.transaction() as db:
            mine = {"holder": ledgers._this_process(), "era": era, "expires_s": now + LEASE_S, "epoch": 1}
            if not add(db, ledgers.CLAIMS, token=token, goal=goal, **mine):
                db.execute(ledgers.CLAIMS.update().where(ledgers.CLAIMS.c.token == token).values(**mine))
        return Claim(self, token, goal, 1, (), valid_until_s=boot_s() + LEASE_S)


def elsewhere() -> str:
    """Return the identity of a process on another machine."""
    return f"another-machine/boot/pid:[1]|{os.getpid()}|1"


def once_each(url: str, make: type[Ledger], tokens: list[str], effects: Path, together: Barrier) -> None:
    """Process items as a sub-goal does: skip an item that is done or in work, otherwise act once and record the effect.

    All processes begin each item together. An effect is a line in a file.
    """
    ledger = make(open_store(url))
    with effects.open("ab", buffering=0) as file:
        for token in tokens:
            together.wait(120)
            with suppress(InvalidUsage, Killed), ledger.claim(token, GOAL) as claim:
                if ledger.find(token, GOAL, "") is None:
                    number = ledger.intend(claim, "click", "frame")
                    file.write(f"{token}\n".encode())
                    time.sleep(0.01)
                    ledger.settle(claim, number)
                    ledger.finish(claim, "", "1", "")


def take_turns(url: str, folder: Path, threads: int, ended: Semaphore) -> None:
    """Claim one item in some threads, until each had it once. Each writes one intent.

    After each turn some waiting threads claim again at the same time.
    """
    ledger = Ledger(open_store(url))
    workers = [Thread(target=_one_turn, args=(ledger, folder, ended)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _one_turn(ledger: Ledger, folder: Path, ended: Semaphore) -> None:
    had_it = False
    while not had_it:
        with suppress(InvalidUsage), ledger.claim("R-1", GOAL) as claim:
            # Fails if another thread is inside: then there were two holders at a time.
            mark = os.open(folder / "inside", os.O_CREAT | os.O_EXCL)
            number = ledger.intend(claim, "click", "frame")
            os.close(mark)
            (folder / f"turn {claim.epoch} {number}").touch(exist_ok=False)
            (folder / "inside").unlink()
            had_it = True
        if not had_it:
            ended.acquire(timeout=2)
    for _ in range(AT_ONCE):
        ended.release()


def obey(url: str, orders: Connection, machine: str) -> None:
    """Hold a claim, carry out orders with it, and report the results."""
    hasten()
    if machine == "another":
        ledgers._this_process = elsewhere
    ledger = Ledger(open_store(url))
    with suppress(EOFError), ledger.claim("R-1", GOAL) as claim:
        orders.send(claim.epoch)
        while True:
            orders.send(_done(ledger, claim, *orders.recv()))


CLONE_NEWTIME = 0x80
APART_S = 100_000


def claim_apart(url: str, told: Connection) -> None:
    """Claim with a monotonic clock that has another offset; send the offset and the outcome."""
    here_s = time.monotonic()
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        Path("/proc/self/timens_offsets").write_text(f"monotonic {APART_S} 0\nboottime {APART_S} 0\n")
    except OSError as error:
        told.send((0.0, str(error)))
        return
    child = os.fork()  # unsharing affects new children only
    if child:
        os.waitpid(child, 0)
        return
    hasten()
    ledgers._this_process = lambda: "elsewhere|1|1"
    try:
        with Ledger(open_store(url)).claim("R-1", GOAL) as claim:
            said = f"taken {claim.epoch}"
    except InvalidUsage as error:
        said = str(error)
    told.send((time.monotonic() - here_s, said))
    os._exit(0)


def _done(ledger: Ledger, claim: Claim, order: str, *details: Any) -> Any:
    does: dict[str, Callable[..., Any]] = {
        "still mine": lambda: claim.left_s() > 0,
        "intend": lambda: ledger.intend(claim, "click", "frame"),
        "settle": lambda number: ledger.settle(claim, number),
        "void": lambda number: ledger.void(claim, number),
        "delete_intents": lambda: ledger.delete_intents(claim),
        "finish": lambda: ledger.finish(claim, "", "1", ""),
    }
    try:
        return does[order](*details)
    except HoloError as error:
        return type(error).__name__
