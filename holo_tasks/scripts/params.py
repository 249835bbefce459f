"""Check the typed values of a script before anything is done.

`typed` is for playbooks, and `checked_by` for any pydantic model.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    ValidationError,
    create_model,
)

from holo_tasks.core.errors import InvalidUsage, UnfitItem
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.outside_text import is_placeholder, strings_in

Kind: TypeAlias = Literal["text", "int", "money", "date", "bool"]
Given: TypeAlias = str | int | bool


def _no_thousands(value: Any) -> Any:
    """Refuse a text such as 1.310, whose point separates thousands in many countries."""
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", value.strip()):
        raise ValueError("may have a point for thousands or for decimals; give an amount such as 1284.50")
    return value


def _plain_digits(value: Any) -> Any:
    """Refuse a text such as 1_000 or 12.0, which would be typed in another form."""
    if isinstance(value, str) and not re.fullmatch(r"-?\d+", value.strip()):
        raise ValueError("is not a whole number")
    return value


def _has_leading_zero(value: Any) -> bool:
    """Return whether a value is a text of digits that begins with a zero: a key, which is typed unchanged."""
    return isinstance(value, str) and re.fullmatch(r"0\d+", value.strip()) is not None


_TYPES: dict[str, Any] = {
    "text": Annotated[str, StringConstraints(min_length=1, max_length=10_000)],
    "int": Annotated[int, Field(ge=-(10**18), le=10**18), BeforeValidator(_plain_digits)],
    "money": Annotated[
        Decimal, Field(max_digits=18, decimal_places=2, allow_inf_nan=False), BeforeValidator(_no_thousands)
    ],
    "date": datetime.date,
    "bool": StrictBool,
}


_TOLD: dict[str, tuple[str, str]] = {
    "text": ("string", "a text"),
    "int": ("integer", "a whole number"),
    "money": ("string", "an amount such as 1284.50"),
    "date": ("string", "a day such as 2026-11-22"),
    "bool": ("boolean", "yes or no"),
}
"""JSON type of each kind of value, and its description for a model."""


def typed(
    goal: str, kinds: Mapping[str, Kind], values: Mapping[str, Any], usual: Mapping[str, str] | None = None
) -> dict[str, Given]:
    """Return a goal's values in the form that a playbook uses: money as 1284.50, a date as 2026-11-22.

    A whole number with leading zeros, such as 0042, stays a text.
    ``usual`` are default values. Raises `InvalidUsage` for a missing or unknown value, and for a value of another type.
    """
    usual = usual or {}
    fields: dict[str, Any] = {name: (_TYPES[kind], usual.get(name, ...)) for name, kind in kinds.items()}
    # A value that no type was written for is a text.
    fields |= {name: (str, value) for name, value in usual.items() if name not in kinds}
    checked = checked_by(create_model("Values", __config__=_CLOSED, **fields), f"The goal {goal!r}", values)
    given = {**usual, **values}
    keys = {name: str(given[name]).strip() for name in kinds if _has_leading_zero(given.get(name))}
    written = {name: _written(getattr(checked, name)) for name in fields}
    return {name: keys.get(name, value) if kinds.get(name) == "int" else value for name, value in written.items()}


_CLOSED = ConfigDict(extra="forbid", validate_default=True)


def checked_by(model: type[BaseModel], what: str, values: Mapping[str, Any]) -> Any:
    """Return values validated by a model. Raises `InvalidUsage` with the problems, but without the values."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        problems = problems_of(error)
        listed = "; ".join(f"{one.place}: {_in_words(one.kind, one.what)}" for one in problems[:3])
        known = ", ".join(model.model_fields) or "none"
        # A value that is missing, or that no goal takes, is the author's mistake; any other is the item's.
        mistaken = {one.kind for one in problems} & {"missing", "extra_forbidden"}
        raise (InvalidUsage if mistaken else UnfitItem)(
            f"{what} cannot be done with these values ({listed}); it takes: {known}."
        ) from None


def parameter_schema(name: str, kind: str, usual: str | None = None) -> dict[str, Any]:
    """Return the JSON schema of a parameter for a model."""
    type_, words = _TOLD[kind]
    schema: dict[str, Any] = {"title": name.replace("_", " ").capitalize(), "type": type_, "description": words}
    if usual is not None:
        schema |= {"default": usual, "description": f"{words}; usually {usual}"}
    return schema


def list_schema(name: str, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the JSON schema of a list of items for a model."""
    fields = {field: parameter_schema(field, kind) for field, kind in kinds.items()}
    item = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    title = name.replace("_", " ").capitalize()
    return {"title": title, "type": "array", "description": "a list of items", "minItems": 1, "items": item}


def check_no_secret(what: str, values: Mapping[str, Any]) -> None:
    """Raise `UnfitItem` for a value that names a secret. Secrets may be named only in the script itself."""
    for name, value in values.items():
        if any(map(is_placeholder, strings_in(value))):
            raise UnfitItem(f"{what} was given a secret's placeholder as {name!r}: a script names its secrets itself.")


_PROBLEMS = {
    "missing": "is not given",
    "extra_forbidden": "is not one of its parameters",
    "string_too_short": "is empty",
    "decimal_parsing": f"is not {_TOLD['money'][1]}",
    "decimal_max_places": f"is not {_TOLD['money'][1]}, with at most two decimals",
    "int_parsing": f"is not {_TOLD['int'][1]}",
    "date_from_datetime_parsing": f"is not {_TOLD['date'][1]}",
    "date_parsing": f"is not {_TOLD['date'][1]}",
    "bool_type": f"is not {_TOLD['bool'][1]}",
}
"""The problem with a value, by pydantic's type of the error."""


def _in_words(kind: str, message: str) -> str:
    return _PROBLEMS.get(kind, message)


def _written(value: Any) -> Given:
    match value:
        case Decimal():
            return f"{value:.2f}"
        case datetime.date():
            return value.isoformat()
        case bool() | int() | str():
            return value
    raise TypeError(f"{value!r} has a type that a playbook does not support")
