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
from holo_tasks.core.events import Status
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.secret import Secret
from holo_tasks.core.visible_text import exact
from holo_tasks.models.profile import Profile
from holo_tasks.run.run_options import RunOptions

if TYPE_CHECKING:
    from holo_tasks.cli.progress import Followed
    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
    from holo_tasks.safety.ledger import Finished, Ledger, Work
    from holo_tasks.safety.store import Store
    from holo_tasks.scripts.script import Script

GOAL = "run"
"""The kind of work, as the ledger knows it."""


@dataclass(frozen=True)
class Replay:
    """A playbook that works before the model does, or ``only`` it, and the values that it was given."""

    script: Script
    values: Mapping[str, str]
    only: bool = False


@dataclass(frozen=True)
class Settings:
    """Everything one run needs to know.

    The ``desktop`` is not up yet. ``began_s`` is when it was asked for, on the monotonic clock; ``arguments`` are the
    command's, to be able to ask again.
    """

    goal: str
    base_url: str
    profile: Profile
    audit: Destination
    options: RunOptions = field(default_factory=RunOptions)
    desktop: VirtualDesktop | AttachedDesktop | None = None
    api_key: SecretStr | None = None
    dialect: str = "auto"
    home: Path = field(default_factory=Path)
    began_s: float = field(default_factory=time.monotonic)
    arguments: tuple[str, ...] = ()
    aloud: bool = False
    """Whether a person is told on stderr what the run does meanwhile."""
    temporary: bool = False
    """Whether the Prefect server was started for this run."""
    playbook: Replay | None = None
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    followed: Followed | None = None
    """How whoever started this process asks later what its run is at."""

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
        asked = {"goal": self.goal} | ({"data": dict(self.data)} if self.data else {})
        return digest_of(asked | ({"set": dict(self.playbook.values)} if self.playbook else {}))


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
    layer: str | None = None
    model_calls: int = 0
    healed: int = 0

    def to_json(self, *, replayed: bool = False) -> str:
        """Return the one-line JSON object of ``--json``; an unknown cost is null, never 0.

        ``replayed`` says that a playbook was given: then it tells who came to the answer, how often a model was asked,
        and how many steps it did in the playbook's place.
        """
        cost = None if self.cost_micro_usd is None else self.cost_micro_usd / 1_000_000
        told = {
            "status": self.status,
            "answer": self.answer,
            "steps": self.steps,
            "cost_usd": cost,
            "trace": self.trace,
            "flow_run_id": self.flow_run_id,
        }
        if replayed:
            told |= {"layer": self.layer, "model_calls": self.model_calls, "healed": self.healed}
        return json.dumps(told, ensure_ascii=False)


def already_done(settings: Settings) -> Outcome | None:
    """Return the stored outcome of a finished token; raise `TokenConflict` if its goal was another."""
    token = settings.options.key
    if not token:
        return None
    found = settings.ledger.find(token, GOAL, settings.inputs, settings.work)
    if found is None:
        return None
    from holo_tasks.safety.items import Items

    Items(settings.store).settle(token, GOAL)  # a run that was killed just before it did
    return outcome_of(token, found)


def outcome_of(token: str, found: Finished) -> Outcome:
    """Return the stored outcome of a token that is finished."""
    stored = json.loads(found.result)
    message = f"{exact(token)} is already done; nothing was repeated."
    return Outcome("answered", 0, stored["answer"], 0, 0, found.trace, stored["flow_run_id"], message)
