"""An OpenTelemetry collector on the loopback interface. It parses OTLP/HTTP with OpenTelemetry's own schema."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """The received requests, parsed and as raw bytes."""

    base_url: str = ""
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: threading.Event = field(default_factory=threading.Event)
    """While this event is cleared, the collector accepts requests and does not answer."""

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, Any]:
        return told(self.traces[-1].resource_spans[0].resource.attributes)

    def named(self, name: str) -> list[Span]:
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)

    def inside(self, outer: Span) -> list[Span]:
        return [span for span in self.spans if span.parent_span_id == outer.span_id]

    def points(self, name: str) -> dict[tuple[tuple[str, str], ...], Any]:
        """Return the newest data points of a metric, by their attributes."""
        found: dict[tuple[tuple[str, str], ...], Any] = {}
        for request in self.metrics:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        if metric.name == name:
                            for point in metric.sum.data_points or metric.histogram.data_points:
                                found[tuple(sorted(told(point.attributes).items()))] = point
        return found

    def count(self, name: str, **attributes: str) -> float:
        """Return the sum of a counter over all points with these attributes."""
        wanted = set(attributes.items())
        points = self.points(name).items()
        return float(sum(point.as_int + point.as_double for key, point in points if wanted <= set(key)))

    @property
    def metric_names(self) -> set[str]:
        return {
            metric.name
            for request in self.metrics
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def told(attributes: Any) -> dict[str, Any]:
    """Return OTLP attributes as a dict of plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Serve a collector on a free port."""
    collector = Collector()
    collector.answers.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.raw.append(body)
            collector.headers.append(dict(self.headers))
            if self.path == "/v1/traces":
                collector.traces.append(ExportTraceServiceRequest.FromString(body))
            elif self.path == "/v1/metrics":
                collector.metrics.append(ExportMetricsServiceRequest.FromString(body))
            collector.answers.wait()
            self.send_response(200 if self.path in ("/v1/traces", "/v1/metrics") else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.base_url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, name="collector", daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            collector.answers.set()
            server.shutdown()
            thread.join()
