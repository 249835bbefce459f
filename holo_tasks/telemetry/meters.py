"""Counts what a run does, in OpenTelemetry's own instruments."""

from __future__ import annotations

from opentelemetry.metrics import Meter

from holo_tasks.telemetry import names
from holo_tasks.telemetry.names import Metric, listed


class Meters:
    """The instruments of `names`, made once for each process."""

    def __init__(self, meter: Meter) -> None:
        self._counters = {
            metric.name: meter.create_counter(metric.name, unit=metric.unit, description=metric.what)
            for metric in names.METRICS
            if metric is not names.SECONDS
        }
        self._seconds = meter.create_histogram(
            names.SECONDS.name,
            unit=names.SECONDS.unit,
            description=names.SECONDS.what,
            explicit_bucket_boundaries_advisory=names.EDGES_S,
        )

    def count(self, metric: Metric, amount: float = 1, **attributes: str) -> None:
        """Count; an attribute has a value of its list, or is empty and left out."""
        told = {name: listed(value, metric.attributes[name]) for name, value in attributes.items() if value}
        self._counters[metric.name].add(amount, told)

    def passed(self, door: names.Door, seconds: float) -> None:
        """Note how long a door took."""
        self._seconds.record(max(seconds, 0.0), {"door": door})
