"""Test the upload of evidence to a real S3 server: it is delivered completely, whatever happens to the server."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.audit import DamagedTrace, Destination, LocalTrace, StoreTrouble, open_trace
from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.resume import resume_spool
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool, Uploaded
from holo_tasks.audit.upload import Upload
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import RunClosed


def read(s3: Any, uri: str):
    from pydantic import SecretStr

    return open_trace(
        uri,
        endpoint_url=s3.endpoint,
        access_key=SecretStr(s3.access_key),
        secret_key=SecretStr(s3.secret_key),
    )


async def load(trace: Any, event: Any, shot: Any, steps: int, *, start: int = 0, pictures: int = 1000) -> None:
    for step in range(start, start + steps):
        picture = shot(step % pictures)
        await trace.keep(picture)
        await trace.record(event(step, picture.sha256))


def check(s3: Any, uri: str, steps: int) -> None:
    trace = read(s3, uri)
    found = trace.check()
    assert (found.whole, found.records) == (True, steps)
    for picture in {record.event.reason for record in trace.records()}:
        assert trace.frame(picture)


async def test_a_run_is_delivered_completely_and_its_spool_removed(to_s3, s3, tmp_path, event, shot, bucket):
    where = to_s3()
    where.check()
    async with where.open("run-1", home=tmp_path) as trace:
        assert trace.uri == f"{where.place.uri}/run-1"
        # More records than one object holds, some with their own picture.
        await load(trace, event, shot, 210, pictures=20)
        assert "run-1" in [entry.name for entry in (tmp_path / "spool").iterdir()]
    assert trace.delivery.complete
    check(s3, trace.uri, 210)
    assert list((tmp_path / "spool").iterdir()) == []
    keys = [o["Key"] for o in bucket.list_objects_v2(Bucket=s3.bucket, Prefix=where.place.prefix)["Contents"]]
    events = sorted(key.rpartition("/")[2] for key in keys if "/events/" in key)
    firsts = [int(name[:8]) for name in events]
    lasts = [int(name[9:17]) for name in events]
    assert firsts[0] == 0
    assert lasts[-1] == 209
    assert [last + 1 for last in lasts[:-1]] == firsts[1:]
    assert max(last - first for first, last in zip(firsts, lasts, strict=True)) < 200
    picture = next(key for key in keys if key.endswith(".jpg"))
    assert bucket.head_object(Bucket=s3.bucket, Key=picture)["ContentType"] == "image/jpeg"


async def test_events_are_uploaded_during_the_run(to_s3, s3, tmp_path, event, shot):
    async with to_s3().open("run-1", home=tmp_path) as trace:
        await load(trace, event, shot, 5)
        async with asyncio.timeout(120):
            while True:
                try:
                    arrived = read(s3, trace.uri)
                    for record in arrived.records():
                        assert arrived.frame(record.event.reason)  # a picture is uploaded before its event
                    if arrived.check().records == 5:
                        break
                except InvalidUsage:
                    pass
                await asyncio.sleep(0.1)


async def test_a_server_killed_under_load_loses_nothing_and_never_blocks(to_s3, s3, tmp_path, event, shot):
    chance = random.Random(3)
    delivered = []
    async with to_s3().open("run-1", home=tmp_path) as trace:
        for number in range(10):
            if number in (2, 6):
                await asyncio.to_thread(s3.kill)
            await load(trace, event, shot, 5, start=number * 5)  # would wait forever for the dead server
            assert trace.head.records == (number + 1) * 5
            if number >= 2:
                delivered.append(trace.head.delivered)
            await asyncio.sleep(chance.uniform(0.05, 0.2))
            if number in (5, 9):
                s3.start()
    assert trace.delivery.complete
    assert max(delivered[:4]) <= 10, "recording continued during the outage"
    assert max(delivered[4:]) <= 30
    check(s3, trace.uri, 50)
    assert list((tmp_path / "spool").iterdir()) == []


async def test_closing_during_an_outage_respects_the_time_limit(to_s3, s3, tmp_path, event, shot, capfd):
    where = to_s3()
    told = []
    trace = where.open("run-1", home=tmp_path)
    await load(trace, event, shot, 3)
    s3.kill()
    try:
        await load(trace, event, shot, 5, start=3)
        begun = time.perf_counter()
        delivery = await trace.close(timeout_s=3, progress=told.append)
        assert time.perf_counter() - begun < 4.5
    finally:
        s3.start()
    assert not delivery.complete
    assert str(tmp_path / "spool" / "run-1") in delivery.message
    assert "cannot be reached" in delivery.message
    assert "\n" not in delivery.message
    assert told
    assert told[-1].events >= 5
    written = "".join(path.read_text() for path in (tmp_path / "spool" / "run-1").glob("*.*[nt]"))
    assert s3.endpoint in written
    assert s3.access_key not in written
    assert s3.secret_key not in written
    # The next run with this bucket uploads the evidence.
    async with where.open("run-2", home=tmp_path) as later:
        await load(later, event, shot, 1, start=100)
    check(s3, trace.uri, 8)
    assert list((tmp_path / "spool").iterdir()) == []
    assert capfd.readouterr() == ("", "")


async def test_an_interrupted_run_continues_in_its_spool(to_s3, s3, tmp_path, event, shot):
    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    await load(trace, event, shot, 30)
    assert not (await trace.close(timeout_s=0)).complete
    async with asyncio.timeout(120):
        while True:  # the abandoned thread finishes its object and unlocks the folder
            try:
                trace = where.open("run-1", home=tmp_path)
                break
            except InvalidUsage:
                await asyncio.sleep(0.1)
    async with trace:
        await load(trace, event, shot, 5, start=30)
    check(s3, trace.uri, 35)


async def test_after_a_crash_the_identical_segment_is_sent_again(to_s3, s3, tmp_path, event, monkeypatch):
    where = to_s3()
    spool = Spool.create(tmp_path, "run-1", where.place)
    trace = LocalTrace.open(tmp_path / "spool", "run-1", SigningKey.new())
    trace.append([("2026-01-01T00:00:00Z", event(step)) for step in range(3)])
    upload = Upload(spool, Bucket(where.place, where.keys), deque())
    real = Spool.note_uploaded

    def crash_after_sending(self: Spool, state: Uploaded) -> None:
        if not state.sending:
            raise KeyboardInterrupt
        real(self, state)

    monkeypatch.setattr(Spool, "note_uploaded", crash_after_sending)
    with pytest.raises(KeyboardInterrupt):
        upload.send(trace.end, lambda: True)
    monkeypatch.undo()
    trace.append([("2026-01-01T00:00:00Z", event(step)) for step in range(4)])
    trace.close()
    spool.release()
    assert [delivery.complete for delivery in resume_spool(tmp_path, where.place, where.keys)] == [True]
    arrived = read(s3, spool.uri).check()
    assert (arrived.whole, arrived.records) == (True, 7)


async def test_revoked_keys_end_the_wait_at_once(to_s3, s3, tmp_path, event, shot):
    wrong = to_s3(secret_key="not-the-key")
    trace = wrong.open("run-1", home=tmp_path)
    await load(trace, event, shot, 2)
    begun = time.perf_counter()
    delivery = await trace.close(timeout_s=60)
    assert time.perf_counter() - begun < 10
    assert not delivery.complete
    assert "refuses the credentials" in delivery.message
    assert "not-the-key" not in delivery.message
    right = to_s3()
    assert [d.complete for d in resume_spool(tmp_path, right.place, right.keys, timeout_s=20)] == [True]
    check(s3, trace.uri, 2)


async def test_a_lost_reply_is_no_error_but_foreign_bytes_are(to_s3, s3, tmp_path, event, shot, bucket):
    where = to_s3()
    box = Bucket(where.place, where.keys)
    box.put_once(where.place.key("a"), b"ours")
    box.put_once(where.place.key("a"), b"ours")
    with pytest.raises(StoreTrouble, match="other contents"):
        box.put_once(where.place.key("a"), b"theirs")
    assert box.get(where.place.key("a")) == b"ours"
    bucket.put_object(Bucket=s3.bucket, Key=where.place.key("run-1", "events", "00000000-00000001.jsonl"), Body=b"x")
    trace = where.open("run-1", home=tmp_path)
    await load(trace, event, shot, 2)
    delivery = await trace.close(timeout_s=30)
    assert not delivery.complete
    assert "other contents" in delivery.message
    assert (tmp_path / "spool" / "run-1" / "events.jsonl").exists()


def test_a_spool_without_a_valid_destination_is_reported(tmp_path):
    (tmp_path / "spool" / "run-1").mkdir(parents=True)
    assert resume_spool(tmp_path) == []
    assert list((tmp_path / "spool").iterdir()) == []  # it was empty
    (tmp_path / "spool" / "run-1").mkdir()
    (tmp_path / "spool" / "run-1" / "events.jsonl").touch()
    (delivery,) = resume_spool(tmp_path)
    assert not delivery.complete
    assert "destination.json" in delivery.message


async def test_a_spool_of_a_living_run_is_left_alone(to_s3, tmp_path, event, shot):
    where = to_s3()
    async with where.open("run-1", home=tmp_path) as trace:
        await load(trace, event, shot, 2)
        assert resume_spool(tmp_path, where.place, where.keys) == []
        with pytest.raises(InvalidUsage, match="another process"):
            where.open("run-1", home=tmp_path)
        await trace.record(RunClosed(status="answered", answer="", steps=2, cost_micro_usd=0))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"where": "s3://no-such-bucket/x"}, "bucket 'no-such-bucket' does not exist"),
        ({"secret_key": "canary-key"}, "refuses the credentials"),
        ({"access_key": "AKUNKNOWN"}, "refuses the credentials"),
        ({"endpoint_url": "http://127.0.0.1:1"}, "cannot be reached"),
        ({"endpoint_url": "nonsense"}, "not an S3 endpoint"),
        ({"access_key": None, "secret_key": None}, "no credentials"),
    ],
)
def test_a_wrong_destination_is_refused_fast_and_clearly(to_s3, changes, words, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    where = to_s3(**changes)
    waited: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=waited.append))
    with pytest.raises(InvalidUsage, match=words) as refused:
        where.check()
    assert sum(waited) < 5
    assert "\n" not in str(refused.value)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "  ", "gs://b/x", "s3://", "s3:///x", "s3://A_B/x", "s3://bucket/../x"])
def test_invalid_destinations_are_refused(text):
    with pytest.raises(InvalidUsage, match="audit destination"):
        Destination.parse(text)


def test_credentials_appear_in_no_repr(to_s3, s3):
    where = to_s3()
    for shown in (repr(where), str(where), repr(where.keys), repr(where.place), json.dumps(vars(where.place))):
        assert s3.secret_key not in shown
        assert s3.access_key not in shown


def test_a_missing_trace_is_refused(to_s3, s3, tmp_path):
    with pytest.raises(InvalidUsage, match="no trace"):
        read(s3, f"s3://{s3.bucket}/nothing/here")
    with pytest.raises(InvalidUsage, match="no trace"):
        open_trace(tmp_path)


def test_endless_objects_are_not_read_completely(to_s3, s3, bucket, monkeypatch):
    prefix = to_s3().place.prefix
    for name in ("large", "picture"):
        bucket.put_object(Bucket=s3.bucket, Key=f"{prefix}/{name}/events/00000000-00000000.jsonl", Body=bytes(300_000))
    digest = "0" * 64
    bucket.put_object(Bucket=s3.bucket, Key=f"{prefix}/picture/frames/{digest}.jpg", Body=bytes(300_000))
    monkeypatch.setattr("holo_tasks.audit.reader._LARGEST_SEGMENT", 200_000)
    monkeypatch.setattr("holo_tasks.audit.reader._LARGEST_PICTURE", 200_000)
    trace = read(s3, f"s3://{s3.bucket}/{prefix}/large")
    assert list(trace.lines()) == [b""]
    assert trace.check().first_bad == 0
    with pytest.raises(DamagedTrace, match="larger than any picture"):
        read(s3, f"s3://{s3.bucket}/{prefix}/picture").frame(digest)
