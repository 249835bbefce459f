"""The decision cache, as a Prefect cache policy: the same situation gets the same decision without a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prefect.cache_policies import CachePolicy


@dataclass
class SameDecision(CachePolicy):
    """Keys a task by its ``situation`` alone: a digest of everything the decision rests on (`Walk.situation`).

    Prefect's own policies will not do: their keys hold the run's id, so that a re-run finds nothing, or the
    arguments, so that another task with the same ones is given this one's result.
    """

    def compute_key(
        self, task_ctx: Any, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str | None:
        return f"holo-decision-{inputs['situation']}"


SAME_DECISION = SameDecision()
