"""Processes that share budgets and are killed at random, and a model server that bills them by its own count."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from holo_tasks.core.errors import LimitReached, TransientModelFault
from holo_tasks.core.events import Event
from holo_tasks.core.limits.budget import Guard, Limits, too_expensive
from holo_tasks.core.prompts.model import Request
from holo_tasks.loop.ask_model.predict import Till, predict
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import PriceTable, profile_for
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.budgets import BUDGETS, Budgets
from holo_tasks.safety.records.budgets import forget as renew
from tests.support.scripted_model import Answer, ScriptedModel

INPUT, OUTPUT = Decimal("0.25"), Decimal("1.80")
PROFILE = profile_for("holo3-1-35b-a3b", price=PriceTable(input=INPUT, output=OUTPUT))
LATENCY_S = 0.15
"""How far a naive budget is from its database: so far that several look before one has added."""
BILLED_ERRORS = (500, 503, 520, 524)
"""What gateways answer when a server behind them may have done the work."""
ROUNDS = 10
"""How often each process holds and pays: locks that are taken in another order are met every time in fewer, too."""
PROMPT, MAX_TOKENS = "Press OK. " * 600, 1024

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "psycopg",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite.pysqlite",
        *("openai.lib.streaming.chat", "openai.resources.chat.completions.completions", "jiter", "encodings.idna"),
        # What these load once they are asked for something, which takes each process longer than its work.
        *("anyio._backends._asyncio", "anyio.streams.tls", "httpcore2", "PIL.Image", "concurrent.futures.thread"),
        *(f"holo_tasks.safety.{name}" for name in ("approvals", "handoffs", "items", "kill_requests", "ledger")),
        *(f"holo_tasks.safety.{name}" for name in ("run_list", "work_items")),
        "tests.support.spending",
        "tests.support.working",
        "tests.support.forked_often",
    ]
)


@dataclass(frozen=True)
class Scope:
    """A shared budget: its key, and its limits."""

    key: str
    limits: Limits

    @property
    def cap_micro(self) -> int:
        assert self.limits.max_cost_micro is not None
        return self.limits.max_cost_micro


@dataclass(frozen=True)
class Balance:
    """What a scope has used up, in micro-USD and input actions."""

    spent_micro: int
    held_micro: int
    actions: int


def balance(budgets: Budgets, key: str) -> Balance:
    """Return what a scope has used up; nothing if it was never opened."""
    with budgets._store.transaction() as db:
        found = db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope == key)).one_or_none()
    return Balance(found.spent_micro, found.held_micro, found.actions) if found else Balance(0, 0, 0)


class CheckThenAdd(Budgets):
    """The naive budget, which the proofs have to catch: it looks whether a call fits, and adds it afterwards."""

    def hold(self, scopes: Sequence[Guard], worst_micro: int) -> str:
        for scope in scopes:
            used = balance(self, scope.key)
            if used.spent_micro + used.held_micro + worst_micro > (scope.limits.max_cost_micro or 0):
                raise too_expensive(scope, worst_micro, used.spent_micro, used.held_micro)
        time.sleep(LATENCY_S)
        return super().hold([Guard(scope.name, Limits(), 0, key=scope.key) for scope in scopes], worst_micro)

    def act(self, scopes: Sequence[Guard]) -> None:
        if any(balance(self, scope.key).actions >= (scope.limits.max_actions or 0) for scope in scopes):
            raise LimitReached("no more")
        time.sleep(LATENCY_S)
        super().act([Guard(scope.name, Limits(), 0, key=scope.key) for scope in scopes])


class Billing:
    """Bills each request as it arrives, by its own count, whatever becomes of who sent it.

    Some replies get lost after they were billed, some requests are refused unbilled, some replies carry no bill, and
    some errors are on the bill: those of gateways that gave up on a server which went on. ``errors`` are such ones,
    which three replies of four are then. ``writes`` tokens are written whatever the request allows. ``bills`` are
    micro-USD by what the request names as its payer.
    """

    def __init__(self, seed: int, *, faults: bool, errors: Sequence[int] = (), writes: int = 0) -> None:
        self.bills: Counter[str] = Counter()
        self.calls = 0
        self._random = random.Random(seed)
        self._faults, self._errors, self.writes = faults, errors, writes
        self._lock = threading.Lock()
        self._exact: Counter[str] = Counter()

    def __call__(self, number: int, body: dict[str, Any]) -> Answer:
        with self._lock:
            luck, share = self._random.random(), self._random.uniform(0.5, 1.0)
            delay_s = self._random.uniform(0.005, 0.03)
            if self._faults and luck < 0.04:
                return Answer(status=503, body=b"{}")
            text, payer = body["messages"][0]["content"], body["messages"][1]["content"]
            prompt = sum(-(-len(part.encode()) * 2 // 7) for part in (text, payer))
            completion = self.writes or round(body["max_tokens"] * share)
            self._exact[payer] += prompt * 25 + completion * 180  # hundredths of a millionth of a dollar
            self.bills[payer] = -(-self._exact[payer] // 100)
            self.calls += 1
            if self._errors and self.calls % 4:
                return Answer(status=self._errors[self.calls % len(self._errors)], body=b"{}", delay_s=delay_s)
        if self._faults and luck > 0.92:
            return Answer(status=BILLED_ERRORS[self.calls % len(BILLED_ERRORS)], body=b"{}", delay_s=delay_s)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return Answer(
            "x" * 4 * completion,
            usage=usage,
            delay_s=delay_s,
            drop=self._faults and luck < 0.08,
            no_usage=self._faults and luck > 0.88,
        )

    @property
    def total_micro(self) -> int:
        return sum(self.bills.values())


@dataclass
class Fight:
    """Processes against one database; what each did is in ``done``, a byte for each."""

    url: str
    folder: Path
    make: type[Budgets] = Budgets

    def spend(self, server: ScriptedModel, scopes: Sequence[Sequence[Scope]], *, kills: int = 0, seed: int = 0) -> int:
        """Let a process for each list of scopes, outermost first, ask until it is refused; return how many were killed.

        A killed one is replaced at once.
        """
        jobs = [(self.url, self.make, server.base_url, tuple(nested)) for nested in scopes]
        return fight(_spend, jobs, kills=kills, seed=seed, work_done=lambda: len(server.requests))

    def act(self, scopes: Sequence[Scope], workers: int, *, kills: int = 0, seed: int = 0) -> int:
        """Let processes count actions until they are refused; return how many were let through."""
        return self._counted(_act, scopes, workers, kills, seed)

    def call(self, scopes: Sequence[Scope], workers: int, *, kills: int = 0, seed: int = 0) -> int:
        """Let processes begin model calls until they are refused; return how many were let through."""
        return self._counted(_call, scopes, workers, kills, seed)

    def _counted(self, work: Callable[..., None], scopes: Sequence[Scope], workers: int, kills: int, seed: int) -> int:
        done = self.folder / "done"
        done.write_bytes(b"")
        jobs = [(self.url, self.make, tuple(scopes), done)] * workers
        fight(work, jobs, kills=kills, seed=seed, work_done=lambda: done.stat().st_size)
        return done.stat().st_size


def fight(
    work: Callable[..., None],
    jobs: Sequence[tuple[Any, ...]],
    *,
    kills: int,
    seed: int,
    work_done: Callable[[], int] = lambda: 0,
) -> int:
    """Run each job in a process of its own to its end, killing some at random moments and starting them again.

    Between two kills some work is done, so that they do not all come before it begins. Returns how many were killed.
    """
    chance = random.Random(seed)

    def start(job: tuple[Any, ...]) -> Any:
        process = processes.Process(target=work, args=job, daemon=True)
        process.start()
        return process

    running = {number: start(job) for number, job in enumerate(jobs)}
    killed, not_before, until = 0, 1, time.monotonic() + 240
    try:
        while running:
            assert time.monotonic() < until, "somebody hangs"
            time.sleep(chance.uniform(0.005, 0.03))
            if killed < kills and work_done() >= not_before:
                not_before = work_done() + chance.randint(1, 4)
                # One of those that began first: the others may not have come to work yet.
                number = chance.choice(list(running)[: -(-len(running) // 2)])
                victim = running.pop(number)
                victim.kill()
                victim.join()
                if victim.exitcode == 0:
                    continue
                killed += 1
                running[number] = start(jobs[number])
            for number, process in list(running.items()):
                if process.exitcode is not None:
                    assert process.exitcode == 0, f"worker {number} ended with {process.exitcode}"
                    del running[number]
    finally:
        for process in running.values():
            process.kill()
            process.join()
    return killed


def open_store(url: str) -> Store:
    """Open a database as the library does."""
    os.environ[DATABASE_VARIABLE] = url
    try:
        return store_at(Path("unused"))
    finally:
        del os.environ[DATABASE_VARIABLE]


def nest(scopes: Sequence[Scope]) -> Guard:
    """Return the innermost guard of nested scopes, outermost first."""
    guard: Guard | None = None
    for scope in scopes:
        guard = Guard(scope.key, scope.limits, time.monotonic(), parent=guard, key=scope.key)
    assert guard is not None
    return guard


def ask(payer: str, text: str = PROMPT) -> Request:
    """Return a request that names who pays for it."""
    messages = [{"role": "user", "content": text}, {"role": "user", "content": payer}]
    return Request({"model": PROFILE.name, "messages": messages, "max_tokens": MAX_TOKENS})


async def forget(event: Event) -> None:
    """Write an event down nowhere."""


def _spend(url: str, make: type[Budgets], server: str, scopes: tuple[Scope, ...]) -> None:
    asyncio.run(ask_until_refused(make(open_store(url)), server, scopes))


async def ask_until_refused(purse: Budgets, server: str, scopes: Sequence[Scope]) -> None:
    """Ask for as long as the budgets last."""
    till = Till(nest(scopes), forget, time.monotonic, purse)
    endpoint = ModelEndpoint(server, None)
    model = model_at(endpoint, PROFILE)
    with suppress(LimitReached):
        while True:
            with suppress(TransientModelFault):
                await predict(model, ask(scopes[-1].key), till, attempt=1, purpose="step")
    await endpoint.close()


def _act(url: str, make: type[Budgets], scopes: tuple[Scope, ...], done: Path) -> None:
    _until_refused(make(open_store(url)).act, scopes, done)


def _call(url: str, make: type[Budgets], scopes: tuple[Scope, ...], done: Path) -> None:
    budgets = make(open_store(url))
    _until_refused(lambda guards: budgets.hold(guards, 1), scopes, done)


def _until_refused(count: Callable[[Sequence[Guard]], Any], scopes: tuple[Scope, ...], done: Path) -> None:
    guards = nest(scopes).lineage()
    with done.open("ab", buffering=0) as file, suppress(LimitReached):
        while True:
            count(guards)
            file.write(b".")


def open_first(url: str) -> None:
    """Hold a little, in a database that others may be opening."""
    Budgets(open_store(url)).hold([Guard("s", Limits(max_cost_usd=1), 0, key="s")], 1)


def hold_often(url: str, keys: str) -> None:
    """Hold and pay in scopes nested as their keys are written."""
    budgets = Budgets(open_store(url))
    scopes = [Guard(key, Limits(max_cost_usd=1), 0, key=key) for key in keys]
    for _ in range(ROUNDS):
        budgets.pay(budgets.hold(scopes, 5), 1)


def renew_often(url: str, keys: str) -> None:
    """Give fresh budgets to all scopes; or, of scopes with keys, hold and pay in them meanwhile."""
    if keys:
        hold_often(url, keys)
        return
    store = open_store(url)
    for _ in range(2 * ROUNDS):
        with store.transaction() as db:  # not `do`, which would try again
            renew(db, "")


def hold_and_die(url: str) -> None:
    """Hold, and end before there is a bill."""
    Budgets(open_store(url)).hold([Guard("s", Limits(max_cost_usd=0.001), 0, key="s")], 600)
    os._exit(0)
