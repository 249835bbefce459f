"""Resolve secrets from the environment, a vault, a Prefect block, or the desktop block's own values.

`SecretSpec` declares a secret and `resolved` finds its value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.secrets.secret import NAME, Secret
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.run.rules.secret_vaults import VAULTS, vault_of

VARIABLE = "HOLO_SECRET_"
_VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")


class SecretSpec(BaseModel):
    """Declares a secret: its name, the source of its value and the window that may receive it. It never holds the
    value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="The name as in {{secret:NAME}} or {{totp:NAME}}.", pattern=f"^{NAME.pattern}$")
    source: str = Field(
        default="",
        description="env:VARIABLE, block:NAME of a Prefect Secret block, block:TYPE/NAME of another block that reads "
        "a secret, keyring:SERVICE/USER, vault:MOUNT/PATH#FIELD, bw:ITEM#FIELD or bws:ID. Empty: a value given on the "
        "spot, else the variable HOLO_SECRET_NAME, else a Secret block of that name.",
    )
    program: str = Field(
        default="",
        description="The only program that may receive it, by its executable file. Empty: the program that the desktop "
        "was started with.",
    )
    title: str = Field(default="", description="If given, the window's title must also contain this text.")
    fields: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        description="Labels. If given, the secret is typed only into a field that was just clicked and has one of "
        "these labels. OCR must read the label next to or above the field. Without OCR the secret is not typed.",
    )

    totp: bool = Field(
        default=False,
        description="The value is the seed of one-time codes, in base32 or as an otpauth address, as a service gives "
        "it. {{totp:NAME}} types the current code.",
    )

    @field_validator("source")
    @classmethod
    def _readable(cls, source: str) -> str:
        if source and not _VARIABLE.fullmatch(source) and vault_of(source) is None:
            forms = ", ".join(vault.form for vault in VAULTS.values())
            raise ValueError(f"a source is env:VARIABLE, {forms}")
        return source

    @classmethod
    def parse(cls, text: str, *, totp: bool = False) -> SecretSpec:
        """Parse ``NAME`` or ``NAME=PROGRAM``. With ``totp`` the secret is the seed of one-time codes."""
        name, _, program = text.partition("=")
        if not NAME.fullmatch(name):
            # The message does not repeat the text: a user may have written the value here.
            raise InvalidUsage("A secret is given as NAME or NAME=PROGRAM, its value in HOLO_SECRET_NAME.")
        return cls(name=name, program=program, totp=totp)

    @property
    def variable(self) -> str:
        """Return the environment variable that holds the value, unless ``source`` names another."""
        return VARIABLE + re.sub(r"\W", "_", self.name).upper()

    @property
    def block(self) -> str:
        """Return the name of the Prefect Secret block that holds the value, unless ``source`` names another."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


async def resolved(
    specs: Iterable[SecretSpec],
    *,
    given: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    blocks: bool = True,
) -> dict[str, Secret]:
    """Return the secrets with their values, by name. Secrets that are only ``given`` have no binding.

    With ``blocks=False`` Prefect is not asked. Raises `InvalidUsage` for a secret without a value, and lists the places
    that were searched.
    """
    values, env = dict(given or {}), os.environ if environ is None else environ
    found = {name: Secret(name, value) for name, value in values.items()}
    for spec in specs:
        value = await _value(spec, values, env, blocks=blocks)
        found[spec.name] = Secret(spec.name, value, spec.program, spec.title, spec.fields, spec.totp)
    return found


async def _value(spec: SecretSpec, given: Mapping[str, str], environ: Mapping[str, str], *, blocks: bool) -> str:
    kind, _, place = spec.source.partition(":")
    if not kind and (value := given.get(spec.name)):
        return value
    searched: list[str] = []
    if kind in ("", "env"):
        variable = place or spec.variable
        if value := environ.get(variable, ""):
            if value != value.encode(errors="replace").decode():
                raise InvalidUsage(f"The environment variable {variable} does not hold valid UTF-8 text.")
            return value
        searched.append(f"the environment variable {variable} is not set")
    source = spec.source or f"block:{spec.block}"
    if found := vault_of(source):
        vault, matched = found
        asks = blocks or not source.startswith("block:")
        value = await retry_async_while_unavailable(lambda: vault.read(matched, environ)) if asks else ""
        if value:
            return value
        searched.append(_missing(source) if asks else f"no Prefect server is set up to hold {matched[0]!r}")
    raise InvalidUsage(f"The secret {spec.name!r} has no value: {', and '.join(searched)}.")


def _missing(source: str) -> str:
    kind, _, place = source.partition(":")
    if kind != "block":
        return f"there is nothing at {source}"
    return f"Prefect has no block {place!r}" if "/" in place else f"Prefect has no Secret block {place!r}"
