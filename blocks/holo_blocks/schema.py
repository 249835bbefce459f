"""A block's JSON schema, made once."""

from __future__ import annotations

import copy
from typing import Any

_made: dict[object, dict[str, Any]] = {}


class OneSchema:
    """Goes before `Block`: Prefect asks for a block's schema for each of its fields, whenever one is saved."""

    @classmethod
    def model_json_schema(cls, *positional: Any, **named: Any) -> dict[str, Any]:
        """Return the schema as Prefect makes it, a copy for each who asks."""
        key = cls, positional, tuple(sorted(named.items()))
        if key not in _made:
            _made[key] = super().model_json_schema(*positional, **named)  # type: ignore[misc]
        return copy.deepcopy(_made[key])
