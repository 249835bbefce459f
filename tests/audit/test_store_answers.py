"""Answers of S3-compatible stores: a lasting refusal is reported at once with its reason, a passing one is retried.

A small HTTP server plays stores that lack a feature, because no such store can be installed here.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.audit.errors import StoreAway, StoreRefused
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.stores import Destination
from holo_tasks.core.errors import InvalidUsage
from tests.support.remote_servers import certificate

OLD_DATE = "Mon, 05 Jan 2026 10:00:00 GMT"


class Store(ThreadingHTTPServer):
    """Answers every request with success, except for those that ``answer`` gives a status and a code."""

    answer: Any = staticmethod(lambda _method, _path: None)
    date = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    server: Store

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, code = self.server.answer(self.command, self.path) or (404 if self.command == "HEAD" else 200, "")
        body = b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>"
        if code:
            body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        self.send_response_only(status)
        self.send_header("date", self.server.date or self.date_time_string())
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_PUT = do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def bucket(store: Store, **place: Any) -> Bucket:
    keys = Keys(SecretStr("a" * 20), SecretStr("b" * 40))
    return Bucket(Place("evidence", "p", store.url, "us-east-1", **place), keys, attempts=1)


@pytest.mark.parametrize(
    ("only", "status", "code", "says"),
    [
        ("PUT", 501, "NotImplemented", "does not support conditional writes with checksums"),
        ("PUT", 400, "UnsupportedOperation", "does not support conditional writes"),
        ("GET", 403, "RequestTimeTooSkewed", r"clock of this machine is \d+ minutes ahead: set the clock"),
        ("GET", 403, "SecondLevelDomainForbidden", "HOLO_AUDIT_ADDRESSING_STYLE=virtual"),
        ("GET", 403, "AccessDenied", "grant s3:PutObject"),
    ],
)
def test_a_lasting_refusal_is_found_before_the_run(store: Store, only: str, status: int, code: str, says: str) -> None:
    store.date = OLD_DATE
    store.answer = lambda method, _: (status, code) if method == only else None
    with pytest.raises(StoreRefused, match=says) as caught:
        bucket(store).check()
    assert not caught.value.transient


@pytest.mark.parametrize(("status", "code"), [(503, "SlowDown"), (500, "InternalError"), (429, "Throttling")])
def test_a_busy_store_is_tried_again(store: Store, status: int, code: str) -> None:
    store.answer = lambda method, _: (status, code) if method == "PUT" else None
    with pytest.raises(StoreAway):
        bucket(store).check()


def test_a_store_that_ignores_the_condition_of_a_write_is_refused(store: Store) -> None:
    with pytest.raises(StoreRefused, match="ignores conditional writes"):
        bucket(store).check()
    store.answer = lambda method, _: (412, "PreconditionFailed") if method == "PUT" else None
    bucket(store).check()


@pytest.mark.parametrize(
    ("status", "code"),
    [(501, "NotImplemented"), (404, "ObjectLockConfigurationNotFoundError"), (405, "MethodNotAllowed")],
)
def test_a_store_without_object_lock_is_not_taken_for_a_busy_one(store: Store, status: int, code: str) -> None:
    store.answer = lambda _, path: (status, code) if "object-lock" in path else None
    with pytest.raises(StoreRefused, match="has no object lock"):
        bucket(store, retain_days=7).check()


def test_a_real_store_keeps_one_probe_and_passes_each_check(to_s3: Any, s3: Any, bucket: Any) -> None:
    where = to_s3()
    for _ in range(3):
        where.check()
    kept = bucket.list_objects_v2(Bucket=s3.bucket, Prefix=where.place.prefix)["Contents"]
    assert [one["Key"].rpartition("/")[2] for one in kept] == [".holo-tasks-may-write-once"]


@pytest.mark.parametrize(
    ("name", "says"), [("localhost", "is not trusted: set AWS_CA_BUNDLE"), ("other", "is for another host")]
)
def test_a_certificate_that_is_not_accepted_is_no_outage(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    """The certificate of an unknown authority, and one for another host."""
    made, key, _ = certificate(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    store.socket = context.wrap_socket(store.socket, server_side=True, do_handshake_on_connect=False)
    if name == "other":
        monkeypatch.setenv("AWS_CA_BUNDLE", str(made))
    place = Place("evidence", "p", f"https://localhost:{store.server_port}", "us-east-1")
    with pytest.raises(StoreRefused, match=f"certificate.*{says}") as caught:
        Bucket(place, Keys(SecretStr("a" * 20), SecretStr("b" * 40)), attempts=1).check()
    assert not caught.value.transient


def test_a_missing_file_of_certificates_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere.pem")
    with pytest.raises(StoreRefused, match=r"AWS_CA_BUNDLE names /nowhere\.pem"):
        bucket(store)


def test_the_addressing_style_comes_from_the_block_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def style(given: str = "") -> str:
        where: Any = Destination.parse("s3://evidence/x", addressing_style=given)
        return str(where.place.addressing_style)

    assert (style(), style("virtual")) == ("path", "virtual")
    monkeypatch.setenv("HOLO_AUDIT_ADDRESSING_STYLE", "virtual")
    assert (style(), style("path")) == ("virtual", "path")
    with pytest.raises(InvalidUsage, match="'path' or 'virtual'"):
        style("vhost")
