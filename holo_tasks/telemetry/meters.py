"""Create the OpenTelemetry instruments of the metrics in `names`, and add measurements to them.

`RunSpans` is the only user of `Meters`.
"""

from __future__ import annotations

from opentelemetry.metrics import Meter

from holo_tasks.telemetry import names
from holo_tasks.telemetry.names import Metric, listed_or_other


class Meters:
    """The OpenTelemetry instruments: a counter for each metric and a histogram for durations. One instance per
    process."""

    def __init__(self, meter: Meter) -> None:
        self._counters = {
            metric.name: meter.create_counter(metric.name, unit=metric.unit, description=metric.description)
            for metric in names.METRICS
            if metric is not names.SECONDS
        }
        self._seconds = meter.create_histogram(
            names.SECONDS.name,
            unit=names.SECONDS.unit,
            description=names.SECONDS.description,
            explicit_bucket_boundaries_advisory=names.BUCKET_EDGES_S,
        )

    def count(self, metric: Metric, amount: float = 1, **attributes: str) -> None:
        """Add ``amount`` to a counter.

        An attribute value that is not in the metric's list is recorded as ``other``. An empty value is left out.
        """
        known = {name: listed_or_other(value, metric.attributes[name]) for name, value in attributes.items() if value}
        self._counters[metric.name].add(amount, known)

    def record_duration(self, stage: names.Door, seconds: float) -> None:
        """Record how long a stage took, in seconds. A negative duration is recorded as 0."""
        self._seconds.record(max(seconds, 0.0), {"door": stage})
