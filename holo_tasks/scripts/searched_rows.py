"""Find out that a search by keys ended at a row out of view: the list has scrolled, so a row in view has moved.

Such a row may have a longer value, or the same value once more. The screen before the search did not show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.steps_and_targets import FewPlaces
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Sight


@dataclass
class SearchedRows:
    """The places of a value right before the keys that search for it, with the step that types them."""

    values: Mapping[str, Value]
    _rule: Rule | None = None
    _before: dict[str, list[Box]] = field(default_factory=dict)

    def aim(self, rule: Rule | None, sight: Sight) -> None:
        """Keep the places of the value, if a step is about to search for it."""
        searches = rule is not None and rule.do[0].write is not None
        texts = [one.shown for one in rule.screen if isinstance(one, FewPlaces)] if searches and rule else []
        labels = [label_of(text, self.values) for text in texts]
        self._rule, self._before = rule, {label: sight.places(label) for label in labels}

    def moved(self, sight: Sight) -> Rule | None:
        """Return the step of the search if a row of before it is at another place now; ``None`` if none is."""
        for label, boxes in self._before.items():
            now = [box.center for box in sight.places(label)]
            if not all(any(box.contains(center) for center in now) for box in boxes):
                return self._rule
        return None
