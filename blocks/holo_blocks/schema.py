"""Cache a block's JSON schema."""

from __future__ import annotations

import copy
from typing import Any

_made: dict[object, dict[str, Any]] = {}


class OneSchema:
    """Caches a block's schema.

    Put it before `Block`: Prefect requests the schema for each field when a block is saved.
    """

    @classmethod
    def model_json_schema(cls, *positional: Any, **named: Any) -> dict[str, Any]:
        """Return a copy of the schema that Prefect makes."""
        key = cls, positional, tuple(sorted(named.items()))
        if key not in _made:
            _made[key] = super().model_json_schema(*positional, **named)  # type: ignore[misc]
        return copy.deepcopy(_made[key])
