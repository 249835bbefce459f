"""Remember the messages that a program showed after the last step before an answer, and removed again.

A page shows such a message for a few seconds. The rest of what the answer waits for may come only after it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from holo_tasks.scripts.conditions import has_come, has_words
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.steps_and_targets import Condition
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight


@dataclass
class PassingMessages:
    """The texts with words of their own that an answer requires, and that only came after the step before it.

    A text from before the step, and a value of the item alone, have to be on the screen when the answer is given.
    """

    rules: Sequence[Rule]
    values: Mapping[str, Value]
    before: Sight | None = None
    """The screen before the last action. Its texts are read only if a question quotes them."""
    _awaited: dict[str, list[Condition]] = field(default_factory=dict)
    _came: dict[str, set[Condition]] = field(default_factory=dict)

    def aim(self, rule: Rule | None, sight: Sight) -> None:
        """Keep the messages of the answer after a step that are not on the screen before it, and that screen."""
        self.before = sight
        if rule is None or rule.anytime:
            return  # the removal of an interruption changes nothing
        following = [one for one in self.rules if rule.id in one.done and one.do[-1].answer is not None]
        self._awaited = {
            one.id: [
                each
                for each in one.screen
                if isinstance(each, str) and has_words(each) and not has_come(each, self.values, sight)
            ]
            for one in following
        }
        self._came = {name: set() for name in self._awaited}

    def seen_on(self, sight: Sight, seen: Mapping[str, Collection[Condition]]) -> Mapping[str, Collection[Condition]]:
        """Return the conditions that count as seen, by rule: those that are given, and the messages that came."""
        for name, awaited in self._awaited.items():
            self._came[name] |= {each for each in awaited if has_come(each, self.values, sight)}
        return {**seen, **{name: {*seen.get(name, ()), *came} for name, came in self._came.items() if came}}
