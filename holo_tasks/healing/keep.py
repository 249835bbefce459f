"""What a run leaves beside a playbook that it followed: proposals, counts, a warning where it fits less and less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.apply import apply
from holo_tasks.healing.folder import LAST_RUNS, Counts, Fit, HealingFolder
from holo_tasks.healing.proposal import ModelsStep, Proposal, proposal_of, screen_proposal_of
from holo_tasks.scripts.step_outcome import Heal, StepOutcome

NEWEST, TOO_MANY = 5, 3
"""A playbook fits less and less if in so many of the newest runs a step did not fit."""


@dataclass(frozen=True)
class Look:
    """The picture on which a step was found, and where on it, in thousandths."""

    rule: str
    place: int
    picture: bytes
    point: tuple[int, int]


@dataclass(frozen=True)
class Followed:
    """A goal of a playbook that was followed in a run: what came of its steps, and what the model did."""

    goal: str
    outcomes: Sequence[StepOutcome]
    looks: Sequence[Look] = ()
    done: Sequence[tuple[ModelsStep, bytes]] = ()


@dataclass(frozen=True)
class Kept:
    """What was proposed, what of it was put into the playbook, and what there is to say."""

    proposed: tuple[Proposal, ...] = ()
    applied: tuple[Proposal, ...] = ()
    said: tuple[str, ...] = field(default=())


def keep(file: Path, heal: Heal, followed: Followed) -> Kept:
    """Keep what came of a replay beside the playbook's file: with ``off`` no more than how often each step fitted.

    Raises `InvalidUsage` and OSError where that cannot be.
    """
    if heal == "off":
        followed = replace(followed, looks=(), done=())
    folder = HealingFolder(file)
    with folder.alone():
        proposed, applied, said = [], [], []
        kinds = (partial(proposal_of, folder=file.parent), screen_proposal_of)
        for found, picture in [(kind(done), picture) for done, picture in followed.done for kind in kinds]:
            if found is None:
                continue
            kept = folder.keep(*_with_pictures(folder, found, picture))
            if kept.status != "open":
                continue
            proposed.append(kept)
            if heal == "apply" and kept.verified:
                try:
                    apply(file, kept)
                except InvalidUsage as error:
                    said.append(str(error))
                    continue
                folder.settle(kept, "applied")
                folder.look(kept.goal, kept.rule, kept.place).unlink(missing_ok=True)  # it looks otherwise by now
                applied.append(kept)
                said.append(f"{file}: step ‘{kept.step}’ was changed and is found by {kept.new!r}, too.")
        _count(folder, followed)
        waiting = [one for one in proposed if one not in applied]
        if waiting:
            said.append(f"{len(waiting)} of its steps moved; look at the change: holo-tasks playbook review {file}")
        said += filter(None, [warning(followed.goal, folder.fits.goals[followed.goal])])
    return Kept(tuple(proposed), tuple(applied), tuple(said))


def warning(goal: str, fit: Fit) -> str:
    """Say that a goal's steps fit less and less; empty if they do not."""
    newest = fit.runs[-NEWEST:]
    bad = [run for run in newest if run]
    before = [run for run in fit.runs[:-NEWEST] if run]
    if len(bad) < TOO_MANY or len(bad) / len(newest) <= len(before) / max(1, len(fit.runs) - NEWEST):
        return ""
    often = Counter(key for run in bad for key in dict.fromkeys(run)).most_common(3)
    told = ", ".join(f"‘{fit.steps[key].step}’ in {times}" for key, times in often if key in fit.steps)
    runs = f"in {len(bad)} of its last {len(newest)} runs a step did not fit"
    return f"The playbook's goal {goal!r} fits less and less: {runs} ({told})."


def _with_pictures(folder: HealingFolder, found: Proposal, picture: bytes) -> tuple[Proposal, dict[str, bytes]]:
    """Return a proposal and its pictures: the new one, and the one on which the step was found last."""
    pictures = {"new": picture}
    look = folder.look(found.goal, found.rule, found.place)
    counts = folder.fits.goals.get(found.goal, Fit()).steps.get(_key(found.rule, found.place))
    if look.is_file() and counts is not None and counts.point is not None:
        pictures["old"] = look.read_bytes()
        found = found.model_copy(update={"old_point": counts.point})
    return found, pictures


def _count(folder: HealingFolder, followed: Followed) -> None:
    fits = folder.fits
    fit = fits.goals.setdefault(followed.goal, Fit())
    for one in followed.outcomes:
        counts = fit.steps.setdefault(_key(one.rule, one.place), Counts(step=one.said))
        counts.step = one.said
        setattr(counts, one.outcome, getattr(counts, one.outcome) + 1)
    for look in followed.looks:
        counts = fit.steps.setdefault(_key(look.rule, look.place), Counts(step=""))
        if counts.point is None or not folder.look(followed.goal, look.rule, look.place).is_file():
            folder.keep_look(followed.goal, look.rule, look.place, look.picture)
            counts.point = look.point
    unfit = [_key(one.rule, one.place) for one in followed.outcomes if one.outcome != "fitted"]
    fit.runs = [*fit.runs, unfit][-LAST_RUNS:]
    folder.count(fits)


def _key(rule: str, place: int) -> str:
    return f"{rule}.{place}"
