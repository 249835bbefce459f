"""Read the standard OTEL_* environment variables. Nothing is exported unless one names an endpoint or an exporter."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import pinned_url

Signal: TypeAlias = Literal["TRACES", "METRICS"]
ENDPOINT, PROTOCOL, DISABLED = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SDK_DISABLED"
DEFAULT_ENDPOINT = "http://localhost:4318"
OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
"""Entry point name of the OTLP exporter for each protocol."""
EXTRA = "prefect-holo[otel]"


@dataclass(frozen=True)
class OtelSettings:
    """Entry point names of the exporters of each signal, and the URL of each signal for OTLP over HTTP.

    An instance is false if no exporter is configured.
    """

    traces: tuple[str, ...]
    metrics: tuple[str, ...]
    traces_at: str = ""
    metrics_at: str = ""

    def __bool__(self) -> bool:
        return bool(self.traces or self.metrics)


def requested_by(environ: Mapping[str, str], *, local_only: bool) -> OtelSettings:
    """Return the exporters that the environment asks for: none, unless it names an endpoint or an exporter.

    Raises `InvalidUsage` in local-only mode if an exporter would send to another machine.
    """
    if environ.get(DISABLED, "").strip().lower() == "true":
        return OtelSettings((), ())
    exporters: dict[Signal, tuple[str, ...]] = {
        "TRACES": _exporters(environ, "TRACES"),
        "METRICS": _exporters(environ, "METRICS"),
    }
    urls = {signal: _url(environ, signal, named, local_only) for signal, named in exporters.items()}
    return OtelSettings(exporters["TRACES"], exporters["METRICS"], urls["TRACES"], urls["METRICS"])


def _exporters(environ: Mapping[str, str], signal: Signal) -> tuple[str, ...]:
    value = environ.get(f"OTEL_{signal}_EXPORTER", "").strip()
    if not value and (environ.get(ENDPOINT) or environ.get(_of_signal(ENDPOINT, signal))):
        value = "otlp"
    names = [name.strip() for name in value.split(",")]
    protocol = (environ.get(_of_signal(PROTOCOL, signal)) or environ.get(PROTOCOL) or "http/protobuf").strip()
    return tuple(OTLP.get(protocol, protocol) if name == "otlp" else name for name in names if name not in ("", "none"))


def _url(environ: Mapping[str, str], signal: Signal, exporters: tuple[str, ...], local_only: bool) -> str:
    """Return the URL that a signal is sent to. In local-only mode the host is replaced by its checked IP address.

    Returns an empty string if OTLP over HTTP is not among the exporters. Raises `InvalidUsage` in local-only mode if
    the host is another machine, or if an exporter's destination cannot be checked.
    """
    for name in exporters if local_only else ():
        if name not in ("console", OTLP["http/protobuf"]):
            raise InvalidUsage(
                f"Local-only mode is on, and the destination of exporter {name!r} in OTEL_{signal}_EXPORTER cannot be "
                "checked. Use otlp with the protocol http/protobuf, or none."
            )
    if OTLP["http/protobuf"] not in exporters:
        return ""
    base = (environ.get(ENDPOINT) or DEFAULT_ENDPOINT).rstrip("/")
    url = environ.get(_of_signal(ENDPOINT, signal)) or f"{base}/v1/{signal.lower()}"
    return pinned_url(url, socket.getaddrinfo, "the collector of OpenTelemetry") if local_only else url


def _of_signal(variable: str, signal: Signal) -> str:
    return variable.replace("OTLP_", f"OTLP_{signal}_")
