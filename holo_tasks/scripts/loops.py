"""Replace the loops of a goal by the steps for each item of their lists, and find where such a step comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import Goal, Loop, Playbook

MOST_ITEMS = 200
"""The most items of a list."""


def unrolled(playbook: Playbook, goal: str, values: Mapping[str, Any]) -> tuple[Playbook, dict[str, Any]]:
    """Return a playbook whose goal has the steps for each item, and the values of all items under names of their own.

    A list is a sequence of mappings, or their JSON text. Raises `InvalidUsage` for a list that is missing, empty or
    too long, and for an item with other values than those of its list.
    """
    wanted = playbook.goals[goal]
    if not wanted.lists:
        return playbook, dict(values)
    items = {name: _items(goal, name, values.get(name), [*kinds]) for name, kinds in wanted.lists.items()}
    steps = wanted.with_steps({name: len(found) for name, found in items.items()})
    kinds, given = dict(wanted.params), {name: value for name, value in values.items() if name not in items}
    for name, found in items.items():
        for number, item in enumerate(found, start=1):
            for key, value in item.items():
                kinds[f"{name}_{number}_{key}"] = wanted.lists[name][key]
                given[f"{name}_{number}_{key}"] = value
    told = {key: getattr(wanted, key) for key in Goal.model_fields}
    made = Goal.model_construct(**{**told, "steps": steps, "params": kinds, "lists": {}})
    return playbook.model_copy(update={"goals": {**playbook.goals, goal: made}}), given


@dataclass(frozen=True)
class LoopPlace:
    """Where a step of a goal with its loops replaced comes from.

    ``rule`` is the rule of the written step. ``each`` is the list of its loop, or empty, and ``number`` the
    item's number in it. ``values`` are the written names of the item's values, and ``foreign`` the names of the values
    of all other items.
    """

    rule: str
    said: str
    each: str = ""
    number: int = 0
    values: Mapping[str, str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()

    def as_written(self, text: str) -> str:
        """Return a text with the names of the item's values as the playbook's file has them."""
        for name, written in self.values.items():
            text = text.replace(f"{{{name}}}", f"{{{written}}}").replace(f"{{{name}:", f"{{{written}:")
        return text


def places_in(goal: Goal, values: Mapping[str, Any]) -> dict[str, LoopPlace]:
    """Return the place of each step by the rule that it has after `unrolled`. ``values`` are those of `unrolled`."""
    found: dict[str, LoopPlace] = {}
    written, of_items = 0, {name for name in values if _is_of_list(name, goal)}
    for step in goal.steps:
        steps, each = (step.steps, step.each) if isinstance(step, Loop) else ((step,), "")
        fields = goal.lists.get(each, {})
        numbers = range(1, 1 + _length(each, fields, values)) if each else range(1)
        for number in numbers:
            names = {f"{each}_{number}_{name}": f"{each}.{name}" for name in fields}
            foreign = frozenset(of_items - names.keys())
            for place, one in enumerate(steps, start=written + 1):
                told = LoopPlace(f"step-{place}", one.thought or one.words, each, number, names, foreign)
                found[f"step-{len(found) + 1}"] = told
        written += len(steps)
    return found


def _is_of_list(name: str, goal: Goal) -> bool:
    """Return whether a value's name is that of an item's value."""
    return any(re.fullmatch(rf"{each}_\d+_(?:{'|'.join(fields)})", name) for each, fields in goal.lists.items())


def _length(each: str, fields: Iterable[str], values: Mapping[str, Any]) -> int:
    """Return the number of items of a list, from the names of the values of its items."""
    fields, number = [*fields], 0
    while any(f"{each}_{number + 1}_{name}" in values for name in fields):
        number += 1
    return number


def _items(goal: str, name: str, given: Any, fields: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the items of a list."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    wanted = f"The goal {goal!r} needs the list {name!r} with {', '.join(fields)} for each item"
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MOST_ITEMS:
        raise InvalidUsage(f"{wanted}, and at least one item and at most {MOST_ITEMS}.")
    for number, item in enumerate(given, start=1):
        if not isinstance(item, Mapping) or {*item} != {*fields}:
            raise InvalidUsage(f"{wanted}; item {number} has other values.")
    return list(given)
