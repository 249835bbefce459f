"""What has to be known about a model to speak to it as it was trained: data, not code."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from holo_tasks.core.error_text import problems_of
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.macros import Macro
from holo_tasks.core.money import Price
from holo_tasks.core.shortened import shortened
from holo_tasks.core.toolbox import Space, Toolbox

DialectName: TypeAlias = Literal["structured", "tools", "holotron"]
SchemaTransport: TypeAlias = Literal["structured_outputs", "response_format", "json_object"]

DEFAULT_MODEL = "holo3-1-35b-a3b"
PROFILES_VARIABLE = "HOLO_PROFILES"


class PriceTable(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0, allow_inf_nan=False)
    output: Decimal = Field(ge=0, allow_inf_nan=False)
    cached: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)

    def price(self) -> Price:
        return Price(self.input, self.output, self.cached)


class Profile(BaseModel):
    """One model's conventions. Token counts are the model's own limits; ``temperature`` and the rest are
    what it was trained with.

    ``dialects`` are tried in this order by ``auto``. ``tool_suffix`` and ``tool_names`` are how the model names its
    tools; ``tools`` is a choice of them, None for all. ``image_budget`` pictures are kept in a request, and when there
    are more, ``evict_batch`` of the oldest go at once. "default" for ``thinking`` and ``reasoning_effort`` says nothing
    about them. With ``preserve_thinking`` the model sees its own reasoning again (function calling only).
    ``least_confidence`` and ``recent_actions`` are of the holotron dialect.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    family: str = "unknown"
    dialects: tuple[DialectName, ...] = Field(default=("structured",), min_length=1)
    context_tokens: int = Field(default=65_536, ge=4_096)
    max_output_tokens: int = Field(default=4_096, gt=0)
    price: PriceTable | None = None
    tool_suffix: str = ""
    tool_names: dict[str, str] = Field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    tool_choice: Literal["required", "auto"] = "required"
    coordinates: Space = "thousandths"
    image_budget: int = Field(default=3, ge=1, le=5)
    evict_batch: int = Field(default=2, ge=1, le=5)
    placeholder: str = Field(default="[screenshot evicted]", min_length=1)
    temperature: float = Field(default=0.8, ge=0, le=2)
    thinking: Literal["on", "off", "default"] = "on"
    preserve_thinking: bool = False
    reasoning_effort: Literal["low", "medium", "high", "default"] = "medium"
    schema_transport: SchemaTransport = "structured_outputs"
    least_confidence: float = Field(default=0.6, ge=0, le=1)
    recent_actions: int = Field(default=5, ge=1, le=20)
    call_timeout_s: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    note: str = ""

    @field_validator("tool_names", "tools")
    @classmethod
    def _known_tools(cls, value: Any) -> Any:
        try:
            Toolbox(names=value) if isinstance(value, dict) else Toolbox(offered=value)
        except InvalidUsage as error:
            raise ValueError(str(error)) from None
        return value

    def pick_dialect(self, wanted: str) -> DialectName:
        """Return the dialect to speak; ``auto`` takes the profile's first one."""
        if wanted == "auto":
            return self.dialects[0]
        for name in self.dialects:
            if name == wanted:
                return name
        raise InvalidUsage(
            f"{self.name} does not speak the {wanted!r} dialect; use --dialect auto or one of: "
            f"{', '.join(self.dialects)}."
        )

    def toolbox(self, macros: Sequence[Macro] = ()) -> Toolbox:
        """Return the tools as this model knows them, and ``macros`` beside them."""
        return Toolbox(
            names=self.tool_names, suffix=self.tool_suffix, space=self.coordinates, offered=self.tools, macros=macros
        )

    @property
    def positions(self) -> str:
        """Say in words what coordinates are."""
        return "integers from 0 to 1000" if self.coordinates == "thousandths" else "numbers from 0 to 1"

    def sampling(self) -> dict[str, Any]:
        """Return the fields of a request that say how the model is to write, none of them nested in another."""
        fields: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_output_tokens}
        if self.reasoning_effort != "default":
            fields["reasoning_effort"] = self.reasoning_effort
        if self.thinking != "default":
            fields["chat_template_kwargs"] = {"enable_thinking": self.thinking == "on"}
            if self.preserve_thinking:
                fields["chat_template_kwargs"]["preserve_thinking"] = True
        return fields

    def constrained(self, schema: Mapping[str, Any], *, name: str) -> dict[str, Any]:
        """Return the field that makes a server hold the model to a JSON schema, as this server wants it."""
        match self.schema_transport:
            case "structured_outputs":
                return {"structured_outputs": {"json": schema}}
            case "response_format":
                named = {"name": name, "schema": schema, "strict": True}
                return {"response_format": {"type": "json_schema", "json_schema": named}}
            case "json_object":
                return {"response_format": {"type": "json_object"}}


@cache
def shipped() -> dict[str, Profile]:
    """Return the profiles that come with the package, by model name."""
    text = resources.files("holo_tasks.models").joinpath("profiles.toml").read_text(encoding="utf-8")
    return read_profiles(text, "profiles.toml")


def profiles(file: Path | None = None) -> dict[str, Profile]:
    """Return all profiles by model name: those of the package, then the user's own in ``file``.

    Without a ``file`` it is the one that the environment variable HOLO_PROFILES names, if any. Raises `InvalidUsage`
    for a file that cannot be read or that holds something no profile has.
    """
    named = file or (Path(value) if (value := os.environ.get(PROFILES_VARIABLE, "").strip()) else None)
    if named is None:
        return shipped()
    try:
        text = named.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidUsage(f"The profiles in {named} cannot be read: {why}.") from None
    return {**shipped(), **read_profiles(text, str(named), shipped())}


def read_profiles(text: str, where: str, known: Mapping[str, Profile] | None = None) -> dict[str, Profile]:
    """Read profiles from TOML, one table a model; ``like`` names one to start from, else the known one is."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib lets through what int and the stack say
        raise InvalidUsage(f"{where} is not TOML: {shortened(str(error))}.") from None
    found: dict[str, Profile] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InvalidUsage(f'{where}: {shortened(name)} is not a table; begin each model with ["its-name"].')
        fields = dict(table)
        like = fields.pop("like", None)
        base = {**(known or {}), **found}.get(name if like is None else str(like))
        if like is not None and base is None:
            unknown = shortened(repr(like))
            raise InvalidUsage(f"{where}: {shortened(name)} is like {unknown}, which there is no profile of.")
        found[name] = _made(name, base, fields, f"{where}: the profile of {name}")
    return found


def profile_for(model: str, **overrides: object) -> Profile:
    """Return a model's profile with some fields replaced; an unknown model gets the defaults and no price.

    ``like`` names another model's profile to start from.
    """
    known, fields = profiles(), dict(overrides)
    like = fields.pop("like", None)
    if like is not None and str(like) not in known:
        raise InvalidUsage(f"{model} is like {like!r}, which there is no profile of.")
    base = known.get(model if like is None else str(like)) or Profile(name=model)
    return _made(model, base, fields, f"The profile of {model}") if overrides else base


def _made(name: str, base: Profile | None, fields: Mapping[str, object], what: str) -> Profile:
    try:
        return Profile.model_validate({**(base.model_dump() if base else {}), **fields, "name": name})
    except ValidationError as error:
        first = problems_of(error)[0]
        place = shortened(first.place or "all of it")
        raise InvalidUsage(f"{shortened(what)} is wrong at {place}: {shortened(first.what)}.") from None
