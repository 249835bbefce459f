"""Where the values of secrets come from: the environment, a Prefect Secret block, or whoever fills in the desktop."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.secret import NAME, Secret
from holo_tasks.machine.patience import awaited, is_away

VARIABLE = "HOLO_SECRET_"
_SOURCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|block:[a-z0-9-]+|")


class SecretSpec(BaseModel):
    """A secret by its name: where its value comes from, and which window may get it. Never the value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="As it is written: {{secret:NAME}}, or {{totp:NAME}}.", pattern=f"^{NAME.pattern}$")
    source: str = Field(
        default="",
        description="env:VARIABLE or block:NAME of a Prefect Secret block. Empty: a value given on the spot, else the "
        "variable HOLO_SECRET_NAME, else a block of that name.",
    )
    program: str = Field(
        default="",
        description="The only program that may get it, by the file its process runs. Empty: the one that the desktop "
        "was started with.",
    )
    title: str = Field(default="", description="If given, it has to be part of the window's title, too.")
    fields: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        description="Labels: if given, it is typed only into a field that was just clicked and has one of these beside "
        "or above it, as OCR reads it. Where OCR is not installed it is not typed at all.",
    )

    totp: bool = Field(
        default=False,
        description="It is the seed of one-time codes, in base32 or as an otpauth address, as a service gives it: "
        "{{totp:NAME}} types the code of the moment.",
    )

    @field_validator("source")
    @classmethod
    def _readable(cls, source: str) -> str:
        if not _SOURCE.fullmatch(source):
            raise ValueError("a source is env:VARIABLE or block:NAME")
        return source

    @classmethod
    def parse(cls, text: str, *, totp: bool = False) -> SecretSpec:
        """Read ``NAME`` or ``NAME=PROGRAM``; ``totp`` says that it is the seed of one-time codes."""
        name, _, program = text.partition("=")
        if not NAME.fullmatch(name):
            # It is not repeated: somebody may have taken this for the place of the value.
            raise InvalidUsage("A secret is given as NAME or NAME=PROGRAM, its value in HOLO_SECRET_NAME.")
        return cls(name=name, program=program, totp=totp)

    @property
    def variable(self) -> str:
        """The environment variable that holds it, unless it has another source."""
        return VARIABLE + re.sub(r"\W", "_", self.name).upper()

    @property
    def block(self) -> str:
        """The Prefect Secret block that holds it, unless it has another source."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


async def resolved(
    specs: Iterable[SecretSpec],
    *,
    given: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    blocks: bool = True,
) -> dict[str, Secret]:
    """Return secrets with their values, by name; those that are only ``given`` have no binding of their own.

    Raises `InvalidUsage` for one that is nowhere, with the places where it was looked for. Without ``blocks`` there is
    no Prefect to be asked.
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
    looked: list[str] = []
    if kind in ("", "env"):
        variable = place or spec.variable
        if value := environ.get(variable, ""):
            if value != value.encode(errors="replace").decode():
                raise InvalidUsage(f"The environment variable {variable} does not hold valid UTF-8 text.")
            return value
        looked.append(f"the environment variable {variable} is not set")
    if kind in ("", "block"):
        name = place or spec.block
        value = await awaited(lambda: _in_block(name)) if blocks else ""
        if value:
            return value
        looked.append(
            f"there is no Prefect Secret block {name!r}" if blocks else f"no Prefect server is set up to hold {name!r}"
        )
    raise InvalidUsage(f"The secret {spec.name!r} has no value: {', and '.join(looked)}.")


async def _in_block(name: str) -> str:
    import httpx
    from prefect.blocks.system import Secret as SecretBlock
    from prefect.exceptions import PrefectException

    try:
        block = cast("Any", await SecretBlock.aload(name))
    except ValueError:
        return ""
    except (httpx.HTTPError, PrefectException, RuntimeError) as error:
        why = first_line(error)
        kind = Unavailable if is_away(error) else InvalidUsage
        raise kind(f"Prefect's server does not tell the Secret block {name!r} ({why}).") from None
    return str(block.get())
