"""Test evidence in local-only mode: a bucket on this machine is used directly, any other is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.audit.errors import StoreRefused, StoreTrouble
from holo_tasks.audit.s3 import Bucket
from tests.support.redirecting import Server

KEYS = Keys(SecretStr("a"), SecretStr("b"))


def test_redirects_are_not_followed_and_proxies_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Server() as other, Server(to=f"{other.url}/stolen") as s3:
        monkeypatch.setenv("HTTP_PROXY", other.url)
        monkeypatch.setenv("http_proxy", other.url)
        bucket = Bucket(Place("evidence", "", s3.url, local_only=True), KEYS, attempts=1)
        with pytest.raises(StoreTrouble):
            bucket.put_once("frames/x.jpg", b"picture")
        bucket.close()
    assert s3.seen
    assert {line.split()[0] for line in s3.seen} == {"PUT"}
    assert other.seen == []


@pytest.mark.parametrize("endpoint", [None, "http://203.0.113.7:9000", "http://127.0.0.1@203.0.113.7", "s3.example"])
def test_a_bucket_on_another_machine_is_refused(endpoint: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_LOCAL_ONLY", "1")
    with pytest.raises(StoreRefused, match="Local-only mode is on"):
        Bucket(Place("evidence", "", endpoint), KEYS)


def test_no_server_is_queried_for_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with Server() as metadata, Server() as s3:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/keys")
        bucket = Bucket(Place("evidence", "", s3.url, local_only=True), Keys(), attempts=1)
        with pytest.raises(StoreRefused, match="no credentials"):
            bucket.put_once("x", b"x")
        bucket.close()
        assert metadata.seen == []
