"""List the exported metrics, and every value that their attributes can have.

No value comes from a screen, a goal or a person. The module does not import OpenTelemetry. Tests check that the Grafana
dashboard in `deployments/` and the documentation page use exactly these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from holo_tasks.core import events
from holo_tasks.core.prompts import tool_calls

OTHER = "other"
"""Recorded in place of a value that is not in an attribute's list."""

Door: TypeAlias = Literal["settle", "wait", "capture", "redact", "encode", "record", "predict", "act", "verify"]
DOORS: Final = get_args(Door)
STATUSES: Final = get_args(events.Status)
LAYERS: Final = ("model", "playbook", "script", "api", "person")
TOOLS: Final = tuple(get_args(call.model_fields["tool_name"].annotation)[0] for call in get_args(tool_calls.AnyCall))
OUTCOMES: Final = (*get_args(events.Judged.model_fields["outcome"].annotation), "not_done", "failed", "none")
"""Outcomes of a step: the verdict; ``not_done`` if the screen had changed before the action; ``failed``; or ``none`` if
no action was taken, as for an answer."""
LIMITS: Final = (
    *("max_cost_usd", "max_actions", "max_steps", "timeout_seconds", "max_calls_per_5_minutes", "deadline"),
)


@dataclass(frozen=True)
class Metric:
    """A metric: its name, unit and description in OpenTelemetry's notation, and the allowed values of its
    attributes."""

    name: str
    unit: str
    description: str
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prometheus(self) -> str:
        """The metric's name in Prometheus, with the unit and type suffixes that the exporter appends."""
        name = self.name.replace(".", "_")
        return f"{name}_seconds_bucket" if self.unit == "s" else f"{name}_total"


RUNS = Metric("holo.runs", "{run}", "Runs that have ended.", {"status": STATUSES})
SUBGOALS = Metric("holo.subgoals", "{subgoal}", "Sub-goals that have ended.", {"status": STATUSES, "layer": LAYERS})
STEPS = Metric("holo.steps", "{step}", "Steps with a decision.", {"outcome": OUTCOMES, "tool": TOOLS})
CALLS = Metric(
    "holo.model.calls",
    "{call}",
    "Requests to a model.",
    {"purpose": get_args(events.Purpose), "outcome": ("replied", "failed", "failed_for_now")},
)
TOKENS = Metric(
    "holo.model.tokens", "{token}", "Tokens billed by models.", {"type": ("prompt", "cached", "completion")}
)
COST = Metric("holo.cost.usd", "{USD}", "Cost of model calls, in USD.")
REFUSALS = Metric("holo.refusals", "{refusal}", "Actions that the policy refused.")
LIMITS_HIT = Metric("holo.limits", "{limit}", "Limits that were reached.", {"limit": LIMITS})
ITEMS = Metric(
    "holo.items",
    "{item}",
    "Business items that have ended.",
    {"outcome": (*STATUSES, "skipped"), "layer": LAYERS},
)
HANDOFFS = Metric("holo.handoffs", "{handoff}", "Questions to a person.")
SECONDS = Metric("holo.door.duration", "s", "Duration of a processing stage, in seconds.", {"door": DOORS})
METRICS: Final = (*(RUNS, SUBGOALS, STEPS, CALLS, TOKENS, COST, REFUSALS, LIMITS_HIT, ITEMS, HANDOFFS, SECONDS),)
BUCKET_EDGES_S: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
)
"""Upper bounds of the histogram's buckets in seconds: encoding takes milliseconds, a model call up to a minute."""


def listed_or_other(value: str, values: tuple[str, ...]) -> str:
    """Return ``value`` if it is in ``values``, else ``other``."""
    return value if value in values else OTHER


def last_layer(layer_names: str) -> str:
    """Return the last layer in a text such as ``playbook + model``. Returns an empty string for an empty text."""
    last = layer_names.rpartition(" + ")[2]
    return listed_or_other(last, LAYERS) if last else ""
