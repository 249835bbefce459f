"""Values as events hold them."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Write fractions as strings: events hold no floats."""
    match value:
        case float():
            return f"{value:g}"
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value
