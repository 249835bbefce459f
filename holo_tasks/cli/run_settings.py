"""What one run was asked for, and how it ended; loaded before Prefect, which takes seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from holo_tasks.audit import Destination
from holo_tasks.core.budget import Limits
from holo_tasks.core.events import Status
from holo_tasks.core.geometry import Size
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.person import HandOff
from holo_tasks.core.secret import Secret
from holo_tasks.core.visible_text import exact
from holo_tasks.loop.corrections import CORRECTIONS
from holo_tasks.models.profile import Profile
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust

if TYPE_CHECKING:
    from holo_tasks.safety.ledger import Ledger, Work
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
    run_as: str = ""
    size: Size = field(default_factory=lambda: Size(1280, 800))
    api_key: SecretStr | None = None
    dialect: str = "auto"
    max_steps: int = 50
    max_corrections: int = CORRECTIONS
    limits: Limits = field(default_factory=Limits)
    allow: Trust | None = None
    rules: Rules | None = None
    redaction: Redaction | None = None
    handoff: HandOff | None = None
    token: str | None = None
    home: Path = field(default_factory=Path)
    began_s: float = field(default_factory=time.monotonic)
    arguments: tuple[str, ...] = ()
    aloud: bool = False
    """Whether a person is told on stderr what the run does meanwhile."""
    temporary: bool = False
    """Whether the Prefect server was started for this run."""
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def ledger(self) -> Ledger:
        from holo_tasks.safety.ledger import Ledger  # loading a database library takes long

        return Ledger(self.store)

    @cached_property
    def store(self) -> Store:
        from holo_tasks.safety.store import store_at

        return store_at(self.home)

    @property
    def work(self) -> Work:
        """What does this work: no sub-goal, whatever its name is."""
        from holo_tasks.safety.ledger import Work

        return Work("holo-tasks run")

    @property
    def inputs(self) -> str:
        """The digest of what makes this another piece of work under the same token."""
        return digest_of({"goal": self.goal} | ({"data": dict(self.data)} if self.data else {}))


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
    found = settings.ledger.find(settings.token, GOAL, settings.inputs, settings.work)
    if found is None:
        return None
    from holo_tasks.safety.items import Items

    Items(settings.store).settle(settings.token, GOAL)  # a run that was killed just before it did
    stored = json.loads(found.result)
    message = f"{exact(settings.token)} is already done; nothing was repeated."
    return Outcome("answered", 0, stored["answer"], 0, 0, found.trace, stored["flow_run_id"], message)
