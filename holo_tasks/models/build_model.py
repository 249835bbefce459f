"""Build a `core.prompts.model.Model` from an endpoint and a profile."""

from __future__ import annotations

from holo_tasks.core.prompts.model import Model
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.dialects import dialect_for
from holo_tasks.models.profile import Profile
from holo_tasks.models.questions import Questions


def model_at(endpoint: ModelEndpoint, profile: Profile, dialect: str = "auto") -> Model:
    """Return the model of a profile at an endpoint. Raises `InvalidUsage` for an unsupported dialect."""
    return Model(
        name=profile.name,
        client=endpoint,
        dialect=dialect_for(profile, dialect),
        question=Questions(profile),
        price=profile.price.price() if profile.price else None,
        context_tokens=profile.context_tokens,
        image_budget=profile.image_budget,
        call_timeout_s=profile.call_timeout_s,
        space=profile.coordinates,
    )
