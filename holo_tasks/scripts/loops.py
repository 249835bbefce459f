"""Replace the loops of a goal by the steps for each item of their lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import Goal, Playbook

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
            for field, value in item.items():
                kinds[f"{name}_{number}_{field}"] = wanted.lists[name][field]
                given[f"{name}_{number}_{field}"] = value
    told = {field: getattr(wanted, field) for field in Goal.model_fields}
    made = Goal.model_construct(**{**told, "steps": steps, "params": kinds, "lists": {}})
    return playbook.model_copy(update={"goals": {**playbook.goals, goal: made}}), given


def _items(goal: str, name: str, given: Any, fields: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the items of a list."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    wanted = f"The goal {goal!r} needs the list {name!r} with {', '.join(fields)} for each item"
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MOST_ITEMS:
        raise InvalidUsage(f"{wanted}, and at least one item and at most {MOST_ITEMS}.")
    for number, item in enumerate(given, start=1):
        if not isinstance(item, Mapping) or {*item} != {*fields}:
            raise InvalidUsage(f"{wanted}; item {number} has other values.")
    return list(given)
