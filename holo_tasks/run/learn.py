"""That a sub-goal becomes a playbook by itself, and where it is kept: what a flow declares of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage

MOST = 100
"""More runs than this are not waited for before something is learned."""


@dataclass(frozen=True)
class Learn:
    """That a sub-goal becomes a playbook by itself: ``@subgoal(learn=Learn(into="s3://bucket/playbooks"))``.

    After so many runs that the model has answered alone (``after``) a playbook is compiled of them. It does nothing at
    first: in so many further runs (``shadow``) it is compared with what the model did. If it agrees, it stands before
    the model from then on; if it gives up more often than it fits, it goes back into the shadow. ``into`` is a folder
    or a bucket, by default ``learned`` in the home of this machine. Raises `InvalidUsage` for numbers that make no
    sense.
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
    """A layer: the newest promoted version of what was learned at a place. Make it by `learned`."""

    place: str
    goal: str = ""
    public_key: Path | None = None


def learned(place: str | Path, goal: str = "", *, public_key: str | Path | None = None) -> Learned:
    """Return a layer that does what was learned at a place: ``layers=[learned("s3://bucket/playbooks"), "model"]``.

    ``goal`` names the sub-goal that it was learned of, where there are several. The playbook is given the sub-goal's
    arguments by name; where no version stands before the model, the next layer does the work. What is there must be
    signed with this machine's key or, if one is given, with the ``public_key`` of the machine that learned it.
    """
    if not str(place).strip():
        raise InvalidUsage("learned(…) takes the folder or s3://BUCKET/PREFIX that Learn(into=…) names.")
    return Learned(str(place), goal, None if public_key is None else Path(public_key))
