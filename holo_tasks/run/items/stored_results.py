"""Serialize a sub-goal's result for the ledger without the values of secrets.

`to_stored_json` is used by `business_item`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.scrubbing import scrub_data, scrub_text

Place = tuple[str | int, ...]


def to_stored_json(returns: TypeAdapter[Any], result: Any) -> tuple[str, Any]:
    """Return the result as JSON, and the value that a re-run will read from it. This call returns that value as well.

    Secrets are replaced wherever the result's type allows it. A value stays if the type allows no other text, because
    the work is already done and cannot be undone. Raises `InvalidUsage` if the JSON cannot be read back.
    """
    text = returns.dump_json(result, by_alias=True, round_trip=True).decode()
    try:
        reread = returns.validate_json(text)
    except ValidationError:
        raise InvalidUsage(
            f"The result {scrub_text(text)[:200]} cannot be read back, so a re-run cannot return it: give the sub-goal "
            "a return annotation that JSON can hold."
        ) from None
    plain = [json.loads(text)]  # in a list, so that a result that is a string has a path as well
    for place in list(_secret_paths(plain)):
        without_secret = _without(plain, place)
        written = json.dumps(without_secret[0], ensure_ascii=False)
        try:
            reread = returns.validate_json(written)
        except ValidationError:
            continue
        text, plain = written, without_secret
    return text, reread


def _secret_paths(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the paths of strings that contain a secret's value."""
    match value:
        case str():
            if scrub_data(value) != value:
                yield place
        case list():
            for number, item in enumerate(value):
                yield from _secret_paths(item, (*place, number))
        case dict():
            for name, item in value.items():
                yield from _secret_paths(item, (*place, name))


def _without(value: Any, place: Place) -> Any:
    made = holder = copy.deepcopy(value)
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = scrub_data(holder[place[-1]])
    return made
