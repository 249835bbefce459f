"""The earlier steps of a goal, assigned to its rules.

`EarlierSteps` tells `rules` and `misfit` which step comes next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.values import Value, fill


class EarlierSteps:
    """The earlier steps, identified by their thoughts. Waits are not counted as steps."""

    def __init__(self, rules: Sequence[Rule], values: Mapping[str, Value], history: Sequence[Turn]) -> None:
        self.turns = [turn for turn in history if turn.tool != "wait"]
        self.waits = next((n for n, turn in enumerate(reversed(history)) if turn.tool != "wait"), len(history))
        said = {
            fill(action.thought, values): (rule, place)
            for rule in rules
            for place, action in enumerate(rule.do)
            if action.wait is None
        }
        self._by_thought = [said.get(turn.thought) for turn in self.turns]
        self._steps = [None if turn.failed else step for turn, step in zip(self.turns, self._by_thought, strict=True)]
        self._finished = [
            (place, step[0].id)
            for place, step in enumerate(self._steps)
            if step is not None and step[1] == len(step[0].do) - 1
        ]

    @property
    def failed_twice(self) -> bool:
        """Whether the last two steps were the same call, and both failed."""
        last = self.turns[-2:]
        return len(last) == 2 and all(turn.failed for turn in last) and last[0].call == last[1].call

    @property
    def last(self) -> tuple[Rule, int] | None:
        """The rule of the last step, and the step's index in it; ``None`` without a step, and after a failed one."""
        return self._steps[-1] if self._steps else None

    @property
    def last_in_line(self) -> tuple[Rule, int] | None:
        """The last step as in ``last``, without steps of rules that may be followed at any time.

        Such a step removes an interruption, so the effect of the step before it is still required. It counts if it
        requires an effect of its own.
        """
        pairs = zip(reversed(self._by_thought), reversed(self._steps), strict=True)
        return next((step for named, step in pairs if not _is_interruption(named)), None)

    @property
    def was_interrupted(self) -> bool:
        """Whether the last step removed an interruption."""
        return bool(self.last and self.last[0].anytime)

    @property
    def done(self) -> tuple[tuple[Rule, int], ...]:
        """The steps that were done, in order, as rules and indexes."""
        return tuple(step for step in self._steps if step is not None)

    @property
    def thoughts(self) -> tuple[str, ...]:
        """The thoughts of the steps that were done, in order."""
        return tuple(rule.do[place].thought for rule, place in self.done)

    @property
    def has_begun(self) -> bool:
        """Whether a step was done, apart from those that removed an interruption."""
        return any(not rule.anytime for rule, _ in self.done)

    @property
    def last_rule(self) -> tuple[Rule, int] | None:
        """The rule of the last step, and the step's index in it, even if the step failed."""
        return self._by_thought[-1] if self._by_thought else None

    def next_in(self, rule: Rule) -> int:
        """Return the index of a rule's next action: 0 unless the last step belongs to the rule."""
        last = self.last
        return last[1] + 1 if last and last[0].id == rule.id else 0

    def last_finished(self, ids: Sequence[str]) -> bool:
        """Return whether the last step, apart from interruptions after it, finished one of these rules."""
        lasts = [each for each in (self.last, self.last_in_line) if each is not None]
        return any(rule.id in ids and place == len(rule.do) - 1 for rule, place in lasts)

    def times(self, id_: str, since: Sequence[str]) -> int:
        """Return how often a rule was finished since the last time that a rule of ``since`` was finished."""
        start = max((place for place, name in self._finished if name in since), default=-1)
        return sum(1 for place, name in self._finished if name == id_ and place > start)


def _is_interruption(step: tuple[Rule, int] | None) -> bool:
    return step is not None and step[0].anytime and not step[0].do[step[1]].then
