"""How a conversation is written down for a family of models, and how its reply is read: `core.model.Dialect`."""

from __future__ import annotations

from collections.abc import Callable

from holo_tasks.core.model import Dialect
from holo_tasks.models.dialects.holotron import Holotron
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.dialects.tools import Tools
from holo_tasks.models.profile import Profile

DIALECTS: dict[str, Callable[[Profile], Dialect]] = {"structured": Structured, "tools": Tools, "holotron": Holotron}


def dialect_for(profile: Profile, wanted: str = "auto") -> Dialect:
    """Return the dialect to speak to a model."""
    return DIALECTS[profile.pick_dialect(wanted)](profile)
