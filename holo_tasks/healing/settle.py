"""Apply or reject a proposal, as a person decided.

`settle_alone` is called by `holo-tasks playbook`, and `settle_one` by `agent.playbooks.reviewing`.
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


def settle_alone(folder: HealingFolder, proposal: Proposal, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal. The caller holds the folder's lock (`HealingFolder.alone`).

    Raises `InvalidUsage` and writes nothing if the proposal cannot be applied.
    """
    if status == "applied":
        apply(folder.file, proposal)
        look = folder.look(proposal.goal, proposal.rule, proposal.place)
        look.unlink(missing_ok=True)  # the sample screen is outdated
    decided = proposal.model_copy(update={"reason": reason.strip()[:LONGEST_REASON], "by": by})
    folder.settle(decided, status)


def settle_one(folder: HealingFolder, id_: str, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal by its id. Raises `InvalidUsage` if it is not open, or cannot be applied."""
    with folder.alone():
        found = opened(folder).get(id_)
        if found is None:
            raise InvalidUsage(f"The proposal {id_!r} is not open any more: another person has decided on it.")
        settle_alone(folder, found, status, reason, by)
