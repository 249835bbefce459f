"""Apply or reject a proposal, as a person decided.

`decide_locked` is called by `holo-tasks playbook`, and `decide` by `agent.playbooks.reviewing`.
"""

from __future__ import annotations

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.apply import apply
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal, Status

LONGEST_REASON = 1000


def opened(folder: HealingFolder) -> dict[str, Proposal]:
    """Return the open proposals by id."""
    return {one.id: one for one in folder.proposals if one.status == "open"}


def decide_locked(folder: HealingFolder, proposal: Proposal, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal. The caller holds the folder's lock (`HealingFolder.locked`).

    Raises `InvalidUsage` and writes nothing if the proposal cannot be applied.
    """
    if status == "applied":
        apply(folder.file, proposal)
        look = folder.look(proposal.goal, proposal.rule, proposal.place)
        look.unlink(missing_ok=True)  # the sample screen is outdated
    decided = proposal.model_copy(update={"reason": reason.strip()[:LONGEST_REASON], "by": by})
    folder.settle(decided, status)


def decide(folder: HealingFolder, id_: str, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal by its id. Raises `InvalidUsage` if it is not open, or cannot be applied."""
    with folder.locked():
        found = opened(folder).get(id_)
        if found is None:
            raise InvalidUsage(f"The proposal {id_!r} is not open any more: another person has decided on it.")
        decide_locked(folder, found, status, reason, by)
