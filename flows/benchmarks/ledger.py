"""The demo's legacy program: looking records up and filing flags, judged by its own database."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from legacy_ledger_db import LedgerFile, Transaction, create_database
from prefect.types import SecretDict
from receipts_mailbox import transactions

from benchmarks.values import Item, Judgement
from expense_audit import file_flag, look_up, sign_on
from holo_blocks import HoloDesktop
from holo_tasks import DesktopFailed
from holo_tasks.desktop import tk_python
from holo_tasks.run.run import Run
from receipts.ledger_record import PortalRecord, Reason
from receipts.look_ups import SCRIPTS, looked_up_by

PROGRAM = Path(__file__).parents[1] / "demo" / "legacy_ledger.py"
REASONS: tuple[Reason, ...] = ("Wrong amount", "Unknown merchant", "Duplicate receipt")
DATABASE = "meridian.db"


class Ledger:
    """The suite. Without a model the rehearsal model decides: it reads the screen and follows a playbook.

    With ``replay`` a playbook looks records up, and the model is asked only where the playbook does not fit.
    """

    name = "ledger"
    about = "the demo's legacy program, judged by its database"
    every: tuple[str, ...] = ("look-up", "flag")
    tasks = quick = every
    scales: tuple[float, ...] = (1.0,)

    def __init__(self, *, replay: bool = False) -> None:
        self.replay = replay

    def missing(self) -> str:
        try:
            tk_python()
        except DesktopFailed as error:
            return str(error)
        return ""

    def program(self, item: Item) -> str:
        return ""

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        database, secret = folder / DATABASE, folder / "password"
        if not database.exists():
            create_database(database, [Transaction(**cast("dict[str, Any]", row)) for row in transactions()])
        if not secret.exists():
            secret.touch(mode=0o600)
            secret.write_text(secrets.token_urlsafe(12))
        words = [tk_python(), str(PROGRAM), "--db", str(database), "--secret-file", str(secret)]
        return HoloDesktop(
            app=shlex.join(words), secrets=SecretDict({"portal_password": secret.read_text(encoding="utf-8")})
        )

    @asynccontextmanager
    async def trial(self, item: Item, key: str, run: Run, folder: Path) -> AsyncIterator[LedgerTrial]:
        """Choose the transaction by the seed."""
        known = transactions()
        reference = str(known[item.seed % len(known)]["reference"])
        with looked_up_by(SCRIPTS if self.replay else None):
            yield LedgerTrial(item, reference, key, LedgerFile(folder / DATABASE))


class LedgerTrial:
    """One transaction."""

    goal = "The rehearsal model follows its playbook."

    def __init__(self, item: Item, reference: str, key: str, file: LedgerFile) -> None:
        self.reference, self.key, self._file = reference, f"{key}/{reference}", file
        self.flags = item.task == "flag"
        self.reason = REASONS[item.seed % len(REASONS)]
        self.note = f"Seen in benchmark {item.seed}"
        self._before = len(file.flags())

    async def run_agent(self) -> object:
        await sign_on()
        if self.flags:
            return await file_flag(self.reference, self.reason, self.note, self.key)
        return await look_up(self.reference, self.key)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        return None

    async def judged(self, said: object) -> Judgement:
        new = self._file.flags()[self._before :]
        if self.flags:
            wanted = [(self.reference, self.reason, self.note)]
            right = [(flag.reference, flag.reason, flag.note) for flag in new] == wanted
            return Judgement(
                right=right, reward=float(right), why="" if right else f"{len(new)} new flags in its database"
            )
        if new:
            return Judgement(right=False, why="it filed a flag, and was to look")
        row = next(row for row in transactions() if row["reference"] == self.reference)
        right = isinstance(said, PortalRecord) and (said.reference, said.merchant, said.currency, said.amount) == (
            self.reference,
            row["merchant"],
            row["currency"],
            Decimal(str(row["amount_cents"])) / 100,
        )
        return Judgement(right=right, reward=float(right), why="" if right else f"it answered {said!r}"[:200])
