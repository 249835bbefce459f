"""A server that this product starts refuses all requests without its login, from web pages and other users."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from holo_tasks.core.person import Answer
from holo_tasks.handoff.hand_over import hand_over
from tests.handoff.test_handoff import Stage
from tests.handoff.test_handoff import stage as stage  # a fixture
from tests.support.browser import Tab
from tests.support.prefect_api import login

FOREIGN = {"Origin": "https://evil.example"}
PREFECT = [Subprotocol("prefect")]
SECRETS = {"include_secrets": True}


@pytest.mark.parametrize("auth", [None, ("holo", "guessed"), ("holo", "")])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/block_documents/filter", SECRETS),
        ("/variables/", {"name": "holo_kill", "value": "all"}),
        ("/flow_runs/filter", {}),
        ("/flow_runs/00000000-0000-0000-0000-000000000000/resume", {"run_input": {"choice": "yes"}}),
    ],
)
def test_requests_without_the_login_are_refused(
    prefect_url: str, path: str, body: dict[str, Any], auth: tuple[str, str] | None
) -> None:
    answer = httpx.post(prefect_url + path, json=body, headers=FOREIGN, auth=auth)
    assert (answer.status_code, answer.json()) == (401, {"exception_message": "Unauthorized"})
    assert "access-control-allow-origin" not in answer.headers
    assert "www-authenticate" not in answer.headers  # with it a browser would keep a login, and send it for any page


def test_pages_of_other_sites_are_refused_even_with_the_login(prefect_url: str) -> None:
    asked = {**FOREIGN, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    before = httpx.options(f"{prefect_url}/block_documents/filter", headers=asked)
    read = httpx.post(f"{prefect_url}/block_documents/filter", json=SECRETS, headers=FOREIGN, auth=login())
    assert (before.status_code, read.status_code) == (400, 200)
    assert not {"access-control-allow-origin"} & {*before.headers, *read.headers}


@pytest.mark.parametrize("host", ["rebind.evil.example", "localhost", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(prefect_url: str, host: str) -> None:
    for path in ("/health", "/flow_runs/count"):
        assert httpx.get(prefect_url + path, headers={"Host": host}, auth=login()).status_code == 400


async def test_events_without_the_login_are_refused(prefect_url: str) -> None:
    address = prefect_url.replace("http:", "ws:") + "/events/in"
    with contextlib.suppress(ConnectionClosed, InvalidStatus):
        async with connect(address, subprotocols=PREFECT, proxy=None, additional_headers=FOREIGN) as socket:
            await socket.send(json.dumps({"type": "auth", "token": "guessed"}))
            while "auth_success" not in str(await socket.recv()):
                pass
            pytest.fail("it was taken")


async def test_a_local_web_page_cannot_answer_for_a_person(stage: Stage, tmp_path: Path) -> None:
    running = stage.flow(lambda: hand_over("Pay 9,999 EUR?", choices=("yes", "no")))
    await stage.waiting()
    await stage.state("PAUSED")
    with _site(_script(stage.prefect.url, stage.flow_run)) as site:
        async with Tab.opened(tmp_path / "profile") as tab:
            await tab.go(site)
            # Not one of its requests is answered in a way that it can read, and the blind one changes nothing.
            await tab.becomes("document.title", "TypeError,TypeError,TypeError,opaque")
    assert (await stage.state("PAUSED"))["state"]["type"] == "PAUSED"
    assert not running.done()
    assert stage.resume(choice="no", note="a person")["status"] == "ACCEPT"
    assert await running == Answer("no", "a person", "somebody in Prefect's pages")


def _script(url: str, flow_run: str) -> str:
    """Return a web page that reads all it can and approves in two ways. It knows which flow run waits."""
    filtered = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": json.dumps(SECRETS)}
    said = json.dumps({"run_input": {"choice": "yes"}})
    sent = {**filtered, "body": said}
    asked = [
        (f"{url}/flow_runs/filter", {**filtered, "body": "{}"}),
        (f"{url}/block_documents/filter", filtered),
        (f"{url}/flow_runs/{flow_run}/resume", sent),
        (f"{url}/flow_runs/{flow_run}/resume", {"method": "POST", "mode": "no-cors", "body": said}),
    ]
    return (
        "<!doctype html><title>at it</title><script>"
        f"Promise.all({json.dumps(asked)}.map(([to, how]) => fetch(to, how).then(got => got.type, no => no.name)))"
        ".then(found => document.title = found)</script>"
    )


@contextmanager
def _site(page: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
