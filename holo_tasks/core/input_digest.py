"""Compute a digest of a work item's inputs that is the same in every process."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import AnyUrl, BaseModel, SecretStr

from holo_tasks.core.errors import InvalidUsage

_STABLE_TYPES = (
    bytes,
    date,
    time_of_day,
    timedelta,
    Decimal,
    PurePath,
    UUID,
    IPv4Address,
    IPv6Address,
    AnyUrl,
    SecretStr,
)
"""Types whose text is the same in every process. The text of a secret is a row of asterisks that hides its value."""


def digest_of(inputs: Any) -> str:
    """Return the SHA-256 of inputs.

    Equal inputs have equal digests in every process, whatever the order of sets and keys.

    Raises `InvalidUsage` for a type without a stable text: a default ``repr`` differs in the next process.
    """
    return hashlib.sha256(_canonical_json(inputs).encode()).hexdigest()


def _canonical_json(value: Any) -> str:
    return json.dumps(_to_json_types(value), sort_keys=True)


def _to_json_types(value: Any) -> Any:
    """Convert a value to JSON types, and sort where the order has no meaning."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        known = {name: getattr(value, name) for name, about in type(value).model_fields.items() if not about.exclude}
        return _to_json_types(known | (value.model_extra or {}))
    if is_dataclass(value) and not isinstance(value, type):
        return {about.name: _to_json_types(getattr(value, about.name)) for about in fields(value) if about.compare}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _to_json_types(item) for key, item in value.items()}
        return sorted(([_to_json_types(key), _to_json_types(item)] for key, item in value.items()), key=_canonical_json)
    if isinstance(value, Set):
        return sorted(map(_to_json_types, value), key=_canonical_json)
    if isinstance(value, list | tuple | deque):
        return [_to_json_types(item) for item in value]
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, _STABLE_TYPES):
        return str(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    raise InvalidUsage(
        f"An argument of type {kind} has a different text in every process, so it cannot identify a token's inputs. "
        "Give plain values, a dataclass or a pydantic model, or name the arguments that count with `inputs`."
    )
