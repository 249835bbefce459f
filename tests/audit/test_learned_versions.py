"""Versions of learned playbooks in a bucket: added and read as in a folder, and refused where somebody changed them."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.compiler.shelves import shelf_at
from holo_tasks.compiler.versions import Versions
from holo_tasks.core.errors import InvalidUsage, Unavailable

TEXT = "name: one\ngoals: {one: {rules: [{id: a, do: [{answer: done, thought: Done.}]}]}}\n"


def test_versions_are_kept_in_a_bucket(s3: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    key = SigningKey.new()
    shelf = shelf_at(f"s3://{s3.bucket}/learned/here")
    versions = Versions(shelf, "one-12345678", PublicKey(key.public_pem.encode()), key)
    assert (versions.newest().status, shelf.folders()) == ("none", [])
    version = versions.note(versions.add_version(TEXT, "one", ["0" * 64]), "shadow", agreed=True)
    version = versions.note(version, "promoted")
    assert versions.newest() == version
    assert (version.status, version.agreed) == ("promoted", 1)
    assert shelf.folders() == ["one-12345678"]
    assert versions.playbook(version)[1] == TEXT
    bucket.put_object(
        Bucket=s3.bucket,
        Key=f"learned/here/one-12345678/{version.id}.playbook.yaml",
        Body=TEXT.replace("done", "something else").encode(),
    )
    with pytest.raises(InvalidUsage, match="was changed after it was signed"):
        versions.playbook(version)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="cannot be reached"):
        versions.newest()
