"""Store the results of a replay next to its playbook: counts and sample screens of steps, and proposals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holo_tasks.agent.playbooks.one_step import Healed, points_of
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.step import Step
from holo_tasks.healing.proposal import ModelsStep
from holo_tasks.healing.replay_results import FollowedGoal, SampleScreen, StoredResults, store_results
from holo_tasks.loop.walk import Walk
from holo_tasks.run.run import Run
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.step_outcome import Heal
from holo_tasks.scripts.values import Value

OF_ITEM = re.compile(r"_\d+_")
"""The number of an item of a list, in the name of its value in the steps for each item."""


@dataclass
class ReplayResults:
    """The results of one replay. ``file`` is the path of the playbook."""

    brain: PlaybookBrain
    file: Path
    heal: Heal
    _looks: dict[tuple[str, int], SampleScreen] = field(default_factory=dict)

    def decided(self, walk: Walk, step: Step) -> None:
        """Keep the first picture on which the playbook found the target of a step, as its sample screen."""
        given, seen = self.brain.given, walk.seen
        if self.heal == "off" or given is None or given.action is None or not given.action.targets or seen is None:
            return
        rule = next(rule for rule in self.brain.rules if rule.id == given.rule)
        place = next(number for number, action in enumerate(rule.do) if action is given.action)
        points = points_of(step, seen.shot)
        if points and (rule.id, place) not in self._looks:
            area = seen.shot.area
            at = points[0].x * 1000 // area.width, points[0].y * 1000 // area.height
            self._looks[rule.id, place] = SampleScreen(rule.id, place, seen.shot.data, at)

    async def store(self, run: Run, healed: Sequence[Healed]) -> None:
        """Write the results. A failure is only logged, as a warning if healing is on."""
        outcomes = tuple(self.brain.outcomes)
        done = [
            (self._models_step(run, one), one.before.data) for one in healed if one.taken is not None and one.before
        ]
        followed = FollowedGoal(self.brain.goal, outcomes, tuple(self._looks.values()), done, self._values_of_items())
        try:
            kept: StoredResults = await asyncio.to_thread(store_results, self.file, self.heal, followed)
        except (InvalidUsage, OSError) as error:
            log = run.log.info if self.heal == "off" else run.log.warning
            log("The results of the playbook %s could not be stored: %s", self.file, error)
            return
        for said in kept.said:
            run.log.warning("%s", said)
        run.healing.extend(kept.said)

    def _models_step(self, run: Run, one: Healed) -> ModelsStep:
        assert one.taken is not None
        action = one.misfit.action
        later = self.brain.outcomes[one.number :]
        # A step with an expected result holds if a later step fitted. Typed text holds if its field shows it.
        fitted = [each for each in later if each.outcome == "fitted"]
        went_on = [each for each in fitted if action.then or each.rule != one.misfit.rule.id]
        by_field = bool(action.targets) and action.targets[0].field is not None
        held = bool(went_on) if action.then or by_field else None
        point = one.taken.points[0] if one.taken.points else None
        values, sight = self.brain.values, one.taken.sight
        counted, closed = one.resumed.counted, one.closed
        return ModelsStep(self.brain.goal, one.misfit, values, point, sight, counted, held, run.trace, closed)

    def _values_of_items(self) -> dict[str, Value]:
        """Return the values of the items of lists, by the names that they have in the steps for each item."""
        return {name: value for name, value in self.brain.values.items() if OF_ITEM.search(name)}
