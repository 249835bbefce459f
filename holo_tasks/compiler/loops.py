"""Find the items that one run did one after the other, and make a loop of their steps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from holo_tasks.scripts.values import PLACEHOLDER, Value

ITEMS = "items"
"""Name of the list, if the data of the run have no list of this length."""
FEWEST = 3
"""The fewest repetitions that are a loop. Two count if the data of the run have a list of two."""
SHORTEST = 2
"""The fewest steps for an item."""
Step = dict[str, Any]


@dataclass(frozen=True)
class FoundLoop:
    """A loop: the steps with the loop in them, the name of its list, and its items in the recording."""

    steps: list[Step]
    name: str
    items: list[dict[str, Value]]


def looped(steps: Sequence[Step], values: Mapping[str, Value], data: Mapping[str, Any]) -> FoundLoop | None:
    """Return the longest loop in some steps, or ``None``. ``values`` are those of the parameters.

    The steps for all items are the same apart from the values, and each repetition types a value of its item.
    ``data`` are those of the run.
    """
    lists = {len(value): name for name, value in data.items() if isinstance(value, list)}
    best: tuple[int, int, int] | None = None
    for size in range(SHORTEST, len(steps) // 2 + 1):
        for start in range(len(steps) - 2 * size + 1):
            count = _repetitions(steps, start, size)
            fewest = 2 if count in lists else FEWEST
            is_loop = count >= fewest and (count in lists or not _is_one_form(steps[start : start + size]))
            if is_loop and (best is None or count * size > best[1] * best[2]):
                best = start, count, size
    if best is None:
        return None
    start, count, size = best
    name = lists.get(count, ITEMS)
    name = name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in values else ITEMS
    return _made(steps, values, start, count, size, name, is_named=count in lists)


def _made(
    steps: Sequence[Step], values: Mapping[str, Value], start: int, count: int, size: int, name: str, *, is_named: bool
) -> FoundLoop | None:
    parts = [list(steps[start + size * number : start + size * (number + 1)]) for number in range(count)]
    of_item = _of_items(parts, is_named=is_named)
    if not of_item:
        return None
    first = {one: field for field, (one, *_) in of_item.items()}
    text = PLACEHOLDER.sub(lambda found: _in_loop(found, name, first), json.dumps(parts[0]))
    body = json.loads(text)
    for step, *others in zip(body, *parts[1:], strict=True):
        waits = [one["patience"] for one in (step, *others) if "patience" in one]
        step |= {"patience": max(waits)} if waits else {}
    items = [{field: values[names[number]] for field, names in of_item.items()} for number in range(count)]
    made = [*steps[:start], {"each": name, "steps": body}, *steps[start + size * count :]]
    return FoundLoop(made, name, items)


def _in_loop(found: re.Match[str], name: str, fields: Mapping[str, str]) -> str:
    if found[1] not in fields:
        return found[0]
    return f"{{{name}.{fields[found[1]]}{f':{found[2]}' if found[2] else ''}}}"


def _of_items(parts: Sequence[Sequence[Step]], *, is_named: bool) -> dict[str, list[str]]:
    """Return the parameters of each item by field. A value is of the item if it is typed in the loop.

    Values with different names are fields of one item, unless the data have a list with this number of items.
    """
    columns = list(zip(*map(_names, parts), strict=True))
    typed = {name for step in parts[0] if "write" in step for name in _names([step])}
    found: dict[str, list[str]] = {}
    for names in columns:
        if not is_named and len({_stem(name) for name in names}) > 1:
            return {}
        if names[0] in typed:
            found[_stem(names[0])] = list(names)
        elif len({*names}) > 1:
            return {}  # a value that is not typed differs between the items
    return found if len(found) == len(typed) else {}


def _stem(name: str) -> str:
    """Return the name of a parameter without its number."""
    return re.sub(r"_\d+$", "", name) or name


def _is_one_form(steps: Sequence[Step]) -> bool:
    """Return whether some steps only type and go to the next field. Repeated, they may fill the fields of one form."""
    return all(
        step.get("hotkey") == ["tab"] or ("write" in step and not step["write"].get("press_enter")) for step in steps
    )


def _repetitions(steps: Sequence[Step], start: int, size: int) -> int:
    """Return how often the steps from a place are repeated, with other values."""
    first = steps[start : start + size]
    if any("by_model" in step for step in first) or not any(_names([step]) for step in first if "write" in step):
        return 0
    shape, count = _shape(first), 1
    while _shape(steps[start + size * count : start + size * (count + 1)]) == shape:
        count += 1
    return count


def _shape(steps: Sequence[Step]) -> str:
    """Return steps as a text without the names of their parameters, and without the number of waits."""
    names: dict[str, int] = {}
    text = repr([{key: value for key, value in step.items() if key != "patience"} for step in steps])
    return PLACEHOLDER.sub(lambda found: f"<{names.setdefault(found[1], len(names))}:{found[2]}>", text)


def _names(steps: Sequence[Step]) -> list[str]:
    """Return the parameters in some steps, each once, in order."""
    every = chain.from_iterable(PLACEHOLDER.finditer(repr(step)) for step in steps)
    return list(dict.fromkeys(found[1] for found in every))
