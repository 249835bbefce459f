"""Test versions of learned playbooks in a bucket: added and read as in a folder, and refused if changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import SubgoalOptions, learned
from holo_tasks.agent.playbooks.learning import resolve_learned_layer
from holo_tasks.audit.keys import SigningKey, signing_key
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.compiler.playbook_stores import store_at
from holo_tasks.compiler.versions import Versions
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.scripts.script import Script

TEXT = "name: one\ngoals: {one: {rules: [{id: a, do: [{answer: done, thought: Done.}]}]}}\n"


def test_versions_are_kept_in_a_bucket(s3: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    key = SigningKey.new()
    shelf = store_at(f"s3://{s3.bucket}/learned/here")
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


async def test_a_playbook_learned_into_a_bucket_is_used_as_a_layer(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    place = f"s3://{s3.bucket}/learned/layer"
    own, strange = signing_key(tmp_path / "here"), tmp_path / "there"
    versions = Versions(store_at(place), "one-12345678", PublicKey(own.public_pem.encode()), own)
    version = versions.add_version(TEXT, "one", [])

    async def layers(home: Path, **how: Any) -> list[Any]:
        run: Any = SimpleNamespace(home=home, learning={}, log=SimpleNamespace(warning=lambda *said: None))
        run.whole = run
        declared = SubgoalOptions(layers=[learned(place, "one", **how), "model"])
        found, counts = await resolve_learned_layer(run, declared, {})
        assert counts is not None
        return list(found.in_order)

    assert await layers(tmp_path / "here") == ["model"], "a new version runs in shadow mode behind the model"
    versions.note(version, "promoted")
    script, model = await layers(tmp_path / "here")
    assert isinstance(script, Script)
    assert (script.name, script.version, model) == ("one", version.id, "model")
    with pytest.raises(InvalidUsage, match="is not signed with the key"):
        await layers(strange)
    key = tmp_path / "public.pem"
    key.write_text(own.public_pem)
    assert [type(layer) for layer in await layers(strange, public_key=key)] == [Script, str]
    versions.note(version, "demoted")
    assert await layers(tmp_path / "here") == ["model"]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InvalidUsage, match="cannot be reached"):
        await layers(tmp_path / "here")
