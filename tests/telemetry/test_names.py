"""Test that the dashboard, the documentation and the instruments use the same metric names and attribute values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from holo_tasks.core.prompts import tool_calls
from holo_tasks.run.hooks import LimitHit
from holo_tasks.telemetry import names
from holo_tasks.telemetry.meters import Meters
from holo_tasks.telemetry.names import METRICS, listed_or_other

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "deployments" / "grafana.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "how-to" / "telemetry.md").read_text(encoding="utf-8")
BY_PROMETHEUS = {metric.prometheus: metric for metric in METRICS}
OF_PROMETHEUS = {"job", "le"}
"""Labels of every metric (the service), and of histogram buckets (the upper bound)."""


def queries() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_the_dashboard_queries_exactly_the_exported_metrics() -> None:
    asked = {name for query in queries() for name in re.findall(r"holo_\w+", query)}
    assert asked == BY_PROMETHEUS.keys()
    job = DASHBOARD["templating"]["list"][1]["query"]["query"]
    assert re.fullmatch(r"label_values\((\w+), job\)", job)[1] in BY_PROMETHEUS  # type: ignore[index]


@pytest.mark.parametrize("query", queries())
def test_dashboard_queries_use_known_attributes_and_values(query: str) -> None:
    (name, *_) = re.findall(r"holo_\w+", query)
    known = BY_PROMETHEUS[name].attributes.keys() | OF_PROMETHEUS
    by = {label for words in re.findall(r"by \(([^)]*)\)", query) for label in words.split(", ")}
    assert by <= known
    for name, words in re.findall(r"(holo_\w+)\{([^}]*)\}", query):
        for label, value in re.findall(r'(\w+)=~?"([^"]*)"', words):
            assert label == "job" or value in BY_PROMETHEUS[name].attributes[label]


def test_dashboard_panels_do_not_overlap_and_have_unique_titles() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    cells = [
        (column, row)
        for at in (panel["gridPos"] for panel in panels)
        for column in range(at["x"], at["x"] + at["w"])
        for row in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(column < 24 for column, _ in cells)


def test_the_documentation_lists_each_metric_with_its_attributes() -> None:
    rows = dict(re.findall(r"^\| `(holo\.[\w.]+)` \| (.+) \|$", PAGE, re.MULTILINE))
    assert {name for name in rows if name in {metric.name for metric in METRICS}} == {metric.name for metric in METRICS}
    for metric in METRICS:
        assert set(re.findall(r"`(\w+)`", rows[metric.name].partition(" | ")[0])) == metric.attributes.keys(), (
            metric.name
        )


def test_the_documentation_lists_each_span() -> None:
    spans = set(re.findall(r"`holo\.(\w+)`", PAGE[: PAGE.index("## Metrics")]))
    assert {"run", "subgoal", "step", *names.DOORS} <= spans


def test_unlisted_attribute_values_are_exported_as_other() -> None:
    reader = InMemoryMetricReader()
    meters = Meters(MeterProvider([reader], shutdown_on_exit=False).get_meter("test"))
    meters.count(names.LIMITS_HIT, limit="of-someone's own")
    meters.count(names.ITEMS, outcome="answered", layer="")
    data = reader.get_metrics_data()
    assert data is not None
    found = {
        metric.name: [dict(point.attributes or {}) for point in metric.data.data_points]
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
    }
    assert found == {"holo.limits": [{"limit": "other"}], "holo.items": [{"outcome": "answered"}]}
    assert names.last_layer("api + Jane's script") == "other"
    assert listed_or_other("click", names.TOOLS) == "click"


def test_the_lists_match_the_library() -> None:
    assert {"click", "answer", "macro"} <= set(names.TOOLS)
    assert len(names.TOOLS) == len(tool_calls.AnyCall.__args__)  # type: ignore[attr-defined]
    assert LimitHit.__doc__
    told = {path: path.read_text(encoding="utf-8") for path in (ROOT / "holo_tasks").rglob("*.py")}
    limits = {limit for text in told.values() for limit in re.findall(r'\blimit="(\w+)"', text)}
    assert limits
    assert limits <= set(names.LIMITS)
