"""`holo-tasks verify` and `holo-tasks keys` from an auditor's view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holo_tasks.audit.keys import SigningKey
from holo_tasks.cli.verify import verify_trace
from holo_tasks.core.errors import InvalidUsage
from tests.audit.signed import write
from tests.support.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, None)


def test_keys_and_verdicts(cli: CommandLine, tmp_path: Path) -> None:
    assert cli("keys", "show").code == 2
    made = cli("keys", "new")
    assert made.code == 0
    private = Path(made.stdout.strip()).read_bytes()
    again = cli("keys", "new")
    assert again.code == 2
    assert "--replace" in again.complaint
    shown = cli("keys", "show")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("-----BEGIN PUBLIC KEY-----\n")
    assert shown.stdout.endswith("-----END PUBLIC KEY-----\n")
    (tmp_path / "public.pem").write_text(shown.stdout)

    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    folder = write(tmp_path, "run-1", SigningKey(load_pem_private_key(private, None)))  # type: ignore[arg-type]
    asked = ("verify", str(folder), "--public-key", str(tmp_path / "public.pem"))
    valid = cli(*asked)
    assert (valid.code, valid.stdout.split(":")[0]) == (0, "VALID")
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert cli(*asked).code == 3
    path.write_bytes(b"".join([*lines[:4], lines[4].replace(b"frame", b"fr4me"), *lines[5:]]))
    bad = cli(*asked, "--json")
    told = json.loads(bad.stdout.splitlines()[-1])
    assert (bad.code, told["verdict"], told["first_bad"]) == (4, "TAMPERED", 4)
    assert {"reason", "records", "frames", "run_id", "closed", "head", "anchored"} < set(told)
    assert "record 4" in bad.stderr
    refused = cli("verify", str(folder), "--public-key", made.stdout.strip())
    assert (refused.code, refused.stdout) == (2, "")
    assert "private key" in refused.complaint


def test_a_missing_trace_or_key_is_refused(tmp_path: Path) -> None:
    key = SigningKey.new()
    folder, public = str(write(tmp_path, "run-1", key)), tmp_path / "public.pem"
    public.write_text(key.public_pem)
    for trace, file, anchors, words in (
        (str(tmp_path / "none"), public, None, "no trace"),
        (folder, tmp_path / "none.pem", None, "none.pem"),
        (folder, public, str(tmp_path / "none.jsonl"), "none.jsonl"),
        ("s3://", public, None, "S3|s3"),
        ("gs://bucket/run", public, None, "no trace"),
    ):
        with pytest.raises(InvalidUsage, match=words):
            verify_trace(trace, file, anchors, tmp_path)
