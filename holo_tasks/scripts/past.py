"""What was done of a goal so far, by its rules: how a playbook knows where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.values import Value, fill


class Past:
    """The steps so far, told apart by their thoughts; waiting is not counted as doing something."""

    def __init__(self, rules: Sequence[Rule], values: Mapping[str, Value], history: Sequence[Turn]) -> None:
        self.turns = [turn for turn in history if turn.tool != "wait"]
        self.waits = next((n for n, turn in enumerate(reversed(history)) if turn.tool != "wait"), len(history))
        said = {
            fill(action.thought, values): (rule, place)
            for rule in rules
            for place, action in enumerate(rule.do)
            if action.wait is None
        }
        self._said = [said.get(turn.thought) for turn in self.turns]
        self._steps = [None if turn.failed else step for turn, step in zip(self.turns, self._said, strict=True)]
        self._finished = [
            (place, step[0].id)
            for place, step in enumerate(self._steps)
            if step is not None and step[1] == len(step[0].do) - 1
        ]

    @property
    def failed_twice(self) -> bool:
        last = self.turns[-2:]
        return len(last) == 2 and all(turn.failed for turn in last) and last[0].call == last[1].call

    @property
    def last(self) -> tuple[Rule, int] | None:
        """The rule of the last step and its place in it; None if there was none, or it failed."""
        return self._steps[-1] if self._steps else None

    @property
    def done(self) -> tuple[tuple[Rule, int], ...]:
        """What was done, in order: rules, and places in them."""
        return tuple(step for step in self._steps if step is not None)

    @property
    def tried(self) -> tuple[Rule, int] | None:
        """The rule of the last step and its place in it, whatever came of it."""
        return self._said[-1] if self._said else None

    def next_in(self, rule: Rule) -> int:
        """Say which action of a rule comes next: 0 unless the last step was the rule's own."""
        last = self.last
        return last[1] + 1 if last and last[0].id == rule.id else 0

    def last_finished(self, ids: Sequence[str]) -> bool:
        last = self.last
        return bool(last and last[0].id in ids and last[1] == len(last[0].do) - 1)

    def times(self, id_: str, since: Sequence[str]) -> int:
        """Count how often a rule was finished since any of some rules was."""
        start = max((place for place, name in self._finished if name in since), default=-1)
        return sum(1 for place, name in self._finished if name == id_ and place > start)
