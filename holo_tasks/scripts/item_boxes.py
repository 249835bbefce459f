"""Where a screen says which item it is about: what a playbook asks for there with a value of the item in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holo_tasks.core.geometry import Box
from holo_tasks.scripts.actions import Condition, texts_of
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.rules import is_visible
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Filled, Sight, matches

LARGEST = 0.1
"""What takes more of a screen than this is around what says it, such as a page with the item's name for its title."""


def item_boxes(rule: Rule, values: Mapping[str, Value], sight: Sight) -> tuple[Box, ...]:
    """Return the boxes of all texts and elements that a rule knows its item by, in pixels of the sight.

    They are where programs tell of them; a screen that is not read yet is read only for what nobody tells the place of.
    """
    wanted = [
        one for screen in rule.screens if all(is_visible(each, values, sight) for each in screen) for one in screen
    ]
    wanted += [one for one in rule.any_of if is_visible(one, values, sight)]
    boxes = (box for one in wanted for label in _of_item(one, values) for box in _places(label, sight))
    return tuple(dict.fromkeys(boxes))


def _of_item(wanted: Condition, values: Mapping[str, Value]) -> Iterator[Filled]:
    """Yield the texts of a condition that have a value in them."""
    labels = (label_of(text, values) for text in texts_of(wanted))
    return (label for label in labels if isinstance(label, Filled) and label.values)


def _places(label: Filled, sight: Sight) -> list[Box]:
    told = () if sight.elements is None else sight.elements.elements
    named = [
        each.box for each in told if each.on_screen and any(matches(label, text) for text in (each.name, each.value))
    ]
    found = [box for box in named if _is_small(box, sight)]
    if not found or sight.told(label) is None:
        found += [box for box in sight.places(label) if _is_small(box, sight)]
    return found


def _is_small(box: Box, sight: Sight) -> bool:
    return 0 < box.area <= LARGEST * sight.size.width * sight.size.height
