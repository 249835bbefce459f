"""Evidence and secrets of `holo-tasks run`: pictures, keys, finished work, and their destinations."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from s3_server import S3Server

from holo_tasks.audit import open_trace
from tests.support.command_line import CommandLine, InProcess, related
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="Count", x=390, y=450)
DONE = step("answer", content="2")

INVALID = (2, "invalid")

pytestmark = pytest.mark.desktop


def test_pictures_are_kept_keys_are_not_and_a_token_is_done_once(
    cli: CommandLine, here: InProcess, app: str, tmp_path: Path
) -> None:
    keys = {"HAI_API_KEY": "hosted-s3cret", "HOLO_API_KEY": "own-s3cret"}
    shown: list[str] = []

    def look_around(number: int, body: object) -> object:
        shown.extend(line for line in related(str(tmp_path)) if "s3cret" in line)
        return [CLICK, CLICK, CLICK, CLICK, DONE][number]

    elsewhere = {"HOLO_HOME": None, "XDG_DATA_HOME": str(tmp_path / "data"), **keys}
    with ScriptedModel(look_around) as model:
        options = ("--allow", "act", "--base-url", model.base_url, "--token", "R-{1}", "--json")
        first = cli("run", "Count.", "--app", app, *options, env=elsewhere)
        again = cli("run", "Count.", "--app", "/no/such/program", *options, env=elsewhere)
        other = cli("run", "Count twice.", "--app", app, *options, env=elsewhere)
    assert first.told["status"] == "answered"
    trace = Path(first.told["trace"])
    assert trace.parent == tmp_path / "data" / "holo-tasks" / "runs"
    assert len(model.images()) > 5
    for image in model.images():
        digest = hashlib.sha256(image).hexdigest()
        (kept,) = [path for path in trace.rglob("*") if path.name.startswith(digest)]
        assert kept.read_bytes() == image

    assert {header["authorization"] for header in model.headers} == {"Bearer own-s3cret"}
    assert "hosted-s3cret" not in str(model.headers)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"s3cret" in path.read_bytes()]
    assert "s3cret" not in first.stdout + first.stderr
    assert not shown

    assert len(model.requests) == 5, "the finished token cost no request"
    assert {**again.told, "steps": 5, "cost_usd": first.told["cost_usd"]} == first.told
    assert (again.told["steps"], again.told["cost_usd"]) == (0, 0.0)
    assert "already done" in again.complaint
    assert (other.code, other.told["status"]) == (2, "invalid")
    assert "R-{1}" in other.complaint

    report = here("report", str(trace), "--out", "page.html")
    assert (report.code, report.stdout) == (0, "page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert "Count." in page
    events = trace / "events.jsonl"
    events.write_bytes(events.read_bytes()[:-700])
    assert here("report", str(trace), "--out", "torn.html").code == 0
    assert "data:image/jpeg" in (tmp_path / "torn.html").read_text()


def test_evidence_goes_to_a_bucket(cli: CommandLine, here: InProcess, app: str, s3: S3Server, tmp_path: Path) -> None:
    with ScriptedModel([CLICK, DONE]) as model:
        options = ("--allow", "act", "--base-url", model.base_url, "--audit", f"s3://{s3.bucket}/a b/runs", "--json")
        ended = cli("run", "Count.", "--app", app, *options, env=s3.environment)
    assert ended.told["status"] == "answered"
    assert ended.told["trace"].startswith(f"s3://{s3.bucket}/a b/runs/")
    assert "authorization" not in model.headers[0], "without a key, no header is sent"
    trace = open_trace(
        ended.told["trace"],
        endpoint_url=s3.endpoint,
        access_key=s3.environment["AWS_ACCESS_KEY_ID"],
        secret_key=s3.environment["AWS_SECRET_ACCESS_KEY"],
    )
    assert [trace.frame(hashlib.sha256(image).hexdigest()) for image in model.images()] == model.images()
    assert trace.check().closed
    assert not list((cli.home / "holo" / "spool").iterdir()), "all files were uploaded"
    out = tmp_path / "page.html"
    assert here("report", ended.told["trace"], "--out", str(out), env=s3.environment).code == 0
    assert "Count." in out.read_text()
    assert s3.secret_key not in ended.stderr + out.read_text()


@pytest.mark.parametrize(
    ("bucket", "env", "word", "ends"),
    [
        ("nowhere", {}, "does not exist", INVALID),
        ("evidence", {"AWS_SECRET_ACCESS_KEY": "x" * 40}, "credentials", INVALID),
        ("evidence", {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None,
                      "AWS_EC2_METADATA_DISABLED": "true"}, "AWS_ACCESS_KEY_ID", INVALID),
        ("evidence", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "cannot be reached", (16, "unavailable")),
        ("evidence", {"AWS_ENDPOINT_URL": "nonsense"}, "nonsense", INVALID),
    ],
)  # fmt: skip
def test_an_unusable_bucket_ends_the_run(
    cli: CommandLine, s3: S3Server, bucket: str, env: dict[str, str | None], word: str, ends: tuple[int, str]
) -> None:
    arguments = ("--app", "true", "--base-url", "http://127.0.0.1:9/v1", "--audit", f"s3://{bucket}/runs", "--json")
    ended = cli("run", "Go.", *arguments, env={**s3.environment, **env})
    assert (ended.code, ended.told["status"]) == ends
    assert word in ended.complaint


def test_a_disk_that_fills_up_stops_the_run(cli: CommandLine, app: str, small_disk: Path) -> None:
    home = {"HOLO_HOME": str(small_disk)}
    with ScriptedModel([CLICK] * 30 + [DONE]) as model:
        options = ("--app", app, "--allow", "act", "--base-url", model.base_url, "--token", "one", "--json")
        ended = cli("run", "Count.", *options, env=home)
        again = cli("run", "Count.", *options, env=home)
    assert (ended.code, ended.told["status"]) == (11, "needs_person"), "the run had acted"
    assert (again.code, again.told["status"]) == (2, "invalid"), "the run had not acted"
    assert "disk is full" in ended.complaint
    assert str(small_disk) in again.complaint
    trace = open_trace(ended.told["trace"])
    assert trace.check().whole
    assert 1 <= int((cli.home / "clicks").read_text()) <= ended.told["steps"]
