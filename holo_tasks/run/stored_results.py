"""A sub-goal's result as it is written down, which is what a re-run will return: without the values of secrets."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.scrubbing import hushed, hushed_plain

Place = tuple[str | int, ...]


def stored(returns: TypeAdapter[Any], result: Any) -> tuple[str, Any]:
    """Write a result down; return that and what a re-run will read from it, which is the result now, too.

    A value is left only where the result's type allows no other text: what was done cannot be undone by then.
    """
    text = returns.dump_json(result, by_alias=True, round_trip=True).decode()
    try:
        kept = returns.validate_json(text)
    except ValidationError:
        raise InvalidUsage(
            f"The result {hushed(text)[:200]} cannot be read back, so a re-run could not return it: give the sub-goal "
            "a return annotation that JSON can hold."
        ) from None
    plain = [json.loads(text)]  # in a list, so that there is a place for a result that is a text
    for place in list(_told(plain)):
        tried = _without(plain, place)
        written = json.dumps(tried[0], ensure_ascii=False)
        try:
            kept = returns.validate_json(written)
        except ValidationError:
            continue
        text, plain = written, tried
    return text, kept


def _told(value: Any, place: Place = ()) -> Iterator[Place]:
    """Return where in plain values there are texts that hold a value."""
    match value:
        case str():
            if hushed_plain(value) != value:
                yield place
        case list():
            for number, item in enumerate(value):
                yield from _told(item, (*place, number))
        case dict():
            for name, item in value.items():
                yield from _told(item, (*place, name))


def _without(value: Any, place: Place) -> Any:
    made = holder = copy.deepcopy(value)
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = hushed_plain(holder[place[-1]])
    return made
