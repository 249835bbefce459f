"""Invalid input to the command line: refused in one line with a remedy, before any program is started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import EXECUTABLE, CommandLine, Ended, InProcess, takers
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel

URL = ("--base-url", "http://127.0.0.1:9/v1")
APP = ("--app", "true")


def refused(ended: Ended, *words: str) -> None:
    """Check the common properties of refusals, and that the line names the error."""
    assert (ended.code, ended.told["status"]) == (2, "invalid")
    assert {name: value for name, value in ended.told.items() if name != "status"} == {
        "answer": None,
        "steps": 0,
        "cost_usd": 0.0,
        "trace": None,
        "flow_run_id": None,
    }
    for word in words:
        assert word in ended.complaint


@pytest.mark.parametrize(
    ("arguments", "word"),
    few(
        [
            (["", *APP], "empty"),
            (["x" * 100_001, *APP], "100000"),
            ([b"caf\xe9".decode(errors="surrogateescape"), *APP], "UTF-8"),
            (["Go.", *APP, "--max-cost-usd", "nan"], "max_cost_usd"),
            (["Go.", *APP, "--timeout", "NaN"], "timeout_seconds"),
            (["Go.", *APP, "--max-steps", "0"], "--max-steps"),
            (["Go.", *APP, "--size", "big"], "1280x800"),
            (["Go.", *APP, "--patience", "-1"], "--patience is a number of seconds from 0 up"),
            (["Go.", *APP, "--base-url", "ftp://example.org/v1"], "base URL"),
            (["Go.", *APP, "--base-url", "http://u:secret@127.0.0.1:99999/v1"], "base URL"),
            (["Go.", *APP, "--model", "home-made", "--max-cost-usd", "1"], "home-made"),
            (["Go.", *APP, "--dialect", "holotron"], "one of: structured, tools"),
            (["Go.", *APP, "--token", " "], "--token"),
            (["Go.", *APP, "--audit", "gs://bucket"], "audit"),
            (["Go.", *APP, "--redact", "/dev/null/none.toml"], "none.toml"),
            (["Go.", *APP, "--display", ":1"], "--display"),
            (["Go.", "--display", ""], "--app"),
            (["Go."], "--display"),
            ([], "GOAL"),
            ([" \n\t ", *APP], "empty"),
            (["Go.", *APP, "--max-cost-usd", "-0.5"], "max_cost_usd"),
            (["Go.", *APP, "--timeout", "0"], "timeout_seconds"),
            (["Go.", *APP, "--max-steps", "-1"], "--max-steps"),
            (["Go.", *APP, "--max-steps", "abc"], "--max-steps"),
            (["Go.", *APP, "--size", "99999x800"], "1280x800"),
            (["Go.", *APP, "--base-url", "http:///v1"], "base URL"),
            (["Go.", *APP, "--base-url", "http://a..b/v1"], "base URL"),
            (["Go.", *APP, "--base-url", "http://127.0.0.1/v1?key=x"], "base URL"),
            (["Go.", *APP, "--dialect", "esperanto"], "esperanto"),
            (["Go.", *APP, "--audit", ""], "audit"),
            (["Go.", *APP, "--audit", "/proc/nowhere"], "/proc/nowhere"),
            (["Go.", "--app", " "], "--app"),
            (["Go.", "--app", "sh -c 'never closed"], "quotation"),
            (["Go.", "--display", "99"], "not an X display"),
            (["Go.", *APP, "--no-such-option"], "--no-such-option"),
        ],
        first=19,
    ),
)
def test_invalid_arguments_are_refused(arguments: list[str], word: str, tmp_path: Path) -> None:
    # Port 9 has no Prefect server: a later check would report its absence instead.
    refused(InProcess(tmp_path, "http://127.0.0.1:9/api")("run", *URL, "--json", *arguments), word)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"HOLO_BASE_URL": "https://api.hcompany.ai/v1"}, ["HAI_API_KEY", "--base-url"]),
        ({"HOLO_BASE_URL": "https://api.hcompany.ai/v1", "HOLO_API_KEY": "mine"}, ["HAI_API_KEY"]),
        ({"HOLO_API_KEY": "ключ"}, ["HOLO_API_KEY"]),
        ({"PREFECT_API_URL": "a server"}, ["a server", "PREFECT_API_URL"]),
        ({"HOLO_HOME": "/dev/null"}, ["/dev/null"]),
        ({"HOLO_HOME": None, "XDG_DATA_HOME": "/proc/nowhere"}, ["/proc/nowhere/holo-tasks"]),
    ],
)
def test_an_invalid_environment_variable_is_named(env: dict[str, str | None], words: list[str], tmp_path: Path) -> None:
    given = {"HOLO_BASE_URL": "http://127.0.0.1:9/v1", **env}
    refused(CommandLine(tmp_path, "http://127.0.0.1:9/api")("run", "Go.", *APP, "--json", env=given), *words)


def test_a_server_other_than_prefect_is_reported(cli: CommandLine) -> None:
    wrong = cli.env["PREFECT_API_URL"].removesuffix("/api")
    refused(cli("run", "Go.", *APP, *URL, "--json", env={"PREFECT_API_URL": wrong}), wrong, "/api")


def test_a_cost_limit_without_a_known_price_is_refused_before_any_request(cli: CommandLine) -> None:
    with ScriptedModel([]) as model:
        options = ("--base-url", model.base_url, "--model", "x", "--max-cost-usd", "1", "--json")
        refused(cli("run", "Go.", *APP, *options), "price")
    assert not model.requests


def test_a_refusal_reaches_the_output_that_is_still_open(tmp_path: Path) -> None:
    given = f"{EXECUTABLE} run '' --json"
    cli = CommandLine(tmp_path, None)
    for shell in (f"{given} 2>&-", f"{given} >&-"):
        ended = subprocess.run(["bash", "-c", shell], env=cli.env, capture_output=True, text=True)
        assert ended.returncode == 2
        assert "Traceback" not in ended.stderr
        assert ended.stdout.startswith("{" if "2>&-" in shell else "")
    with takers() as nobody:
        for taker in nobody:
            refusal = cli("run", "", "--json", stdout=taker)
            assert refusal.code == 2
            assert "Traceback" not in refusal.stderr


def test_help_lists_the_exit_codes(tmp_path: Path) -> None:
    ended = CommandLine(tmp_path, None)("run", "--help")
    assert ended.code == 0
    assert all(f" {code} " in " ".join(ended.stdout.split()) for code in (0, 2, 10, 11, 12, 13, 14, 15))


@pytest.mark.parametrize(
    ("trace", "out", "word"),
    [
        ("no/such/run", "page.html", "no trace"),
        ("x" * 5000, "page.html", "too long"),
        ("s3://", "page.html", "s3://"),
        ("run", "no/such/folder/page.html", "No such file"),
        ("run", "", "--out"),
        ("run", ".", "--out"),
        ("run", "run", "directory"),
        ("run", "x" * 300, "too long"),
    ],
)
def test_an_impossible_report_is_refused(trace: str, out: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.jsonl").write_bytes(b"")
    ended = InProcess(tmp_path, None)("report", trace, "--out", out)
    assert (ended.code, ended.stdout) == (2, "")
    assert word in ended.complaint
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["events.jsonl", "run"]
