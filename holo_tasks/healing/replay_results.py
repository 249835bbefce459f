"""Store the results of a replay next to its playbook: proposals, counts of steps, and a warning for a falling hit rate.

`store` is called by `agent.playbooks.replay_results` after each replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.apply import apply
from holo_tasks.healing.certainty import NotProposed, check_items
from holo_tasks.healing.folder import LAST_RUNS, Counts, GoalCounts, HealingFolder
from holo_tasks.healing.notices import interruption_proposal_of
from holo_tasks.healing.proposal import ModelsStep, Proposal, proposal_of, screen_proposal_of
from holo_tasks.scripts.loops import LoopPlace, places_in
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.step_outcome import Heal, StepOutcome
from holo_tasks.scripts.values import Value

NEWEST, TOO_MANY = 5, 3
"""A warning needs a step that did not fit in at least ``TOO_MANY`` of the ``NEWEST`` runs."""


@dataclass(frozen=True)
class SampleScreen:
    """A sample screen on which a step was found, and the point on it in thousandths."""

    rule: str
    place: int
    picture: bytes
    point: tuple[int, int]


@dataclass(frozen=True)
class FollowedGoal:
    """A goal of a playbook that a run followed: the outcomes of its steps, and the steps that the model did."""

    goal: str
    outcomes: Sequence[StepOutcome]
    looks: Sequence[SampleScreen] = ()
    done: Sequence[tuple[ModelsStep, bytes]] = ()
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredResults:
    """The proposals of a run, those that were applied, and messages for the user."""

    proposed: tuple[Proposal, ...] = ()
    applied: tuple[Proposal, ...] = ()
    said: tuple[str, ...] = field(default=())


def store_results(file: Path, heal: Heal, followed: FollowedGoal) -> StoredResults:
    """Store the results of a replay next to the playbook's file, and apply verified proposals with ``heal="apply"``.

    With ``heal="off"`` only the counts of steps are stored. Raises `InvalidUsage` or OSError if that fails.
    """
    if heal == "off":
        followed = replace(followed, looks=(), done=())
    folder = HealingFolder(file)
    with folder.locked():
        proposed, applied = [], []
        places = _places(file, followed)
        made, messages = _made(file, followed, places)
        for found, picture in made:
            stored = folder.store(*_with_pictures(folder, found, picture))
            if stored.status != "open":
                continue
            proposed.append(stored)
            if heal == "apply" and stored.verified:
                try:
                    apply(file, stored)
                except InvalidUsage as error:
                    messages.append(str(error))
                    continue
                folder.settle(stored, "applied")
                # The sample screen is outdated.
                folder.look(stored.goal, stored.rule, stored.place).unlink(missing_ok=True)
                applied.append(stored)
                messages.append(f"{file}: step ‘{stored.step}’ was changed and is now also found by {stored.new!r}.")
        _count(folder, _as_written(followed, places))
        waiting = [one for one in proposed if one not in applied]
        if waiting:
            messages.append(
                f"{len(waiting)} changes of it are proposed; look at them: holo-tasks playbook review {file}"
            )
        messages += filter(None, [warning(followed.goal, folder.fits.goals[followed.goal])])
    return StoredResults(tuple(proposed), tuple(applied), tuple(messages))


def _places(file: Path, followed: FollowedGoal) -> dict[str, LoopPlace]:
    """Return the place in the playbook's file of each step of a goal with loops. Empty for other goals."""
    goal = load_playbook(file).goals.get(followed.goal) if followed.values else None
    return places_in(goal, followed.values) if goal is not None and goal.lists else {}


def _made(
    file: Path, followed: FollowedGoal, places: Mapping[str, LoopPlace]
) -> tuple[list[tuple[Proposal, bytes]], list[str]]:
    """Return the proposals of a run with their pictures, and a sentence for each change that is not certain."""
    kinds = (partial(proposal_of, folder=file.parent), screen_proposal_of, interruption_proposal_of)
    made, refused = list[tuple[Proposal, bytes]](), list[str]()
    for done, picture in followed.done:
        rule = done.misfit.rule.id
        placed = replace(done, place=places.get(rule))
        for kind in kinds:
            try:
                found = kind(placed)
                if found is not None and found.kind != "interruption" and placed.place is not None:
                    found = _of_loop(found, rule, placed.place, places, followed.outcomes)
            except NotProposed as why:
                said = done.misfit.action.thought
                refused.append(f"{file}: the model did ‘{said}’, and no change is proposed: {why}.")
                continue
            if found is not None:
                made.append((found, picture))
    differ = _differing(made, {at.rule for at in places.values() if at.each})
    refused += [f"{file}: the model did {rule} in several ways, and no change is proposed." for rule in differ]
    return [each for each in made if each[0].kind == "interruption" or each[0].rule not in differ], refused


def _of_loop(
    found: Proposal, rule: str, at: LoopPlace, places: Mapping[str, LoopPlace], outcomes: Sequence[StepOutcome]
) -> Proposal:
    """Return a proposal for a step of a goal with loops. It is verified only if the model did the step for all items of
    the list."""
    if not at.each:
        return found
    sure = check_items(rule, at, places, outcomes)
    return found.model_copy(update={"verified": found.verified and sure})


def _differing(made: Sequence[tuple[Proposal, bytes]], of_loops: Collection[str]) -> list[str]:
    """Return the steps of loops for which the items gave different proposals of one kind."""
    ids: dict[tuple[str, int, str], set[str]] = {}
    for one, _ in made:
        if one.rule in of_loops:
            ids.setdefault((one.rule, one.place, one.kind), set()).add(one.id)
    return [rule for (rule, _, _), found in ids.items() if len(found) > 1]


def _as_written(followed: FollowedGoal, places: Mapping[str, LoopPlace]) -> FollowedGoal:
    """Return the outcomes and sample screens of a goal with loops by the steps of the playbook's file."""
    if not places:
        return followed
    outcomes = [
        replace(one, rule=places[one.rule].rule, said=places[one.rule].said) if one.rule in places else one
        for one in followed.outcomes
    ]
    looks = [replace(one, rule=places[one.rule].rule) if one.rule in places else one for one in followed.looks]
    return replace(followed, outcomes=outcomes, looks=looks)


def warning(goal: str, fit: GoalCounts) -> str:
    """Return a warning if a goal's steps fit less often than before, else an empty string."""
    newest = fit.runs[-NEWEST:]
    bad = [run for run in newest if run]
    before = [run for run in fit.runs[:-NEWEST] if run]
    if len(bad) < TOO_MANY or len(bad) / len(newest) <= len(before) / max(1, len(fit.runs) - NEWEST):
        return ""
    counts = Counter(key for run in bad for key in dict.fromkeys(run)).most_common(3)
    steps = ", ".join(f"‘{fit.steps[key].step}’ in {times}" for key, times in counts if key in fit.steps)
    runs = f"in {len(bad)} of its last {len(newest)} runs a step did not fit"
    return f"The playbook's goal {goal!r} fits less and less: {runs} ({steps})."


def _with_pictures(folder: HealingFolder, found: Proposal, picture: bytes) -> tuple[Proposal, dict[str, bytes]]:
    """Return the proposal and its pictures: the new screen and, if there is a sample, the old one."""
    pictures = {"new": picture}
    look = folder.look(found.goal, found.rule, found.place)
    counts = folder.fits.goals.get(found.goal, GoalCounts()).steps.get(_key(found.rule, found.place))
    if look.is_file() and counts is not None and counts.point is not None:
        pictures["old"] = look.read_bytes()
        found = found.model_copy(update={"old_point": counts.point})
    return found, pictures


def _count(folder: HealingFolder, followed: FollowedGoal) -> None:
    fits = folder.fits
    fit = fits.goals.setdefault(followed.goal, GoalCounts())
    for one in followed.outcomes:
        counts = fit.steps.setdefault(_key(one.rule, one.place), Counts(step=one.said))
        counts.step = one.said
        setattr(counts, one.outcome, getattr(counts, one.outcome) + 1)
    for look in followed.looks:
        counts = fit.steps.setdefault(_key(look.rule, look.place), Counts(step=""))
        if counts.point is None or not folder.look(followed.goal, look.rule, look.place).is_file():
            folder.store_sample(followed.goal, look.rule, look.place, look.picture)
            counts.point = look.point
    unfit = [_key(one.rule, one.place) for one in followed.outcomes if one.outcome != "fitted"]
    fit.runs = [*fit.runs, unfit][-LAST_RUNS:]
    folder.count(fits)


def _key(rule: str, place: int) -> str:
    return f"{rule}.{place}"
