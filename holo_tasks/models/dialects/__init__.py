"""Dialects: the form of conversations with a family of models (`core.prompts.model.Dialect`)."""

from __future__ import annotations

from collections.abc import Callable

from holo_tasks.core.prompts.model import Dialect
from holo_tasks.models.dialects.holotron import Holotron
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.dialects.tools import Tools
from holo_tasks.models.profile import Profile

DIALECTS: dict[str, Callable[[Profile], Dialect]] = {"structured": Structured, "tools": Tools, "holotron": Holotron}


def dialect_for(profile: Profile, wanted: str = "auto") -> Dialect:
    """Return the dialect of a model. Raises `InvalidUsage` if the model does not support ``wanted``."""
    return DIALECTS[profile.pick_dialect(wanted)](profile)
