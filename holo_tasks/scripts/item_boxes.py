"""Where a screen says which item it is about: what a playbook asks for there with a value of the item in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holo_tasks.core.geometry import Box
from holo_tasks.scripts.actions import Condition
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.rules import is_visible
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Filled, Sight, matches

LARGEST = 0.1
"""What takes more of a screen than this is around what says it, such as a page with the item's name for its title."""


def item_boxes(rule: Rule, values: Mapping[str, Value], sight: Sight) -> tuple[Box, ...]:
    """Return the boxes of all texts and elements that a rule knows its item by, in pixels of the sight.

    Of a screen that is not read yet they are where programs tell of them.
    """
    wanted = [
        one for screen in rule.screens if all(is_visible(each, values, sight) for each in screen) for one in screen
    ]
    most = LARGEST * sight.size.width * sight.size.height
    boxes = (box for one in wanted for label in _of_item(one, values) for box in _places(label, sight))
    return tuple(dict.fromkeys(box for box in boxes if 0 < box.width * box.height <= most))


def _of_item(wanted: Condition, values: Mapping[str, Value]) -> Iterator[Filled]:
    """Yield the texts of a condition that have a value in them."""
    texts = (wanted,) if isinstance(wanted, str) else (wanted.name, wanted.text)
    labels = (label_of(text, values) for text in texts if text is not None)
    return (label for label in labels if isinstance(label, Filled) and label.values)


def _places(label: Filled, sight: Sight) -> Iterator[Box]:
    told = () if sight.elements is None else sight.elements.elements
    yield from (
        each.box
        for each in told
        if each.on_screen and any(matches(label, text) for text in (each.name, each.value) if text)
    )
    if sight.told(label) is None:
        yield from (line.box for line in sight.lines if matches(label, line.text))
