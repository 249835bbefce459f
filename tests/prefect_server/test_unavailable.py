"""A needed service is away or busy: it is retried, and a run without it ends as unavailable before any work."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect.blocks.system import Secret
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from holo_blocks.loading import load_block
from holo_tasks.core.errors import DatabaseAway, InvalidUsage, StoreLost, Unavailable
from holo_tasks.machine.patience import Patience, is_away, patience_s, retry_while_unavailable, tells
from holo_tasks.prefect_server.temporary import require_server, state_of
from holo_tasks.safety.database.database_errors import error_for
from tests.support.command_line import CommandLine, Ended, until
from tests.support.outage import Crowd, Outage
from tests.support.postgres import Postgres
from tests.support.scripted_model import ScriptedModel, step

DONE = step("answer", content="done")
XServer = Callable[..., Any]


@contextmanager
def crowded(url: str, busy: Callable[[str], bool]) -> Iterator[Crowd]:
    made = Crowd(url, busy)
    try:
        yield made
    finally:
        made.cut("refused")


def unavailable(ended: Ended, *words: str) -> None:
    """Assert that a command ended as unavailable and has done nothing."""
    assert (ended.code, ended.stdout[:24]) == (16, '{"status": "unavailable"'), ended.stderr
    assert (ended.told["steps"], ended.told["cost_usd"]) == (0, 0)
    for word in words:
        assert word in ended.complaint


def asked(model: ScriptedModel, display: str, *more: str) -> list[str]:
    return ["run", "Count.", "--display", display, "--base-url", model.base_url, *more]


def test_a_busy_prefect_is_retried_and_reported_once(cli: CommandLine, x_server: XServer, display: str) -> None:
    x_server(display)
    turned_away: list[str] = []

    def busy(line: str) -> bool:
        """Refuse the first three health checks, and the first other request."""
        health = "/health" in line
        if [("/health" in one) for one in turned_away].count(health) >= (3 if health else 1):
            return False
        turned_away.append(line)
        return True

    with crowded(cli.env["PREFECT_API_URL"], busy) as door, ScriptedModel([DONE]) as model:
        env = {"PREFECT_API_URL": door.url, "HOLO_PATIENCE": "300"}
        ended = cli(*asked(model, display), env=env)
    assert (ended.code, ended.stdout) == (0, "done\n")
    assert len(turned_away) == 4
    waits = [line for line in ended.stderr.splitlines() if "Retrying for up to" in line]
    # On a busy machine, a slow server may cause a second message.
    (said,) = [line for line in waits if "slow to take the run" not in line]
    assert said.startswith("holo-tasks: No Prefect API answers at ")


@pytest.mark.long
def test_ten_concurrent_commands_succeed(cli: CommandLine, x_server: XServer, display: str) -> None:
    """Their server has one SQLite file, and refuses some requests for a while."""
    x_server(display)
    with ScriptedModel([DONE]) as model:
        commands = [cli.start(*asked(model, display, "--json"), env={"HOLO_PATIENCE": "300"}) for _ in range(10)]
        ends = [command.end() for command in commands]
    assert [(ended.code, ended.told["status"]) for ended in ends] == [(0, "answered")] * 10, ends


@pytest.mark.parametrize("how", ["busy all along", "busy when the run is to begin", "refused"])
def test_a_run_without_prefect_ends_before_any_work(
    cli: CommandLine, x_server: XServer, display: str, how: str
) -> None:
    x_server(display)
    health = how == "busy when the run is to begin"
    with (
        crowded(cli.env["PREFECT_API_URL"], lambda line: not (health and "/health" in line)) as door,
        ScriptedModel([DONE]) as model,
    ):
        if how == "refused":
            door.cut("refused")
        env = {"PREFECT_API_URL": door.url, "HOLO_PATIENCE": "0.6", "PREFECT_CLIENT_MAX_RETRIES": "0"}
        unavailable(cli(*asked(model, display, "--json", "--token", "one"), env=env), "Prefect")
        assert model.requests == []


def test_only_a_refused_login_is_wrong_usage(
    cli: CommandLine, x_server: XServer, display: str, postgres: Postgres
) -> None:
    x_server(display)
    url = postgres.new_database()
    with ScriptedModel([DONE]) as model:
        away = {"HOLO_DATABASE_URL": "postgresql://somebody@127.0.0.1:9/holo"}
        for more in ([], ["--token", "one"]):
            unavailable(
                cli(*asked(model, display, "--json", *more), env=away, real=not more), "no server listens there"
            )
        wrong = {"HOLO_DATABASE_URL": f"{url.rpartition('/')[0]}/nowhere"}
        ended = cli(*asked(model, display, "--json", "--token", "one"), env=wrong)
        assert (ended.code, ended.told["status"]) == (2, "invalid")
        assert model.requests == []


@pytest.mark.long
def test_a_database_that_returns_in_time_is_used(
    cli: CommandLine, x_server: XServer, display: str, postgres: Postgres, tmp_path: Path
) -> None:
    x_server(display)
    url = postgres.new_database()
    way = Outage(url)
    way.cut("refused")
    with ScriptedModel([DONE]) as model, (tmp_path / "said").open("w") as said:
        env = {"HOLO_DATABASE_URL": way.url.replace("//", "//holo@"), "HOLO_PATIENCE": "300"}
        running = cli.start(*asked(model, display, "--token", "one"), env=env, stderr=said)
        until(lambda: "Retrying for up to" in (tmp_path / "said").read_text())
        way.mend()
        assert running.end().stdout == "done\n"
    way.cut("refused")


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "away"),
        (b"HTTP/1.1 429 Too many\r\ncontent-length: 0\r\n\r\n", "away"),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "away"),
        (b"", "away"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue", "up"),
        (b"HTTP/1.1 401 Who\r\ncontent-length: 0\r\n\r\n", "up"),
        (b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", "other"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", "other"),
        (b"220 mail.example.com ESMTP\r\n", "other"),
    ],
)
def test_another_service_in_prefects_place_is_recognized(answer: bytes, state: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/api"
        assert state_of(url, 10) == state


@pytest.mark.parametrize("url", ["a server", "http://", "ftp://127.0.0.1/api", "http://127.0.0.1:99999/api"])
def test_an_invalid_url_is_not_retried(url: str) -> None:
    with pytest.raises(InvalidUsage) as caught:
        require_server(url)
    assert not isinstance(caught.value, Unavailable)


@pytest.mark.parametrize(("number", "away"), [
    (socket.EAI_NONAME, False),
    (socket.EAI_NODATA, False),
    (socket.EAI_AGAIN, True),
])  # fmt: skip
async def test_an_unknown_host_is_not_retried(monkeypatch: pytest.MonkeyPatch, number: int, away: bool) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(number, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    url = "http://prefct.example/api"
    assert state_of(url) == ("away" if away else "other")
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError) as caught:
            await client.get(url)
    assert is_away(caught.value) == away


@pytest.mark.parametrize(("said", "kind"), [
    ("failed to resolve host 'db': [Errno -2] Name or service not known", StoreLost),
    ("failed to resolve host 'db': [Errno -5] No address associated with hostname", StoreLost),
    ("failed to resolve host 'db': [Errno -3] Temporary failure in name resolution", DatabaseAway),
])  # fmt: skip
def test_a_database_on_an_unknown_host_is_not_retried(said: str, kind: type[StoreLost]) -> None:
    assert type(error_for(OSError(said), "postgresql://db/holo", local=False)) is kind


async def test_a_block_is_loaded_again_while_prefect_is_busy(prefect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_PATIENCE", "300")
    await Secret(value="x").save("busy-block", overwrite=True)  # type: ignore[misc]
    left = [2]

    def busy(line: str) -> bool:
        left[0] -= 1
        return left[0] >= 0

    with (
        crowded(prefect, busy) as door,
        temporary_settings({PREFECT_API_URL: door.url, PREFECT_CLIENT_MAX_RETRIES: 0}),
    ):
        assert (await load_block(Secret, "busy-block")).get() == "x"
        monkeypatch.setenv("HOLO_PATIENCE", "0")
        left[0] = 9
        with pytest.raises(Unavailable, match="busy-block"):
            await load_block(Secret, "busy-block")


def test_patience_reports_once_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    mark = tells.set(said.append)
    try:
        patience = Patience({"HOLO_PATIENCE": "60"})
        pauses = [patience.pause_s(Unavailable("It is away.")) for _ in range(12)]
        assert all(0 < pause <= 6.5 for pause in pauses)
        assert pauses[0] < 1 < pauses[-1]
        assert len(said) == 1
        monkeypatch.setenv("HOLO_PATIENCE", "0")
        with pytest.raises(DatabaseAway):
            retry_while_unavailable(_away)
        assert len(said) == 1
    finally:
        tells.reset(mark)
    for wrong in ("soon", "-1", "nan", "inf"):
        with pytest.raises(InvalidUsage, match="HOLO_PATIENCE"):
            patience_s({"HOLO_PATIENCE": wrong})


def _away() -> None:
    raise DatabaseAway("It is away.")


def test_every_status_has_its_texts_everywhere() -> None:
    from typing import get_args

    from holo_tasks.audit.pages.formatting import STATUS_WORDS
    from holo_tasks.core.events import Status

    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    for status in get_args(Status):
        assert status in STATUS_WORDS
        assert f"| `{status}` |" in page


class _Door(BaseHTTPRequestHandler):
    """Answers with `true` to requests with the header of a login proxy, and redirects others to its login page."""

    def do_GET(self) -> None:
        known = self.headers.get("X-Access") == "token-of-the-proxy"
        self.send_response(200 if known else 302)
        if not known:
            self.send_header("location", "https://login.example/")
        self.end_headers()
        self.wfile.write(b"true" if known else b"")

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def test_a_server_behind_a_login_proxy_or_an_own_certificate_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    made = [*command.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Door) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}/api"
        assert state_of(url) == "other"
        monkeypatch.setenv("PREFECT_API_SSL_CERT_FILE", str(certificate))
        assert state_of(url) == "other", "the proxy redirects to its login"
        monkeypatch.setenv("PREFECT_CLIENT_CUSTOM_HEADERS", '{"X-Access": "token-of-the-proxy"}')
        assert state_of(url) == "up"
        monkeypatch.delenv("PREFECT_API_SSL_CERT_FILE")
        assert state_of(url) == "other", "the certificate is not trusted"
        monkeypatch.setenv("PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "true")
        assert state_of(url) == "up"
        server.shutdown()
