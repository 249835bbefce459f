"""Declare that a sub-goal learns a playbook from its runs, and where the playbook is stored.

`Learn` is an option of ``@subgoal``. `learned` returns a layer that follows a learned playbook.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage

MOST = 100
"""Largest number of runs that may be collected before learning."""


@dataclass(frozen=True)
class Learn:
    """Lets a sub-goal learn a playbook by itself: ``@subgoal(learn=Learn(into="s3://bucket/playbooks"))``.

    After ``after`` runs in which the model alone gave the answer, a playbook is compiled from them. In the next
    ``shadow`` runs it only predicts, and is compared with the model's actions. If it agrees, it is promoted and works
    before the model. If it gives up more often than it fits, it is demoted to shadow again.

    ``into`` is a folder or a bucket, by default ``learned`` under ``HOLO_HOME``. Raises `InvalidUsage` for a number
    outside 1 to 100.
    """

    into: str | Path = ""
    after: int = 3
    shadow: int = 3

    def __post_init__(self) -> None:
        for name in ("after", "shadow"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
                raise InvalidUsage(f"Learn({name}=…) is a number from 1 to {MOST}, not {number!r}.")


@dataclass(frozen=True)
class Learned:
    """A layer that follows the newest promoted playbook at a place. Create it with `learned`."""

    place: str
    goal: str = ""
    public_key: Path | None = None


def learned(place: str | Path, goal: str = "", *, public_key: str | Path | None = None) -> Learned:
    """Return a layer that follows a learned playbook: ``layers=[learned("s3://bucket/playbooks"), "model"]``.

    ``goal`` selects the sub-goal if the place has several. The playbook gets the sub-goal's arguments by name. If no
    version is promoted, the next layer works.

    The playbook must be signed with this machine's key, or with the machine's key that ``public_key`` names.
    """
    if not str(place).strip():
        raise InvalidUsage("learned(…) takes the folder or s3://BUCKET/PREFIX that Learn(into=…) names.")
    return Learned(str(place), goal, None if public_key is None else Path(public_key))
