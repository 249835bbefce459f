"""The process's own providers of spans and metrics, as the OTEL_* variables ask for them.

They are not made OpenTelemetry's global ones. Through those Prefect tells the names of its runs, and those of steps are
what stands on the screen; whoever sets a global provider decides on that.
"""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from opentelemetry.metrics import Meter, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NoOpTracerProvider, Tracer

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.version import __version__
from holo_tasks.telemetry.meters import Meters
from holo_tasks.telemetry.wanted import EXTRA, OTLP, Wanted

SERVICE, SCOPE = "prefect-holo", "holo_tasks"


class Providers(NamedTuple):
    """Where spans begin, what counts, and what sends all that has gathered by now."""

    tracer: Tracer
    meters: Meters
    flush: Callable[[], None]


@cache
def providers(wanted: Wanted) -> Providers:
    """Return the providers of this process for what is wanted, the same ones each time.

    Raises `InvalidUsage` for an exporter that is not installed, or that cannot be made.
    """
    resource = resource_of_process()
    tracer, tracing = _tracing(wanted, resource)
    meter, metering = _metering(wanted, resource)
    sending = [flush for flush in (tracing, metering) if flush is not None]
    return Providers(tracer, Meters(meter), lambda: _at_once(sending))


def resource_of_process() -> Resource:
    """Return what is told of this process: its service, a random id, and what OTEL_RESOURCE_ATTRIBUTES say.

    What OpenTelemetry could find out besides is left out: a command line holds goals, a host has a name.
    """
    # The counts of two processes are told apart by the id, which is new each time.
    own = Resource({"service.name": SERVICE, "service.version": __version__, "service.instance.id": str(uuid.uuid4())})
    sdk = Resource.get_empty().merge(own)
    return sdk.merge(OTELResourceDetector().detect())


def _tracing(wanted: Wanted, resource: Resource) -> tuple[Tracer, Callable[[], None] | None]:
    if not wanted.traces:
        return NoOpTracerProvider().get_tracer(SCOPE), None
    # Not shut down at exit, which may wait half a minute for a collector that is away: each run flushes at its end.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for name in wanted.traces:
        provider.add_span_processor(BatchSpanProcessor(_made("opentelemetry_traces_exporter", name, wanted.traces_at)))
    return provider.get_tracer(SCOPE, __version__), lambda: _ignoring(provider.force_flush())


def _metering(wanted: Wanted, resource: Resource) -> tuple[Meter, Callable[[], None] | None]:
    if not wanted.metrics:
        return NoOpMeterProvider().get_meter(SCOPE), None
    made = [_made("opentelemetry_metrics_exporter", name, wanted.metrics_at) for name in wanted.metrics]
    readers = [each if isinstance(each, MetricReader) else PeriodicExportingMetricReader(each) for each in made]
    provider = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    return provider.get_meter(SCOPE, __version__), lambda: _ignoring(provider.force_flush())


def _made(group: str, name: str, at: str) -> Any:
    """Make an exporter that is installed under a name; it reads its settings from the environment."""
    found = next(iter(entry_points(group=group, name=name)), None)
    if found is None:
        raise InvalidUsage(
            f"There is no exporter {name!r} of OpenTelemetry here: with '{EXTRA}' there are otlp, by "
            "http/protobuf, and console."
        )
    given: dict[str, Any] = {"endpoint": at} if at and name == OTLP["http/protobuf"] else {}
    if name == "console":
        given = {"out": sys.stderr}  # a command's own output is for whoever called it
    try:
        return found.load()(**given)
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidUsage(f"The exporter {name!r} cannot be made ({error}).") from None


def _at_once(sending: list[Callable[[], None]]) -> None:
    """Send spans and metrics side by side, in threads that keep no process from ending."""
    threads = [threading.Thread(target=flush, name=f"telemetry-{os.getpid()}", daemon=True) for flush in sending]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ignoring(_sent: object) -> None:
    return None
