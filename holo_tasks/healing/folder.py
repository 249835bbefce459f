"""Store proposals with pictures, counts of steps, and sample screens in a folder next to the playbook.

look-up.yaml.healing/
    proposals/1a2b3c4d/proposal.json, new.jpg, old.jpg
    steps.json            counts by step, and the last runs
    looks/GOAL.RULE.0.jpg the screen on which a step was found
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.proposal import Proposal, Status
from holo_tasks.machine.private import open_private, own_folder

LAST_RUNS = 20
"""Number of runs kept for each goal."""
MOST_BYTES = 20_000_000
"""Largest file that is read."""


class Counts(BaseModel):
    """How often a step fitted, was done by the model, and failed.

    ``point`` is where the step's target was found, in thousandths of the screen.
    """

    model_config = ConfigDict(extra="forbid")

    step: str
    fitted: int = 0
    healed: int = 0
    failed: int = 0
    point: tuple[int, int] | None = None


class GoalCounts(BaseModel):
    """Counts of a goal's steps by rule and place, and the steps that did not fit in each of the last runs."""

    model_config = ConfigDict(extra="forbid")

    steps: dict[str, Counts] = Field(default_factory=dict)
    runs: list[list[str]] = Field(default_factory=list)


class PlaybookCounts(BaseModel):
    """Counts of all goals of a playbook."""

    model_config = ConfigDict(extra="forbid")

    goals: dict[str, GoalCounts] = Field(default_factory=dict)


class HealingFolder:
    """The folder next to a playbook's file, created on the first write."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.path = file.with_name(f"{file.name}.healing")

    @property
    def proposals(self) -> list[Proposal]:
        """Return all proposals: open ones first, then by step."""
        found = [self._read(path, Proposal) for path in sorted(self.path.glob("proposals/*/proposal.json"))]
        known = [one for one in found if one is not None]
        return sorted(known, key=lambda one: (one.status != "open", one.goal, one.rule, one.place, one.id))

    @property
    def fits(self) -> PlaybookCounts:
        """Return the stored counts."""
        return self._read(self.path / "steps.json", PlaybookCounts) or PlaybookCounts()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder and the playbook against changes by other processes, inside the block."""
        own_folder(self.path)
        descriptor = open_private(self.path / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def store(self, proposal: Proposal, pictures: Mapping[str, bytes]) -> Proposal:
        """Store a proposal with its pictures by name. If it exists, increase its number of runs."""
        known = next((one for one in self.proposals if one.id == proposal.id), None)
        if known is not None:
            changes = {"times": known.times + 1, "verified": known.verified or proposal.verified}
            proposal = known.model_copy(update=changes)
        else:
            for name, data in pictures.items():
                self._write(self.path / "proposals" / proposal.id / f"{name}.jpg", data)
        self._write(self.path / "proposals" / proposal.id / "proposal.json", _json(proposal))
        return proposal

    def settle(self, proposal: Proposal, status: Status) -> None:
        """Store the status of a proposal."""
        settled = proposal.model_copy(update={"status": status})
        self._write(self.path / "proposals" / proposal.id / "proposal.json", _json(settled))

    def count(self, fits: PlaybookCounts) -> None:
        """Store the counts."""
        self._write(self.path / "steps.json", _json(fits))

    def picture(self, proposal: Proposal, name: str) -> Path | None:
        """Return the file of a proposal's picture ``old`` or ``new``, or ``None`` if the file is missing."""
        path = self.path / "proposals" / proposal.id / f"{name}.jpg"
        return path if path.is_file() else None

    def look(self, goal: str, rule: str, place: int) -> Path:
        """Return the path of the sample screen of a step."""
        return self.path / "looks" / f"{re.sub(r'[^a-zA-Z0-9_-]', '_', goal)}.{rule}.{place}.jpg"

    def store_sample(self, goal: str, rule: str, place: int, data: bytes) -> None:
        """Store the sample screen of a step."""
        self._write(self.look(goal, rule, place), data)

    def _read(self, path: Path, kind: Any) -> Any:
        try:
            if path.stat().st_size > MOST_BYTES:
                raise InvalidUsage(f"{path} is larger than any file written by holo-tasks: move {self.path} away.")
            return kind.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise InvalidUsage(f"{path} cannot be read ({type(error).__name__}); move {self.path} away.") from None

    def _write(self, path: Path, data: bytes) -> None:
        own_folder(self.path)
        for folder in [*reversed(path.relative_to(self.path).parents)][1:]:
            own_folder(self.path / folder)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)


def _json(model: BaseModel) -> bytes:
    return (json.dumps(model.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n").encode()
