"""Prefect cache policy for decisions: the same situation gets the same decision without a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prefect.cache_policies import CachePolicy


@dataclass
class SameDecision(CachePolicy):
    """Cache policy with the ``situation`` as the key: a digest of everything that a decision depends on.

    See `Walk.situation`. Prefect's own policies do not fit. Some have the run's id in their keys, so a re-run finds
    nothing. Others have only the arguments, so another task with the same arguments gets this result.
    """

    def compute_key(
        self, task_ctx: Any, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str | None:
        return f"holo-decision-{inputs['situation']}"


SAME_DECISION = SameDecision()
