"""Test that telemetry needs a configured collector, which must be on this machine in local-only mode."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.telemetry.observer_factory import observer_for
from holo_tasks.telemetry.otel_settings import OtelSettings, requested_by
from holo_tasks.telemetry.run_observer import NO_OBSERVER

HTTP, AT = "otlp_proto_http", "http://collector.example:4318"


@pytest.mark.parametrize(
    ("environ", "traces", "metrics"),
    [
        ({}, (), ()),
        ({"OTEL_SERVICE_NAME": "nightly"}, (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT}, (HTTP,), (HTTP,)),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_SDK_DISABLED": "True"}, (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_TRACES_EXPORTER": "none"}, (), (HTTP,)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{AT}/v1/traces"}, (HTTP,), ()),
        ({"OTEL_METRICS_EXPORTER": "otlp, console"}, (), (HTTP, "console")),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("otlp_proto_grpc",), ()),
    ],
)
def test_exporters_follow_the_standard_variables(
    environ: dict[str, str], traces: tuple[str, ...], metrics: tuple[str, ...]
) -> None:
    wanted = requested_by(environ, local_only=False)
    assert (wanted.traces, wanted.metrics) == (traces, metrics)
    assert bool(wanted) == bool(traces or metrics)


def test_a_signal_uses_its_own_endpoint_or_a_path_of_the_common_one() -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"{AT}/", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m.example/push"}
    assert requested_by(environ, local_only=False) == OtelSettings(
        (HTTP,), (HTTP,), f"{AT}/v1/traces", "http://m.example/push"
    )


def test_local_only_mode_sends_to_loopback_addresses_only() -> None:
    here = requested_by({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, local_only=True)
    assert here.traces_at in ("http://127.0.0.1:4318/v1/traces", "http://[::1]:4318/v1/traces")
    for environ in (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://192.0.2.1:4318"},
        {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://192.0.2.1:4318/v1/metrics"},
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ):
        with pytest.raises(InvalidUsage, match=r"[Ll]ocal-only"):
            observer_for(environ, local_only=True)


def test_a_missing_exporter_is_logged_and_the_run_continues(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "holo_tasks"):
        assert observer_for({"OTEL_TRACES_EXPORTER": "no-such-exporter"}, local_only=False) is NO_OBSERVER
    assert "exporter 'no-such-exporter' is not installed" in caplog.text


def test_http_to_the_port_of_grpc_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "holo_tasks"):
        observer_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317"}, local_only=False)
        observer_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, local_only=False)
    assert caplog.text.count("Use port 4318") == 1


LOADS = """
import json, logging, sys
if sys.argv[2] == "without":
    sys.modules["opentelemetry"] = None
logging.basicConfig(stream=sys.stderr, format="%(message)s")
from holo_tasks.telemetry.observer_factory import observer_for
watch = observer_for(json.loads(sys.argv[1]), local_only=False)
loaded = sorted(name for name, module in sys.modules.items() if name.startswith("opentelemetry") and module)
print(json.dumps([type(watch).__name__, loaded]))
"""


@pytest.mark.parametrize(
    ("environ", "extra", "who", "said"),
    [
        ({}, "with", "RunObserver", ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT}, "without", "RunObserver", "pip install 'prefect-holo[otel]'"),
    ],
)
def test_opentelemetry_is_not_imported_without_a_collector(
    environ: dict[str, str], extra: str, who: str, said: str
) -> None:
    command = [sys.executable, "-c", LOADS, json.dumps(environ), extra]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [who, []]
    assert said in ran.stderr
    assert bool(said) == bool(ran.stderr)
