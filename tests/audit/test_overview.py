"""Test the overview of many runs: its page, its numbers, and the rows of its export."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holo_tasks.audit.csv_export import cell, write_runs, write_steps
from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.many_runs import ReadTrace, failure_kind, read_traces
from holo_tasks.audit.pages.formatting import clock
from holo_tasks.audit.pages.index import Row, as_json, row_of, write_index
from holo_tasks.audit.pages.report import write_report
from holo_tasks.audit.pages.run_view import StoryBuilder, build_story, seconds_between
from holo_tasks.audit.pages.timeline import subgoal_markdown
from holo_tasks.audit.reader import open_trace
from holo_tasks.cli.commands import EMPTY, carry_out
from holo_tasks.cli.index import export, index
from holo_tasks.core import events as e
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import SUSPENDED
from tests.support import warm
from tests.support.pages import HOSTILE, tags


@pytest.fixture(scope="module")
def runs(loader: Callable[[Path], ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four intact runs, including an interrupted one, and four damaged traces."""
    root = tmp_path_factory.mktemp("runs")
    synthetic = loader(Path(__file__).with_name("synthetic.py"))
    synthetic.tell_run(root / "a", "plain", goals=1, steps=3)
    synthetic.tell_run(root / "a" / "deeper", "hostile", goals=1, steps=3, hostile=HOSTILE)
    synthetic.tell_run(root / "b", "formula", goals=1, steps=2, hostile="\n=cmd|' /C calc'!A0")
    synthetic.tell_run(root / "b", "interrupted", goals=1, steps=2, close=False)
    for name, contents in (("empty", b""), ("garbage", b"\x00\n"), ("torn", b'{"seq":0'), ("changed", None)):
        folder = root / "bad" / name
        folder.mkdir(parents=True)
        if contents is None:
            contents = (root / "a" / "plain" / "events.jsonl").read_bytes().replace(b"empty. I", b"emptY. I", 1)
        (folder / "events.jsonl").write_bytes(contents)
    (root / "loop").symlink_to(root)
    return root


def said(lines: list[str]) -> Callable[[str, int], int]:
    def put(line: str, code: int) -> int:
        lines.append(line)
        return code

    return put


def record(event: e.AnyEvent) -> e.Record:
    at = "2026-11-22T10:00:00.000000Z"
    return e.Record(seq=0, at=at, run="r", previous=e.FIRST, event=event, signature="")


def test_damaged_traces_are_listed_but_not_counted(runs: Path) -> None:
    told = as_json([row_of(run) for run in read_traces(str(runs))])
    assert (told["runs"], told["damaged"], told["success_rate"]) == (8, 4, 0.75)
    rows: Any = told["rows"]
    assert {Path(row["trace"]).name: row["status"] for row in rows} == {
        "plain": "answered",
        "hostile": "answered",
        "formula": "answered",
        "interrupted": "interrupted",
        **dict.fromkeys(("empty", "garbage", "torn", "changed"), "damaged"),
    }
    assert told.keys() == EMPTY["index"].keys()
    assert told["cost_micro_usd"] == sum(row["cost_micro_usd"] for row in rows if row["status"] != "damaged") > 0
    (changed,) = [row for row in rows if row["trace"].endswith("changed")]
    assert "was changed after it was written" in changed["damage"]
    alive = row_of(
        next(run for run in read_traces(str(runs)) if run.run_id == "interrupted"), alive=frozenset({"interrupted"})
    )
    assert alive.status == "running"


def test_the_page_is_self_contained_and_escapes_text(runs: Path, tmp_path: Path) -> None:
    rows = [row_of(run) for run in read_traces(str(runs))]
    page = write_index(rows, tmp_path / "index.html", where=f"here{HOSTILE}").read_text()
    for tag, attributes in tags(page):
        for name in ("src", "href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "Content-Security-Policy" in page
    assert "4 traces damaged or unreadable" in page
    assert page.count("<tr data-status=") == 8


def test_reports_are_written_next_to_the_page_and_linked(runs: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    out = tmp_path / "all runs.html"
    assert index(str(runs / "b"), out, as_object=True, reports="inside", put=said(lines)) == 0
    for row in json.loads(lines[0])["rows"]:
        assert row["report"].startswith("all%20runs-reports/")
        assert f'href="{row["report"]}"' in out.read_text()
        assert row["title"][:10] in (tmp_path / row["report"].replace("%20", " ")).read_text()


def test_exported_rows_of_runs_and_steps_can_be_read_back(runs: Path) -> None:
    out, steps = io.StringIO(newline=""), io.StringIO(newline="")
    write_runs(read_traces(str(runs)), out)
    write_steps(read_traces(str(runs)), steps)
    assert out.getvalue().count("\r\n") == 9
    table = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    assert [row["status"] for row in table].count("damaged") == 4
    plain = [row for row in csv.DictReader(io.StringIO(steps.getvalue(), newline="")) if row["run_id"] == "plain"]
    assert [row["step"] for row in plain][:3] == ["1", "2", "3"]
    assert plain[0]["masks"] == "2 × e-mail, 1 × card"
    assert len(plain[0]["frame_before"]) == 64
    sound = next(row for row in table if row["run_id"] == "plain" and row["status"] == "answered")
    here = [row for row in plain if row["trace"] == sound["trace"]]
    assert sum(float(row["cost_usd"]) for row in here) == pytest.approx(float(sound["cost_usd"]))
    for row in [*table, *plain]:
        assert not any(value.startswith(("=", "+", "-", "@", "\t", "\r")) for value in row.values())


def test_a_row_has_the_wait_for_a_program_and_its_cause(loader: Callable[[Path], ModuleType], tmp_path: Path) -> None:
    steps = io.StringIO(newline="")
    loader(Path(__file__).with_name("synthetic.py")).tell_run(tmp_path)
    write_steps(read_traces(str(tmp_path)), steps)
    rows = list(csv.DictReader(io.StringIO(steps.getvalue(), newline="")))
    found = [(row["waiting_for"], row["waiting_ms"]) for row in rows if row["waiting_for"]]
    assert found == [("its server (10.0.0.5:443)", "15000")]
    assert {row["waiting_ms"] for row in rows if not row["waiting_for"]} == {"0"}


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1", "\n=1", "\u200b=1", "\xa0=1"]
)
def test_a_cell_is_never_a_formula(text: str) -> None:
    assert cell(text) == "'" + text
    assert cell(-1) == "-1"
    assert cell(None) == ""


@pytest.mark.parametrize("text", ["1", "1-", "‘", "a", "/"])
def test_a_pathological_reason_is_normalized_in_time(text: str) -> None:
    assert len(failure_kind(text * 400_000 + "_")) <= 121  # took hours with an earlier pattern


def test_similar_reasons_are_counted_as_one() -> None:
    assert failure_kind("the limit of 25 actions is used up") == failure_kind("the limit of 7 actions is used up")
    assert failure_kind("http://127.0.0.1:8/v1 answered HTTP 503: busy") == "… answered HTTP 503: busy"
    assert failure_kind("‘Delete 4’ waits") == failure_kind("‘Send’ waits") == "… waits"
    awaited = "TypeError: object str can't be used in 'await' expression"
    assert failure_kind(awaited) == "TypeError: object str can't be used in … expression"
    assert failure_kind("Hand-off ycgd-vzbc: May R-4711 be filed?") == "Hand-off …: May … be filed?"
    assert failure_kind("raise max_calls_per_5_minutes") == "raise max_calls_per_5_minutes"
    assert failure_kind("R-4711 and 12,000.50 at 10:45 with x86-64 by 5th-hand") == "… and … at … with … by …"


@pytest.mark.parametrize("where", ["nowhere", "file", "empty", "s3://Bad_Bucket/x", "ftp://x", ""])
def test_a_place_without_traces_is_refused(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    place = where if "://" in where or not where else str(tmp_path / where)
    with pytest.raises(InvalidUsage, match=r"folder"):
        index(place, tmp_path / "out.html", as_object=False, reports=None, put=said([]))
    with pytest.raises(InvalidUsage, match=r"folder"):
        export(place, str(tmp_path / "out.csv"), steps=False, put=said([]))
    assert not list(tmp_path.glob("*out*"))


def test_an_unwritable_page_is_refused_before_traces_are_read(runs: Path, tmp_path: Path) -> None:
    for out, reports in ((None, False), (tmp_path / "no" / "x.html", False), (tmp_path, False)):
        with pytest.raises(InvalidUsage):
            index(str(runs), out, as_object=False, reports=reports, put=said([]))
    with pytest.raises(InvalidUsage, match="--reports"):
        index(str(runs), None, as_object=True, reports="inside", put=said([]))


def test_the_runs_of_a_bucket_are_found_at_any_depth(
    runs: Path, s3: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    for path in runs.rglob("events.jsonl"):
        if "loop" not in path.parts:
            key = f"overview/{path.parent.relative_to(runs)}/events/000000.jsonl"
            bucket.put_object(Bucket=s3.bucket, Key=key, Body=path.read_bytes())
    bucket.put_object(Bucket=s3.bucket, Key="overview/a/notes.txt", Body=b"no trace")

    def told(where: str) -> list[tuple[str, str, int, str]]:
        found = [row_of(run) for run in read_traces(where)]
        return [(row.run_id, row.status, row.steps, Path(row.trace).name) for row in found]

    # Objects of a bucket are complete or missing, never torn.
    at_home = [row for row in told(str(runs)) if row[3] != "torn"]
    in_bucket = [row for row in told(f"s3://{s3.bucket}/overview") if row[3] != "torn"]
    assert sorted(in_bucket) == sorted(at_home)
    assert len(in_bucket) == 7
    assert told(f"s3://{s3.bucket}/overview/b/formula") == told(str(runs / "b" / "formula"))
    assert told(f"s3://{s3.bucket}/overview/b/") == told(str(runs / "b"))
    with pytest.raises(InvalidUsage, match="no trace below"):
        index(f"s3://{s3.bucket}/nothing", None, as_object=True, reports=None, put=said([]))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(InvalidUsage, match=r"credentials|refuses"):
        index(f"s3://{s3.bucket}/overview", None, as_object=True, reports=None, put=said([]))


def test_only_regular_files_are_replaced_and_links_are_followed(runs: Path, tmp_path: Path) -> None:
    pipe, loop, link, page = (tmp_path / name for name in ("pipe", "loop", "link", "page.html"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for odd in (pipe, loop, Path(os.devnull)):
        with pytest.raises(InvalidUsage, match=r"cannot be written|cannot be replaced"):
            export(str(runs / "b"), str(odd), steps=False, put=said([]))
        with pytest.raises(InvalidUsage, match=r"cannot be written|cannot be replaced"):
            write_report(str(runs / "b" / "formula"), odd)
    assert pipe.is_fifo()
    page.touch(mode=0o640)
    link.symlink_to(page)
    write_report(str(runs / "b" / "formula"), link)
    assert link.is_symlink()
    assert page.read_text().startswith("<!")
    assert page.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "loop", "page.html", "pipe"]


def test_undecodable_names_are_shown_with_replacement_characters(runs: Path, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff/\xfe"))
    folder.parent.mkdir()
    shutil.copytree(runs / "a" / "plain", folder)
    page = Path(os.fsdecode(os.fsencode(tmp_path) + b"/all\xff.html"))
    assert index(str(folder.parent), page, as_object=False, reports="inside", put=said([])) == 0
    assert export(str(folder.parent), str(tmp_path / "runs.csv"), steps=False, put=said([])) == 0
    assert "r\ufffd/\ufffd" in (tmp_path / "runs.csv").read_text("utf-8-sig")
    assert (tmp_path / "runs.csv").read_bytes().startswith(b'\xef\xbb\xbf"run_id",')
    (row,) = [row_of(run) for run in read_traces(str(folder.parent))]
    assert row.damage == ""


def test_an_export_to_a_closed_stdout_fails(runs: Path) -> None:
    command = [sys.executable, "-m", "holo_tasks.cli.commands", "export", str(runs / "b" / "formula"), "--csv", "-"]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (ended.returncode, "closed" in ended.stderr) == (2, True)


def test_an_unreadable_picture_is_left_out(runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs / "a" / "plain", tmp_path / "run")
    picture = next((run / "frames").iterdir())
    picture.unlink()
    picture.symlink_to("/proc/self/mem")  # its first byte cannot be read
    with pytest.raises(DamagedTrace, match="cannot be read"):
        open_trace(run).frame(picture.stem)
    write_report(run, tmp_path / "report.html")


def test_an_unwritable_report_is_reported(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.html"
    index(str(runs / "b" / "formula"), out, as_object=False, reports="inside", put=said([]))
    (report,) = (tmp_path / "all-reports").iterdir()
    report.unlink()
    report.mkdir()
    with pytest.raises(InvalidUsage, match="cannot be replaced"):
        index(str(runs / "b" / "formula"), out, as_object=False, reports="inside", put=said([]))


def test_unreadable_folders_are_listed(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shut = tmp_path / "all" / "shut"
    shut.mkdir(parents=True)
    shutil.copytree(runs / "a" / "plain", tmp_path / "all" / "plain")
    real = os.scandir

    def scandir(path: str) -> Any:
        if Path(path) == shut:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)  # root may read every folder
    rows = {Path(row.trace).name: row.damage for row in map(row_of, read_traces(str(tmp_path / "all")))}
    assert rows == {"plain": "", "shut": "it cannot be read: Permission denied"}


def test_times_with_and_without_zones_are_read_as_utc() -> None:
    assert seconds_between("2026-11-22T10:00:00", "2026-11-22T12:00:01+02:00") == 1.0
    assert seconds_between("2026-11-22T10:00:00", "0001-01-01T00:00:00+14:00") == 0.0
    assert clock("2026-11-22T12:00:01+02:00") == "10:00:01"
    assert clock("soon") == ""


def test_questions_outside_of_steps_count_towards_the_cost() -> None:
    teller = StoryBuilder()
    bill = {"latency_us": 5, "prompt_tokens": 10, "cached_tokens": 0, "completion_tokens": 1, "estimated": False}
    reply = {"attempt": 1, **bill, "finish_reason": "stop", "content": ""}
    for subgoal, cost in ((1, 100), (2, 20), (0, 3)):
        asked: list[e.AnyEvent] = [
            e.RequestSent(subgoal=subgoal, attempt=1, model="m", endpoint="e", shots=[], messages=1, prompt_sha256=""),
            e.ReplyReceived(subgoal=subgoal, cost_micro_usd=cost, **reply),
        ]
        for event in asked:
            teller.add(record(event))
    teller.add(record(e.JudgedQuestion(subgoal=2, question="?", model="m", answer="yes", reason="")))
    story = teller.story
    assert [call.cost_micro_usd for call in story.asides[0].calls] == [20]
    assert story.cost_micro_usd == 123
    row = row_of(ReadTrace("here", None, story, ""))
    assert (row.model_calls, row.cost_micro_usd) == (3, 123)


def test_layers_of_sub_goals_are_counted(runs: Path) -> None:
    opened = e.SubgoalOpened(subgoal=2, title="again", goal="again")
    closed = e.SubgoalClosed(subgoal=2, status="answered", answer="", steps=0, cost_micro_usd=0, skipped=True)
    story = build_story(
        [record(opened), record(closed), record(e.SubgoalOpened(subgoal=3, title="not yet", goal="not yet"))]
    )
    assert [goal.layer for goal in story.subgoals] == ["done before", ""]
    rows = {run.run_id: row_of(run) for run in read_traces(str(runs / "a"))}
    assert rows["plain"].layers == "model 1"


def test_a_sub_goal_has_its_layer_and_the_events_before_it() -> None:
    happened: list[e.AnyEvent] = [
        e.SubgoalOpened(subgoal=1, title="file it", goal="file it"),
        e.Interrupted(subgoal=1, name="tip", times=1),
        e.StateSeen(subgoal=1, state="menu", wanted="form", how="takes the way to ‘form’"),
        e.Decided(subgoal=1, step=1, note=None, thought="", tool_name="click", arguments={}, label="click ‘OK’"),
        e.Permitted(subgoal=1, step=1, allowed=False, rule="this needs a person's yes"),
        e.HandedOver(subgoal=1, step=1, question="May it be filed?", handoff="49hb-khx4"),
        e.TakenBack(subgoal=1, step=1, handoff="49hb-khx4", choice="approve", note="seen", by="ada"),
        e.Permitted(subgoal=1, step=1, allowed=True, rule="ada said yes"),
        e.Backtracked(subgoal=1, step=1, by="Escape"),
        e.LayerChanged(subgoal=1, step=1, source="model", target="script", reason="The agent is stuck."),
        e.SubgoalClosed(subgoal=1, status="answered", answer="7", steps=1, cost_micro_usd=0, layer="script"),
    ]
    happened += [e.HandedOver(question="Is it plugged in?"), e.TakenBack(handoff="", choice="yes", note="", by="bob")]
    records = [record(event) for event in happened]
    (goal,) = build_story(records).subgoals
    assert [name for name, _ in build_story(records).guided] == ["Asked a person", "A person answered"]
    assert goal.layer == "script"
    assert goal.guided == [
        ("Interrupted", "‘tip’ was in the way, for the 1st time"),
        ("Wanted ‘form’", "the screen was ‘menu’; takes the way to ‘form’"),
    ]
    (step,) = goal.steps
    assert [name for name, _ in step.guided[:2]] == ["Asked a person", "A person answered"]
    assert step.guided[0][1].startswith("May it be filed? (hand-off 49hb-khx4, ")
    assert step.guided[1][1].startswith("‘approve’, ada: seen (hand-off 49hb-khx4, ")
    assert step.guided[2:] == [("Backtracked", "by Escape"), ("From model to script", "The agent is stuck.")]
    assert step.outcome == "handoff", "a refused action was approved later"
    assert row_of(ReadTrace("here", None, build_story(records), "")).layers == "script 1"
    page = subgoal_markdown(records, 1, lambda sha256: b"")
    assert "by script" in page
    assert "Interrupted" in page
    assert "‘approve’, ada" in page
    assert "From model to script: The agent is stuck" in page


def test_running_runs_are_no_failures_and_unknown_costs_are_shown(runs: Path, tmp_path: Path) -> None:
    found = {run.run_id: row_of(run, alive=frozenset({"interrupted"})) for run in read_traces(str(runs / "b"))}
    rows = [found["interrupted"], replace(found["formula"], cost_micro_usd=None)]
    page = write_index(rows, tmp_path / "index.html", where="here").read_text()
    assert "1 answered, 0 did not, 1 still running. " in page
    assert "+ 1 unknown together." in page


def test_the_commands_work_as_documented(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    page, table = tmp_path / "index.html", tmp_path / "runs.csv"

    def run(*arguments: str) -> str:
        assert carry_out(arguments) == 0
        return capsys.readouterr().out

    assert run("index", str(runs / "b"), "--out", str(page)) == f"{page}\n"
    assert json.loads(run("index", str(runs / "b"), "--json"))["runs"] == 2
    assert run("export", str(runs / "b"), "--csv", str(table)) == f"{table}\n"
    assert run("export", str(runs / "b"), "--csv", "-").encode().replace(b"\r\n", b"\n").count(b"\n") == 4
    assert run("export", str(runs / "b"), "--csv", "-", "--steps").startswith('"run_id","subgoal",')
    with pytest.raises(InvalidUsage, match="runs"):
        run("index", "--json")


@pytest.mark.parametrize("what", ["line", "picture"])
def test_an_endless_file_counts_as_damage(
    runs: Path, tmp_path: Path, what: str, loader: Callable[[Path], ModuleType]
) -> None:
    root = shutil.copytree(runs / "a", tmp_path / "runs")
    synthetic = loader(Path(__file__).with_name("synthetic.py"))
    folder = synthetic.tell_run(root, "endless", goals=1, steps=1)
    for file in [folder / "events.jsonl"] if what == "line" else (folder / "frames").iterdir():
        with file.open("r+b") as sparse:
            sparse.truncate(6 << 30)
    out = tmp_path / "page.html"
    # In a process with too little memory for the file.
    code = (
        "import resource, sys; from holo_tasks.cli.commands import exit_code\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); runs, run, out = sys.argv[1:]\n"
        "assert exit_code(['index', runs, '--out', out, '--json', '--reports']) == 0\n"
        "assert exit_code(['report', run, '--out', out]) == 0"
    )
    ended = warm.run_script([sys.executable, "-c", code, str(root), str(folder), str(out)])
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[0])
    assert (found["runs"], found["damaged"]) == (3, int(what == "line"))
    page = out.read_text()
    assert ("This trace was changed after it was written" in page) == (what == "line")
    assert ("This picture is not in the trace" in page) == (what == "picture")


def test_absurd_numbers_do_not_stop_the_overview(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "odd"
    folder.mkdir(parents=True)
    sound = (runs / "a" / "plain" / "events.jsonl").read_bytes()
    (folder / "events.jsonl").write_bytes(sound.replace(b'"total_us":', b'"total_us":1' + b"0" * 400, 1))
    (found,) = read_traces(str(folder.parent))
    assert "is not a record" in found.damage
    write_index([row_of(found)], tmp_path / "index.html", where="here")
    write_report(folder, tmp_path / "report.html")


def test_an_oversized_trace_counts_as_damage(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("many_runs", "pages.report"):
        monkeypatch.setattr(f"holo_tasks.audit.{module}.MAX_STORY_BYTES", 2_000)
    (found,) = read_traces(str(runs / "a" / "plain"))
    assert "too many for an overview" in found.damage
    with pytest.raises(DamagedTrace, match="too many for one page"):
        write_report(runs / "a" / "plain", tmp_path / "report.html")


def test_idle_and_suspended_runs_are_neither_answers_nor_failures(
    tmp_path: Path,
) -> None:
    def told(name: str, closed: e.RunClosed, *events: e.Event) -> Row:
        story = build_story(map(record, (e.RunOpened(run_id=name, title=name, library=""), *events, closed)))
        return row_of(ReadTrace(name, None, story, ""))

    def closed(status: e.Status, reason: str = "") -> e.RunClosed:
        return e.RunClosed(status=status, answer="", reason=reason, steps=0, cost_micro_usd=0)

    asked = e.SubgoalOpened(subgoal=1, title="Look.", goal="Look.")
    judged = (
        e.RequestSent(attempt=1, model="m", endpoint="e", shots=[], messages=1, prompt_sha256=""),
        e.JudgedQuestion(question="?", model="m", answer="yes", reason=""),
    )
    rows = [
        told("idle", closed("answered")),
        told("suspended", closed("needs_person", f"{SUSPENDED} Hand-off abcd-efgh: go?"), asked),
        told("worked", closed("answered"), asked),
        told("judged", closed("answered"), *judged),
    ]
    assert [row.idle for row in rows] == [True, False, False, False]
    found = as_json(rows)
    assert (found["success_rate"], found["failures"]) == (1.0, [])
    page = write_index(rows, tmp_path / "index.html", where="here").read_text()
    assert ">Did nothing<" in page
    assert ">Suspended<" in page
    assert "All in one hour, 2026-11-22 10 h, UTC: 2 answered, 0 did not, 1 suspended. $0.00 together." in page
    assert "<svg" not in page
