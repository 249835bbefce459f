"""Base class for settings from a TOML file or a Prefect block, with one form of error message."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.shortened import shortened


class SettingsModel(BaseModel):
    """Base class of settings models. ``called`` is the name of the settings in error messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    called: ClassVar[str] = "settings"

    @classmethod
    def read(cls, values: Any) -> Self:
        """Validate plain values, as read from TOML, YAML or JSON.

        Raises `InvalidUsage` that names the first problem.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = problems_of(error)[0]
            place, what = shortened(first.place or cls.called), shortened(first.what)
            raise InvalidUsage(f"The {cls.called} cannot be used: {place}: {what}.") from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the settings from a TOML file. Raises `InvalidUsage` if the file cannot be read or is not valid."""
        try:
            return cls.read(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else shortened(str(error))
            raise InvalidUsage(f"The {cls.called} in {path} cannot be read ({reason}).") from None
