"""Convert values to the types that events may hold."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Return a value with all floats as strings, because events hold no floats."""
    match value:
        case float():
            return f"{value:g}"
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value
