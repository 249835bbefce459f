"""What the standard OTEL_* variables ask for: nothing, unless one of them names a collector."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import pinned_url

Signal: TypeAlias = Literal["TRACES", "METRICS"]
ENDPOINT, PROTOCOL, DISABLED = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SDK_DISABLED"
USUAL_ENDPOINT = "http://localhost:4318"
OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
"""What exporters of OTLP are installed as, by protocol."""
EXTRA = "prefect-holo[otel]"


@dataclass(frozen=True)
class Wanted:
    """The exporters of each signal, by the names that they are installed as, and where OTLP over HTTP goes."""

    traces: tuple[str, ...]
    metrics: tuple[str, ...]
    traces_at: str = ""
    metrics_at: str = ""

    def __bool__(self) -> bool:
        return bool(self.traces or self.metrics)


def wanted_by(environ: Mapping[str, str], *, local_only: bool) -> Wanted:
    """Return what the environment asks for: nothing, unless an endpoint or an exporter is named."""
    if environ.get(DISABLED, "").strip().lower() == "true":
        return Wanted((), ())
    asked: dict[Signal, tuple[str, ...]] = {
        "TRACES": _exporters(environ, "TRACES"),
        "METRICS": _exporters(environ, "METRICS"),
    }
    at = {signal: _at(environ, signal, named, local_only) for signal, named in asked.items()}
    return Wanted(asked["TRACES"], asked["METRICS"], at["TRACES"], at["METRICS"])


def _exporters(environ: Mapping[str, str], signal: Signal) -> tuple[str, ...]:
    said = environ.get(f"OTEL_{signal}_EXPORTER", "").strip()
    if not said and (environ.get(ENDPOINT) or environ.get(_of_signal(ENDPOINT, signal))):
        said = "otlp"
    names = [name.strip() for name in said.split(",")]
    protocol = (environ.get(_of_signal(PROTOCOL, signal)) or environ.get(PROTOCOL) or "http/protobuf").strip()
    return tuple(OTLP.get(protocol, protocol) if name == "otlp" else name for name in names if name not in ("", "none"))


def _at(environ: Mapping[str, str], signal: Signal, exporters: tuple[str, ...], local_only: bool) -> str:
    """Return the URL that a signal is sent to, by its address in local-only mode.

    Raises `InvalidUsage` if it is to go elsewhere then.
    """
    for name in exporters if local_only else ():
        if name not in ("console", OTLP["http/protobuf"]):
            raise InvalidUsage(
                f"Local-only mode is on, and nobody knows where the exporter {name!r} of OTEL_{signal}_EXPORTER sends "
                "to: use otlp with the protocol http/protobuf, or none."
            )
    if OTLP["http/protobuf"] not in exporters:
        return ""
    base = (environ.get(ENDPOINT) or USUAL_ENDPOINT).rstrip("/")
    url = environ.get(_of_signal(ENDPOINT, signal)) or f"{base}/v1/{signal.lower()}"
    return pinned_url(url, socket.getaddrinfo, "the collector of OpenTelemetry") if local_only else url


def _of_signal(variable: str, signal: Signal) -> str:
    return variable.replace("OTLP_", f"OTLP_{signal}_")
