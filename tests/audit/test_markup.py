"""Test that no text of a trace becomes markup, in any field: a trace may come from elsewhere or be rewritten."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from holo_tasks.audit import LocalTrace, open_trace
from holo_tasks.audit.csv_export import write_runs, write_steps
from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.many_runs import read_traces
from holo_tasks.audit.pages.index import row_of, write_index
from holo_tasks.audit.pages.report import write_report
from holo_tasks.audit.pages.timeline import subgoal_markdown
from holo_tasks.core import events as e
from holo_tasks.handoff.page import form_text, page
from holo_tasks.safety.records.handoffs import Handoff
from tests.support.pages import tags

EVENTS: list[type[e.Event]] = list(get_args(get_args(e.AnyEvent)[0]))
BEFORE = (e.RunOpened, e.SubgoalOpened)
MARKUP = (
    "=1+1\"'`><meta http-equiv=refresh content=0;url=//evil.example/{0}><h1 onclick=alert(1)>"
    "*VALID*[{0}](//evil.example)"
)
MARKED = re.compile(r"<(meta http-equiv=refresh|h1 onclick)", re.IGNORECASE)


def text(name: str) -> str:
    return MARKUP.format(name)


def filled(kind: Any, name: str, yes: bool) -> Any:
    """Return a value of a type with markup in each of its texts. ``yes`` decides optional and boolean values."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        return kind(**{field: filled(info.annotation, f"{name}.{field}", yes) for field, info in fields})
    if kind is str:
        return text(name)
    if kind in (int, bool):
        return yes if kind is bool else 1
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        number = 4 if inner == (int,) else 1
        return [filled(inner[0], name, yes)] * number
    if origin is dict:
        texts = {text(f"{name} key"): text(name)}
        return texts if inner[1] is str else texts | {"list": [text(f"{name} inside")]}
    if inner and not isinstance(inner[0], str):  # such as `str | None`
        return filled(inner[0], name, yes)
    return inner[0]


def every_event(yes: bool = True) -> Iterator[e.Event]:
    """Yield one event of each kind, opening events first and closing events last."""
    last = (e.SubgoalClosed, e.RunClosed)
    for kind in (*BEFORE, *(kind for kind in EVENTS if kind not in (*BEFORE, *last)), *last):
        made = filled(kind, kind.__name__, yes)
        run_wide = kind in (e.RunOpened, e.RunClosed)
        yield made.model_copy(update={"subgoal": 0} if run_wide else {"step": 0} if kind in (*BEFORE, *last) else {})
        if not run_wide:  # events outside of a step, and of the run
            yield made.model_copy(update={"step": 0})
            yield made.model_copy(update={"subgoal": 0, "step": 0})


@pytest.fixture(params=[True, False])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A trace with markup in every field, in a folder with markup in its name."""
    trace = LocalTrace.open(tmp_path / "runs", "run-1", SigningKey.new())
    for event in every_event(request.param):
        trace.append([("2026-01-01T00:00:00Z", event)])
    trace.close()
    hostile = trace.folder.with_name("<meta http-equiv=refresh content=0>")
    return trace.folder.rename(hostile)


def test_every_event_of_the_schema_is_covered() -> None:
    tried = {type(event) for event in every_event()}
    assert tried == set(EVENTS)
    assert len(EVENTS) > 20
    for event in every_event():
        for name, value in event.model_dump().items():
            if isinstance(value, str) and name not in ("kind", "purpose", "status", "outcome"):
                assert "<meta" in value, (event, name)


def test_report_and_index_contain_no_markup_of_the_trace(folder: Path, tmp_path: Path) -> None:
    report = write_report(folder, tmp_path / "report.html").read_text()
    runs = list(read_traces(str(folder.parent)))
    index = write_index([row_of(run, report=text("report")) for run in runs], tmp_path / "i.html", where=text("where"))
    for shown in (report, index.read_text()):
        assert not MARKED.search(shown), MARKED.search(shown)
        assert shown.count("evil.example") > 1, "otherwise the text was not shown at all"
        known = [attributes.get("http-equiv") for tag, attributes in tags(shown) if tag == "meta"]
        assert known.count("Content-Security-Policy") == 1
        assert "refresh" not in {(name or "").lower() for name in known}
        assert not [1 for _, attributes in tags(shown) for name in attributes if name.startswith("on")]


@pytest.mark.parametrize("subgoal", [0, 1])
def test_a_timeline_contains_no_markup_of_the_trace(folder: Path, subgoal: int) -> None:
    trace = open_trace(folder)
    records = trace.records() if subgoal else (record for record in trace.records() if not record.event.step)
    shown = without_code(subgoal_markdown(records, 1, trace.frame, trace_uri=text("uri")))
    assert not MARKED.search(shown), MARKED.search(shown)
    assert not re.search(r"(?<!\\)\](?<!\\)\(//evil", shown)
    assert "evil" in shown


def test_a_hand_off_page_contains_no_markup_of_the_question(tmp_path: Path) -> None:
    plain = Handoff(**{field.name: None for field in fields(Handoff)})  # type: ignore[arg-type]
    texts = {field.name: text(field.name) for field in fields(Handoff) if field.type == "str"}
    waiting = replace(plain, **texts, choices=(text("choice"),), suspended=False, lost=False)
    assert {"question", "id", "live", "expires_at"} <= set(texts)
    for shown in (page(waiting, None, title=text("title")), form_text(waiting, None)):
        shown = without_code(shown)
        assert not MARKED.search(shown), MARKED.search(shown)
        assert not re.search(r"(?<!\\)\](?<!\\)\(//evil", shown)


def test_an_export_contains_no_formula_of_the_trace(folder: Path) -> None:
    for write in (write_runs, write_steps):
        out = io.StringIO()
        write(read_traces(str(folder.parent)), out)
        head, *rows = csv.reader(io.StringIO(out.getvalue()))
        assert rows
        for row in rows:
            assert len(row) == len(head)
            assert not [cell for cell in row if cell.startswith(("=", "+", "@"))]


def without_code(markdown: str) -> str:
    """Return Markdown without its code spans."""
    return re.sub(r"`[^`]*`", "", re.sub(r"\\`", "", markdown))
