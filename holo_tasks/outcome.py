"""What one run was asked for, and how it ended; loaded before Prefect, which takes seconds."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from holo_tasks.audit import Destination
from holo_tasks.core.budget import Limits
from holo_tasks.core.events import Status
from holo_tasks.core.geometry import Size
from holo_tasks.models.profile import Profile
from holo_tasks.safety.policy import Rules, Trust

if TYPE_CHECKING:
    from holo_tasks.safety.ledger import Ledger
    from holo_tasks.safety.store import Store

GOAL = "run"
"""The kind of work, as the ledger knows it."""


@dataclass(frozen=True)
class Settings:
    """Everything one run needs to know.

    ``app`` starts a program on a virtual desktop; ``display`` attaches to an existing one. ``began_s`` is when it was
    asked for, on the monotonic clock; ``arguments`` are the command's, to be able to ask again.
    """

    goal: str
    base_url: str
    profile: Profile
    audit: Destination
    display: str | None = None
    app: str | None = None
    size: Size = field(default_factory=lambda: Size(1280, 800))
    api_key: SecretStr | None = None
    dialect: str = "auto"
    max_steps: int = 50
    limits: Limits = field(default_factory=Limits)
    allow: Trust | None = None
    rules: Rules | None = None
    token: str | None = None
    home: Path = field(default_factory=Path)
    began_s: float = field(default_factory=time.monotonic)
    arguments: tuple[str, ...] = ()

    @property
    def ledger(self) -> Ledger:
        from holo_tasks.safety.ledger import Ledger  # loading a database library takes long

        return Ledger(self.store)

    @property
    def store(self) -> Store:
        from holo_tasks.safety.store import store_at

        return store_at(self.home)

    @property
    def inputs(self) -> str:
        """The digest of what makes this another piece of work under the same token."""
        return digest_of({"goal": self.goal})


@dataclass(frozen=True)
class Outcome:
    """How a run ended; the fields of the command line's JSON object."""

    status: Status
    exit_code: int
    answer: str | None
    steps: int
    cost_micro_usd: int | None
    trace: str | None
    flow_run_id: str | None
    message: str = ""

    def to_json(self) -> str:
        """Return the one-line JSON object of ``--json``; an unknown cost is null, never 0."""
        cost = None if self.cost_micro_usd is None else self.cost_micro_usd / 1_000_000
        return json.dumps(
            {
                "status": self.status,
                "answer": self.answer,
                "steps": self.steps,
                "cost_usd": cost,
                "trace": self.trace,
                "flow_run_id": self.flow_run_id,
            },
            ensure_ascii=False,
        )


def already_done(settings: Settings) -> Outcome | None:
    """Return the stored outcome of a finished token; raise `TokenConflict` if its goal was another."""
    if settings.token is None:
        return None
    found = settings.ledger.find(settings.token, GOAL, settings.inputs)
    if found is None:
        return None
    from holo_tasks.safety.items import Items

    Items(settings.store).settle(settings.token)  # a run that was killed just before it did
    stored = json.loads(found.result)
    message = f"{settings.token} is already done; nothing was repeated."
    return Outcome("answered", 0, stored["answer"], 0, 0, found.trace, stored["flow_run_id"], message)


def digest_of(inputs: Any) -> str:
    """Return the SHA-256 of JSON-like inputs; equal inputs have equal digests whatever their order."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()
