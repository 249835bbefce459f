"""What metrics there are, by name, and every value that an attribute can have: none of them comes from a screen, a goal
or a person.

Nothing of OpenTelemetry is needed to know them. The dashboard in `deployments/` and the page of the documentation are
held to these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from holo_tasks.core import actions, events

OTHER = "other"
"""What stands for any value that is not on the list of an attribute."""

Door: TypeAlias = Literal["settle", "wait", "capture", "redact", "encode", "record", "predict", "act", "verify"]
DOORS: Final = get_args(Door)
STATUSES: Final = get_args(events.Status)
LAYERS: Final = ("model", "playbook", "script", "api", "person")
TOOLS: Final = tuple(get_args(call.model_fields["tool_name"].annotation)[0] for call in get_args(actions.AnyCall))
OUTCOMES: Final = (*get_args(events.Judged.model_fields["outcome"].annotation), "not_done", "failed", "none")
"""What came of a step: the verdict; that the screen was another by then, so that nothing was done; that it failed; or
nothing, as with an answer."""
LIMITS: Final = (
    *("max_cost_usd", "max_actions", "max_steps", "timeout_seconds", "max_calls_per_5_minutes", "deadline"),
)


@dataclass(frozen=True)
class Metric:
    """One metric: its name and unit as OpenTelemetry writes them, and the values that its attributes can have."""

    name: str
    unit: str
    what: str
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prometheus(self) -> str:
        """Its name where Prometheus keeps it: with the unit, if that is one, and with what kind of a metric it is."""
        name = self.name.replace(".", "_")
        return f"{name}_seconds_bucket" if self.unit == "s" else f"{name}_total"


RUNS = Metric("holo.runs", "{run}", "Runs that have ended.", {"status": STATUSES})
SUBGOALS = Metric("holo.subgoals", "{subgoal}", "Sub-goals that have ended.", {"status": STATUSES, "layer": LAYERS})
STEPS = Metric("holo.steps", "{step}", "Steps that were decided on.", {"outcome": OUTCOMES, "tool": TOOLS})
CALLS = Metric(
    "holo.model.calls",
    "{call}",
    "Requests to a model.",
    {"purpose": get_args(events.Purpose), "outcome": ("replied", "failed", "failed_for_now")},
)
TOKENS = Metric(
    "holo.model.tokens", "{token}", "Tokens on models' bills.", {"type": ("prompt", "cached", "completion")}
)
COST = Metric("holo.cost.usd", "{USD}", "Money that models' bills come to, in USD.")
REFUSALS = Metric("holo.refusals", "{refusal}", "Actions that the policy refused.")
LIMITS_HIT = Metric("holo.limits", "{limit}", "Limits that were reached.", {"limit": LIMITS})
ITEMS = Metric(
    "holo.items",
    "{item}",
    "Business items that have ended.",
    {"outcome": (*STATUSES, "skipped"), "layer": LAYERS},
)
HANDOFFS = Metric("holo.handoffs", "{handoff}", "Questions to a person.")
SECONDS = Metric("holo.door.duration", "s", "Seconds that a picture or a decision took at a door.", {"door": DOORS})
METRICS: Final = (*(RUNS, SUBGOALS, STEPS, CALLS, TOKENS, COST, REFUSALS, LIMITS_HIT, ITEMS, HANDOFFS, SECONDS),)
EDGES_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Where the classes of durations end: a picture is encoded in milliseconds, and a model may think for a minute."""


def listed(value: str, values: tuple[str, ...]) -> str:
    """Return a value if it is on the list, else what stands for any other one."""
    return value if value in values else OTHER


def layers(told: str) -> str:
    """Return the layer that came to a result, the last of several; empty for none."""
    last = told.rpartition(" + ")[2]
    return listed(last, LAYERS) if last else ""
