"""Processes that share budgets and are killed at random, and a model server with its own count of their bills."""

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
from holo_tasks.loop.ask_model.predict import CallAccount, predict
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
"""Delay between the check and the addition of a naive budget: long enough for several processes to check first."""
BILLED_ERRORS = (500, 503, 520, 524)
"""Statuses of gateways whose backend may have done the work."""
ROUNDS = 10
"""Rounds of holding and paying per process. A wrong lock order shows in fewer rounds every time."""
PROMPT, MAX_TOKENS = "Press OK. " * 600, 1024

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "psycopg",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite.pysqlite",
        *("openai.lib.streaming.chat", "openai.resources.chat.completions.completions", "jiter", "encodings.idna"),
        # Modules that these load on first use, which takes each process longer than its work.
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
    """A shared budget: its key and its limits."""

    key: str
    limits: Limits

    @property
    def cap_micro(self) -> int:
        assert self.limits.max_cost_micro is not None
        return self.limits.max_cost_micro


@dataclass(frozen=True)
class Balance:
    """The use of a scope, in micro-USD and input actions."""

    spent_micro: int
    held_micro: int
    actions: int


def balance(budgets: Budgets, key: str) -> Balance:
    """Return the use of a scope; zero if it was never opened."""
    with budgets._store.transaction() as db:
        found = db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope == key)).one_or_none()
    return Balance(found.spent_micro, found.held_micro, found.actions) if found else Balance(0, 0, 0)


class CheckThenAdd(Budgets):
    """A naive budget that the tests must catch: it checks whether a call fits, and adds the call afterwards."""

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
    """Bills each request on arrival, by its own count, even if the sender dies.

    Some replies get lost after billing, some requests are refused without a bill, some replies carry no usage, and some
    errors are billed (a gateway gave up, its backend went on). ``errors`` are such statuses; with them three of four
    replies are errors. The server writes ``writes`` tokens whatever the request allows. ``bills`` are micro-USD by the
    payer that the request names.
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
    """Processes that compete for one database. ``done`` gets one byte for each permitted action."""

    url: str
    folder: Path
    make: type[Budgets] = Budgets

    def spend(self, server: ScriptedModel, scopes: Sequence[Sequence[Scope]], *, kills: int = 0, seed: int = 0) -> int:
        """Start a process for each list of scopes (outermost first). Each sends requests until it is refused.

        Returns the number of killed processes. A killed process is replaced at once.
        """
        jobs = [(self.url, self.make, server.base_url, tuple(nested)) for nested in scopes]
        return fight(_spend, jobs, kills=kills, seed=seed, work_done=lambda: len(server.requests))

    def act(self, scopes: Sequence[Scope], workers: int, *, kills: int = 0, seed: int = 0) -> int:
        """Let processes count actions until they are refused; return the number of permitted actions."""
        return self._counted(_act, scopes, workers, kills, seed)

    def call(self, scopes: Sequence[Scope], workers: int, *, kills: int = 0, seed: int = 0) -> int:
        """Let processes begin model calls until they are refused; return the number of permitted calls."""
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
    """Run each job in its own process to its end. Kill some at random moments and start them again.

    Some work is done between two kills, so that the kills do not all precede the work. Returns the number of kills.
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
                # One of the oldest half: the younger ones may not have started work.
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
    """Return a request that names its payer."""
    messages = [{"role": "user", "content": text}, {"role": "user", "content": payer}]
    return Request({"model": PROFILE.name, "messages": messages, "max_tokens": MAX_TOKENS})


async def forget(event: Event) -> None:
    """Drop an event."""


def _spend(url: str, make: type[Budgets], server: str, scopes: tuple[Scope, ...]) -> None:
    asyncio.run(ask_until_refused(make(open_store(url)), server, scopes))


async def ask_until_refused(purse: Budgets, server: str, scopes: Sequence[Scope]) -> None:
    """Send requests until the budgets are used up."""
    till = CallAccount(nest(scopes), forget, time.monotonic, purse)
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
    """Hold a little, in a database that other processes may be creating."""
    Budgets(open_store(url)).hold([Guard("s", Limits(max_cost_usd=1), 0, key="s")], 1)


def hold_often(url: str, keys: str) -> None:
    """Hold and pay repeatedly in scopes nested in the order of their keys."""
    budgets = Budgets(open_store(url))
    scopes = [Guard(key, Limits(max_cost_usd=1), 0, key=key) for key in keys]
    for _ in range(ROUNDS):
        budgets.pay(budgets.hold(scopes, 5), 1)


def renew_often(url: str, keys: str) -> None:
    """Renew the budgets of all scopes repeatedly. With keys, hold and pay in those scopes instead."""
    if keys:
        hold_often(url, keys)
        return
    store = open_store(url)
    for _ in range(2 * ROUNDS):
        with store.transaction() as db:  # not `do`, which would retry
            renew(db, "")


def hold_and_die(url: str) -> None:
    """Hold, and exit before the bill."""
    Budgets(open_store(url)).hold([Guard("s", Limits(max_cost_usd=0.001), 0, key="s")], 600)
    os._exit(0)
