"""Test that heads are anchored outside the trace, after their records are durable, and without delaying the run."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import Destination
from holo_tasks.audit.anchor_places import AnchorFile, anchor_places
from holo_tasks.audit.anchors import Anchoring, Head
from holo_tasks.audit.errors import StoreAway
from holo_tasks.audit.keys import SigningKey, signing_key
from holo_tasks.audit.trace import LocalTrace
from holo_tasks.cli.verify import in_words, public_pem, verify_trace
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import RunClosed, RunOpened
from tests.support import warm

ROOT = Path(__file__).parents[2]
OPENED = RunOpened(run_id="run-1", title="t", library="l")
CLOSED = RunClosed(status="answered", answer="", steps=0, cost_micro_usd=0)


def anchors(path: Path) -> list[tuple[str, int, int]]:
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [(anchor["run"], anchor["seq"], anchor["delivered"]) for anchor in found]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HOLO_ANCHORS", raising=False)
    return tmp_path / "home"


def public(home: Path) -> Path:
    path = home / "public.pem"
    path.write_text(public_pem(home))
    return path


async def record(home: Path, event: Any, steps: int = 450, run_id: str = "run-1") -> Any:
    async with Destination.parse(str(home / "runs")).open(run_id, home=home) as trace:
        await trace.record(OPENED.model_copy(update={"run_id": run_id}))
        for step in range(steps):
            await trace.record(event(step))
        await trace.record(CLOSED)
    return trace


async def test_a_run_anchors_its_opening_every_200_records_and_its_end(home: Path, event: Any) -> None:
    trace = await record(home, event)
    assert trace.delivery.doubt == ""
    seqs = [seq for _, seq, _ in anchors(home / "anchors.jsonl")]
    assert seqs == sorted(seqs)
    assert seqs[0] < 200
    assert seqs[-1] == 451
    assert len(seqs) >= 3
    assert (trace.head.records, trace.head.delivered) == (452, 452)
    verdict = verify_trace(trace.uri, public(home), None, home)
    assert (verdict.verdict, verdict.anchored and verdict.anchored["last"]) == ("VALID", 451)
    assert verdict.head == trace.head.sha256
    assert "anchored heads" in in_words(verdict)


async def test_replacing_the_whole_trace_is_detected(home: Path, event: Any) -> None:
    await record(home, event, 3)
    await record(home, event, 3, "run-2")
    (home / "runs" / "run-1" / "events.jsonl").write_bytes((home / "runs" / "run-2" / "events.jsonl").read_bytes())
    assert verify_trace(str(home / "runs" / "run-1"), public(home), None, home).verdict == "TAMPERED"


async def test_only_durable_records_are_anchored(home: Path, event: Any) -> None:
    """At every anchor, the trace file already has the anchored record."""
    where = home / "runs" / "run-1" / "events.jsonl"
    seen: list[tuple[int, int]] = []

    class Watching:
        location = "here"

        def put(self, anchor: Any, line: bytes) -> None:
            seen.append((anchor.seq, path.read_bytes().count(b"\n")))

    path = where
    key = signing_key(home, {})
    trace = LocalTrace.open(home / "runs", "run-1", key)
    from holo_tasks.audit import TraceRecorder

    async with TraceRecorder(trace, anchoring=Anchoring("run-1", key, [Watching()])) as recorder:
        for step in range(700):
            await recorder.record(event(step))
    assert seen
    assert all(seq < lines for seq, lines in seen)


async def test_an_unwritable_place_is_reported_and_nothing_is_lost(
    home: Path, event: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOLO_ANCHORS", str(tmp_path / "file" / "anchors.jsonl"))
    trace = await record(home, event, 5)
    assert trace.delivery.complete
    assert "could not be anchored" in trace.delivery.doubt
    assert "anchors.jsonl" in trace.delivery.doubt
    assert anchors(home / "anchors.jsonl")[-1] == ("run-1", 6, 7)


def test_a_hanging_place_delays_the_end_for_a_limited_time(home: Path) -> None:
    class Hanging:
        location = "a dead disk"

        def put(self, anchor: Any, line: bytes) -> None:
            time.sleep(30)

    anchoring = Anchoring("run-1", SigningKey.new(), [Hanging()])
    assert "a dead disk took longer than 0.2 s" in anchoring.settle(Head(1, "0" * 64, 1), 0.2)
    anchoring.close()


def test_an_unconfirmed_anchor_is_sent_again_with_identical_bytes(home: Path) -> None:
    """A bucket accepts identical bytes again, and no other bytes under that name."""
    lines: list[bytes] = []

    class Losing:
        location = "far away"

        def put(self, anchor: Any, line: bytes) -> None:
            lines.append(line)
            if len(lines) == 1:
                raise StoreAway("no reply")

    anchoring = Anchoring("run-1", SigningKey.new(), [Losing()])
    assert "no reply" in anchoring.settle(Head(1, "0" * 64, 1))
    assert anchoring.settle(Head(1, "0" * 64, 1)) == ""
    assert lines[0] == lines[1]
    anchoring.settle(Head(2, "1" * 64, 1))
    assert json.loads(lines[2])["seq"] == 1
    anchoring.close()


def test_a_torn_line_does_not_damage_later_anchors(home: Path) -> None:
    path = home / "anchors.jsonl"
    home.mkdir()
    path.write_bytes(b'{"at":"2026')
    anchoring = Anchoring("run-1", SigningKey.new(), [AnchorFile(path)])
    assert anchoring.settle(Head(1, "0" * 64, 1)) == ""
    anchoring.close()
    torn, whole = path.read_bytes().splitlines()
    assert torn == b'{"at":"2026'
    assert json.loads(whole)["run"] == "run-1"


MANY = """
import sys
from pathlib import Path
from holo_tasks.audit.anchor_places import AnchorFile
for n in range(100):
    AnchorFile(Path(sys.argv[1])).put(None, (sys.argv[2] * 300).encode())
"""


def test_concurrent_processes_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [warm.ScriptPopen([sys.executable, "-c", MANY, str(path), name], env=environment) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    lines = path.read_text().splitlines()
    assert sorted(set(lines)) == ["a" * 300, "b" * 300]
    assert len(lines) == 200


def test_an_invalid_place_is_refused_before_the_run(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="names a folder"):
        anchor_places(home, {"HOLO_ANCHORS": str(tmp_path)})
    with pytest.raises(InvalidUsage, match="destination"):
        anchor_places(home, {"HOLO_ANCHORS": "gs://x/y"})
    assert len(anchor_places(home, {"HOLO_ANCHORS": str(home / "anchors.jsonl")})) == 1


async def test_a_run_in_a_bucket_anchors_the_number_of_delivered_records(
    home: Path, event: Any, shot: Any, to_s3: Callable[..., Destination], s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    heads = f"s3://{s3.bucket}/heads"
    monkeypatch.setenv("HOLO_ANCHORS", heads)
    where = to_s3()
    async with where.open("run-b", home=home) as trace:
        await trace.record(OPENED.model_copy(update={"run_id": "run-b"}))
        await trace.keep(shot(1))
        for step in range(4):
            await trace.record(event(step))
        await trace.record(CLOSED)
    assert (trace.delivery.complete, trace.delivery.doubt) == (True, "")
    assert anchors(home / "anchors.jsonl")[-1] == ("run-b", 5, 6)
    key = public(home)
    for given in (None, heads):
        verdict = verify_trace(trace.uri, key, given, home)
        assert (verdict.verdict, verdict.anchored and verdict.anchored["delivered"]) == ("VALID", 6), verdict.reason
    # Objects added to the trace or deleted from it are detected.
    from holo_tasks.audit.s3 import Bucket

    box = Bucket(where.place, where.keys)  # type: ignore[attr-defined]
    names = sorted(box.names(where.place.key("run-b", "events")))  # type: ignore[attr-defined]
    box.put_once(names[-1].replace("events/", "events/9"), b"{}\n")
    assert verify_trace(trace.uri, key, None, home).first_bad == 6
    box.discard(names[-1].replace("events/", "events/9"))
    box.discard(names[-1])
    verdict = verify_trace(trace.uri, key, heads, home)
    assert verdict.verdict == "TAMPERED"
    assert verify_trace(trace.uri, key, None, home / "elsewhere").verdict == "TAMPERED"  # HOLO_ANCHORS is set
    monkeypatch.delenv("HOLO_ANCHORS")
    if len(names) > 1:
        assert verify_trace(trace.uri, key, None, home / "elsewhere").verdict == "INCOMPLETE"
