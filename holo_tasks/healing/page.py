"""Write the open proposals of a playbook as one HTML page, with the change and both pictures.

`write_proposals` is called by `holo-tasks playbook review`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal


@dataclass(frozen=True)
class ProposalPicture:
    """A screen of a proposal as a data URL, or an empty URL. ``point`` is the target in thousandths of the screen."""

    name: str
    url: str
    point: tuple[int, int] | None


def write_proposals(folder: HealingFolder, out: Path) -> None:
    """Write the page to ``out`` atomically. It loads no resources and runs no scripts."""
    with whole_page(out, "page") as page:
        write_page(
            page,
            "proposals.html",
            title=f"Proposals for {folder.file.name}",
            proposals=[one for one in folder.proposals if one.status == "open"],
            goals=folder.fits.goals,
            pictures=lambda one: [_picture(folder, one, "old", one.old_point), _picture(folder, one, "new", one.point)],
        )


def _picture(folder: HealingFolder, one: Proposal, name: str, point: tuple[int, int] | None) -> ProposalPicture:
    path = folder.picture(one, name)
    data = base64.b64encode(path.read_bytes()).decode() if path else ""
    return ProposalPicture(name, data and f"data:image/jpeg;base64,{data}", point)
