"""Model profiles: the conventions that a model was trained with, as data from TOML.

`profile_for` returns the profile of a model.
"""

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

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.limits.money import Price
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.toolbox import Space, Toolbox
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.shortened import shortened

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
    """Conventions and limits of a model.

    ``auto`` uses the first of ``dialects``. ``tool_suffix`` and ``tool_names`` define the model's names for tools, and
    ``tools`` the offered ones (``None`` for all). A request holds at most ``image_budget`` pictures; if there are more,
    the oldest ``evict_batch`` are dropped together. "default" for ``thinking`` and ``reasoning_effort`` omits the field
    from requests. With ``preserve_thinking`` the model sees its earlier reasoning (function calling only).
    ``least_confidence`` and ``recent_actions`` are for the holotron dialect.
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
        """Return the dialect to use. Raises `InvalidUsage` if the model does not support ``wanted``."""
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
        """Return the model's tools, including ``macros``."""
        return Toolbox(
            names=self.tool_names, suffix=self.tool_suffix, space=self.coordinates, offered=self.tools, macros=macros
        )

    @property
    def positions(self) -> str:
        """The coordinate format, in words for the prompt."""
        return "integers from 0 to 1000" if self.coordinates == "thousandths" else "numbers from 0 to 1"

    def sampling(self) -> dict[str, Any]:
        """Return the request fields for sampling and reasoning."""
        fields: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_output_tokens}
        if self.reasoning_effort != "default":
            fields["reasoning_effort"] = self.reasoning_effort
        if self.thinking != "default":
            fields["chat_template_kwargs"] = {"enable_thinking": self.thinking == "on"}
            if self.preserve_thinking:
                fields["chat_template_kwargs"]["preserve_thinking"] = True
        return fields

    def constrained(self, schema: Mapping[str, Any], *, name: str) -> dict[str, Any]:
        """Return the request field that makes the server enforce a JSON schema."""
        match self.schema_transport:
            case "structured_outputs":
                return {"structured_outputs": {"json": schema}}
            case "response_format":
                named = {"name": name, "schema": schema, "strict": True}
                return {"response_format": {"type": "json_schema", "json_schema": named}}
            case "json_object":
                return {"response_format": {"type": "json_object"}}


@cache
def shipped_profiles() -> dict[str, Profile]:
    """Return the profiles of the package, by model name."""
    text = resources.files("holo_tasks.models").joinpath("profiles.toml").read_text(encoding="utf-8")
    return read_profiles(text, "profiles.toml")


def profiles(file: Path | None = None) -> dict[str, Profile]:
    """Return the profiles of the package and of the user's ``file``, by model name.

    Without a ``file``, the one in the environment variable HOLO_PROFILES is used, if set. Raises `InvalidUsage` if the
    file cannot be read or holds an invalid profile.
    """
    named = file or (Path(value) if (value := os.environ.get(PROFILES_VARIABLE, "").strip()) else None)
    if named is None:
        return shipped_profiles()
    try:
        text = named.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidUsage(f"The profiles in {named} cannot be read: {why}.") from None
    return {**shipped_profiles(), **read_profiles(text, str(named), shipped_profiles())}


def read_profiles(text: str, where: str, known: Mapping[str, Profile] | None = None) -> dict[str, Profile]:
    """Parse profiles from TOML, one table per model.

    A table extends the profile that its ``like`` names, or a known profile of the same name. ``where`` names the source
    in errors.
    """
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # long numbers and deep nesting raise other errors than TOML's
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
            raise InvalidUsage(f"{where}: {shortened(name)} is like {unknown}, which has no profile.")
        found[name] = _build_profile(name, base, fields, f"{where}: the profile of {name}")
    return found


def profile_for(model: str, **overrides: object) -> Profile:
    """Return a model's profile with some fields replaced. An unknown model gets the defaults and no price.

    ``like`` names another model whose profile is the base.
    """
    known, fields = profiles(), dict(overrides)
    like = fields.pop("like", None)
    if like is not None and str(like) not in known:
        raise InvalidUsage(f"{model} is like {like!r}, which has no profile.")
    base = known.get(model if like is None else str(like)) or Profile(name=model)
    return _build_profile(model, base, fields, f"The profile of {model}") if overrides else base


def _build_profile(name: str, base: Profile | None, fields: Mapping[str, object], what: str) -> Profile:
    try:
        return Profile.model_validate({**(base.model_dump() if base else {}), **fields, "name": name})
    except ValidationError as error:
        first = problems_of(error)[0]
        place = shortened(first.place or "all of it")
        raise InvalidUsage(f"{shortened(what)} is wrong at {place}: {shortened(first.what)}.") from None
