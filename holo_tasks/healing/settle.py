"""What a person decides on a proposal: it is put into the playbook, or not made again."""

from __future__ import annotations

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.apply import apply
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal, Status

LONGEST_REASON = 1000


def opened(folder: HealingFolder) -> dict[str, Proposal]:
    """Return the proposals that nobody has decided on yet, by their ids."""
    return {one.id: one for one in folder.proposals if one.status == "open"}


def settle_alone(folder: HealingFolder, proposal: Proposal, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal, while nobody else changes the folder (`HealingFolder.alone`).

    Raises `InvalidUsage`, and nothing is written, if it cannot be applied.
    """
    if status == "applied":
        apply(folder.file, proposal)
        look = folder.look(proposal.goal, proposal.rule, proposal.place)
        look.unlink(missing_ok=True)  # it looks otherwise by now
    said = proposal.model_copy(update={"reason": reason.strip()[:LONGEST_REASON], "by": by})
    folder.settle(said, status)


def settle_one(folder: HealingFolder, id_: str, status: Status, reason: str = "", by: str = "") -> None:
    """Apply or reject a proposal by its id. Raises `InvalidUsage` if it is not open any more, or cannot be applied."""
    with folder.alone():
        found = opened(folder).get(id_)
        if found is None:
            raise InvalidUsage(f"The proposal {id_!r} is not open any more: somebody else has decided on it.")
        settle_alone(folder, found, status, reason, by)
