"""Find the places where a screen names the current business item: conditions and targets with values of the item.

Nothing is pressed unless these places are unchanged right before the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.conditions import is_visible
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.steps_and_targets import Action, texts_of
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import FilledLabel, Sight, matches

LARGEST = 0.1
"""Boxes with a larger share of the screen are ignored. They surround the name, such as a page with the item as its
title.
"""


def item_boxes(rule: Rule, action: Action, values: Mapping[str, Value], sight: Sight) -> tuple[Box, ...]:
    """Return the boxes of all texts and elements that identify the item, in pixels of the sight.

    These are the conditions of the rule, and the labels next to the targets of its action, such as the key of a row.

    The places come from the accessibility tree. OCR is used only for texts that the tree does not have.
    """
    wanted = [
        one for screen in rule.screens if all(is_visible(each, values, sight) for each in screen) for one in screen
    ]
    wanted += [one for one in rule.any_of if is_visible(one, values, sight)]
    texts = [text for one in wanted for text in texts_of(one)]
    texts += [text for target in action.targets for text in target.relations.values()]
    boxes = (box for label in _of_item(texts, values) for box in _places(label, sight))
    return tuple(dict.fromkeys(boxes))


def _of_item(texts: Iterable[str], values: Mapping[str, Value]) -> Iterator[FilledLabel]:
    """Yield the texts that contain a value."""
    labels = (label_of(text, values) for text in texts)
    return (label for label in labels if isinstance(label, FilledLabel) and label.values)


def _places(label: FilledLabel, sight: Sight) -> list[Box]:
    elements = () if sight.elements is None else sight.elements.elements
    named = [
        each.box
        for each in elements
        if each.on_screen and any(matches(label, text) for text in (each.name, each.value))
    ]
    found = [box for box in named if _is_small(box, sight)]
    if not found or sight.reported(label) is None:
        found += [box for box in sight.places(label) if _is_small(box, sight)]
    return found


def _is_small(box: Box, sight: Sight) -> bool:
    return 0 < box.area <= LARGEST * sight.size.width * sight.size.height
