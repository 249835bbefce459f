"""Many runs: an overview page, its numbers, and rows that a spreadsheet takes for data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holo_tasks.audit.export import cell, write_runs, write_steps
from holo_tasks.audit.gathering import gather, normalised
from holo_tasks.audit.index import as_json, row_of, write_index
from holo_tasks.cli import _parser
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.overview import export, index
from tests.support.pages import HOSTILE, tags


@pytest.fixture(scope="module")
def runs(loader: Callable[[Path], ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sound runs, one of them interrupted, and four traces that are none."""
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


def test_all_traces_are_found_and_damaged_ones_are_listed_and_not_counted(runs: Path) -> None:
    told = as_json([row_of(run) for run in gather(str(runs))])
    assert (told["runs"], told["damaged"], told["success_rate"]) == (8, 4, 0.75)
    rows: Any = told["rows"]
    assert {Path(row["trace"]).name: row["status"] for row in rows} == {
        "plain": "answered",
        "hostile": "answered",
        "formula": "answered",
        "interrupted": "interrupted",
        **dict.fromkeys(("empty", "garbage", "torn", "changed"), "damaged"),
    }
    assert told["cost_micro_usd"] == sum(row["cost_micro_usd"] for row in rows if row["status"] != "damaged") > 0
    (changed,) = [row for row in rows if row["trace"].endswith("changed")]
    assert "is not what was written" in changed["damage"]
    alive = row_of(
        next(run for run in gather(str(runs)) if run.run_id == "interrupted"), alive=frozenset({"interrupted"})
    )
    assert alive.status == "running"


def test_the_page_stands_alone_and_hostile_text_stays_text(runs: Path, tmp_path: Path) -> None:
    rows = [row_of(run) for run in gather(str(runs))]
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


def test_reports_are_written_beside_the_page_and_linked(runs: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    out = tmp_path / "all runs.html"
    assert index(str(runs / "b"), out, as_object=True, reports=True, put=said(lines)) == 0
    for row in json.loads(lines[0])["rows"]:
        assert row["report"].startswith("all%20runs-reports/")
        assert f'href="{row["report"]}"' in out.read_text()
        assert row["title"][:10] in (tmp_path / row["report"].replace("%20", " ")).read_text()


def test_a_row_for_each_run_and_each_step_reads_back(runs: Path) -> None:
    out, steps = io.StringIO(newline=""), io.StringIO(newline="")
    write_runs(gather(str(runs)), out)
    write_steps(gather(str(runs)), steps)
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


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1", "\n=1"])
def test_a_cell_is_never_a_formula(text: str) -> None:
    assert cell(text) == "'" + text
    assert cell(-1) == "-1"
    assert cell(None) == ""


def test_like_reasons_are_counted_together() -> None:
    assert normalised("the limit of 25 actions is used up") == normalised("the limit of 7 actions is used up")
    assert normalised("http://127.0.0.1:8/v1 answered HTTP 503: busy") == "… answered HTTP 503: busy"
    assert normalised("‘Delete 4’ waits") == normalised("‘Send’ waits") == "… waits"


@pytest.mark.parametrize("where", ["nowhere", "file", "empty", "s3://Bad_Bucket/x", "ftp://x", ""])
def test_a_place_without_traces_is_refused_in_a_sentence(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    place = where if "://" in where or not where else str(tmp_path / where)
    with pytest.raises(InvalidUsage, match=r"folder"):
        index(place, tmp_path / "out.html", as_object=False, reports=False, put=said([]))
    with pytest.raises(InvalidUsage, match=r"folder"):
        export(place, str(tmp_path / "out.csv"), steps=False, put=said([]))
    assert not list(tmp_path.glob("*out*"))


def test_a_page_that_could_go_nowhere_is_refused_before_anything_is_read(runs: Path, tmp_path: Path) -> None:
    for out, reports in ((None, False), (tmp_path / "no" / "x.html", False), (tmp_path, False)):
        with pytest.raises(InvalidUsage):
            index(str(runs), out, as_object=False, reports=reports, put=said([]))
    with pytest.raises(InvalidUsage, match="--reports"):
        index(str(runs), None, as_object=True, reports=True, put=said([]))


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
        found = [row_of(run) for run in gather(where)]
        return [(row.run_id, row.status, row.steps, Path(row.trace).name) for row in found]

    at_home = [row for row in told(str(runs)) if row[3] != "torn"]  # a bucket's objects are whole, or not there
    in_bucket = [row for row in told(f"s3://{s3.bucket}/overview") if row[3] != "torn"]
    assert sorted(in_bucket) == sorted(at_home)
    assert len(in_bucket) == 7
    assert told(f"s3://{s3.bucket}/overview/b/") == told(str(runs / "b"))
    with pytest.raises(InvalidUsage, match="no trace below"):
        index(f"s3://{s3.bucket}/nothing", None, as_object=True, reports=False, put=said([]))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(InvalidUsage, match=r"credentials|refuses"):
        index(f"s3://{s3.bucket}/overview", None, as_object=True, reports=False, put=said([]))


def test_the_commands_are_as_they_are_said_to_be(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    page, table = tmp_path / "index.html", tmp_path / "runs.csv"

    def run(*arguments: str) -> str:
        options = _parser().parse_args(arguments)
        assert options.do(options) == 0
        return capsys.readouterr().out

    assert run("index", str(runs / "b"), "--out", str(page)) == f"{page}\n"
    assert json.loads(run("index", str(runs / "b"), "--json"))["runs"] == 2
    assert run("export", str(runs / "b"), "--csv", str(table)) == f"{table}\n"
    assert run("export", str(runs / "b"), "--csv", "-").encode().replace(b"\r\n", b"\n").count(b"\n") == 4
    assert run("export", str(runs / "b"), "--csv", "-", "--steps").startswith("run_id,subgoal,")
    with pytest.raises(InvalidUsage, match="runs"):
        run("index", "--json")
