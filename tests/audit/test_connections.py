"""Test that botocore's model of S3 is read once for a process, also from a folder that the user sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader
from pydantic import SecretStr

from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.audit.s3 import Bucket

KEYS = Keys(SecretStr("AKX"), SecretStr("secret"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    found: list[str] = []
    load = JSONFileLoader.load_file

    def loading(loader: Any, path: str) -> Any:
        found.append(path)
        return load(loader, path)

    monkeypatch.setattr(JSONFileLoader, "load_file", loading)
    return found


def connect(*, local_only: bool) -> None:
    Bucket(Place("evidence", "a", endpoint_url="http://127.0.0.1:9", local_only=local_only), KEYS).close()


def test_only_the_first_connection_reads_the_model(
    read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    connect(local_only=False)
    assert any(str(tmp_path) in path for path in read), "no connection has read from that folder before"
    read.clear()
    for local_only in (False, True, False):
        connect(local_only=local_only)
    assert not read
