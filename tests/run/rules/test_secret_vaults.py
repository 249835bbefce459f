"""Secrets come from the keyring, HashiCorp Vault, Bitwarden and from any Prefect block that reads a secret.

Bitwarden's commands are stand-ins: they accept only the one form of arguments, and print the same as the real ones
(`bw` 2026.9.0; `bws` by its source). No real account was read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import keyring
import pytest
from keyring.backend import KeyringBackend
from prefect.blocks.abstract import SecretBlock
from pydantic import ValidationError

from holo_tasks import InvalidUsage, Unavailable
from holo_tasks.run.rules import secret_vaults
from holo_tasks.run.rules.secret_sources import SecretSpec, resolved

VALUE, TOKEN = "Kranich", "hvs.4711"
STORED = {
    "/v1/kv/data/team/ledger": {"data": {"data": {"password": VALUE, "pin": 12, "gone": None}}},
    "/v1/old/data/x": {"data": {}},
}

SESSION, ITEM_ID = "c2Vzc2lvbg==", "99ee88d2-6046-4ea7-92c2-acac464b1412"
ITEMS = [
    {
        "id": ITEM_ID,
        "name": "portal",
        "login": {"username": "ada", "password": VALUE, "totp": None},
        "notes": None,
        "fields": [{"name": "pin", "value": "12"}, {"name": "two", "value": "1"}, {"name": "two", "value": "2"}],
    },
    {"id": "1f0e", "name": "old ledger", "login": {"password": VALUE}, "fields": []},
    {"id": "2f0e", "name": "gone", "login": {"password": VALUE}, "deletedDate": "2026-01-05T10:00:00Z"},
    {"id": "3f0e", "name": "twin", "notes": VALUE},
    {"id": "4f0e", "name": "twin", "notes": VALUE},
    {"id": "5f0e", "name": "--session", "login": {"password": VALUE}},
]
BW = f"""
import json, os, sys
key = os.environ.get("BW_SESSION", "")
assert sys.argv[1:5] == ["--nointeraction", "get", "item", "--"] and len(sys.argv) == 6, sys.argv
assert not sys.stdin.read() and "other-secret" not in os.environ.values()
if key != {SESSION!r}:
    sys.exit("Vault is locked.")
wanted = sys.argv[5]
if wanted == "broken":
    print("<html>")
    sys.exit()
if wanted == "crash":
    sys.exit({VALUE!r})
items = json.loads({json.dumps(json.dumps(ITEMS))})
found = [one for one in items if one["id"] == wanted] or [one for one in items if wanted in one["name"]]
if not found:
    sys.exit("Not found.")
if len(found) > 1:
    sys.exit("More than one result was found. Try getting a specific object by `id` instead.")
print(json.dumps(found[0]))
"""
BWS = f"""
import json, os, sys
assert sys.argv[1:-1] == ["--output", "json", "--color", "no", "secret", "get"], sys.argv
assert not sys.stdin.read() and "BW_SESSION" not in os.environ
number, server = int(sys.argv[-1][-3:]), "Error: \\n   0: Received error message from server: "
if os.environ["BWS_ACCESS_TOKEN"] != {TOKEN!r}:
    sys.exit(server + '[400 Bad Request] {{"error":"invalid_client"}}')
if number == 404:
    sys.exit(server + '[404 Not Found] {{"message":"Resource not found."}}')
if number == 503:
    sys.exit(server + "[503 Service Unavailable] " + {VALUE!r})
if number == 111:
    sys.exit("Error: \\n   0: error sending request for url (http://localhost/identity/connect/token)")
value = {VALUE!r} if number else json.dumps({{"password": {VALUE!r}}})
print(json.dumps({{"id": sys.argv[-1], "key": "portal", "value": value, "note": ""}}, indent=2))
"""


def secret_id(number: int) -> str:
    return f"382580ab-1368-4e85-bfa3-b02e01400{number:03}"


@pytest.fixture
def bitwarden(tmp_path: Path) -> dict[str, str]:
    """The commands of Bitwarden; returns the environment with them and their keys."""
    for name, source in (("bw", BW), ("bws", BWS)):
        (tmp_path / name).write_text(f"#!{sys.executable}\n{source}")
        (tmp_path / name).chmod(0o755)
    return {
        "PATH": str(tmp_path),
        "BW_SESSION": SESSION,
        "BWS_ACCESS_TOKEN": TOKEN,
        "HOLO_SECRET_OTHER": "other-secret",
    }


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
            if "standby" in self.path:
                self.send_response(307)
                self.send_header("Location", "http://192.0.2.1/v1/kv/data/x")
                self.end_headers()
                return
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


async def test_no_proxy_gets_the_token_in_local_only_mode(
    vault: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Unavailable):
        await value_of("vault:kv/team/ledger#password", vault)
    assert await value_of("vault:kv/team/ledger#password", vault | {"HOLO_LOCAL_ONLY": "1"}) == VALUE


@pytest.mark.parametrize(
    ("source", "changed", "kind", "said"),
    [
        ("vault:kv/nowhere#x", {}, InvalidUsage, "there is nothing at vault:kv/nowhere#x"),
        ("vault:kv/team/ledger#none", {}, InvalidUsage, "has no field 'none'"),
        ("vault:kv/team/ledger#gone", {}, InvalidUsage, "field 'gone' without a value"),
        ("vault:old/x#y", {}, InvalidUsage, "version 2"),
        ("vault:kv/team/ledger#password", {"VAULT_TOKEN": "guessed"}, InvalidUsage, "HTTP 403"),
        ("vault:kv/sealed#x", {}, Unavailable, "HTTP 503"),
        ("vault:kv/standby#x", {}, InvalidUsage, "refers to another one"),
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


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("bw:portal", VALUE),
        (f"bw:{ITEM_ID}#password", VALUE),
        ("bw:portal#username", "ada"),
        ("bw:portal#pin", "12"),
        ("bw:3f0e#notes", VALUE),
        ("bw:--session", VALUE),
        (f"bws:{secret_id(1)}", VALUE),
        (f"bws:{secret_id(0)}#password", VALUE),
    ],
)
async def test_bitwarden_is_read_by_its_commands(bitwarden: dict[str, str], source: str, value: str) -> None:
    assert await value_of(source, bitwarden, blocks=False) == value


@pytest.mark.parametrize(
    ("source", "changed", "kind", "said"),
    [
        ("bw:nowhere", {}, InvalidUsage, "there is nothing at bw:nowhere"),
        ("bw:ledger", {}, InvalidUsage, "there is nothing at bw:ledger"),  # only `old ledger` is found
        ("bw:gone", {}, InvalidUsage, "there is nothing at bw:gone"),
        ("bw:twin", {}, InvalidUsage, "several items like Bitwarden's item 'twin'"),
        ("bw:portal#totp", {}, InvalidUsage, "no field 'totp'"),
        ("bw:portal#two", {}, InvalidUsage, "several fields 'two'"),
        ("bw:broken", {}, InvalidUsage, "not the JSON object"),
        ("bw:crash", {}, InvalidUsage, "(exit code 1)"),
        ("bw:portal", {"BW_SESSION": "old"}, InvalidUsage, "Bitwarden is locked"),
        ("bw:portal", {"BW_SESSION": ""}, InvalidUsage, "the variable BW_SESSION"),
        ("bw:portal", {"PATH": "/nowhere"}, InvalidUsage, "needs the command bw"),
        ("bw:portal", {"HOLO_LOCAL_ONLY": "1"}, InvalidUsage, "Local-only mode"),
        (f"bws:{secret_id(404)}", {}, InvalidUsage, f"there is nothing at bws:{secret_id(404)}"),
        (f"bws:{secret_id(503)}", {}, Unavailable, "HTTP 503"),
        (f"bws:{secret_id(111)}", {}, Unavailable, "exit code 1"),
        (f"bws:{secret_id(1)}", {"BWS_ACCESS_TOKEN": "guessed"}, InvalidUsage, "HTTP 400"),
        (f"bws:{secret_id(1)}", {"BWS_ACCESS_TOKEN": ""}, InvalidUsage, "the variable BWS_ACCESS_TOKEN"),
        (f"bws:{secret_id(1)}#pin", {}, InvalidUsage, "has no field 'pin'"),
    ],
)
async def test_errors_of_bitwarden_name_the_source_and_no_value(
    bitwarden: dict[str, str], source: str, changed: dict[str, str], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as raised:
        await value_of(source, bitwarden | changed)
    assert said in str(raised.value)
    assert isinstance(raised.value, Unavailable) == (kind is Unavailable)
    assert not any(secret in str(raised.value) for secret in (VALUE, TOKEN, SESSION))


async def test_a_hanging_command_of_bitwarden_is_ended(
    bitwarden: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(bitwarden["PATH"], "bw").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    monkeypatch.setattr(secret_vaults, "COMMAND_TIMEOUT_S", 0.2)
    with pytest.raises(Unavailable, match=r"bw took longer than 0\.2 s"):
        await value_of("bw:portal", bitwarden)


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
    "source",
    [
        "vault:kv/x",
        "keyring:portal",
        "block:A",
        "block:a/b/c",
        "file:/etc/shadow",
        "hunter2",
        "bw:",
        "bws:portal",
        "vault:kv/../../sys/x#y",
        "vault:kv/..#y",
        "vault:../kv/x#y",
    ],
)
def test_a_source_of_no_known_form_is_refused(source: str) -> None:
    with pytest.raises(ValidationError, match=r"keyring:SERVICE/USER, vault:MOUNT/PATH#FIELD"):
        SecretSpec(name="password", source=source)
