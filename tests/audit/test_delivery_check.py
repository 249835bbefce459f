"""Test that a bucket is checked for the complete trace before the local copy is deleted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from holo_tasks.audit import Delivery, open_trace
from holo_tasks.audit.bucket_places import Keys, Listed, Place
from holo_tasks.audit.errors import StoreAway
from holo_tasks.audit.resume import resume_spool
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool, left_behind
from holo_tasks.cli.runs import listing
from holo_tasks.cli.verify import public_pem, verify_trace
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import FileArrived, RunClosed, RunOpened

GONE = "mid-run"


async def work(trace: Any, event: Any, shot: Any, steps: range) -> None:
    if not steps.start:
        await trace.record(RunOpened(run_id="run-1", title="", library=""))
    for step in steps:
        picture = shot(step)
        await trace.keep(picture)
        await trace.record(event(step, picture.sha256))


async def wait_for(true: Any) -> None:
    async with asyncio.timeout(120):
        while not true():
            await asyncio.sleep(0.02)


async def delivered(trace: Any, records: int) -> None:
    await wait_for(lambda: trace.head.delivered == records)


async def end(trace: Any, *, timeout_s: float = 60) -> Delivery:
    await trace.record(RunClosed(status="answered", answer="", steps=1, cost_micro_usd=0))
    return await trace.close(timeout_s=timeout_s)


def objects(bucket: Any, name: str, prefix: str) -> list[str]:
    return [found["Key"] for found in bucket.list_objects_v2(Bucket=name, Prefix=prefix).get("Contents", ())]


def wipe(bucket: Any, name: str, prefix: str = "") -> int:
    keys = objects(bucket, name, prefix)
    for key in keys:
        bucket.delete_object(Bucket=name, Key=key)
    return len(keys)


@pytest.fixture
def valid(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Check that a trace is complete in its bucket, with all pictures."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)

    def check(uri: str, records: int) -> None:
        key = tmp_path / "public.pem"
        key.write_text(public_pem(tmp_path))
        found = verify_trace(uri, key, None, tmp_path)
        assert (found.verdict, found.records) == ("VALID", records), found.reason
        trace = open_trace(
            uri, endpoint_url=s3.endpoint, access_key=SecretStr(s3.access_key), secret_key=SecretStr(s3.secret_key)
        )
        for record in trace.records():
            if record.event.kind == "corrected":
                assert trace.frame(record.event.reason)

    return check


async def test_a_bucket_recreated_during_a_run_gets_the_whole_trace(
    to_s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    bucket.create_bucket(Bucket=GONE)
    trace = to_s3(where=f"s3://{GONE}/runs").open("run-1", home=tmp_path)
    await work(trace, event, shot, range(5))
    await delivered(trace, 6)
    wipe(bucket, GONE)
    bucket.delete_bucket(Bucket=GONE)
    await work(trace, event, shot, range(5, 8))
    refused = await end(trace)
    assert not refused.complete
    assert "does not exist" in refused.message
    where = to_s3(where=f"s3://{GONE}/runs")
    assert [found.complete for found in resume_spool(tmp_path, where.place, where.keys, timeout_s=5)] == [False]
    bucket.create_bucket(Bucket=GONE)
    (found,) = resume_spool(tmp_path, where.place, where.keys, timeout_s=60)
    assert found.complete, found.message
    valid(trace.uri, 10)
    assert list((tmp_path / "spool").iterdir()) == []


async def test_a_recreated_bucket_gets_the_whole_trace_at_the_end(
    to_s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    bucket.create_bucket(Bucket="made-again")
    trace = to_s3(where="s3://made-again/runs").open("run-1", home=tmp_path)
    await work(trace, event, shot, range(3))
    await delivered(trace, 4)
    wipe(bucket, "made-again")
    bucket.delete_bucket(Bucket="made-again")
    bucket.create_bucket(Bucket="made-again")
    assert (await end(trace)).complete
    valid(trace.uri, 5)


async def test_a_deleted_kept_file_is_uploaded_again(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    where, data = to_s3(), b"%PDF of an invoice"
    file = Attachment(data, hashlib.sha256(data).hexdigest())
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(2))
    for _ in range(2):
        await trace.keep(file)
        await trace.record(FileArrived(name="a.pdf", size_bytes=len(data), sha256=file.sha256, kept=True))
    await delivered(trace, 5)
    key = f"{where.place.prefix}/run-1/files/{file.sha256}"
    assert objects(bucket, s3.bucket, f"{where.place.prefix}/run-1/files/") == [key]
    bucket.delete_object(Bucket=s3.bucket, Key=key)
    assert (await end(trace)).complete
    valid(trace.uri, 6)
    assert open_trace(trace.uri).file(file.sha256) == data
    bucket.put_object(Bucket=s3.bucket, Key=key, Body=b"another invoice")
    assert verify_trace(trace.uri, tmp_path / "public.pem", None, tmp_path).verdict == "TAMPERED"


async def test_deleted_objects_are_uploaded_again(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    for so_far in (5, 10, 15):  # several segments
        await work(trace, event, shot, range(so_far - 5, so_far))
        await delivered(trace, so_far + 1)
    keys = objects(bucket, s3.bucket, f"{where.place.prefix}/run-1/")
    events = [key for key in keys if "/events/" in key]
    pictures = [key for key in keys if "/frames/" in key]
    assert len(events) >= 3
    for key in (events[0], *events[2:], *pictures[3:7]):  # delete the first segment and all from the third on
        bucket.delete_object(Bucket=s3.bucket, Key=key)
    delivery = await end(trace)
    assert delivery.complete, delivery.message
    valid(trace.uri, 17)
    assert events[1] in objects(bucket, s3.bucket, f"{where.place.prefix}/run-1/events/")


async def test_deleted_objects_of_a_spool_are_uploaded_again(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(5))
    await delivered(trace, 6)
    await trace.record(RunClosed(status="answered", answer="", steps=1, cost_micro_usd=0))
    assert not (await trace.close(timeout_s=0)).complete
    await wait_for(lambda: not trace._carrier._thread.is_alive())
    assert wipe(bucket, s3.bucket, where.place.prefix)
    (found,) = resume_spool(tmp_path, where.place, where.keys, timeout_s=60)
    assert found.complete, found.message
    valid(trace.uri, 7)


@pytest.mark.parametrize("what", ["/events/", "/frames/"])
@pytest.mark.parametrize("same_size", [True, False])
async def test_a_replaced_object_is_reported_and_the_spool_stays(
    what: str, same_size: bool, to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any
) -> None:
    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(5))
    await delivered(trace, 6)
    key = next(key for key in objects(bucket, s3.bucket, f"{where.place.prefix}/run-1/") if what in key)
    size = bucket.head_object(Bucket=s3.bucket, Key=key)["ContentLength"]
    bucket.put_object(Bucket=s3.bucket, Key=key, Body=b"x" * (size if same_size else 1))
    delivery = await end(trace)
    assert not delivery.complete
    assert f"{key} " in delivery.message
    assert "other contents" in delivery.message
    kept = tmp_path / "spool" / "run-1"
    assert (kept / "events.jsonl").read_bytes().count(b"\n") == 7
    for step in range(5):
        picture = shot(step)
        assert hashlib.sha256((kept / "frames" / f"{picture.sha256}.jpg").read_bytes()).hexdigest() == picture.sha256


async def test_the_spool_stays_if_the_credentials_may_not_list(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import ClientError

    from holo_tasks.audit.s3 import _explain

    def refused(self: Bucket, prefix: str) -> Any:
        answer = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
        raise _explain(ClientError(answer, "ListObjectsV2"), self.place)  # type: ignore[arg-type]

    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(2))
    monkeypatch.setattr(Bucket, "objects", refused, raising=False)
    delivery = await end(trace)
    assert not delivery.complete
    assert "may not list" in delivery.message
    assert "s3:ListBucket" in delivery.message
    assert "the next run" not in delivery.message, "another run would be refused as well"
    assert (tmp_path / "spool" / "run-1" / "events.jsonl").exists()
    monkeypatch.undo()
    assert [found.complete for found in resume_spool(tmp_path, where.place, where.keys, timeout_s=60)] == [True]


async def test_objects_that_disappear_are_not_uploaded_forever(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = to_s3()
    looks = 0
    real = Bucket.objects

    def emptied(self: Bucket, prefix: str) -> Any:
        nonlocal looks
        looks += 1
        wipe(bucket, s3.bucket, prefix)
        return real(self, prefix)

    monkeypatch.setattr(Bucket, "objects", emptied)
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(2))
    delivery = await end(trace, timeout_s=60)
    assert not delivery.complete
    assert "disappear again" in delivery.message
    assert looks <= 8
    assert (tmp_path / "spool" / "run-1" / "events.jsonl").exists()


RIGHTS = {
    "full": ["Read", "Write", "List"],
    "no-list": ["Read", "Write"],
    "no-read": ["Write", "List"],
    "put": ["Write"],
}


@pytest.fixture(scope="module")
def narrow(s3_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a server with several keys of limited rights; each key is its own secret.

    The first ports it chooses are in use, so it must choose others.
    """
    folder = tmp_path_factory.mktemp("narrow")
    admin = {"name": "admin", "credentials": [{"accessKey": "admin", "secretKey": "admin"}], "actions": ["Admin"]}
    others = [
        {"name": name, "credentials": [{"accessKey": name, "secretKey": name}], "actions": actions}
        for name, actions in RIGHTS.items()
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": [admin, *others]}))
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.MonkeyPatch.context() as patch:
        ports = s3_module.free_ports(10)
        first = [*ports[:6], other.getsockname()[1], *ports[7:]]
        chosen = iter([first, ports])
        patch.setattr(s3_module, "free_ports", lambda _: next(chosen))
        with s3_module.S3Server(folder) as server:
            assert list(chosen) == []
            yield server


@pytest.mark.parametrize("name", ["no-list", "no-read", "put"])
def test_keys_without_all_rights_are_refused_before_a_run(to_s3: Any, narrow: Any, name: str) -> None:
    of = {"where": f"s3://{narrow.bucket}/runs", "endpoint_url": narrow.endpoint}
    to_s3(**of, access_key="full", secret_key="full").check()
    with pytest.raises(InvalidUsage, match="grant s3:PutObject, s3:GetObject and s3:ListBucket"):
        to_s3(**of, access_key=name, secret_key=name).check()


async def test_files_of_consoles_and_file_managers_are_ignored(
    to_s3: Any, s3: Any, tmp_path: Path, event: Any, shot: Any, bucket: Any, valid: Any
) -> None:
    where = to_s3()
    for folder in ("", "events/", "frames/"):
        bucket.put_object(Bucket=s3.bucket, Key=f"{where.place.prefix}/run-1/{folder}")
    bucket.put_object(Bucket=s3.bucket, Key=f"{where.place.prefix}/run-1/events/.DS_Store", Body=b"x")
    trace = where.open("run-1", home=tmp_path)
    await work(trace, event, shot, range(3))
    delivery = await end(trace)
    assert delivery.complete, delivery.message
    valid(trace.uri, 5)
    read = open_trace(
        trace.uri, endpoint_url=s3.endpoint, access_key=SecretStr(s3.access_key), secret_key=SecretStr(s3.secret_key)
    )
    assert read.check().records == 5


def test_folder_markers_are_skipped_in_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pages:
        def paginate(self, **_: Any) -> Any:
            sizes = {"events/": 0, "events/1.jsonl": 7, "events/full/": 3}
            yield {"Contents": [{"Key": key, "Size": size, "ETag": '"x"'} for key, size in sizes.items()]}

    class Client:
        def get_paginator(self, _: str) -> Pages:
            return Pages()

    bucket = Bucket(Place("evidence", endpoint_url="http://127.0.0.1:1"), Keys(SecretStr("k"), SecretStr("k")))
    monkeypatch.setattr(bucket, "_client", Client())
    assert list(bucket.names("events/")) == ["events/1.jsonl", "events/full/"]


@pytest.mark.parametrize("same", [True, False])
async def test_objects_without_a_digest_are_checked_in_parallel(
    same: bool, to_s3: Any, tmp_path: Path, event: Any, shot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4)
    listed, digest = Bucket.objects, Bucket.digest
    asked: list[str] = []

    def encrypted(self: Bucket, prefix: str) -> Iterator[Listed]:
        return (Listed(found.key, found.size, "of a key") for found in listed(self, prefix))

    def slow(self: Bucket, key: str) -> str:
        asked.append(key)
        if len(asked) <= 4:
            together.wait(60)  # requests must run in parallel to pass the barrier
        return digest(self, key) if same or "/frames/" not in key else "0" * 64

    monkeypatch.setattr(Bucket, "objects", encrypted)
    monkeypatch.setattr(Bucket, "digest", slow)
    trace = to_s3().open("run-1", home=tmp_path)
    await work(trace, event, shot, range(12))
    delivery = await end(trace)
    assert delivery.complete is same, delivery.message
    assert len(asked) == len(set(asked))
    assert ("other contents" in delivery.message) is not same
    assert list((tmp_path / "spool").iterdir()) == ([] if same else [tmp_path / "spool" / "run-1"])


@pytest.mark.parametrize(
    ("gone", "died"), [("", False), ("", True), ("first", False), pytest.param("all", True, marks=pytest.mark.long)]
)
async def test_one_incomplete_listing_does_no_harm(
    gone: str,
    died: bool,
    to_s3: Any,
    s3: Any,
    tmp_path: Path,
    event: Any,
    shot: Any,
    bucket: Any,
    valid: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = to_s3()
    trace = where.open("run-1", home=tmp_path)
    for so_far in (5, 10, 15):  # several segments
        await work(trace, event, shot, range(so_far - 5, so_far))
        await delivered(trace, so_far + 1)
    prefix = f"{where.place.prefix}/run-1/events/"
    before = objects(bucket, s3.bucket, prefix)
    if gone:
        for key in before[: None if gone == "all" else 1]:
            bucket.delete_object(Bucket=s3.bucket, Key=key)
    listed, looks = Bucket.objects, 0

    def wrong(self: Bucket, below: str) -> Iterator[Listed]:
        nonlocal looks
        looks += below == prefix
        return iter(()) if below == prefix and (died or looks == 1) else listed(self, below)

    monkeypatch.setattr(Bucket, "objects", wrong)
    delivery = await end(trace)
    assert looks
    assert delivery.complete is not died, delivery.message
    if died:
        assert "disappear again" in delivery.message
        monkeypatch.undo()
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
        (found,) = resume_spool(tmp_path, where.place, where.keys, timeout_s=60)
        assert found.complete, found.message
    valid(trace.uri, 17)
    after = objects(bucket, s3.bucket, prefix)
    assert after[: len(before)] == before
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_torn_segment_note_is_ignored(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "run-1", Place("evidence"))
    spool.note_segment(300)
    with (spool.folder / "sent-segments.txt").open("a") as notes:
        notes.write("<12")
    spool.note_segment(1200)
    assert spool.segment_ends() == [300, 1200]
    spool.release()


async def test_waiting_spools_are_listed(to_s3: Any, tmp_path: Path, event: Any, shot: Any) -> None:
    trace = to_s3(endpoint_url="http://127.0.0.1:9").open("run-1", home=tmp_path)
    await work(trace, event, shot, range(2))
    assert left_behind(tmp_path) == [], "its process is still running"
    assert not (await end(trace, timeout_s=0)).complete
    await wait_for(lambda: not trace._carrier._thread.is_alive())
    folder = tmp_path / "spool" / "run-1"
    assert left_behind(tmp_path) == [(folder, trace.uri)]
    text = listing(tmp_path, 20, as_json=False)
    assert "1 not in the bucket yet" in text
    assert f"{folder}  {trace.uri}" in text
    assert listing(tmp_path, 20, as_json=True) == '{"runs": [], "items": []}'
    (folder / "destination.json").write_text("{")
    assert "the destination of this evidence is unknown" in listing(tmp_path, 20, as_json=False)
    assert sorted(path.name for path in tmp_path.joinpath("spool").iterdir()) == ["run-1"]


@pytest.mark.parametrize("size", ["abc", ""])
def test_a_malformed_listing_is_a_temporary_error(size: str) -> None:
    class Lists(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            listed = f"<Contents><Key>a</Key><Size>{size}</Size></Contents>"
            self.wfile.write(f"<ListBucketResult>{listed}</ListBucketResult>".encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        place = Place("evidence", endpoint_url=f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(StoreAway, match="cannot be parsed"):
            list(Bucket(place, Keys(SecretStr("k"), SecretStr("k"))).objects("a"))
        server.shutdown()
