"""What has to be known about a model to speak to it as it was trained: data, not code."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.money import Price

DialectName: TypeAlias = Literal["structured", "tools", "holotron"]
SchemaTransport: TypeAlias = Literal["structured_outputs", "response_format"]

DEFAULT_MODEL = "holo3-1-35b-a3b"


class PriceTable(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cached: Decimal | None = Field(default=None, ge=0)

    def price(self) -> Price:
        return Price(self.input, self.output, self.cached)


class Profile(BaseModel):
    """One model's conventions. Token counts are the model's own limits; ``temperature`` and the rest are
    what it was trained with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    family: str = "unknown"
    dialects: tuple[DialectName, ...] = ("structured",)
    context_tokens: int = Field(default=65_536, gt=0)
    max_output_tokens: int = Field(default=4_096, gt=0)
    price: PriceTable | None = None
    image_budget: int = Field(default=3, ge=1, le=5)
    evict_batch: int = Field(default=1, ge=1)
    placeholder: str = "[screenshot evicted]"
    temperature: float = Field(default=0.8, ge=0, le=2)
    reasoning_effort: Literal["low", "medium", "high"] = "medium"
    schema_transport: SchemaTransport = "structured_outputs"
    note: str = ""

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


@cache
def profiles() -> dict[str, Profile]:
    """Return the profiles that come with the package, by model name."""
    text = resources.files("holo_tasks.models").joinpath("profiles.toml").read_text(encoding="utf-8")
    return {name: Profile(name=name, **fields) for name, fields in tomllib.loads(text).items()}


def profile_for(model: str, **overrides: object) -> Profile:
    """Return a model's profile with some fields replaced; an unknown model gets the defaults and no price."""
    base = profiles().get(model) or Profile(name=model)
    if not overrides:
        return base
    try:
        return Profile.model_validate({**base.model_dump(), **overrides})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidUsage(f"The profile of {model} is wrong at {first['loc']}: {first['msg']}.") from None
