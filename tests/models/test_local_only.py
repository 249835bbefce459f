"""Local-only mode over real sockets: a picture reaches only a model on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.models.client import ModelEndpoint
from tests.support.lookup import Names
from tests.support.scripted_model import Answer, ScriptedModel

BODY = {"model": "m", "messages": [], "max_tokens": 100}
DONE = '{"done": true}'


class Elsewhere:
    """A server whose URL has no loopback address. It counts the connections."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("0.0.0.0", 0))  # 0.0.0.0 is reachable, but not a loopback address
        self.port = self._listening.getsockname()[1]
        self.visits = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.visits += 1
            connection.close()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    server = Elsewhere()
    yield server
    server.close()


async def ask(url: str, names: Names | None = None, *, after: dict[str, list[str]] | None = None) -> str:
    endpoint = ModelEndpoint(url, None, local_only=True, **({"lookup": names} if names else {}))
    if names and after:
        names.hosts.update(after)
    try:
        return (await endpoint.complete(BODY, timeout_s=10)).content
    finally:
        await endpoint.close()


async def test_a_local_model_is_reached_by_address_and_name() -> None:
    with ScriptedModel([DONE]) as model:
        port = model.base_url.split(":")[2]
        assert await ask(model.base_url) == DONE
        assert await ask(f"http://model.test:{port}", Names({"model.test": ["127.0.0.1"]})) == DONE
        assert model.headers[-1]["host"] == f"model.test:{port.removesuffix('/v1')}"


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1@0.0.0.0", "localhost:1@0.0.0.0", "localhost.evil.test"])
async def test_a_remote_model_is_refused_before_a_connection(elsewhere: Elsewhere, host: str) -> None:
    names = Names({"localhost.evil.test": ["0.0.0.0"]})
    with pytest.raises(InvalidUsage, match="not this machine"):
        await ask(f"http://{host}:{elsewhere.port}/v1", names)
    assert elsewhere.visits == 0


async def test_without_the_mode_the_same_server_is_reached(elsewhere: Elsewhere) -> None:
    endpoint = ModelEndpoint(f"http://0.0.0.0:{elsewhere.port}/v1", None)
    with pytest.raises(HoloError):
        await endpoint.complete(BODY, timeout_s=10)
    await endpoint.close()
    assert elsewhere.visits == 1


async def test_a_rebound_name_gets_no_request(elsewhere: Elsewhere) -> None:
    names = Names({"rebinds.test": ["127.0.0.1"]})
    with pytest.raises(InvalidUsage, match="not this machine"):
        await ask(f"http://rebinds.test:{elsewhere.port}/v1", names, after={"rebinds.test": ["0.0.0.0"]})
    assert elsewhere.visits == 0
    assert names.asked == ["rebinds.test"] * 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(elsewhere: Elsewhere, status: int) -> None:
    away = Answer(body=b"", status=status, headers={"Location": f"http://127.0.0.2:{elsewhere.port}/v1"})
    with ScriptedModel([away]) as model:
        with pytest.raises(HoloError):
            await ask(model.base_url)
        assert len(model.requests) == 1
    assert elsewhere.visits == 0


async def test_a_proxy_of_the_environment_is_not_used(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedModel([DONE]) as model:
        assert await ask(model.base_url) == DONE
    assert elsewhere.visits == 0


def test_the_environment_turns_the_mode_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_LOCAL_ONLY", "1")
    with pytest.raises(InvalidUsage, match="Local-only"):
        ModelEndpoint("https://203.0.113.7/v1", None, local_only=False)
