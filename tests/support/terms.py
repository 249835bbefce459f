"""The terms that a profile of the product has to keep, for the contract's rule books."""

from __future__ import annotations

from holo_tasks.contract.rulebook import Dialect, Terms
from holo_tasks.models.profile import Profile


def terms_of(profile: Profile, dialect: Dialect | None = None, key: str | None = None) -> Terms:
    """Return the terms of a model's server."""
    return Terms(
        dialect=dialect or profile.dialects[0],
        transport=profile.schema_transport,
        temperature=profile.temperature,
        images=profile.image_budget,
        tool_choice=profile.tool_choice,
        preserve_thinking=profile.preserve_thinking,
        context_tokens=profile.context_tokens,
        max_output_tokens=profile.max_output_tokens,
        key=key,
    )
