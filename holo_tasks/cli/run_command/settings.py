"""`Settings` and `Outcome` of one run. This module does not import Prefect, which takes seconds to load."""

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
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.models.profile import Profile
from holo_tasks.run.run_options import RunOptions

if TYPE_CHECKING:
    from holo_tasks.cli.run_command.progress import FollowedRun
    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
    from holo_tasks.safety.database.store import Store
    from holo_tasks.safety.records.ledger import Finished, Ledger, WorkIdentity
    from holo_tasks.scripts.playbook import Again
    from holo_tasks.scripts.script import Script

GOAL = "run"
"""The goal of this command's items in the ledger."""


@dataclass(frozen=True)
class Replay:
    """A playbook with its values. It works before the model, or in the model's place if ``only`` is true.

    ``again`` is the playbook's setting for values that were done before. ``digest`` identifies the values. With
    ``repeats``, they are done again.
    """

    script: Script
    values: Mapping[str, str]
    only: bool = False
    again: Again | None = None
    digest: str = ""
    repeats: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings of one run.

    The ``desktop`` is not started yet. ``began_s`` is the time of the command on the monotonic clock. ``arguments`` are
    the command's, so that `holo-tasks retry` can repeat it.
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
    """Whether the progress is printed on stderr."""
    temporary: bool = False
    """Whether the Prefect server was started for this run."""
    playbook: Replay | None = None
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    followed: FollowedRun | None = None
    """Where the progress is written for the MCP server."""

    @cached_property
    def ledger(self) -> Ledger:
        from holo_tasks.safety.records.ledger import Ledger  # imports a database library, which takes long

        return Ledger(self.store)

    @cached_property
    def store(self) -> Store:
        from holo_tasks.safety.database.store import store_at

        return store_at(self.home)

    @property
    def work(self) -> WorkIdentity:
        """Identity of this command in the ledger, which differs from that of every sub-goal."""
        from holo_tasks.safety.records.ledger import WorkIdentity

        return WorkIdentity("holo-tasks run")

    @property
    def inputs(self) -> str:
        """Digest of goal, data and playbook values. Another digest under the same token is a conflict."""
        asked = {"goal": self.goal} | ({"data": dict(self.data)} if self.data else {})
        return digest_of(asked | ({"set": dict(self.playbook.values)} if self.playbook else {}))


@dataclass(frozen=True)
class Outcome:
    """The result of a run, with the fields of the command's JSON object."""

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
    may_have_stored: bool = False
    """Whether a playbook did the steps that store its item, whatever came after them."""
    done_before: Finished | None = None
    """The last replay of the same values, with its time as its result."""

    def to_json(self, *, replayed: bool = False) -> str:
        """Return the one-line JSON object of ``--json``. An unknown cost is null, never 0.

        With ``replayed`` (a playbook was given) it also has the layer that answered, the number of model calls, the
        number of steps that the model did in place of the playbook, and the last replay of the same values.
        """
        cost = None if self.cost_micro_usd is None else self.cost_micro_usd / 1_000_000
        fields: dict[str, object] = {
            "status": self.status,
            "answer": self.answer,
            "steps": self.steps,
            "cost_usd": cost,
            "trace": self.trace,
            "flow_run_id": self.flow_run_id,
        }
        if replayed:
            fields |= {"layer": self.layer, "model_calls": self.model_calls, "healed": self.healed}
            before = self.done_before
            fields["done_before"] = None if before is None else {"time": before.result, "trace": before.trace}
        return json.dumps(fields, ensure_ascii=False)


def already_done(settings: Settings) -> Outcome | None:
    """Return the stored outcome of a finished token, else ``None``. Raises `TokenConflict` if its goal differs."""
    token = settings.options.key
    if not token:
        return None
    found = settings.ledger.find(token, GOAL, settings.inputs, settings.work)
    if found is None:
        return None
    from holo_tasks.safety.records.items import Items

    Items(settings.store).settle(token, GOAL)  # in case the run was killed right before it did so
    return outcome_of(token, found)


def outcome_of(token: str, found: Finished) -> Outcome:
    """Return the outcome for a result in the ledger."""
    stored = json.loads(found.result)
    message = f"{exact(token)} is already done; nothing was repeated."
    return Outcome("answered", 0, stored["answer"], 0, 0, found.trace, stored["flow_run_id"], message)
