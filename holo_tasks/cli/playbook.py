"""`holo-tasks playbook`: review, apply or reject the proposed changes of a playbook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.printable import printable
from holo_tasks.healing.decide import decide_locked, opened
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.page import write_proposals
from holo_tasks.healing.proposal import Proposal
from holo_tasks.healing.replay_results import warning
from holo_tasks.machine.output import say
from holo_tasks.scripts.playbook import load_playbook


def review(file: Path, out: Path | None, *, as_json: bool) -> str:
    """Return the proposals and the counts of each step, as a text or JSON. With ``out``, also write a page."""
    load_playbook(file)
    folder = HealingFolder(file)
    if out is not None:
        if not out.name:
            raise InvalidUsage(f"--out must name a file, not {str(out)!r}.")
        write_proposals(folder, out)
        say(f"the page is written to {out}")
    if as_json:
        return json.dumps(_as_json(folder), ensure_ascii=False)
    return "\n".join(map(printable, _lines(folder)))


def settle(file: Path, how: str, ids: Sequence[str], reason: str = "", *, as_json: bool) -> str:
    """Apply or reject the proposals ``ids``, or all open ones. Return a text for stdout.

    Raises `InvalidUsage` before any change if an id is unknown. If one proposal cannot be applied, those before it stay
    applied.
    """
    load_playbook(file)
    folder = HealingFolder(file)
    if not folder.path.is_dir():
        raise InvalidUsage(f"Nothing is proposed for {file}.")
    with folder.locked():
        chosen = _chosen(folder, ids)
        for one in chosen:
            decide_locked(folder, one, "applied" if how == "apply" else "rejected", reason)
        left = len(opened(folder))
    done = "applied" if how == "apply" else "rejected"
    if as_json:
        return json.dumps({"file": str(file), done: [one.id for one in chosen], "proposals_left": left})
    return "\n".join(printable(f"{one.id} {done}: {one.step}") for one in chosen)


def _chosen(folder: HealingFolder, ids: Sequence[str]) -> list[Proposal]:
    found = opened(folder)
    if missing := [each for each in ids if each not in found]:
        raise InvalidUsage(f"There is no open proposal {missing[0]!r}; `holo-tasks playbook review` lists them.")
    if not found:
        raise InvalidUsage(f"Nothing is proposed for {folder.file}.")
    return [found[each] for each in dict.fromkeys(ids)] if ids else list(found.values())


def _lines(folder: HealingFolder) -> list[str]:
    lines = []
    for one in folder.proposals:
        if one.status == "open":
            checked = "verified" if one.verified else "not verified: look at the pictures"
            lines += [f"{one.id}  {one.goal}, in {one.times} runs ({checked})", *one.diff, f"  because {one.why}"]
            lines += [f"  {name}: {folder.picture(one, name) or 'none'}" for name in ("old", "new")]
            lines.append(f"  from {one.run}")
    if not lines:
        lines.append("nothing is proposed")
    for goal, fit in folder.fits.goals.items():
        lines.append(f"{goal}: fitted, by the model, failed")
        lines += [f"  {one.fitted:5} {one.healed:5} {one.failed:5}  {one.step}" for one in fit.steps.values()]
        if advice := warning(goal, fit):
            lines.append(advice)
    return lines


def _as_json(folder: HealingFolder) -> dict[str, Any]:
    fits = folder.fits
    return {
        "file": str(folder.file),
        "proposals": [
            {
                **one.model_dump(mode="json", exclude={"point", "old_point"}),
                "pictures": {name: _path(folder.picture(one, name)) for name in ("old", "new")},
            }
            for one in folder.proposals
        ],
        "steps": [
            {"goal": goal, "at": key, **counts.model_dump(mode="json", exclude={"point"})}
            for goal, fit in fits.goals.items()
            for key, counts in fit.steps.items()
        ],
        "warnings": [advice for goal, fit in fits.goals.items() if (advice := warning(goal, fit))],
    }


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
