"""Secrets come from the keyring, from HashiCorp Vault and from any Prefect block that reads a secret."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import keyring
import pytest
from keyring.backend import KeyringBackend
from prefect.blocks.abstract import SecretBlock
from pydantic import ValidationError

from holo_tasks import InvalidUsage, Unavailable
from holo_tasks.run.rules.secret_sources import SecretSpec, resolved

VALUE, TOKEN = "Kranich", "hvs.4711"
STORED = {"/v1/kv/data/team/ledger": {"data": {"data": {"password": VALUE, "pin": 12}}}, "/v1/old/data/x": {"data": {}}}


async def value_of(source: str, environ: dict[str, str] | None = None, *, blocks: bool = True) -> str:
    spec = SecretSpec(name="password", source=source)
    return (await resolved([spec], environ=environ or {}, blocks=blocks))["password"].value


@pytest.fixture
def vault() -> Iterator[dict[str, str]]:
    """The HTTP interface of a vault; returns the environment that leads to it."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers["X-Vault-Token"] == TOKEN
            found = STORED.get(self.path)
            body = json.dumps(found or {"errors": [VALUE]}).encode()
            self.send_response(503 if "sealed" in self.path else 403 if not allowed else 200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {"VAULT_ADDR": f"http://127.0.0.1:{server.server_port}/", "VAULT_TOKEN": TOKEN}
        server.shutdown()


class InMemory(KeyringBackend):
    """A keyring that holds one password."""

    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        if service == "locked":
            raise RuntimeError(VALUE)
        return VALUE if (service, username) == ("portal", "ada/b") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


class ReadsElsewhere(SecretBlock):
    """A block as those of cloud libraries: it names a secret, and reads it from a service."""

    _block_type_slug = "reads-elsewhere"
    stored: str = ""

    async def read_secret(self) -> bytes:
        if not self.stored:
            raise RuntimeError(VALUE)
        return self.stored.encode()

    async def write_secret(self, secret_data: bytes) -> str:
        raise NotImplementedError


async def test_a_field_of_a_secret_in_vault_is_the_value(vault: dict[str, str]) -> None:
    assert await value_of("vault:kv/team/ledger#password", vault, blocks=False) == VALUE
    assert await value_of("vault:kv/team/ledger#pin", vault) == "12"


@pytest.mark.parametrize(
    ("source", "changed", "kind", "said"),
    [
        ("vault:kv/nowhere#x", {}, InvalidUsage, "there is nothing at vault:kv/nowhere#x"),
        ("vault:kv/team/ledger#none", {}, InvalidUsage, "has no field 'none'"),
        ("vault:old/x#y", {}, InvalidUsage, "version 2"),
        ("vault:kv/team/ledger#password", {"VAULT_TOKEN": "guessed"}, InvalidUsage, "HTTP 403"),
        ("vault:kv/sealed#x", {}, Unavailable, "HTTP 503"),
        ("vault:kv/team/ledger#password", {"VAULT_ADDR": "http://127.0.0.1:9"}, Unavailable, "ConnectError"),
        ("vault:kv/team/ledger#password", {"VAULT_TOKEN": ""}, InvalidUsage, "VAULT_ADDR and VAULT_TOKEN"),
        (
            "vault:kv/team/ledger#password",
            {"VAULT_ADDR": "http://192.0.2.1", "HOLO_LOCAL_ONLY": "1"},
            InvalidUsage,
            "Vault",
        ),
    ],
)
async def test_errors_of_vault_name_the_source_and_no_value(
    vault: dict[str, str], source: str, changed: dict[str, str], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as raised:
        await value_of(source, vault | changed)
    assert said in str(raised.value)
    assert isinstance(raised.value, Unavailable) == (kind is Unavailable)
    assert not {VALUE, TOKEN} & set(str(raised.value).split())
    assert VALUE not in str(raised.value)


async def test_the_keyring_holds_a_password_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(InMemory())
    try:
        assert await value_of("keyring:portal/ada/b") == VALUE
        with pytest.raises(InvalidUsage, match="there is nothing at keyring:portal/bob"):
            await value_of("keyring:portal/bob")
        with pytest.raises(InvalidUsage, match=r"of 'locked/ada' \(RuntimeError\)") as raised:
            await value_of("keyring:locked/ada")
        assert VALUE not in str(raised.value)
    finally:
        keyring.set_keyring(before)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(InvalidUsage, match=r"pip install 'prefect-holo\[keyring\]'"):
        await value_of("keyring:portal/ada")


async def test_a_block_that_reads_a_secret_is_a_source(prefect: str) -> None:
    await ReadsElsewhere(stored=VALUE).asave("ledger")
    await ReadsElsewhere(stored=json.dumps({"user": "ada", "password": VALUE})).asave("as-json")
    await ReadsElsewhere().asave("denied")
    assert await value_of("block:reads-elsewhere/ledger") == VALUE
    assert await value_of("block:reads-elsewhere/as-json#password") == VALUE
    for source, said in (
        ("block:reads-elsewhere/denied", "by the reads-elsewhere block 'denied' (RuntimeError)"),
        ("block:reads-elsewhere/nowhere", "Prefect has no block 'reads-elsewhere/nowhere'"),
        ("block:unknown-type/ledger", "unknown-type"),
    ):
        with pytest.raises(InvalidUsage) as raised:
            await value_of(source)
        assert said in str(raised.value)
        assert VALUE not in str(raised.value)


@pytest.mark.parametrize(
    "source", ["vault:kv/x", "keyring:portal", "block:A", "block:a/b/c", "file:/etc/shadow", "hunter2"]
)
def test_a_source_of_no_known_form_is_refused(source: str) -> None:
    with pytest.raises(ValidationError, match=r"keyring:SERVICE/USER, vault:MOUNT/PATH#FIELD"):
        SecretSpec(name="password", source=source)
