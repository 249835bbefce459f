"""`holo-tasks doctor` from outside: working parts are ok, faulty parts are named, and no files or processes remain."""

from __future__ import annotations

import base64
import http.client
import io
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.config import Config
from PIL import Image, ImageChops
from s3_server import S3Server

from holo_tasks.cli.doctor import examination
from holo_tasks.cli.doctor.screen import _unseen_work
from tests.support.command_fixtures import command, free_display, x_servers
from tests.support.command_line import EXECUTABLE, CommandLine, Ended, InProcess, related, until
from tests.support.long import few
from tests.support.postgres import Postgres
from tests.support.scripted_model import Answer, ScriptedModel, step

MODEL = "holo3-1-35b-a3b"
NAMES = ("endpoint", "key", "model", "image", "output", "display", "input", "view", "audit", "prefect")
KEY = "s3cret-model-key"
NOBODY = "http://127.0.0.1:9/v1"

pytestmark = pytest.mark.desktop

XServer = Callable[..., "subprocess.Popen[bytes]"]
Checks = dict[str, dict[str, Any]]


OWN_SCREEN = {"DISPLAY": None}
"""Makes the doctor start its own desktop, as it does without a display."""


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A display with a program on it."""
    display, folder = free_display(), tmp_path_factory.mktemp("screen")
    with x_servers(folder) as start:
        start(display, *command("events", folder / "events"))
        yield display


class Doctor(InProcess):
    """Runs the doctor in this process, unless it needs its own screen;

    `test_all_is_well` runs it as a process as well.
    """

    def __call__(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Ended:
        # A command in this process must not replace its signal handlers
        with mock.patch.object(examination, "cancel_at_signals"):
            return super().__call__(*arguments, env=env, **({"real": False} if env == OWN_SCREEN else options))


@pytest.fixture
def doctor(tmp_path: Path, screen: str) -> CommandLine:
    """`holo-tasks` on a machine without a configured Prefect API.

    It has a display, which is only captured. Starting a desktop takes long, so only tests with `OWN_SCREEN` do.
    """
    cli = Doctor(tmp_path, None)
    cli.env |= {"PREFECT_HOME": str(tmp_path / "prefect"), "DISPLAY": screen}
    return cli


def checks(ended: Ended, code: int, names: tuple[str, ...] = NAMES) -> Checks:
    """Check the common properties of all examinations; return the checks by name."""
    assert "Traceback" not in ended.stdout + ended.stderr
    (line,) = ended.stdout.splitlines()
    told = json.loads(line)
    assert tuple(told) == ("status", "checks")
    assert tuple(check["name"] for check in told["checks"]) == names
    assert all(tuple(check) == ("name", "status", "message", "latency_ms", "cost_usd") for check in told["checks"])
    assert ended.stderr == ""
    assert (ended.code, told["status"]) == (code, "failed" if code else "ok"), line
    return {check["name"]: check for check in told["checks"]}


def statuses(found: Checks) -> dict[str, str]:
    return {name: check["status"] for name, check in found.items() if check["status"] != "ok"}


def says(check: dict[str, Any], *words: str) -> None:
    for word in words:
        assert word in check["message"]


def seen(number: int, body: dict[str, Any]) -> dict[str, Any]:
    """Answer like a model that sees: find the one blue button on the picture, then read it."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    *_, url = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    picture = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")
    red, _, blue = picture.split()
    left, top, right, bottom = ImageChops.subtract(blue, red).point(lambda tone: 255 * (tone > 80)).getbbox()
    if number % 2 == 0:
        return {"x": 500 * (left + right) // picture.width, "y": 500 * (top + bottom) // picture.height}
    return step("answer", content="The button says Walnut.")


def as_told(answer: dict[str, Any] | str) -> Answer:
    """Return a completion whose message has more fields than text."""
    message = {"role": "assistant", "content": answer} if isinstance(answer, str) else answer
    return Answer(body=json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}).encode())


def test_all_is_well(cli: CommandLine, s3: S3Server) -> None:
    keys: dict[str, str | None] = {"HOLO_API_KEY": KEY, "HAI_API_KEY": "hosted-s3cret", **s3.environment}
    with ScriptedModel(seen, models=["another", MODEL]) as model:
        asked = ("doctor", "--base-url", model.base_url, "--audit", f"s3://{s3.bucket}/a b")
        ended = cli(*asked, "--json", env=keys)
        assert len(model.requests) == 2
        plain = cli.start(*asked, "--display", "", env=keys).end()
    found = checks(ended, 0)
    assert statuses(found) == {}
    says(found["endpoint"], model.base_url, "2 models")
    says(found["key"], "HOLO_API_KEY", "accepted")
    says(found["model"], MODEL, "listed", "$0.25", "$1.80")
    says(found["output"], "Structured output", "WALNUT")
    says(found["display"], "1280x800")
    says(found["audit"], f"s3://{s3.bucket}/a b", "read back.")
    says(found["prefect"], cli.env["PREFECT_API_URL"])
    for name in ("image", "output"):
        assert found[name]["cost_usd"] == pytest.approx(0.00034)
        assert found[name]["latency_ms"] > 0

    where, step_asked = model.requests[:2]
    assert where["max_tokens"] <= 256
    assert where["chat_template_kwargs"] == {"enable_thinking": False}
    assert "Walnut" in where["messages"][0]["content"][1]["text"].title()
    assert "walnut" not in json.dumps(step_asked).casefold(), "only the picture contains the word"
    assert {header["authorization"] for header in model.headers} == {f"Bearer {KEY}"}

    lines = [line.split(maxsplit=2) for line in plain.stdout.splitlines()]
    assert (plain.code, plain.stderr) == (0, "")
    assert sorted(line[1] for line in lines) == sorted(NAMES)
    assert {line[0] for line in lines} == {"ok"}
    assert [line[1] for line in lines if line[1] in NAMES[:5]] == list(NAMES[:5])
    assert "$0.000340]" in plain.stdout
    for text in (ended.stdout, plain.stdout):
        assert not [secret for secret in (KEY, "hosted-s3cret", s3.secret_key) if secret in text]
    assert names_in(s3) == []
    assert not list(cli.home.rglob("*holo-doctor*"))
    assert not [line for line in related(str(cli.home)) if "desktop" in line or "Xvfb" in line]


def names_in(s3: S3Server) -> list[str]:
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}),
    )
    keys = [entry["Key"] for entry in client.list_objects_v2(Bucket=s3.bucket).get("Contents", ())]
    # The check before a run leaves this one object.
    return [key for key in keys if not key.endswith(".holo-tasks-may-write-once")]


def test_the_endpoint_cannot_be_reached(doctor: CommandLine) -> None:
    found = checks(doctor("doctor", "--json", "--base-url", NOBODY), 14)
    assert statuses(found) == {"endpoint": "failed", **dict.fromkeys(("key", "model", "image", "output"), "skipped")}
    says(found["endpoint"], NOBODY, "Cannot reach")
    says(found["image"], "endpoint")
    says(found["prefect"], "temporary server")


@pytest.mark.parametrize("url", few(["http://u:s3cret@127.0.0.1:99999/v1", "nonsense"]))
def test_an_invalid_url_is_reported(doctor: CommandLine, url: str) -> None:
    ended = doctor("doctor", "--json", "--base-url", url)
    says(checks(ended, 2)["endpoint"], "is not a base URL")
    assert "s3cret" not in ended.stdout


def test_the_hosted_endpoint_wants_its_own_key(doctor: CommandLine) -> None:
    # Through a missing proxy, because a test must not reach the real endpoint.
    env = {"HTTPS_PROXY": "http://127.0.0.1:9", "HOLO_API_KEY": KEY}
    found = checks(doctor("doctor", "--json", env=env), 2)
    assert statuses(found) == {"endpoint": "failed", "key": "failed", **dict.fromkeys(NAMES[2:5], "skipped")}
    says(found["key"], "HAI_API_KEY")


@pytest.mark.parametrize("listed", few([True, False]))
@pytest.mark.parametrize(
    ("key", "words"), [(KEY, ["refuses", "HOLO_API_KEY"]), (None, ["wants a key", "HOLO_API_KEY"])]
)
def test_a_refused_or_missing_key_is_reported(
    doctor: CommandLine, listed: bool, key: str | None, words: list[str]
) -> None:
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    no = Answer(status=401, body=told)
    with ScriptedModel([no], models=[MODEL] if listed else no) as model:
        ended = doctor("doctor", "--json", "--base-url", model.base_url, env={"HOLO_API_KEY": key})
    found = checks(ended, 2)
    assert statuses(found) == {"key": "failed", **dict.fromkeys(NAMES[2:5], "skipped")}
    says(found["key"], "401", *words)
    assert KEY not in ended.stdout
    assert len(model.requests) == (1 if listed else 0)


def test_a_key_in_a_servers_answer_is_not_printed(doctor: CommandLine) -> None:
    answers = [as_told(f"{KEY}"), as_told(json.dumps(step(KEY)))]
    with ScriptedModel(answers, models=Answer(status=500, body=KEY.encode())) as model:
        ended = doctor("doctor", "--json", "--base-url", model.base_url, env={"HOLO_API_KEY": KEY})
    found = checks(ended, 14)
    assert statuses(found) == {"endpoint": "warning", "image": "failed", "output": "failed"}
    assert KEY not in ended.stdout
    says(found["output"], "there is no tool named '…'")


@pytest.mark.parametrize("status", few([404, 400]))
def test_an_unknown_model_is_reported_with_known_ones(doctor: CommandLine, status: int) -> None:
    no = Answer(status=status, body=b'{"error": {"message": "no such model"}}')
    with ScriptedModel([no], models=[f"model-{n}" for n in range(9)]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url), 2)
    assert statuses(found) == {"model": "failed", "image": "skipped", "output": "skipped"}
    says(found["key"], "wants no key")
    says(found["model"], MODEL, str(status), "model-0", "4 more", "--model")


@pytest.mark.parametrize("listed", few([None, ["someone-else"], Answer(body=b'"a page"'), Answer(body=b"<html>")]))
def test_a_model_without_a_profile_is_a_warning(doctor: CommandLine, listed: Any) -> None:
    with ScriptedModel(seen, models=listed) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url, "--model", "mine"), 0)
    assert statuses(found) == {"model": "warning"}
    words = ["answers, but is not listed", "someone-else"] if isinstance(listed, list) else ["mine answers"]
    says(found["model"], *words, "no profile", "HOLO_PROFILES", "price", "limit in USD")
    says(found["endpoint"], "lists 1 model." if isinstance(listed, list) else "no list of models")
    assert found["image"]["cost_usd"] is None


def test_a_deprecated_model_is_a_warning(doctor: CommandLine) -> None:
    with ScriptedModel(seen, models=["holo3-35b-a3b"]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url, "--model", "holo3-35b-a3b"), 0)
    assert statuses(found) == {"model": "warning"}
    says(found["model"], "deprecated")


@pytest.mark.parametrize(
    ("days", "warns", "words"),
    few([(400, False, "deprecates it from"), (30, True, "choose another one"), (-3, True, "has deprecated it from")]),
)
def test_the_date_of_a_models_deprecation_is_reported(doctor: CommandLine, days: int, warns: bool, words: str) -> None:
    end = datetime.now(UTC) + timedelta(days=days)
    with ScriptedModel(seen, models=[{"id": MODEL, "deprecation_date": f"{end:%Y-%m-%d}"}]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url), 0)
    assert statuses(found) == ({"model": "warning"} if warns else {})
    says(found["model"], words, f"{end:%Y-%m-%d}")


@pytest.mark.parametrize(
    ("root", "warns"), few([("Hcompany/Holo4-27B-FP8", True), ("Hcompany/Holo4-35B-A3B-FP8", False)], first=2)
)
def test_weights_without_a_commercial_licence_are_a_warning(doctor: CommandLine, root: str, warns: bool) -> None:
    with ScriptedModel(seen, models=[{"id": MODEL, "root": root}]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url), 0)
    assert statuses(found) == ({"model": "warning"} if warns else {})
    assert ("CC BY-NC 4.0" in found["model"]["message"]) == warns


def test_invalid_profiles_are_reported(doctor: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[mine]\nimage_budget = 9")
    with ScriptedModel(seen, models=["mine"]) as model:
        env = {"HOLO_PROFILES": str(file), "HOLO_MODEL": "mine"}
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url, env=env), 2)
    assert statuses(found) == {"model": "failed", "image": "skipped", "output": "skipped"}
    says(found["model"], str(file), "mine", "image_budget")
    assert not model.requests


OWN = """
[served]
schema_transport = "response_format"
price = { input = "1", output = "1" }
["by-name"]
dialects = ["tools", "structured"]
["holo"]
like = "holotron-12b"
"""


@pytest.mark.parametrize(
    ("model_name", "replies", "expected", "image", "output"),
    few([
        (MODEL, ["I see a button.", "I shall press it."], ("failed", "failed"), "ignored the schema", "vLLM"),
        ("served", ["I see.", {"action": "click", "x": 1, "y": 2}], ("failed", "failed"), "json_schema", "json_schema"),
        (MODEL, [{"x": 760, "y": 780}, {"answer": "WALNUT"}], ("ok", "failed"), "", "there is no such field"),
        (MODEL, [{"x": 760, "y": 780}, f"```json\n{json.dumps(step('answer', content='WALNUT'))}\n```"],
         ("ok", "warning"), "", "fence"),
        (MODEL, [{"x": 760, "y": 780}, f"Here:\n```json\n{json.dumps(step('answer', content='WALNUT'))}\n```"],
         ("ok", "failed"), "", "ignored the schema"),
        (MODEL, [{"x": 500, "y": 500}, step("answer", content="Submit")],
         ("warning", "warning"), "did not find", "'Submit'"),
        (MODEL, [{"x": 5000, "y": 500}, step("wait", seconds=1)], ("failed", "ok"), "'5000' is not", "wants to wait"),
        (MODEL, [{"x": 760}, ""], ("failed", "failed"), "y: Field required", "empty"),
        ("by-name", [{"x": 760, "y": 780}, "It says WALNUT."], ("ok", "failed"), "", "--tool-call-parser"),
        ("by-name", [{"x": 760, "y": 780}, as_told({"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "answer", "arguments": '{"content": "WALNUT"}'}}]})],
         ("ok", "ok"), "", "Function calling works"),
        ("holo", [{"x": 0.76, "y": 0.78}, {"action": "click", "x": 0.76, "y": 0.78, "confidence": 0.2}],
         ("ok", "warning"), "", "confidence"),
        ("holo", [{"x": 0.76, "y": 0.78}, {"action": "answer", "text": "walnut", "confidence": 1}],
         ("ok", "ok"), "", "Flat action works"),
    ], first=3),
)  # fmt: skip
def test_replies_are_judged_by_the_checks_of_image_and_output(
    doctor: CommandLine,
    tmp_path: Path,
    model_name: str,
    replies: list[Any],
    expected: tuple[str, str],
    image: str,
    output: str,
) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    with ScriptedModel(replies, models=[MODEL, "served", "by-name", "holo"]) as model:
        asked = ("doctor", "--json", "--base-url", model.base_url, "--model", model_name)
        ended = doctor(*asked, env={"HOLO_PROFILES": str(tmp_path / "own.toml")})
    found = checks(ended, 14 if "failed" in expected else 0)
    assert (found["image"]["status"], found["output"]["status"]) == expected
    says(found["image"], image)
    says(found["output"], output)
    assert len(model.requests) == 2


def test_a_reply_cut_off_while_thinking_is_explained(doctor: CommandLine) -> None:
    with ScriptedModel([Answer("", finish_reason="length")], models=[MODEL]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url), 14)
    says(found["image"], "ran out of output tokens", "chat_template_kwargs")


@pytest.mark.parametrize(
    ("status", "said", "advice"),
    few(
        [
            (400, "this is not a multimodal model", "--mmproj"),
            (500, 'Unsupported content part type: \\"image_url\\"', "--mmproj"),
            (400, "unknown field structured_outputs", "schema_transport"),
            (429, "slow down", "slow down"),
            (418, "teapot", "teapot"),
        ],
        first=2,
    ),
)
def test_a_refused_request_is_explained_with_advice(doctor: CommandLine, status: int, said: str, advice: str) -> None:
    no = Answer(status=status, body=f'{{"error": {{"message": "{said}"}}}}'.encode())
    with ScriptedModel([no], models=[MODEL]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url), 14)
    assert statuses(found) == {"image": "failed", "output": "skipped"}
    says(found["image"], str(status), advice)
    assert len(model.requests) == 1


def test_an_unsupported_dialect_is_reported(doctor: CommandLine) -> None:
    with ScriptedModel(seen, models=[MODEL]) as model:
        ended = doctor("doctor", "--json", "--base-url", model.base_url, "--dialect", "holotron")
    found = checks(ended, 2)
    assert statuses(found) == {"model": "failed", "image": "skipped", "output": "skipped"}
    says(found["model"], "holotron", "structured, tools")
    assert not model.requests, "no request is paid for in vain"


def test_a_small_context_is_not_overrun(doctor: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        '[small]\nlike = "holotron-12b"\ncontext_tokens = 4096\nmax_output_tokens = 4096'
    )
    with ScriptedModel([{"x": 0.76, "y": 0.78}], models=["small"]) as model:
        asked = ("doctor", "--json", "--base-url", model.base_url, "--model", "small")
        doctor(*asked, env={"HOLO_PROFILES": str(tmp_path / "own.toml")})
    _, step_asked = model.requests
    assert 256 < step_asked["max_tokens"] < 4096 - 300, "prompt and picture use the rest"


@pytest.mark.parametrize("hung", few(["list", "reply"]))
def test_a_hung_server_is_reported_after_the_timeout(doctor: CommandLine, hung: str) -> None:
    never = Answer("", delay_s=120)
    with ScriptedModel([never], models=never if hung == "list" else [MODEL]) as model:
        started = time.monotonic()
        asked = ("doctor", "--json", "--base-url", model.base_url, "--timeout", "3")
        found = checks(doctor(*asked), 14)
    assert time.monotonic() - started < 30
    guilty = found["endpoint" if hung == "list" else "image"]
    assert guilty["status"] == "failed"
    says(guilty, "3 s")
    assert found["input"]["status"] == "ok", "the other checks did not wait for it"


def test_a_signal_ends_the_doctor_and_its_processes(doctor: CommandLine) -> None:
    with ScriptedModel([], models=Answer("", delay_s=120)) as model:
        running = doctor.start("doctor", "--json", "--base-url", model.base_url, env=OWN_SCREEN, real=True)
        until(lambda: [line for line in related(str(doctor.home)) if "window.py" in line])
        ended = running.signal(signal.SIGTERM)
    assert (ended.code, json.loads(ended.stdout)) == (13, {"status": "failed", "checks": []})
    assert "stopped" in ended.complaint
    assert related(str(doctor.home)) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    few(
        [
            (["--timeout", "0"], "--timeout"),
            (["--timeout", "nan"], "--timeout"),
            (["--timeout", "3601"], "--timeout"),
            (["--timeout", "soon"], "--timeout"),
            (["--dialect", "esperanto"], "esperanto"),
            (["--no-such-option"], "--no-such-option"),
            (["a goal"], "a goal"),
        ],
        first=2,
    ),
)
def test_invalid_arguments_are_refused(doctor: CommandLine, arguments: list[str], word: str) -> None:
    ended = doctor("doctor", "--json", *arguments)
    assert (ended.code, json.loads(ended.stdout)) == (2, {"status": "failed", "checks": []})
    assert word in ended.complaint


def test_missing_signs_of_activity_are_listed() -> None:
    (said,) = _unseen_work(["connections: Operation not permitted", "pointer: the X server has no XFIXES"])
    assert said.endswith("not seen: connections: Operation not permitted; pointer: the X server has no XFIXES.")
    assert not _unseen_work([])


def test_a_borrowed_display_is_only_captured(doctor: CommandLine, x_server: XServer, display: str) -> None:
    log = doctor.home / "events"
    x_server(display, *command("events", log))
    until(lambda: log.exists() and "mapped" in log.read_text())
    found = checks(doctor("doctor", "--json", "--base-url", NOBODY, env={"DISPLAY": display}), 14)
    assert (found["display"]["status"], found["input"]["status"]) == ("ok", "ok")
    says(found["display"], display, "800x600", "came to rest")
    says(found["input"], "XTEST", "nothing was sent")
    assert set(log.read_text().splitlines()) == {'["mapped"]'}, "no input event"


@pytest.mark.parametrize(
    ("display", "code", "word"), [(":2999", 15, "Cannot open display :2999"), ("99", 2, "not an X display")]
)
def test_a_missing_display_is_reported(doctor: CommandLine, display: str, code: int, word: str) -> None:
    with ScriptedModel(seen, models=[MODEL]) as model:
        found = checks(doctor("doctor", "--json", "--base-url", model.base_url, "--display", display), code)
    assert statuses(found) == {"display": "failed", "input": "skipped"}
    says(found["display"], word)
    says(found["input"], "display failed")


def test_an_empty_screen_is_a_warning(doctor: CommandLine, x_server: XServer, display: str) -> None:
    x_server(display)
    found = checks(doctor("doctor", "--json", "--base-url", NOBODY, "--display", display, real=True), 14)
    assert found["display"]["status"] == "warning"
    says(found["display"], "one single colour")


@pytest.mark.parametrize(("missing", "package"), few([("Xvfb", "xvfb"), ("openbox", "openbox")]))
def test_a_missing_package_is_named(doctor: CommandLine, tmp_path: Path, missing: str, package: str) -> None:
    path = tmp_path / "path"
    path.mkdir()
    for program in {"Xvfb", "openbox", "xkbcomp", "sh"} - {missing}:
        found = subprocess.run(["which", program], capture_output=True, text=True, check=True).stdout.strip()
        (path / program).symlink_to(found)
    with ScriptedModel(seen, models=[MODEL]) as model:
        ended = doctor("doctor", "--json", "--base-url", model.base_url, env={"PATH": str(path), **OWN_SCREEN})
    found = checks(ended, 15)
    assert statuses(found) == {"display": "failed", "input": "skipped", "view": "warning"}
    says(found["view"], "apt-get install --no-install-recommends tigervnc-scraping-server`")
    says(found["display"], f"apt-get install {package}`")


@pytest.mark.parametrize(
    ("bucket", "env", "word"),
    few(
        [
            ("nowhere", {}, "does not exist"),
            ("evidence", {"AWS_SECRET_ACCESS_KEY": "x" * 40}, "credentials"),
            ("evidence", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "cannot be reached"),
            ("evidence", {"HOLO_HOME": "/dev/null/home"}, "/dev/null/home/spool"),
        ],
        first=2,
    ),
)
def test_an_unusable_bucket_is_reported(
    doctor: CommandLine, s3: S3Server, bucket: str, env: dict[str, str | None], word: str
) -> None:
    asked = ("doctor", "--json", "--base-url", NOBODY, "--audit", f"s3://{bucket}/runs")
    ended = doctor(*asked, env={**s3.environment, **env})
    found = checks(ended, 14 if word == "cannot be reached" else 2)  # the lowest of the codes of all failures
    assert found["audit"]["status"] == "failed"
    says(found["audit"], word)
    assert names_in(s3) == []


@contextmanager
def nothing_is_deleted(s3: S3Server) -> Iterator[str]:
    """A proxy of the S3 server that refuses DELETE, as a policy for evidence does."""
    host = s3.endpoint.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            upstream = http.client.HTTPConnection(host)
            upstream.request(self.command, self.path, body, dict(self.headers.items()))
            reply = upstream.getresponse()
            self._send(reply.status, reply.read(), dict(reply.getheaders()))

        do_PUT = do_HEAD = do_GET

        def do_DELETE(self) -> None:
            self._send(403, b"<Error><Code>AccessDenied</Code></Error>", {})

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_bucket_that_forbids_deletion_is_ok(doctor: CommandLine, tmp_path: Path) -> None:
    with S3Server(tmp_path / "s3") as s3, nothing_is_deleted(s3) as door:
        asked = ("doctor", "--json", "--base-url", NOBODY, "--audit", f"s3://{s3.bucket}")
        found = checks(doctor(*asked, env={**s3.environment, "AWS_ENDPOINT_URL": door}), 14)
        (name,) = names_in(s3)
    assert found["audit"]["status"] == "ok"
    assert name.startswith(".holo-doctor-")
    says(found["audit"], "nothing may be deleted there", f"{name} stays")


@pytest.mark.parametrize(
    ("audit", "words"),
    few(
        [
            ("taken", ["taken", "File exists", "in the way", "--audit"]),
            ("taken/below", ["taken/below", "in the way"]),
            ("gs://bucket", ["gs://bucket", "no audit destination"]),
            ("", ["empty"]),
        ]
    ),
)
def test_an_unwritable_folder_is_reported(doctor: CommandLine, audit: str, words: list[str]) -> None:
    (doctor.home / "taken").write_text("a file")
    found = checks(doctor("doctor", "--json", "--base-url", NOBODY, "--audit", audit), 2)
    assert found["audit"]["status"] == "failed"
    says(found["audit"], *words)
    assert not list(doctor.home.rglob(".holo-doctor*"))


def test_a_full_disk_is_reported(doctor: CommandLine, small_disk: Path) -> None:
    (small_disk / "runs").mkdir()
    with suppress(OSError), (small_disk / "large").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    found = checks(doctor("doctor", "--json", "--base-url", NOBODY, env={"HOLO_HOME": str(small_disk)}), 2)
    says(found["audit"], str(small_disk), "No space left", "free some space", "HOLO_HOME")
    assert {path.name for path in small_disk.rglob("*")} == {"runs", "large"}


def test_an_unreachable_prefect_api_is_reported(doctor: CommandLine) -> None:
    env = {"PREFECT_API_URL": "http://u:s3cret@127.0.0.1:9/api"}
    ended = doctor("doctor", "--json", "--base-url", NOBODY, env=env)
    says(checks(ended, 14)["prefect"], "127.0.0.1:9/api", "PREFECT_API_URL")
    assert "s3cret" not in ended.stdout


def test_a_configured_shared_database_is_examined(doctor: CommandLine, postgres: Postgres) -> None:
    url, names = postgres.new_database(), (*NAMES, "database")
    asked = ("doctor", "--json", "--base-url", NOBODY)
    found = checks(doctor(*asked, env={"HOLO_DATABASE_URL": url}), 14, names)
    assert found["database"]["status"] == "ok"
    says(found["database"], url.partition("@")[2], "Postgres 1", "can be read and written")
    for where, word in (
        (f"{url}?options=-cdefault_transaction_read_only%3Don", "it is read-only"),
        (f"{url}_none", "the database does not exist"),
        ("postgresql://holo:s3c@ret@127.0.0.1:9/db", "%40"),
    ):
        ended = doctor(*asked, env={"HOLO_DATABASE_URL": where})
        found = checks(ended, 2, names)
        assert found["database"]["status"] == "failed"
        says(found["database"], word)
        assert "ret@" not in ended.stdout


@pytest.mark.long
def test_a_closed_output_pipe_is_not_an_error(doctor: CommandLine) -> None:
    with ScriptedModel(seen, models=[MODEL]) as model:
        given = f"{EXECUTABLE} doctor --base-url {model.base_url}"
        for shell, code in ((f"{given} | true", 0), (f"{given} >/dev/full", 2), (f"{given} --json >/dev/full", 2)):
            ended = subprocess.run(
                ["bash", "-o", "pipefail", "-c", shell], env=doctor.env, capture_output=True, text=True
            )
            assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), shell
