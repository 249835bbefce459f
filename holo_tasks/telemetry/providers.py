"""Create this process's own tracer and meter providers from the OTEL_* settings.

They are not registered as OpenTelemetry's global providers. Prefect exports run names through the global providers, and
names of Prefect task runs may contain text from the screen. Only whoever installs a global provider can choose to
export those.
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
from holo_tasks.telemetry.otel_settings import EXTRA, OTLP, OtelSettings

SERVICE, SCOPE = "prefect-holo", "holo_tasks"


class Providers(NamedTuple):
    """The tracer, the instruments, and a function that sends everything recorded up to now."""

    tracer: Tracer
    meters: Meters
    flush: Callable[[], None]


@cache
def providers(settings: OtelSettings) -> Providers:
    """Return this process's providers for the given settings. Repeated calls return the same ones.

    Raises `InvalidUsage` if an exporter is not installed or cannot be created.
    """
    resource = process_resource()
    tracer, flush_traces = _make_tracer(settings, resource)
    meter, flush_metrics = _make_meter(settings, resource)
    flushes = [flush for flush in (flush_traces, flush_metrics) if flush is not None]
    return Providers(tracer, Meters(meter), lambda: _flush_all(flushes))


def process_resource() -> Resource:
    """Return the resource attributes: service name, version, a random instance id, and OTEL_RESOURCE_ATTRIBUTES.

    OpenTelemetry's process and host detectors are not used: a command line contains goals, and a host name is private.
    """
    # The instance id is new for each process, so that a backend can separate the counts of two processes.
    own = Resource({"service.name": SERVICE, "service.version": __version__, "service.instance.id": str(uuid.uuid4())})
    sdk = Resource.get_empty().merge(own)
    return sdk.merge(OTELResourceDetector().detect())


def _make_tracer(settings: OtelSettings, resource: Resource) -> tuple[Tracer, Callable[[], None] | None]:
    if not settings.traces:
        return NoOpTracerProvider().get_tracer(SCOPE), None
    # Not shut down at exit, which can wait 30 s for an unreachable collector. Each run flushes at its end instead.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for name in settings.traces:
        provider.add_span_processor(
            BatchSpanProcessor(_make_exporter("opentelemetry_traces_exporter", name, settings.traces_at))
        )
    return provider.get_tracer(SCOPE, __version__), lambda: _discard(provider.force_flush())


def _make_meter(settings: OtelSettings, resource: Resource) -> tuple[Meter, Callable[[], None] | None]:
    if not settings.metrics:
        return NoOpMeterProvider().get_meter(SCOPE), None
    exporters = [
        _make_exporter("opentelemetry_metrics_exporter", name, settings.metrics_at) for name in settings.metrics
    ]
    readers = [each if isinstance(each, MetricReader) else PeriodicExportingMetricReader(each) for each in exporters]
    provider = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    return provider.get_meter(SCOPE, __version__), lambda: _discard(provider.force_flush())


def _make_exporter(group: str, name: str, url: str) -> Any:
    """Create an installed exporter by its entry point name. It reads its other settings from the environment.

    Raises `InvalidUsage` if the exporter is not installed or cannot be created.
    """
    found = next(iter(entry_points(group=group, name=name)), None)
    if found is None:
        raise InvalidUsage(
            f"The OpenTelemetry exporter {name!r} is not installed. '{EXTRA}' installs otlp (http/protobuf) and "
            "console."
        )
    options: dict[str, Any] = {"endpoint": url} if url and name == OTLP["http/protobuf"] else {}
    if name == "console":
        options = {"out": sys.stderr}  # stdout belongs to the command's own output
    try:
        return found.load()(**options)
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidUsage(f"The OpenTelemetry exporter {name!r} cannot be created ({error}).") from None


def _flush_all(flushes: list[Callable[[], None]]) -> None:
    """Flush spans and metrics in parallel and wait. The threads are daemons, so they never keep the process alive."""
    threads = [threading.Thread(target=flush, name=f"telemetry-{os.getpid()}", daemon=True) for flush in flushes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _discard(_flushed: object) -> None:
    return None
