"""Test telemetry with a real collector: spans of stages, steps, sub-goals and runs, metrics, and no private text."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prefect import flow

from holo_tasks import Hooks, LimitReached, Limits, pursue, step, subgoal
from holo_tasks.core.screen.activity import Activity
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.telemetry import names
from tests.support import scripted_model
from tests.support.agents import agent
from tests.support.collector import Collector, collecting, told
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

CANARY = "canary-7431"
CLICK = scripted_model.step("click", element=f"{CANARY} button", x=500, y=500)
DONE = scripted_model.step("answer", content=f"{CANARY} is done")

WAITED_NS = 20_000_000

pytestmark = pytest.mark.usefixtures("prefect")


class SlowProgram(PaintedDesktop):
    """A program that needs time to settle before each picture."""

    async def look(self, *, after_action: bool = False) -> Frame:
        await asyncio.sleep(3 * WAITED_NS / 1e9)
        frame = await super().look(after_action=after_action)
        return replace(frame, settle_ns=2 * WAITED_NS, activity=Activity(known=True, waited_ns=WAITED_NS))


@subgoal(key="{item}", title="Press {item}", effect=None, limits=Limits(max_actions=2))
async def press(item: str) -> str:
    return str(await pursue(f"Press the {CANARY} button."))


@step(key="{item}")
async def send(item: str) -> str:
    return "sent"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.base_url)
        # The periodic reader lives as long as the process, and this collector does not.
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "86400000")
        yield found


async def run(folder: Path, model: ScriptedModel, **options: Any) -> None:
    @flow(name=f"{CANARY} flow", persist_result=False)
    async def around() -> None:
        secrets = {"pin": Secret("pin", f"{CANARY}-pin")}
        async with agent(model, SlowProgram(), folder, secrets=secrets, **options) as opened:
            opened.title = f"{CANARY} run"
            await press(f"{CANARY}-1")
            await send(f"{CANARY}-2")
            await press(f"{CANARY}-3")

    await around()


async def test_every_action_has_spans_and_counts(tmp_path: Path, collector: Collector) -> None:
    taken: list[Any] = []
    hooks = Hooks(on_step=taken.append)
    with ScriptedModel([CLICK, DONE, CLICK, CLICK, CLICK]) as model, pytest.raises(LimitReached):
        await run(tmp_path, model, hooks=hooks)
    check_span_hierarchy(collector)
    check_counts(collector, steps=len(taken), calls=len(model.requests))


def check_span_hierarchy(collector: Collector) -> None:
    (whole,) = collector.named("holo.run")
    assert not whole.parent_span_id
    first, second = collector.named("holo.subgoal")
    assert {first.parent_span_id, second.parent_span_id} == {whole.span_id}
    clicked, answered = [span for span in collector.inside(first) if span.name == "holo.step"]
    assert told(clicked.attributes) == {
        "holo.step.number": 1,
        "holo.tool": "click",
        "holo.cached": False,
        "holo.outcome": "elsewhere",
    }
    services = Counter(span.name.removeprefix("holo.") for span in collector.inside(clicked))
    assert {"predict", "act", "verify", "record"} <= services.keys()
    (verify,) = [span for span in collector.inside(clicked) if span.name == "holo.verify"]
    seen = {span.name.removeprefix("holo.") for span in collector.inside(verify)}
    assert {"settle", "capture", "redact", "encode", "record"} <= seen
    assert services.keys() | seen == set(names.DOORS)
    (wait,) = [span for span in collector.inside(verify) if span.name == "holo.wait"]
    assert wait.end_time_unix_nano - wait.start_time_unix_nano == WAITED_NS
    assert "predict" in {span.name.removeprefix("holo.") for span in collector.inside(answered)}
    (act,) = [span for span in collector.inside(clicked) if span.name == "holo.act"]
    assert act.end_time_unix_nano <= min(span.start_time_unix_nano for span in [verify, *collector.inside(verify)])
    for span in collector.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano, span.name
        assert span.trace_id == whole.trace_id
    # The final status comes from a closed list.
    assert (told(first.attributes)["holo.status"], told(first.attributes)["holo.layer"]) == ("answered", "model")
    assert (told(second.attributes)["holo.status"], second.status.code) == ("limit", Status.STATUS_CODE_ERROR)
    assert not second.status.message
    assert whole.status.code == Status.STATUS_CODE_ERROR


def check_counts(collector: Collector, *, steps: int, calls: int) -> None:
    assert collector.count("holo.steps") == steps == 5
    assert collector.count("holo.steps", tool="click", outcome="elsewhere") >= 1
    assert collector.count("holo.model.calls", purpose="step", outcome="replied") == calls
    (whole,) = collector.named("holo.run")
    assert collector.count("holo.cost.usd") == pytest.approx(told(whole.attributes)["holo.cost.usd"])
    assert collector.count("holo.cost.usd") > 0
    assert collector.count("holo.items", outcome="answered", layer="model") == 1
    assert collector.count("holo.items", outcome="answered") == 2
    assert collector.count("holo.items", outcome="limit") == 1
    assert collector.count("holo.limits", limit="max_actions") == 1
    assert collector.count("holo.runs", status="limit") == 1
    services = {dict(key)["door"]: point for key, point in collector.points("holo.door.duration").items()}
    assert services.keys() == set(names.DOORS)
    assert services["predict"].count == calls
    assert all(
        point.sum >= 0 and list(point.explicit_bounds) == list(names.BUCKET_EDGES_S) for point in services.values()
    )
    assert collector.metric_names <= {metric.name for metric in names.METRICS}


async def test_telemetry_contains_no_private_text(tmp_path: Path, collector: Collector) -> None:
    """No goals, titles, keys, names, screen texts, model replies, values, paths, addresses or commands."""
    with ScriptedModel([CLICK, DONE, CLICK, "no step at all", CLICK, CLICK]) as model, pytest.raises(LimitReached):
        await run(tmp_path / CANARY, model)
    sent = b"".join(collector.raw)
    assert len(collector.spans) > 20
    assert CANARY.encode() not in sent
    assert model.base_url.encode() not in sent
    assert b"holo3" not in sent
    assert str(tmp_path).encode() not in sent
    assert b"pytest" not in sent
    assert set(collector.resource) == {"service.name", "service.version", "service.instance.id"}
    texts = {value for span in collector.spans for value in told(span.attributes).values() if isinstance(value, str)}
    flow_runs = {told(span.attributes).get("prefect.flow_run.id") for span in collector.spans}
    runs = {told(span.attributes).get("holo.run.id") for span in collector.spans}
    listed = {*names.STATUSES, *names.LAYERS, *names.TOOLS, *names.OUTCOMES, "step", "locate", "judge"}
    assert texts - flow_runs - runs <= listed


async def test_a_run_joins_prefects_trace(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefects, kept = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    prefects.add_span_processor(SimpleSpanProcessor(kept))
    # `opentelemetry-instrument` does this at process start, and it cannot be undone.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", prefects)
    with ScriptedModel([DONE, DONE]) as model:
        await run(tmp_path, model)
    flows = {
        span.name: span.context for span in kept.get_finished_spans() if span.attributes["prefect.run.type"] == "flow"
    }
    (whole,) = collector.named("holo.run")
    (around,) = [context for name, context in flows.items() if not name.startswith("Press")]
    assert int.from_bytes(whole.parent_span_id) == around.span_id
    assert int.from_bytes(whole.trace_id) == around.trace_id
    first, _ = collector.named("holo.subgoal")
    assert first.parent_span_id == whole.span_id
    (link,) = first.links
    assert int.from_bytes(link.span_id) == flows[f"Press {CANARY}-1"].span_id
    assert CANARY.encode() not in b"".join(collector.raw)


async def test_a_hanging_collector_does_not_delay_the_run(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "86400")
    collector.answers.clear()
    with ScriptedModel([DONE, DONE]) as model:
        await run(tmp_path, model)
    assert not collector.answers.is_set()


async def test_nothing_is_sent_without_a_configured_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector, ScriptedModel([DONE, DONE]) as model:
        await run(tmp_path, model)
        assert collector.raw == []
