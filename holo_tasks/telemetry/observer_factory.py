"""Pick a run's observer: one that exports if OTEL_* variables name a collector and the extra `otel` is installed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.telemetry.otel_settings import EXTRA, requested_by
from holo_tasks.telemetry.run_observer import NO_OBSERVER, RunObserver

logger = logging.getLogger("holo_tasks")
GRPC_PORT = 4317


def observer_for(environ: Mapping[str, str], *, local_only: bool) -> RunObserver:
    """Return the observer of a run. Without a configured collector that is `NO_OBSERVER`, and nothing is imported.

    Raises `InvalidUsage` in local-only mode if telemetry would go to another machine. Any other configuration error is
    logged once, and the run goes on without telemetry.
    """
    settings = requested_by(environ, local_only=local_only)
    if not settings:
        return NO_OBSERVER
    for address in {settings.traces_at, settings.metrics_at}:
        if urlsplit(address).port == GRPC_PORT:
            _warn(
                f"OTEL_* variables send telemetry by HTTP to port {GRPC_PORT}, where collectors expect gRPC. "
                "Use port 4318."
            )
    try:
        from holo_tasks.telemetry.providers import providers
        from holo_tasks.telemetry.run_spans import RunSpans

        return RunSpans(*providers(settings))
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        _warn(f"OTEL_* variables name a collector, but OpenTelemetry is not installed. Run: pip install '{EXTRA}'.")
    except InvalidUsage as error:
        _warn(f"No telemetry is sent: {error}")
    return NO_OBSERVER


@cache
def _warn(message: str) -> None:
    logger.warning("%s", message)
