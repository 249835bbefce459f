"""The block for a model endpoint."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from holo_blocks.addresses import page, picture
from holo_blocks.credentials import HoloCredentials
from holo_blocks.schema import OneSchema
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.model import Model
from holo_tasks.models.address import HOSTED_BASE_URL, key_variable
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import DEFAULT_MODEL, Profile, SchemaTransport, profile_for


class HoloModel(OneSchema, Block):
    """
    An OpenAI-compatible endpoint that serves a Holo model.

    Example:
        ```python
        from holo_blocks import HoloModel

        model = HoloModel.load("BLOCK_NAME")

        HoloModel(base_url="http://127.0.0.1:8000/v1", model="my-holo").save("mine", overwrite=True)
        ```
    """

    _block_type_name: ClassVar[str] = "Holo Model"
    _block_type_slug: ClassVar[str] = "holo-model"
    _logo_url = picture()
    _documentation_url = page("holo-model")

    base_url: str = Field(
        default=HOSTED_BASE_URL,
        title="Base URL",
        description="The address of the endpoint, up to and including /v1.",
    )
    model: str = Field(default=DEFAULT_MODEL, description="The name of the model at this endpoint.")
    api_key: SecretStr | None = Field(
        default=None, title="API key", description="The key of the endpoint. Leave it empty if the server needs none."
    )
    credentials: HoloCredentials | None = Field(
        default=None, description="The block with the key of the endpoint, in place of the field API key."
    )
    dialect: Literal["auto", "structured", "tools", "holotron"] = Field(
        default="auto", description="The format of conversations with the model. auto uses the dialect of its profile."
    )
    usd_per_million_input_tokens: Decimal | None = Field(
        default=None, ge=0, description="Price of input tokens, in place of the known one."
    )
    usd_per_million_output_tokens: Decimal | None = Field(
        default=None, ge=0, description="Price of output tokens, in place of the known one."
    )
    usd_per_million_cached_tokens: Decimal | None = Field(
        default=None, ge=0, description="Price of cached input tokens, in place of the known one."
    )
    schema_transport: SchemaTransport | None = Field(
        default=None,
        description="The field for the output schema: structured_outputs for vLLM, response_format for other servers, "
        "json_object for servers without schemas. Empty uses the transport of the model's profile.",
    )
    profile_overrides: dict[str, Any] = Field(
        default_factory=dict,
        title="Profile",
        description="Other fields of the model's profile, such as image_budget, temperature or tool_suffix. `like` "
        "names a model whose profile is the basis.",
    )
    local_only: bool = Field(
        default=False,
        title="Local only",
        description="Refuse to run unless this endpoint, the evidence, the database and Prefect are all on the machine "
        "that runs the agent. HOLO_LOCAL_ONLY=1 on that machine turns this on for every block.",
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self | None:
        """Return the model that HOLO_BASE_URL, HOLO_MODEL and the API key of its endpoint name.

        The key is in HAI_API_KEY for H Company's endpoint, which is the default, and in HOLO_API_KEY for others.
        Returns ``None`` if neither HOLO_BASE_URL nor a key is set.
        """
        env = os.environ if environ is None else environ
        base_url = env.get("HOLO_BASE_URL") or HOSTED_BASE_URL
        key = env.get(key_variable(base_url))
        if not (env.get("HOLO_BASE_URL") or key):
            return None
        name = env.get("HOLO_MODEL", DEFAULT_MODEL)
        return cls(base_url=base_url, model=name, api_key=SecretStr(key) if key else None)

    def profile(self) -> Profile:
        """Return the model's profile with the prices, the transport and the overrides of this block."""
        changes: dict[str, object] = dict(self.profile_overrides)
        if self.schema_transport is not None:
            changes["schema_transport"] = self.schema_transport
        given = {
            "input": self.usd_per_million_input_tokens,
            "output": self.usd_per_million_output_tokens,
            "cached": self.usd_per_million_cached_tokens,
        }
        if any(price is not None for price in given.values()):
            if given["input"] is None or given["output"] is None:
                raise InvalidUsage("Give the prices of input and output tokens together, or neither.")
            changes["price"] = given
        return profile_for(self.model, **changes)

    def endpoint(self, *, local_only: bool = False) -> ModelEndpoint:
        """Return a client for this endpoint. Close it after use."""
        if self.api_key and self.credentials:
            raise InvalidUsage("The model block has an API key and a block with one: leave one empty.")
        key = self.credentials.api_key if self.credentials else self.api_key
        return ModelEndpoint(self.base_url, key, local_only=local_only or self.local_only)

    @asynccontextmanager
    async def advisor(self, *, local_only: bool = False) -> AsyncIterator[Model]:
        """Open this endpoint as a model that `judge` can ask."""
        endpoint = self.endpoint(local_only=local_only)
        try:
            yield model_at(endpoint, self.profile(), self.dialect)
        finally:
            await endpoint.close()
