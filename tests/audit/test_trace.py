"""Test the local trace: durable, chained, robust after a crash, and clear about a full disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import stat
import threading
from pathlib import Path

import pytest

from holo_tasks.audit import (
    DamagedTrace,
    Destination,
    DiskFull,
    EvidenceFailed,
    LocalTrace,
    check_chain,
    open_trace,
)
from holo_tasks.audit.anchors import Anchoring
from holo_tasks.audit.keys import SigningKey, signing_key
from holo_tasks.audit.reader import check_lines
from holo_tasks.audit.recorder import TraceRecorder
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import FIRST, Decided, RunClosed

KEY = SigningKey.new()


def recorder(root: Path, run_id: str = "run-1"):
    return Destination.parse(str(root)).open(run_id, home=root)


@pytest.fixture
async def lines(tmp_path, event, odd_event) -> list[bytes]:
    async with recorder(tmp_path) as trace:
        for step in range(8):
            await trace.record(event(step))
        await trace.record(odd_event)
        await trace.record(RunClosed(status="answered", answer="42", steps=8, cost_micro_usd=7))
    return list(open_trace(tmp_path / "run-1").lines())


async def test_recorded_events_can_be_read_back(tmp_path, event, odd_event, shot):
    picture = shot(1)
    async with recorder(tmp_path) as trace:
        await trace.keep(picture)
        await trace.record(event(1))
        await trace.record(odd_event)
    again = open_trace(trace.uri)
    first, second = again.records()
    assert (first.seq, first.previous, first.event) == (0, FIRST, event(1))
    assert second.event == odd_event
    assert again.frame(picture.sha256) == picture.data
    assert (tmp_path / "run-1" / "frames" / f"{picture.sha256}.jpg").read_bytes() == picture.data
    assert stat.S_IMODE((tmp_path / "run-1").stat().st_mode) == 0o700
    assert again.check().whole
    assert check_chain(again.records()).whole


async def test_records_of_one_sub_goal_can_be_read_separately(tmp_path, event):
    async with recorder(tmp_path) as trace:
        for subgoal in (1, 2, 12, 2):
            await trace.record(event(subgoal, f'"subgoal":{2}', subgoal))
    assert [record.seq for record in open_trace(trace.uri).records(subgoal=2)] == [1, 3]


async def test_everything_is_synced_before_the_call_returns(tmp_path, event, shot, monkeypatch):
    synced: dict[int, int] = {}

    def spy(real):
        def sync(descriptor: int) -> None:
            real(descriptor)
            found = os.fstat(descriptor)
            synced[found.st_ino] = found.st_size

        return sync

    monkeypatch.setattr(os, "fsync", spy(os.fsync))
    monkeypatch.setattr(os, "fdatasync", spy(os.fdatasync))
    folder = tmp_path / "run-1"
    async with recorder(tmp_path) as trace:
        for number in range(5):
            picture = shot(number)
            await trace.keep(picture)
            path = folder / "frames" / f"{picture.sha256}.jpg"
            assert synced[path.stat().st_ino] == len(picture.data)
            assert (folder / "frames").stat().st_ino in synced
            synced.pop((folder / "frames").stat().st_ino)
            await trace.record(event(number))
            events = (folder / "events.jsonl").stat()
            assert synced[events.st_ino] == events.st_size > 0


async def test_concurrent_events_share_a_sync_and_keep_their_order(tmp_path, event, monkeypatch):
    syncs = 0
    real = os.fdatasync

    def counted(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", counted)
    async with recorder(tmp_path) as trace:
        await asyncio.gather(*(trace.record(event(step)) for step in range(500)))
    assert [record.event.step for record in open_trace(trace.uri).records()] == list(range(500))
    assert syncs < 250


async def test_the_same_picture_is_written_once(tmp_path, shot):
    async with recorder(tmp_path) as trace:
        await trace.keep(shot(1))
        (path,) = (tmp_path / "run-1" / "frames").iterdir()
        before = path.stat()
        await trace.keep(shot(1))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


async def test_a_cancelled_caller_does_not_lose_the_event(tmp_path, event):
    async with recorder(tmp_path) as trace:
        task = asyncio.create_task(trace.record(event(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [record.seq for record in open_trace(trace.uri).records()] == [0]


async def test_recording_works_from_other_loops_and_threads(tmp_path, event):
    async with recorder(tmp_path) as trace:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, trace.record(event(n))) for n in range(4)))
    assert open_trace(trace.uri).check().records == 4


async def test_only_the_event_without_a_canonical_form_is_refused(tmp_path, event):
    bad = Decided(note=None, thought="", tool_name="x", arguments={"n": 2**60}, label="")
    async with recorder(tmp_path) as trace:
        results = await asyncio.gather(
            trace.record(event(1)), trace.record(bad), trace.record(event(2)), return_exceptions=True
        )
    assert [type(result) for result in results] == [type(None), EvidenceFailed, type(None)]
    assert open_trace(trace.uri).check().records == 2


async def test_a_picture_with_a_wrong_digest_is_refused(tmp_path, shot):
    good = shot(1)
    async with recorder(tmp_path) as trace:
        with pytest.raises(EvidenceFailed, match="SHA-256"):
            await trace.keep(type(good)(b"other", good.media_type, good.sha256, good.screen, good.screen, ""))


async def test_after_close_nothing_is_recorded(tmp_path, event):
    async with recorder(tmp_path) as trace:
        pass
    with pytest.raises(EvidenceFailed, match="closed"):
        await trace.record(event(1))
    assert (await trace.close()).complete


async def test_after_the_end_of_the_run_nothing_is_recorded(tmp_path, event, shot):
    async with recorder(tmp_path) as trace:
        await trace.record(event(1))
        await trace.record(RunClosed(status="answered", answer="", steps=1, cost_micro_usd=0))
        with pytest.raises(EvidenceFailed, match="has ended"):
            await trace.record(event(2))
        with pytest.raises(EvidenceFailed, match="has ended"):
            await trace.keep(shot(1))
    assert open_trace(trace.uri).check().records == 2


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", ".", "..", ".x", "a\0b", "x" * 200, "a\n", "ä"])
def test_an_unsafe_run_id_is_refused(tmp_path, run_id):
    with pytest.raises(InvalidUsage, match="run id"):
        LocalTrace.open(tmp_path, run_id, KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_has_one_writer(tmp_path):
    first = LocalTrace.open(tmp_path, "run-1", KEY)
    with pytest.raises(InvalidUsage, match="another process"):
        LocalTrace.open(tmp_path, "run-1", KEY)
    first.close()
    LocalTrace.open(tmp_path, "run-1", KEY).close()


async def test_a_torn_last_line_is_skipped_and_cut_off_on_reopening(tmp_path, lines, event):
    path = tmp_path / "run-1" / "events.jsonl"
    with path.open("ab") as out:
        out.write(b'{"at":"2026-01-01T00:00:00Z","ev')
    (path.parent / "frames" / ".abc.jpg.part").write_bytes(b"half")
    assert open_trace(path.parent).check().records == len(lines)
    async with recorder(tmp_path) as trace:
        await trace.record(event(99))
    found = open_trace(path.parent).check()
    assert (found.whole, found.records) == (True, len(lines) + 1)
    assert list((path.parent / "frames").iterdir()) == []


def test_a_damaged_last_record_is_not_continued(tmp_path):
    (tmp_path / "run-1").mkdir()
    (tmp_path / "run-1" / "events.jsonl").write_bytes(b'{"seq":0}\n')
    with pytest.raises(DamagedTrace, match="record 0"):
        LocalTrace.open(tmp_path, "run-1", KEY)


async def test_every_changed_byte_is_found_at_its_record(lines):
    for bad, line in enumerate(lines[:-2]):
        for place in range(len(line)):
            changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
            found = check_lines([*lines[:bad], changed, *lines[bad + 1 :]])
            assert found.first_bad == bad, (place, changed)


async def test_an_intact_chain_is_reported_as_intact(lines):
    found = check_lines(lines)
    assert (found.whole, found.closed, found.records) == (True, True, len(lines))
    assert not check_lines(lines[:-1]).closed
    assert check_lines([]).whole


async def test_deleted_inserted_and_swapped_records_are_found(lines):
    for place in range(len(lines) - 1):
        without = lines[:place] + lines[place + 1 :]
        assert check_lines(without).first_bad == place
        twice = lines[: place + 1] + lines[place:]
        assert check_lines(twice).first_bad == place + 1
        swapped = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        assert check_lines(swapped).first_bad == place
        for inserted in (b"", b" ", b"{}", b"null"):
            assert check_lines([*lines[:place], inserted, *lines[place:]]).first_bad == place


async def test_records_of_another_run_do_not_fit(tmp_path, lines, event):
    async with recorder(tmp_path, "run-2") as trace:
        for step in range(10):
            await trace.record(event(step))
    other = list(open_trace(trace.uri).lines())
    assert check_lines(lines[:4] + other[4:]).first_bad in (3, 4)


async def test_a_changed_picture_is_not_returned(tmp_path, shot):
    picture = shot(1)
    async with recorder(tmp_path) as trace:
        await trace.keep(picture)
    path = tmp_path / "run-1" / "frames" / f"{picture.sha256}.jpg"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(DamagedTrace, match="changed"):
        open_trace(trace.uri).frame(picture.sha256)
    with pytest.raises(DamagedTrace, match="not in"):
        open_trace(trace.uri).frame("../../etc/passwd")


async def test_a_full_disk_raises_one_line_and_leaves_an_intact_trace(small_disk, event, shot):
    trace = recorder(small_disk)
    acknowledged = 0

    async def fill() -> None:
        nonlocal acknowledged
        while True:
            await trace.record(event(acknowledged, "x" * random.randint(100, 9000)))
            acknowledged += 1

    with pytest.raises(DiskFull) as refused:
        await fill()
    assert str(small_disk) in str(refused.value)
    assert "\n" not in str(refused.value)
    with pytest.raises(DiskFull):
        await trace.keep(shot(1, noise=60_000))
    found = open_trace(trace.folder).check()
    assert (found.whole, found.records) == (True, acknowledged)
    (small_disk / "run-1" / "frames").rmdir()  # frees a little space
    await trace.close()
    assert not list(small_disk.rglob("*.part"))


async def test_recording_continues_when_there_is_space_again(small_disk, event):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(400_000))
    async with recorder(small_disk) as trace:
        many = (trace.record(event(step, "x" * 9000)) for step in range(100))
        # Every record is attempted while the disk is full, so no record uses the freed space.
        results = await asyncio.gather(*many, return_exceptions=True)
        assert DiskFull in {type(result) for result in results}
        ballast.unlink()
        await trace.record(RunClosed(status="invalid", answer="", steps=1, cost_micro_usd=0))
    found = open_trace(trace.uri).check()
    assert found.whole
    assert found.closed


@pytest.mark.parametrize("again", [False, True])
async def test_an_unrecorded_end_is_reported_and_can_be_retried(small_disk, event, again):
    trace = recorder(small_disk)
    await trace.record(event(1))
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    end = RunClosed(status="answered", answer="x" * 5000, steps=1, cost_micro_usd=0)
    with pytest.raises(DiskFull):
        await trace.record(end)
    ballast.unlink()
    if again:
        await trace.record(end)
    delivery = await trace.close()
    assert delivery.complete == again
    assert ("without the end of the run" in delivery.message) == (not again)
    assert open_trace(trace.uri).check().closed == again


class Carried:
    """A carrier that only notes whether it was abandoned."""

    uri = "s3://evidence/run-1"
    delivered = 0

    def __init__(self) -> None:
        self.abandoned = threading.Event()

    def notice(self, frames, seq, end): ...

    def abandon(self):
        self.abandoned.set()


async def test_a_hanging_disk_does_not_keep_a_run_from_ending(tmp_path, event, monkeypatch):
    mended = threading.Event()
    real = os.fdatasync

    def hangs(descriptor: int) -> None:
        mended.wait(60)
        real(descriptor)

    monkeypatch.setattr("holo_tasks.audit.recorder.DISK_S", 0.3)
    monkeypatch.setattr(os, "fdatasync", hangs)
    carrier, key = Carried(), signing_key(tmp_path)
    anchoring = Anchoring("run-1", key, ())
    trace = TraceRecorder(LocalTrace.open(tmp_path, "run-1", key), carrier, anchoring)
    try:
        with pytest.raises(EvidenceFailed, match=r"has stored no evidence for 0.3 s"):
            await trace.record(event(1))
        assert trace._disk_time_left_s() == 0, "a later caller must not wait for the full time again"
        with pytest.raises(EvidenceFailed):
            await trace.record(event(2))
        delivery = await trace.close()
        assert not delivery.complete
        assert "has stored no evidence" in delivery.message
        assert trace.delivery == delivery == await trace.close()
        anchoring._thread.join(60)
        assert not anchoring._thread.is_alive()
        assert not carrier.abandoned.is_set(), "otherwise another process could take over the folder during the write"
    finally:
        mended.set()
    assert await asyncio.to_thread(carrier.abandoned.wait, 60)
    found = open_trace(trace.folder).check()
    assert (found.whole, found.records) == (True, 2)


async def test_a_slow_disk_gets_the_full_time_again(tmp_path, event, monkeypatch):
    mended = threading.Event()
    real = os.fdatasync

    def hangs(descriptor: int) -> None:
        mended.wait(60)
        real(descriptor)

    monkeypatch.setattr("holo_tasks.audit.recorder.DISK_S", 0.3)
    monkeypatch.setattr(os, "fdatasync", hangs)
    async with recorder(tmp_path) as trace:
        with pytest.raises(EvidenceFailed):
            await trace.record(event(1))
        monkeypatch.setattr("holo_tasks.audit.recorder.DISK_S", 60)
        mended.set()
        await trace.record(event(2))
    assert trace.delivery.complete


def test_a_full_disk_is_refused_before_anything_starts(small_disk):
    (small_disk / "ballast").write_bytes(bytes(512 * 1024))
    with pytest.raises(InvalidUsage, match="No space left"):
        Destination.parse(str(small_disk / "x" / "y")).check()
