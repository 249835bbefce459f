"""What one run was asked for, and how it ended; loaded before Prefect, which takes seconds."""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from enum import Enum
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import AnyUrl, BaseModel, SecretStr

from holo_tasks.audit import Destination
from holo_tasks.core.budget import Limits
from holo_tasks.core.correcting import CORRECTIONS
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Status
from holo_tasks.core.exactly import exact
from holo_tasks.core.geometry import Size
from holo_tasks.core.person import HandOff
from holo_tasks.core.secret import Secret
from holo_tasks.models.profile import Profile
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust

if TYPE_CHECKING:
    from holo_tasks.safety.ledger import Ledger, Work
    from holo_tasks.safety.store import Store

GOAL = "run"
"""The kind of work, as the ledger knows it."""
_WORDS = (bytes, date, time_of_day, timedelta, Decimal, PurePath, UUID, IPv4Address, IPv6Address, AnyUrl, SecretStr)
"""Types whose text is the same in every process; a secret's is, too, and says nothing of it."""


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


def digest_of(inputs: Any) -> str:
    """Return the SHA-256 of inputs; equal inputs have equal digests, whatever their order and in every process.

    Raises `InvalidUsage` over what has no such form: a default ``repr`` is another one in the next process.
    """
    return hashlib.sha256(_text(inputs).encode()).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it, without an order that means nothing."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        known = {name: getattr(value, name) for name, about in type(value).model_fields.items() if not about.exclude}
        return _plain(known | (value.model_extra or {}))
    if is_dataclass(value) and not isinstance(value, type):
        return {about.name: _plain(getattr(value, about.name)) for about in fields(value) if about.compare}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(item) for key, item in value.items()}
        return sorted(([_plain(key), _plain(item)] for key, item in value.items()), key=_text)
    if isinstance(value, Set):
        return sorted(map(_plain, value), key=_text)
    if isinstance(value, list | tuple | deque):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, _WORDS):
        return str(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    raise InvalidUsage(
        f"An argument of type {kind} looks different in every process, so no token can be tied to it: give plain "
        "values, a dataclass or a pydantic model, or name the arguments that count with `inputs`."
    )
