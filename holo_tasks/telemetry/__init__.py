"""Export spans and metrics of runs with OpenTelemetry, if the OTEL_* variables name a collector.

`observer_factory` picks the observer of a run, `run_spans` turns recorded events into spans and counts, and `names`
lists every metric with the values that its attributes can have. OpenTelemetry itself is imported only when a collector
is configured.

May import `core`, `machine` and `loop`.
"""
