"""Test on a real S3 server with object lock that retained evidence can be neither deleted nor overwritten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from holo_tasks.audit import Destination
from holo_tasks.cli import settings
from holo_tasks.cli.verify import in_words, public_pem, verify_trace
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import RunClosed, RunOpened

LOCKED = "locked-evidence"


@pytest.fixture
def locked(bucket: Any) -> Any:
    with suppress(bucket.exceptions.BucketAlreadyOwnedByYou):
        bucket.create_bucket(Bucket=LOCKED, ObjectLockEnabledForBucket=True)
    return bucket


async def test_no_version_of_a_retained_object_can_be_deleted(
    to_s3: Callable[..., Destination], tmp_path: Path, event: Any, shot: Any, locked: Any
) -> None:
    where = to_s3(where=f"s3://{LOCKED}/runs", retain_days=30)
    where.check()
    async with where.open("run-1", home=tmp_path) as trace:
        await trace.keep(shot(1))
        await trace.record(event(1))
        await trace.record(RunClosed(status="answered", answer="", steps=1, cost_micro_usd=0))
    assert trace.delivery
    assert trace.delivery.complete
    versions = locked.list_object_versions(Bucket=LOCKED, Prefix="runs/run-1/")["Versions"]
    assert len(versions) >= 2
    for version in versions:
        named = {"Bucket": LOCKED, "Key": version["Key"], "VersionId": version["VersionId"]}
        kept = locked.get_object_retention(**named)["Retention"]
        assert kept["Mode"] == "COMPLIANCE"
        assert kept["RetainUntilDate"] > datetime.now(UTC) + timedelta(days=29)
        for more in ({}, {"BypassGovernanceRetention": True}):
            with pytest.raises(ClientError, match=r"AccessDenied|Forbidden|Denied"):
                locked.delete_object(**named, **more)
        before = locked.get_object(**named)["Body"].read()
        locked.put_object(
            Bucket=LOCKED, Key=version["Key"], Body=b"overwritten"
        )  # a newer version hides it but does not delete it
        assert locked.get_object(**named)["Body"].read() == before


async def test_a_trace_under_delete_markers_is_missing_with_a_hint(
    to_s3: Callable[..., Destination], s3: Any, tmp_path: Path, event: Any, locked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    where = to_s3(where=f"s3://{LOCKED}/marked", retain_days=1)
    async with where.open("run-1", home=tmp_path) as trace:
        await trace.record(RunOpened(run_id="run-1", title="", library=""))
        await trace.record(event(1))
        await until_delivered(trace, 2)
        await trace.record(RunClosed(status="answered", answer="", steps=1, cost_micro_usd=0))
    key = tmp_path / "public.pem"
    key.write_text(public_pem(tmp_path))
    assert verify_trace(trace.uri, key, None, tmp_path).notes == []
    found = locked.list_objects_v2(Bucket=LOCKED, Prefix="marked/run-1/events/")["Contents"]
    assert len(found) == 2
    locked.delete_object(Bucket=LOCKED, Key=found[0]["Key"])  # a deletion without a version adds a delete marker
    verdict = verify_trace(trace.uri, key, None, tmp_path)
    assert verdict.verdict == "TAMPERED"
    assert "record 0 is missing" in verdict.reason
    assert "versions of 1 object of this run" in in_words(verdict)
    assert "''" not in in_words(verdict)


async def until_delivered(trace: Any, records: int) -> None:
    async with asyncio.timeout(60):
        while trace.head.delivered < records:
            await asyncio.sleep(0.02)


def test_a_bucket_without_object_lock_is_refused_before_the_run(to_s3: Callable[..., Destination]) -> None:
    with pytest.raises(InvalidUsage, match="no object lock"):
        to_s3(retain_days=30).check()
    to_s3().check()


def test_the_environment_sets_the_retention(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLO_AUDIT_RETAIN_DAYS", "365")
    assert settings.audit("s3://evidence/x", tmp_path).place.retain_days == 365  # type: ignore[attr-defined]
    for wrong in ("-1", "1.5", "a year", "99999999"):
        monkeypatch.setenv("HOLO_AUDIT_RETAIN_DAYS", wrong)
        with pytest.raises(InvalidUsage, match="HOLO_AUDIT_RETAIN_DAYS"):
            settings.audit("s3://evidence/x", tmp_path)
